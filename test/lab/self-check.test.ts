import { suite } from "uvu";
import * as assert from "uvu/assert";
import { selfCheck } from "../../kernel/lab/analyze/self-check.js";
import { P2pError } from "../../kernel/lab/errors.js";
import type { Machine, ProvenanceKind, Run, RunOptions } from "../../kernel/lab/machine.js";
import type { Program } from "../../kernel/lab/program.js";
import { samplingOf, stop } from "../../kernel/lab/sampling.js";
import { scriptedProbes } from "./scripted-probes.js";

const checks = suite("self-check");

type Row = { check: string; measured: string | null; ok: boolean | null; detail: string };

interface Flaws {
  /** What a compute kernel takes, for what it was asked: the GPU's timer runs so much slower than the host clock. */
  stretch?: number;
  /** What kernels of more than a millisecond take more, whatever they were asked. */
  lateNs?: number;
  /** What every third run of a long kernel takes more, all its samples alike: runs fall into clusters. */
  clusterNs?: number;
  /** What the second of two same runs takes more. */
  drift?: number;
  /** Local loads that are as slow as host loads: a chain that lies elsewhere. */
  sameEverywhere?: boolean;
  gpus?: number;
  fails?: (program: Program) => P2pError | null;
  kind?: ProvenanceKind;
  clockCostNs?: number;
}

/** A machine on which everything is as it must be, but for its flaws. */
function machineWith(flaws: Flaws = {}): Machine {
  const probes = scriptedProbes(flaws.kind ?? "measured", (probe, program) => {
    if (probe.kind !== "load") throw new Error("only loads are asked for");
    const { place } = program.bufferOf("chain");
    const far = flaws.sameEverywhere ? 0 : "host" in place ? 1050 : place.gpu === 0 ? 0 : 660;
    return { ns: 150 + far + (probe.cold ? 200 : 0) };
  });
  let computed = 0;
  let runs = 0;
  return {
    ...probes,
    info: {
      ...probes.info,
      pairs: flaws.gpus === 1 ? [] : probes.info.pairs,
      facts: { clock: "scripted clock", clock_cost_ns: flaws.clockCostNs ?? 20, clock_resolution_ns: 1 },
    },
    run: async (program, options = {}) => {
      const error = flaws.fails?.(program);
      if (error) throw error;
      if (program.kind === "probe") return probes.run(program, options);
      const compute = program.data.operations.find((o) => o.op === "compute");
      const copies = program.data.operations.filter((o) => o.op === "copy").length;
      const again = compute && compute.ns === 20_000 ? 1 + (flaws.drift ?? 0) * computed++ : 1;
      return timed(
        probes,
        program,
        options,
        6000 * Math.max(1, copies) +
          (compute?.ns ?? 0) * (flaws.stretch ?? 1) * again +
          (compute && compute.ns > 1_000_000 ? (flaws.lateNs ?? 0) : 0) +
          (compute && compute.ns >= 1_000_000 && runs++ % 3 === 0 ? (flaws.clusterNs ?? 0) : 0),
      );
    },
  };
}

function timed(machine: Machine, program: Program, options: RunOptions, ns: number): Run {
  const totalNs = Float64Array.from({ length: 200 }, (_, i) => ns + (i % 11) * 10);
  const convergence = stop(totalNs, 1, samplingOf({ minSamples: 200, maxSamples: 200 }));
  if (!convergence) throw new Error("the script does not converge");
  return {
    program,
    mode: options.mode ?? "latency",
    provenance: machine.provenance,
    samples: { totalNs, apiNs: totalNs, convergence },
    trace: null,
    traceReason: null,
    verification: { state: "ok", checkedBytes: 0, wrongBytes: 0, sentinelBytes: 0, detail: "scripted" },
    ...(options.mode === "throughput" && {
      throughput: { batch: 100, streams: [], gateTimeouts: 0, floorNs: 1500 },
    }),
    warnings: [],
  };
}

async function outcome(machine: Machine): Promise<Map<string, Row>> {
  const table = await selfCheck(machine);
  return new Map((table.objects() as Row[]).map((row) => [row.check, row]));
}

const NAMES = [
  "the host clock and the GPU's timer keep step",
  "a known duration is recovered",
  "no sample is shorter than its work",
  "the same measured twice is the same",
  "host memory is further away than local memory",
  "flushed caches show",
  "a peer's memory is further away than local memory",
  "staging through the host takes longer than the direct path",
  "the host clock is cheap",
  "the host clock is fine",
  "the floor of events is known",
  "the step of the GPU's timer is known",
];

