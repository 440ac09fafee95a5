import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { CudaError, P2pError } from "../../kernel/lab/errors.js";
import type { Machine } from "../../kernel/lab/machine.js";
import { RecordedMachine } from "../../kernel/lab/machines/recorded.js";
import { SimulatedMachine } from "../../kernel/lab/machines/simulated.js";
import { atomics } from "../../kernel/lab/measure/atomics.js";
import { fences } from "../../kernel/lab/measure/fences.js";
import { litmus } from "../../kernel/lab/measure/litmus.js";
import { loadLatency } from "../../kernel/lab/measure/load-latency.js";
import { pingPong } from "../../kernel/lab/measure/ping-pong.js";
import type { ProbeOperation } from "../../kernel/lab/operations.js";
import * as plot from "../../kernel/lab/plot/index.js";
import type { Program } from "../../kernel/lab/program.js";
import { keepRun, saveRecording, startRecording } from "../../kernel/lab/recording/recorder.js";
import { type Answer, scriptedProbes } from "./scripted-probes.js";

const tables = suite("tables of probes");

type Load = Extract<ProbeOperation, { kind: "load" }>;
type Row = Record<string, unknown>;

const LINE = 128;
/** A GPU with an L2 of 1 MiB and translations that reach 64 MiB; further away by 660 ns, the host by 1000 ns. */
const gpu: Answer = (probe, program) => {
  const { footprintBytes, strideBytes, cold } = probe as Load;
  const { place } = program.bufferOf("chain");
  const away = "host" in place ? 1000 : place.gpu === 0 ? 0 : 660;
  const lines = Math.floor(footprintBytes / strideBytes) * LINE;
  const hits = !cold && lines <= 2 ** 20;
  return { ns: away + (hits ? 150 : 400) + (footprintBytes > 64 * 2 ** 20 ? 200 : 0) };
};

const rowsOf = (table: { objects(): object[] }) => table.objects() as Row[];
const pick = (rows: readonly Row[], ...names: string[]) => rows.map((row) => names.map((name) => row[name]));

tables("load latency names the level by contrast: L2, memory, and what misses translations", async () => {
  const near = await loadLatency(scriptedProbes("measured", gpu), {
    footprints: ["128 KiB", "1 MiB", "2 MiB", "32 MiB"],
  });
  assert.equal(pick(rowsOf(near), "footprint_bytes", "load_ns", "flushed_ns", "packed_ns", "level"), [
    [131072, 150, 400, null, "L2"],
    [1048576, 150, 400, null, "L2"],
    [2097152, 400, 400, null, "memory"],
    [33554432, 400, 400, null, "memory"],
  ]);
  const wide = await loadLatency(scriptedProbes("measured", gpu), {
    footprints: ["32 MiB", "256 MiB"],
    stride: "64 KiB",
  });
  assert.equal(
    pick(rowsOf(wide), "load_ns", "flushed_ns", "packed_ns", "packed_flushed_ns", "level", "level_reason"),
    [
      [
        150,
        400,
        150,
        400,
        "L2",
        "flushing adds 250 ns to as many nodes side by side, and 250 ns to a small chain; lying this far apart adds 0 ns",
      ],
      [
        350,
        600,
        150,
        400,
        "L2 + TLB miss",
        "flushing adds 250 ns to as many nodes side by side, and 250 ns to a small chain; lying this far apart adds 200 ns: translations miss, or lines collide in the cache",
      ],
    ],
  );
});

tables("a cold cell is memory when flushing shows, and undecided when it does not", async () => {
  const cold = rowsOf(
    await loadLatency(scriptedProbes("measured", gpu), { footprints: "256 KiB", cold: true }),
  );
  assert.equal(pick(cold, "cache", "load_ns", "flushed_ns", "level"), [["cold", 400, 400, "memory"]]);
  const flat = rowsOf(
    await loadLatency(
      scriptedProbes("measured", () => ({ ns: 150 })),
      { footprints: "256 KiB", cold: true },
    ),
  );
  assert.is(flat[0]?.level, null);
  assert.is(flat[0]?.level_reason, "flushing adds nothing clear even to a small chain: no cache shows");
  const none = scriptedProbes("measured", gpu);
  const bare = rowsOf(await loadLatency(none, { footprints: "256 KiB", contrast: false }));
  assert.equal(pick(bare, "level", "level_reason", "flushed_ns"), [
    [null, "no contrasts were measured (contrast: false)", null],
  ]);
  assert.is(none.ran.length, 1);
});

tables("memories stand side by side, with their ratio to local memory and all columns in order", async () => {
  const machine = scriptedProbes("recorded", gpu);
  const table = await loadLatency(machine, {
    memory: [{ gpu: 0 }, { gpu: 1 }, "host"],
    footprints: "256 KiB",
    order: "sequential",
    accesses: 500,
    sm: "each",
  });
  assert.equal(table.columnNames().join(" "), COLUMNS);
  assert.equal(pick(rowsOf(table), "memory", "load_ns", "over_local", "level", "sms", "provenance"), [
    ["GPU 0", 150, 1, "L2", 2, "recorded"],
    ["GPU 1", 810, 5.4, "L2", 2, "recorded"],
    ["host", 1150, 1150 / 150, "cache", 2, "recorded"],
  ]);
  const { accesses, sm, order } = (machine.ran[0] as Program).data.operations[0] as Load;
  assert.equal([accesses, sm, order], [500, "each", "sequential"]);
});

