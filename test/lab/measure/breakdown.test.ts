import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { P2pError } from "../../../kernel/lab/errors.js";
import type { Machine, Run, Trace } from "../../../kernel/lab/machine.js";
import { RecordedMachine } from "../../../kernel/lab/machines/recorded.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { breakdown, FIT_SIZES } from "../../../kernel/lab/measure/breakdown.js";
import { CancelledError, partial } from "../../../kernel/lab/measure/partial.js";
import type { Path } from "../../../kernel/lab/measure/transfer.js";
import { median } from "../../../kernel/lab/sampling.js";
import { scriptedMachine } from "../scripted-machine.js";

const parts = suite("breakdown");

type Row = Record<string, number | null> & { flags: string; reason: string | null; path: string };

async function rowsOf(machine: Machine, options: object = {}): Promise<Row[]> {
  const table = await breakdown(machine, { from: 0, to: 1, bytes: FIT_SIZES, ...options });
  return table.objects() as Row[];
}

/** The scripted machine with the traced pass of each size changed. */
function traced(change: (trace: Trace, bytes: number) => Partial<Trace>): Machine {
  const machine = scriptedMachine("measured");
  return {
    ...machine,
    run: async (program, options) => {
      const run = await machine.run(program, options);
      const bytes = program.data.buffers[0]?.bytes as number;
      return { ...run, trace: run.trace && { ...run.trace, ...change(run.trace, bytes) } };
    },
  };
}

parts("add up on the recording of two H200, 8 B to 64 MiB, at the median and at every size", async () => {
  for (const path of ["peer", "staged"] satisfies Path[]) {
    const rows = await rowsOf(RecordedMachine.open("h200x2"), { path });
    const off = (column: string) => rows.map((row) => Math.abs(row[column] as number));
    const where = JSON.stringify(
      rows.map((row) => [path, row.bytes, row.closure_traced_pct, row.closure_pct]),
    );
    assert.ok(median(off("closure_traced_pct")) <= 1.5, where);
    assert.ok(median(off("closure_pct")) <= 5, where);
    // A size at which the engine's time has two modes closes less well.
    assert.ok(Math.max(...off("closure_traced_pct")) <= 4, where);
    assert.ok(Math.max(...off("closure_pct")) <= 8, where);
  }
});

parts("add up on models", async () => {
  for (const preset of ["hgx-h200-8", "dgx-a100-8", "pcie-gen4-2"]) {
    for (const path of ["peer", "staged", "driver-staged"] satisfies Path[]) {
      for (const row of await rowsOf(SimulatedMachine.open(preset), { path })) {
        const where = `${preset} ${path} ${row.bytes}: ${row.closure_traced_pct}, ${row.closure_pct} ${row.reason}`;
        assert.ok(Math.abs(row.closure_traced_pct as number) <= 1.5, where);
        assert.ok(Math.abs(row.closure_pct as number) <= 5, where);
        assert.ok((row.link_us as number) >= 0 && (row.setup_us as number) > 0, where);
      }
    }
  }
});

parts("where engine time has two modes are those of the faster, and add up within it", async () => {
  const late = (i: number) => (i % 20 < 9 ? 8000 : 0);
  const rows = await rowsOf(
    traced((trace, bytes) =>
      bytes === 4096
        ? {
            engineNs: trace.engineNs.map((ns, i) => ns + late(i)),
            totalNs: trace.totalNs.map((ns, i) => ns + late(i)),
          }
        : {},
    ),
  );
  const at = (bytes: number) => rows.find((row) => row.bytes === bytes) as Row;
  assert.ok(Math.abs((at(4096).mode_share as number) - 0.55) < 0.01);
  assert.ok(Math.abs((at(4096).engine_us as number) - (1.5 + 4096 / 400e3)) < 1e-6);
  assert.ok(Math.abs((at(4096).slow_engine_us as number) - (9.5 + 4096 / 400e3)) < 1e-6);
  assert.ok(Math.abs(at(4096).closure_traced_pct as number) < 0.5);
  assert.match(at(4096).flags, /two modes of engine time: 1\.51 µs and 9\.51 µs \(45 % of iterations\)/);
  assert.is(at(4096).n, 110);
  assert.equal([at(8).mode_share, at(8).slow_engine_us, at(8).flags, at(8).n], [1, null, "", 200]);
  assert.ok(Math.abs((at(8).setup_us as number) - 1.5) < 1e-6);
});

parts("a size that was slow all along does not bend the fit, and says that it misses", async () => {
  const rows = await rowsOf(
    traced((trace, bytes) =>
      bytes === 64
        ? {
            engineNs: trace.engineNs.map((ns) => ns + 8000),
            totalNs: trace.totalNs.map((ns) => ns + 8000),
          }
        : {},
    ),
  );
  const [eight, sixtyFour] = rows as [Row, Row];
  assert.ok(Math.abs((eight.setup_us as number) - 1.5) < 1e-6);
  assert.match(sixtyFour.flags, /slower than larger sizes.*the fit misses engine time by -84 %/);
  assert.ok((sixtyFour.closure_traced_pct as number) < -40);
});