checks("a machine that measures well passes every check and says what it measured", async () => {
  const rows = await outcome(machineWith());
  assert.equal([...rows.keys()], NAMES);
  assert.equal(
    [...rows.values()].map((row) => row.ok),
    NAMES.map(() => true),
  );
  assert.is(rows.get("a known duration is recovered")?.measured, "1 ms");
  assert.is(rows.get("host memory is further away than local memory")?.measured, "× 8.00");
  assert.is(rows.get("the floor of events is known")?.measured, "1.5 µs");
  assert.is(rows.get("the step of the GPU's timer is known")?.measured, "32 ns");
});

checks("each flaw fails its own checks and no other", async () => {
  const failing = async (flaws: Flaws) =>
    [...(await outcome(machineWith(flaws))).values()]
      .filter((row) => row.ok === false)
      .map((row) => row.check);
  assert.equal(await failing({ stretch: 1.0002 }), []);
  assert.equal(await failing({ stretch: 0.9995 }), []);
  assert.equal(await failing({ stretch: 1.002 }), [
    "the host clock and the GPU's timer keep step",
    "a known duration is recovered",
  ]);
  assert.equal(await failing({ clusterNs: 1500 }), []);
  assert.equal(await failing({ lateNs: 2000 }), ["a known duration is recovered"]);
  assert.equal(await failing({ stretch: 0.98 }), [
    "the host clock and the GPU's timer keep step",
    "a known duration is recovered",
    "no sample is shorter than its work",
  ]);
  assert.equal(await failing({ drift: 0.1 }), ["the same measured twice is the same"]);
  assert.equal(await failing({ sameEverywhere: true }), [
    "host memory is further away than local memory",
    "a peer's memory is further away than local memory",
  ]);
  assert.equal(await failing({ clockCostNs: 2000 }), ["the host clock is cheap"]);
});

checks("clocks that run apart say by how much, and what is recovered allows for it", async () => {
  const rows = await outcome(machineWith({ stretch: 1.000164 }));
  const step = rows.get("the host clock and the GPU's timer keep step");
  assert.is(step?.measured, "+164 ppm");
  assert.match(step?.detail ?? "", "95 % interval");
  assert.match(rows.get("a known duration is recovered")?.detail ?? "", "the timer's step of 32 ns");
});

checks("what cannot be made here has no verdict, and says why", async () => {
  const one = await outcome(machineWith({ gpus: 1 }));
  for (const name of NAMES.slice(6, 8)) {
    assert.is(one.get(name)?.ok, null);
    assert.match(one.get(name)?.detail ?? "", /^not available: one GPU has no peer/);
  }
  const lacking = await outcome(
    machineWith({
      fails: (program) =>
        program.kind === "probe" ? new P2pError("not-available", "no probes here", "Elsewhere.") : null,
    }),
  );
  assert.is(lacking.get("flushed caches show")?.ok, null);
  assert.is(lacking.get("flushed caches show")?.detail, "not available: no probes here → Elsewhere.");
  assert.is(lacking.get("the same measured twice is the same")?.ok, true);
});

checks("an error of the measurement is a failed check, and the others go on", async () => {
  const rows = await outcome(
    machineWith({
      fails: (program) =>
        program.kind === "probe" &&
        program.bufferOf("chain").place &&
        "host" in program.bufferOf("chain").place
          ? new P2pError("verification", "bytes are wrong", "Look.")
          : null,
    }),
  );
  assert.is(rows.get("host memory is further away than local memory")?.ok, false);
  assert.is(rows.get("host memory is further away than local memory")?.detail, "bytes are wrong → Look.");
  assert.is(rows.get("flushed caches show")?.ok, true);
});

checks("a recording and a simulation have nothing to check, and nothing is run", async () => {
  for (const kind of ["recorded", "simulated"] as const) {
    const rows = await outcome(
      machineWith({
        kind,
        fails: () => {
          throw new Error("nothing may run");
        },
      }),
    );
    for (const row of rows.values()) {
      assert.is(row.ok, null);
      assert.is(row.detail, `not available: numbers here are ${kind}, nothing is measured`);
    }
  }
});

checks("a cancelled check ends the table", async () => {
  try {
    await selfCheck(machineWith({ fails: () => new P2pError("cancelled", "stopped", "Again.") }));
    assert.unreachable();
  } catch (error) {
    assert.is((error as P2pError).code, "cancelled");
  }
});

checks.run();