const COLUMNS =
  "gpu memory footprint_bytes stride_bytes order cache load_ns ci_low_ns ci_high_ns p05_ns p95_ns mean_ns n converged clock_ghz " +
  "accesses sms over_local flushed_ns packed_ns packed_flushed_ns level level_reason verified note machine provenance date";

tables("cells run in random order, the same program once", async () => {
  const machine = scriptedProbes("measured", gpu);
  await loadLatency(machine, { footprints: ["128 KiB", "256 KiB", "512 KiB", "1 MiB", "2 MiB", "4 MiB"] });
  const order = machine.ran.map((program) => (program.data.operations[0] as Load).footprintBytes);
  assert.is(order.length, 12);
  assert.is(new Set(machine.ran.map((program) => program.hash)).size, 12);
  assert.not.equal(
    order,
    [...order].sort((a, b) => a - b),
  );
});

tables(
  "a cell that fails says why and leaves the others alone; when all fail, the reason is thrown",
  async () => {
    const failing = (when: (program: Program) => boolean, error: P2pError) =>
      scriptedProbes("measured", (probe, program) => {
        if (when(program)) throw error;
        return gpu(probe, program);
      });
    const onHost = (program: Program) => "host" in program.bufferOf("chain").place;
    const memory = [{ gpu: 0 }, "host"] as const;
    const table = await loadLatency(
      failing(onHost, new CudaError(2, "CUDA_ERROR_OUT_OF_MEMORY", "cuMemHostAlloc", "Less.")),
      {
        memory,
        footprints: "128 KiB",
      },
    );
    assert.equal(pick(rowsOf(table), "memory", "load_ns", "level", "note", "n"), [
      ["GPU 0", 150, "L2", null, 40],
      ["host", null, null, "cuMemHostAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (2) → Less.", null],
    ]);
    assert.match(String(plot.loadLatency(table)), /GPU 0 150 … 150 ns; .*cuMemHostAlloc failed/);
    const lacking = new P2pError("not-available", "no probes here:\nload", "Elsewhere.");
    const none = await loadLatency(
      failing(() => true, lacking),
      { memory, footprints: "128 KiB" },
    );
    assert.equal(pick(rowsOf(none), "memory", "load_ns", "note"), [
      ["GPU 0", null, "no probes here → Elsewhere."],
      ["host", null, "no probes here → Elsewhere."],
    ]);
    for (const [when, error] of [
      [() => true, new P2pError("verification", "wrong bytes", "Mend it.")],
      [onHost, new P2pError("program", "wrong", "Right.")],
    ] as const) {
      try {
        await loadLatency(failing(when, error), { memory, footprints: "128 KiB" });
        assert.unreachable();
      } catch (thrown) {
        assert.is(thrown, error);
      }
    }
  },
);

tables("no figure of memory whose owner is another than the program says, or unknown", async () => {
  const machine = scriptedProbes("measured", () => ({ ns: 100, owner: null }));
  try {
    await loadLatency(machine, { memory: { gpu: 1 }, footprints: "128 KiB" });
    assert.unreachable();
  } catch (error) {
    assert.is((error as P2pError).code, "verification");
    assert.is(
      (error as P2pError).message,
      'buffer "chain" does not lie where the program says: the host owns it. No numbers are given.',
    );
  }
});