parts(
  "sizes whose engine took no time that the tracer can tell are kept out of the fit, and nothing is NaN",
  async () => {
    const none = (upTo: number) =>
      traced((trace, bytes) => (bytes <= upTo ? { engineNs: trace.engineNs.map(() => 0) } : {}));
    const some = await rowsOf(none(64));
    assert.ok(Math.abs((some[0]?.setup_us as number) - 1.5) < 1e-6);
    assert.match(some[0]?.flags as string, /an engine that took no time/);
    const all = await rowsOf(none(2 ** 30));
    assert.equal([all[0]?.setup_us, all[0]?.link_us, all[0]?.sum_us], [null, null, null]);
    assert.match(all[0]?.reason as string, /engine times of 3 sizes, 0 could be had/);
    for (const row of [...some, ...all])
      for (const [name, value] of Object.entries(row)) assert.not(Number.isNaN(value), name);
  },
);

parts("what the tracer saw only the end of is null, with the reason", async () => {
  const chunk = 524_288;
  const machine = traced((trace, bytes) => {
    const unseen = Math.max(0, bytes - chunk) / 40;
    return {
      launchNs: trace.launchNs.map((ns) => ns + unseen),
      totalNs: trace.totalNs.map((ns) => ns + unseen),
    };
  });
  const rows = await rowsOf(machine, { path: "driver-staged" });
  for (const row of rows) {
    if ((row.bytes as number) <= chunk) {
      assert.is(row.reason, null);
      assert.ok(Math.abs(row.closure_traced_pct as number) < 0.1);
    } else {
      assert.equal([row.launch_us, row.engine_us, row.sum_us, row.closure_pct], [null, null, null, null]);
      assert.ok((row.total_us as number) > 0);
      assert.match(row.reason ?? "", /shows only the last pieces/);
    }
  }
});

parts("sizes without a trace are null beside those with one; too few leave setup and link open", async () => {
  const few = (most: number): Machine => {
    const machine = scriptedMachine("measured");
    return {
      ...machine,
      run: async (program, options): Promise<Run> => {
        const run = await machine.run(program, options);
        return (program.data.buffers[0]?.bytes as number) > most
          ? { ...run, trace: null, traceReason: "the driver stages it" }
          : run;
      },
    };
  };
  const rows = await rowsOf(few(4096));
  assert.is(rows.filter((row) => row.sum_us !== null).length, 4);
  assert.is(rows.at(-1)?.reason, "the driver stages it");
  const [first] = (await rowsOf(few(64))) as [Row];
  assert.ok((first.launch_us as number) > 0);
  assert.equal([first.setup_us, first.link_us, first.sum_us, first.fit_worst_pct], [null, null, null, null]);
  assert.match(first.reason ?? "", /engine times of 3 sizes, 2 could be had/);
});

parts("the receiver's part is told by each way to wait", async () => {
  const rows = await rowsOf(SimulatedMachine.open("hgx-h100-8"), { bytes: 8, sync: ["spin", "yield"] });
  assert.equal(
    rows.map((row) => row.sync as unknown),
    ["spin", "yield"],
  );
  const difference = (rows[1]?.receiver_us as number) - (rows[0]?.receiver_us as number);
  assert.ok(Math.abs(difference - 0.2) < 0.03, `${difference}`);
});

parts("what is not recorded is a row with its reason beside others, and an error alone", async () => {
  const machine = RecordedMachine.open("h200x2");
  const rows = await rowsOf(machine, { bytes: 8, path: ["peer", "driver-staged"] });
  assert.is(rows[0]?.reason, null);
  assert.is(rows[1]?.total_us, null);
  assert.match(rows[1]?.reason ?? "", /holds no run of this program/);
  for (const [options, code] of [
    [{ path: "driver-staged" }, "not-recorded"],
    [{ size: 8 }, "usage"],
    [{ sync: [] }, "usage"],
    [{ traceIterations: 0 }, "usage"],
    [{ traceIterations: Number.NaN }, "usage"],
    [{ sync: "sleep" }, "usage"],
  ] as const) {
    try {
      await rowsOf(machine, options);
      assert.unreachable(JSON.stringify(options));
    } catch (error) {
      assert.is((error as P2pError).code, code, String(error));
    }
  }
});

parts("a breakdown that is stopped keeps the sizes that were done", async () => {
  const machine = scriptedMachine("measured");
  const controller = new AbortController();
  let runs = 0;
  const counting: Machine = {
    ...machine,
    run: (program, options) => {
      if (++runs === 6) controller.abort();
      return machine.run(program, options);
    },
  };
  const whole = await breakdown(machine, { from: 0, to: 1, bytes: FIT_SIZES });
  for (const [most, rows] of [
    [6, 6],
    [0, 0],
  ] as const) {
    if (most === 0) controller.abort();
    try {
      await breakdown(counting, { from: 0, to: 1, bytes: FIT_SIZES, signal: controller.signal });
      assert.unreachable("it was not stopped");
    } catch (error) {
      assert.instance(error, CancelledError);
      assert.is((error as CancelledError).code, "cancelled");
      assert.is(partial(), (error as CancelledError).partial);
      assert.is(partial().numRows(), rows);
      assert.equal(partial().columnNames(), whole.columnNames());
      assert.ok(
        (partial().objects() as Row[]).every((row) => Math.abs(row.closure_traced_pct as number) < 1),
      );
    }
  }
});

parts.run();
