import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import type { Machine, Run } from "../../../kernel/lab/machine.js";
import { CancelledError, partial } from "../../../kernel/lab/measure/partial.js";
import { sweep } from "../../../kernel/lab/measure/sweep.js";
import { scriptedMachine } from "../scripted-machine.js";

const test = suite("visits to cells");

const OPTIONS = { from: 0, to: 1, bytes: [8, 64, 512], path: ["peer", "staged"] as const };

/** The scripted machine with every run changed; `seen` lists the hashes in the order run. */
function changed(change: (run: Run, visit: number, order: number) => Run): Machine & { seen: string[] } {
  const inner = scriptedMachine("measured");
  const seen: string[] = [];
  return {
    ...inner,
    seen,
    run: async (program, options) => {
      seen.push(program.hash);
      const run = await inner.run(program, options);
      return change(run, seen.filter((hash) => hash === program.hash).length, seen.length);
    },
  };
}

const slower = (run: Run, factor: number): Run => {
  const { totalNs, convergence } = run.samples;
  const { medianNs, ciLowNs, ciHighNs } = convergence;
  return {
    ...run,
    samples: {
      ...run.samples,
      totalNs: totalNs.map((ns) => ns * factor),
      convergence: {
        ...convergence,
        medianNs: medianNs * factor,
        ciLowNs: ciLowNs * factor,
        ciHighNs: ciHighNs * factor,
      },
    },
  };
};

test("every cell is visited once a round, in another order each time", async () => {
  const machine = changed((run) => run);
  await sweep(machine, { ...OPTIONS, rounds: 3 });
  const rounds = [0, 6, 12].map((at) => machine.seen.slice(at, at + 6));
  for (const round of rounds) assert.is(new Set(round).size, 6);
  assert.not.equal(rounds[0], rounds[1]);
});

test("a machine that gives the same samples again is asked once", async () => {
  const machine = Object.assign(
    changed((run) => run),
    { deterministic: true },
  );
  const table = await sweep(machine, OPTIONS);
  assert.is(machine.seen.length, 6);
  assert.is(table.get("n", 0), 200);
});

test("steady visits are merged without a flag, a change between them is flagged and kept", async () => {
  const steady = await sweep(
    changed((run) => run),
    OPTIONS,
  );
  assert.equal(new Set(steady.array("flags")), new Set([""]));
  const drifting = await sweep(
    changed((run, visit) => slower(run, visit === 1 ? 1 : 1.2)),
    OPTIONS,
  );
  assert.match(drifting.get("flags", 0), /visits differ: 7\.5 µs, 9 µs/);
  assert.is(drifting.get("ended", 0), "unsteady");
  assert.is(drifting.get("converged", 0), false);
  assert.is(drifting.get("n", 0), 400);
});

test("what the machine warned of stays with its cell, each warning once; a warm-up that did not end is a flag", async () => {
  const table = await sweep(
    changed((run) => ({
      ...run,
      warnings: run.program.data.operations.length > 2 ? ["throttled: power"] : [],
      samples: {
        ...run.samples,
        convergence: { ...run.samples.convergence, warmup: { iterations: 500, stable: false } },
      },
    })),
    OPTIONS,
  );
  assert.equal(table.array("taints"), ["", "", "", ...Array(3).fill("throttled: power")]);
  assert.is(table.get("warmup", 0), 1000);
  assert.match(table.get("flags", 0), /warm-up: not stable after 1000 iterations/);
});

test("a stop keeps the cells that were done, in the error and in lab.partial()", async () => {
  const stop = new AbortController();
  const machine = changed((run, _, order) => {
    if (order === 4) stop.abort();
    return run;
  });
  try {
    await sweep(machine, { ...OPTIONS, signal: stop.signal });
    assert.unreachable();
  } catch (error) {
    assert.ok(error instanceof CancelledError, String(error));
    assert.is(error.code, "cancelled");
    assert.match(error.message, /after 4 of 6 cells/);
    assert.is(error.partial.numRows(), 4);
    assert.is(partial(), error.partial);
    assert.equal(new Set(error.partial.array("n")), new Set([200]));
  }
});

test("a stop is heard while the cells of a large sweep are planned", async () => {
  const stop = new AbortController();
  let runs = 0;
  const machine = changed((run) => {
    runs++;
    return run;
  });
  setImmediate(() => stop.abort());
  const bytes = Array.from({ length: 20_000 }, (_, index) => 8 * (index + 1));
  try {
    await sweep(machine, { ...OPTIONS, bytes, signal: stop.signal });
    assert.unreachable();
  } catch (error) {
    assert.is((error as P2pError).code, "cancelled", String(error));
  }
  assert.is(runs, 0);
});

test("an error ends a sweep and leaves its other cells to lab.partial(), or stays in the table", async () => {
  const failing = () =>
    changed((run) => {
      if (run.program.data.buffers[0]?.bytes === 64)
        throw new P2pError("not-available", "no such cell", "Go on.");
      return run;
    });
  try {
    await sweep(failing(), OPTIONS);
    assert.unreachable();
  } catch (error) {
    assert.match(String(error), /no such cell/);
    assert.ok(partial().numRows() < 6);
  }
  const kept = await sweep(failing(), { ...OPTIONS, failing: "keep" });
  assert.equal(
    (kept.array("total_us") as (number | null)[]).map((us) => us === null),
    [false, true, false, false, true, false],
  );
  assert.is(kept.get("reason", 1), "no such cell");
  assert.is(kept.get("reason", 0), null);
  assert.is(kept.get("provenance", 1), "measured");
  const none = await sweep(failing(), { ...OPTIONS, bytes: 64, failing: "keep" });
  assert.equal(new Set(none.array("reason")), new Set(["no such cell"]));
  const broken = changed(() => {
    throw new P2pError("verification", "wrong bytes", "Mend it.");
  });
  try {
    await sweep(broken, { ...OPTIONS, failing: "keep" });
    assert.unreachable();
  } catch (error) {
    assert.match(String(error), /wrong bytes/);
  }
});

test("rounds that make no sense are refused", async () => {
  for (const rounds of [0, 1.5, Number.NaN, 17, "2"]) {
    try {
      await sweep(scriptedMachine("measured"), { ...OPTIONS, rounds: rounds as number });
      assert.unreachable(String(rounds));
    } catch (error) {
      assert.ok(error instanceof P2pError && error.code === "usage", String(error));
    }
  }
});

test.run();