tables("a recording gives the same tables as the machine it was made on, as recorded", async () => {
  const counts = { flagOldDataOld: 1, flagOldDataNew: 2, flagNewDataOld: 3, flagNewDataNew: 4 };
  const machine = scriptedProbes("measured", (probe, program) =>
    probe.kind === "load" ? gpu(probe, program) : { ns: 1234.5678, counts },
  );
  const folder = mkdtempSync(join(tmpdir(), "p2plab-"));
  try {
    startRecording();
    const keeping: Machine = {
      ...machine,
      run: async (program, options) => {
        const run = await machine.run(program, options);
        keepRun(machine, run, null);
        return run;
      },
    };
    const make = async (on: Machine) => [
      ...rowsOf(await loadLatency(on, { footprints: ["128 KiB", "2 MiB"] })),
      ...rowsOf(await litmus(on, { from: 0, to: 1 })),
    ];
    const measured = await make(keeping);
    const file = join(folder, "x-2026-01-02.arrow");
    saveRecording(file);
    const replay = RecordedMachine.open(file);
    assert.equal(
      await make(replay),
      measured.map((row) => ({ ...row, provenance: "recorded" })),
    );
    // A cell that was not recorded says so beside one that was.
    const more = rowsOf(await loadLatency(replay, { footprints: ["128 KiB", "4 MiB"], contrast: false }));
    assert.is(more[0]?.load_ns, 150);
    assert.is(more[1]?.load_ns, null);
    assert.match(String(more[1]?.note), /holds no run of this program/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

tables("a simulated machine says of probes without a published figure why it has none", async () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  for (const [call, name] of [
    [() => atomics(machine, { memory: "host" }), /knows no atomics/],
    [() => litmus(machine, { from: 0, to: 1 }), /knows no order/],
  ] as const) {
    for (const row of rowsOf(await call())) {
      assert.is(row.atomic_ns ?? row.flag_new_data_old ?? null, null);
      assert.match(String(row.note), name);
      assert.is(row.provenance, "simulated");
    }
  }
});

tables("ping-pong has a row a store, flags where they are polled", async () => {
  const machine = scriptedProbes("measured", (probe) => ({
    ns: (probe as { store: string }).store === "atomic" ? 900 : 650,
  }));
  const table = await pingPong(machine, { from: 1, to: 0, store: ["release", "atomic"], rounds: 50 });
  assert.equal(pick(rowsOf(table), "from", "to", "store", "rounds", "one_way_ns", "clock_ghz", "verified"), [
    [1, 0, "release", 50, 650, 1.98, "ok"],
    [1, 0, "atomic", 50, 900, 1.98, "ok"],
  ]);
  const program = machine.ran[0] as Program;
  assert.equal(program.bufferOf("flag").place, { gpu: 1 });
  assert.equal(program.bufferOf("otherFlag").place, { gpu: 0 });
  assert.equal(
    program.data.streams.map((stream) => stream.gpu),
    [1, 0],
  );
});

tables(
  "atomics have a row a memory, operation and scope; fences a row a scope and number of stores",
  async () => {
    const atomic = await atomics(
      scriptedProbes("measured", () => ({ ns: 300 })),
      {
        memory: [{ gpu: 1 }, "host"],
        operation: "add",
      },
    );
    assert.equal(pick(rowsOf(atomic), "memory", "operation", "scope", "atomic_ns", "native"), [
      ["GPU 1", "add", "gpu", 300, null],
      ["GPU 1", "add", "system", 300, null],
      ["host", "add", "gpu", 300, null],
      ["host", "add", "system", 300, null],
    ]);
    const fence = await fences(
      scriptedProbes("measured", (probe) => ({ ns: 10 + 5 * (probe as { stores: number }).stores })),
      { scope: "system", stores: [0, 4] },
    );
    assert.equal(pick(rowsOf(fence), "memory", "scope", "stores", "fence_ns"), [
      ["GPU 0", "system", 0, 10],
      ["GPU 0", "system", 4, 30],
    ]);
  },
);

tables("litmus judges by what the fence forbids", async () => {
  const counts = (early: number) => ({
    flagOldDataOld: 10,
    flagOldDataNew: 20,
    flagNewDataOld: early,
    flagNewDataNew: 70 - early,
  });
  const machine = (early: number) => scriptedProbes("measured", () => ({ ns: 4000, counts: counts(early) }));
  const verdicts = async (early: number, to: number) =>
    pick(rowsOf(await litmus(machine(early), { from: 0, to })), "fence", "reaches", "verdict", "rounds");
  assert.equal(await verdicts(0, 1), [
    ["none", false, "luck", 100],
    ["gpu", false, "luck", 100],
    ["system", true, "ordered", 100],
  ]);
  assert.equal(await verdicts(3, 1), [
    ["none", false, "reordered", 100],
    ["gpu", false, "reordered", 100],
    ["system", true, "violation", 100],
  ]);
  assert.equal(await verdicts(3, 0), [
    ["none", false, "reordered", 100],
    ["gpu", true, "violation", 100],
    ["system", true, "violation", 100],
  ]);
});

tables("the figure has a line a memory, nanoseconds over the footprint on a logarithmic axis", async () => {
  const table = await loadLatency(scriptedProbes("measured", gpu), {
    memory: [{ gpu: 0 }, { gpu: 1 }, "host"],
    footprints: ["128 KiB", "2 MiB"],
  });
  const figure = plot.loadLatency(table);
  assert.equal(
    figure.data.map((trace) => [trace.name, trace.x, trace.y]),
    [
      ["GPU 0", [131072, 2097152], [150, 400]],
      ["GPU 1", [131072, 2097152], [810, 1060]],
      ["host", [131072, 2097152], [1150, 1400]],
    ],
  );
  assert.is((figure.layout.xaxis as { type: string }).type, "log");
  assert.match(String(figure), /GPU 0 150 … 400 ns, GPU 1 810 … 1060 ns, host 1150 … 1400 ns$/);
  try {
    plot.loadLatency(
      await pingPong(
        scriptedProbes("measured", () => ({ ns: 1 })),
        { from: 0, to: 1 },
      ),
    );
    assert.unreachable();
  } catch (error) {
    assert.match((error as P2pError).message, /plot.loadLatency needs the columns memory, footprint_bytes/);
  }
});

tables("what is no memory is refused by name", async () => {
  for (const memory of ["gpu 1", { gpu: -1 }, { gpu: 0.5 }, [null], []]) {
    try {
      await loadLatency(scriptedProbes("measured", gpu), { memory: memory as never });
      assert.unreachable();
    } catch (error) {
      assert.is((error as P2pError).code, "usage");
    }
  }
});

tables.run();
