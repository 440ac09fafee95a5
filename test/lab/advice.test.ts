import { inspect } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { Advice } from "../../kernel/lab/analyze/advice/advice.js";
import { type AdviseOptions, advise } from "../../kernel/lab/analyze/advice/advise.js";
import { build } from "../../kernel/lab/analyze/advice/build.js";
import { requireDelivery } from "../../kernel/lab/analyze/advice/delivery.js";
import { type Plan, plansOf, type SpaceChoice, spaceOf } from "../../kernel/lab/analyze/advice/plan.js";
import { costsOf } from "../../kernel/lab/analyze/advice/trials.js";
import {
  bytesOf,
  type End,
  PATTERNS,
  type Workload,
  type WorkloadOptions,
  workloadOf,
} from "../../kernel/lab/analyze/advice/workload.js";
import { P2pError } from "../../kernel/lab/errors.js";
import type { Machine, Run } from "../../kernel/lab/machine.js";
import { RecordedMachine } from "../../kernel/lab/machines/recorded.js";
import { SimulatedMachine } from "../../kernel/lab/machines/simulated.js";
import { CancelledError } from "../../kernel/lab/measure/partial.js";
import { transfer } from "../../kernel/lab/measure/transfer.js";
import type { Program } from "../../kernel/lab/program.js";
import { Random } from "../../kernel/lab/random.js";
import { richDisplay } from "../../kernel/lab/rich.js";
import { median, samplingOf, stop } from "../../kernel/lab/sampling.js";
import { scriptedMachine } from "./scripted-machine.js";

export const TIME_LIMIT_S = 240;

const USUAL: Plan = {
  path: "peer",
  engine: "copy-engine",
  chunk: "whole",
  streams: 1,
  submit: "stream",
  sync: "spin",
  notify: "event",
  kernel: "same-stream",
  parts: 1,
  messages: "separate",
};

const programs = suite("programs of plans");

programs("every plan delivers every byte of every message, whatever the workload", () => {
  const random = new Random(7);
  const pick = <T>(list: readonly T[]): T => list[random.integer(list.length)] as T;
  const { info } = SimulatedMachine.open("hgx-h100-8");
  let built = 0;
  for (let round = 0; round < 60; round++) {
    const pattern = PATTERNS[round % PATTERNS.length] as Workload["pattern"];
    const among = pattern === "all-to-all" || pattern === "gather" || pattern === "scatter";
    const ends: { from: End; to: End } = pick([
      { from: 0, to: 1 },
      { from: 1, to: 0 },
      { from: "host", to: 0 },
      { from: 1, to: "host" },
      { from: 2, to: 2 },
    ]);
    const options: WorkloadOptions = {
      pattern,
      bytes: pick([8, 4096, 100_000, [8, 65_536], 1_048_576]),
      count: pick([1, 2, 5]),
      contiguous: random.uniform() < 0.5,
      ...(among
        ? { gpus: [0, 1, 2] }
        : pattern === "halo" && ends.from === ends.to
          ? { from: 0, to: 1 }
          : ends),
      ...(random.uniform() < 0.6 && {
        compute: {
          us: 20,
          relation: pick(["independent", "produces", "consumes"] as const),
          parts: pick([1, 3]),
        },
      }),
      waits: pick(["host", "peer"] as const),
    };
    let workload: Workload;
    try {
      workload = workloadOf(options, "test");
    } catch (error) {
      // A kernel cannot run on the host, nor wait there.
      assert.ok(
        error instanceof P2pError && error.code === "usage" && ("from" in options || "to" in options),
      );
      continue;
    }
    const { space } = spaceOf(workload, info);
    const plans = plansOf(workload, space);
    assert.ok(plans.length > 0);
    for (const plan of random.shuffle(plans).slice(0, 8)) {
      requireDelivery(build(workload, plan).validate(), workload);
      built++;
    }
  }
  assert.ok(built > 250, `${built}`);
});

programs("a program that lacks a message, or sends it elsewhere, is found out", () => {
  const workload = workloadOf({ bytes: 4096, count: 3 }, "test");
  const whole = build(workload, USUAL).data;
  const copies = whole.operations.filter((o) => o.op === "copy");
  const broken = [
    whole.operations.filter((o) => o !== copies[1]),
    whole.operations.map((o) => (o === copies[2] ? { ...o, dstOffset: 0 } : o)),
    whole.operations.map((o) => (o === copies[0] ? { ...o, bytes: 4095 } : o)),
  ];
  for (const operations of broken) {
    const program = build(workload, USUAL);
    const changed = new (program.constructor as new (data: Program["data"]) => Program)({
      ...whole,
      operations,
    });
    assert.throws(
      () => requireDelivery(changed, workload),
      (error: unknown) => error instanceof P2pError && error.code === "program",
    );
  }
});

programs("a single message is the program of lab.transfer, so that recordings of it are found", () => {
  for (const change of [
    {},
    { path: "staged" },
    { path: "driver-staged" },
    { path: "staged", chunk: 65_536 },
    { streams: 2, engine: "kernel-read" },
    { streams: 4, chunk: 65_536, submit: "graph" },
    { sync: "poll-flag", engine: "kernel-write" },
  ] as Partial<Plan>[]) {
    const one = { from: 0, to: 1, bytes: "1 MiB" };
    const { notify: _, kernel: __, parts: ___, messages: ____, ...options } = { ...USUAL, ...change };
    const own = build(workloadOf(one, "test"), { ...USUAL, ...change });
    assert.is(
      own.hash,
      transfer({ ...one, ...options } as Parameters<typeof transfer>[0]).hash,
      JSON.stringify(change),
    );
  }
});

programs("a kernel takes as long in parts as in one, and consumers wait for what they use", () => {
  const workload = workloadOf(
    { bytes: "1 MiB", count: 4, compute: { us: 40, relation: "consumes", parts: 4 } },
    "test",
  );
  for (const parts of [1, 2, 4]) {
    const { operations } = build(workload, { ...USUAL, parts }).data;
    const kernels = operations.flatMap((o) => (o.op === "compute" ? [o.ns] : []));
    assert.is(kernels.length, parts);
    assert.is(
      kernels.reduce((sum, ns) => sum + ns, 0),
      40_000,
    );
  }
});

programs.run();

const bar = suite("advice against the exhaustive best");

/** The fastest of all plans by brute force, and what the advised one takes there. */
async function against(machine: Machine, options: AdviseOptions, advice: Advice) {
  const { space: choice, ...rest } = options;
  const workload = workloadOf(rest, "test");
  const { space } = spaceOf(workload, machine.info, choice);
  let bestNs = Number.POSITIVE_INFINITY;
  let advisedNs = Number.POSITIVE_INFINITY;
  for (const plan of plansOf(workload, space)) {
    const program = build(workload, plan);
    const run = await machine.run(program, {
      mode: workload.mode,
      sampling: { minSamples: 25, maxSamples: 25, budgetMs: 1e4 },
    });
    const ns = median(costsOf(run));
    bestNs = Math.min(bestNs, ns);
    if (program.hash === advice.program.hash) advisedNs = ns;
  }
  return { bestNs, advisedNs };
}

/** One that calls bind, one that the link and a kernel bind, one that goes through the host in pieces. */
const BOUND: { name: string; presets: string[]; options: AdviseOptions }[] = [
  {
    name: "a small burst",
    presets: ["hgx-h200-8", "dgx-a100-8"],
    options: {
      bytes: "8 B",
      count: 16,
      space: { sync: ["spin", "poll-flag"], chunk: ["whole"] } satisfies SpaceChoice,
    },
  },
  {
    name: "a large message beside a kernel",
    presets: ["hgx-h200-8", "dgx-a100-8"],
    options: {
      bytes: "16 MiB",
      compute: { us: 60 },
      space: { sync: ["spin"], chunk: ["whole", "2 MiB"], streams: [1, 2] } satisfies SpaceChoice,
    },
  },
  {
    name: "a pair without peer access",
    presets: ["rtx4090-2", "vm-h200-2"],
    options: {
      bytes: "8 MiB",
      naive: { path: "driver-staged" },
      space: { path: ["staged", "driver-staged"], sync: ["spin"] } satisfies SpaceChoice,
    },
  },
];

for (const { name, presets, options } of BOUND) {
  for (const [index, preset] of presets.entries()) {
    bar(`${name} on ${preset}: within 5 % of the best of all plans`, async () => {
      const machine = SimulatedMachine.open(preset, { seed: 11 + index });
      const advice = await advise(machine, options);
      const { bestNs, advisedNs } = await against(machine, options, advice);
      assert.ok(advisedNs <= 1.05 * bestNs, `${advisedNs} against ${bestNs} ns`);
      assert.ok(advice.totalNs <= advice.naive.totalNs * 1.001);
      assert.ok(Math.abs(advice.gain.measured - advice.naive.totalNs / advice.totalNs) < 1e-9);
      assert.ok(
        (advice.gain.low as number) <= advice.gain.measured && advice.gain.measured <= advice.gain.high,
      );
      assert.ok(advice.gain.predicted !== null);
    });
  }
}

bar.run();

const answers = suite("advice");

const small: AdviseOptions = {
  bytes: "8 B",
  count: 8,
  space: { sync: ["spin"], chunk: ["whole"], streams: [1, 2] },
};

answers("the program runs as advised, and takes what was said", async () => {
  const machine = SimulatedMachine.open("hgx-h200-8");
  const advice = await advise(machine, small);
  const run = await machine.run(advice.program);
  assert.ok(Math.abs(median(run.samples.totalNs) / advice.totalNs - 1) < 0.02);
  assert.is(advice.plan.submit, "graph");
  assert.match(advice.why, /^The naive plan takes .* and is launch-bound \(of it submit calls \d/);
  assert.match(advice.why, /submitted by graph instead of submitted by stream/);
});

answers("the table holds every plan tried, the advised first, with provenance last", async () => {
  const advice = await advise(SimulatedMachine.open("hgx-h200-8"), small);
  const names = advice.table.columnNames();
  assert.equal(names.slice(-3), ["machine", "provenance", "date"]);
  const rows = advice.table.objects() as Record<string, unknown>[];
  assert.is(rows[0]?.choice, "advised");
  assert.is(rows.filter(({ choice }) => choice === "naive").length, 1);
  for (const row of rows) {
    assert.is(row.provenance, "simulated");
    for (const value of Object.values(row)) assert.not(Number.isNaN(value));
    if (row.total_us === null) assert.ok(row.reason);
    else assert.ok((row.ci_low_us as number) <= (row.total_us as number));
  }
  assert.is(Math.round((rows[0]?.total_us as number) * 1e3), Math.round(advice.totalNs));
});

answers("shows itself as text and as a table, with its origin in both", async () => {
  const advice = await advise(SimulatedMachine.open("hgx-h200-8"), small);
  const bundle = advice[richDisplay]() as Record<string, string>;
  for (const text of Object.values(bundle)) assert.match(text, /simulated, model of .*, \d{4}-\d\d-\d\d/);
  assert.match(bundle["text/html"] as string, /<table>/);
  assert.match(bundle["text/plain"] as string, /^burst: 8 × 8 B over GPU 0 → GPU 1, the host waits\n/);
});

answers("the same machine and seed give the same advice", async () => {
  const [a, b] = [
    await advise(SimulatedMachine.open("hgx-h200-8"), small),
    await advise(SimulatedMachine.open("hgx-h200-8"), small),
  ];
  assert.is(String(a), String(b));
});

answers("a naive plan that is the best is kept", async () => {
  const machine = SimulatedMachine.open("hgx-h200-8");
  const { plan } = await advise(machine, small);
  const { submit, streams, engine } = plan;
  const again = await advise(machine, { ...small, naive: { submit, streams, engine } });
  assert.equal(again.plan, again.naive.plan);
  assert.is(again.gain.measured, 1);
  assert.match(String(again), /^stay with the naive plan \(/);
});

answers("without peer access the peer path is left out, with the reason", async () => {
  const advice = await advise(SimulatedMachine.open("rtx4090-2"), {
    bytes: "1 MiB",
    space: { sync: ["spin"], streams: [1] },
  });
  assert.is(advice.naive.plan.path, "driver-staged");
  assert.is(advice.excluded[0]?.what, "path peer");
  assert.match(advice.excluded[0]?.reason ?? "", /refuses peer access/);
});

answers("a steady stream is judged by the slower of device and host", async () => {
  const advice = await advise(SimulatedMachine.open("hgx-h200-8"), {
    pattern: "stream",
    bytes: "8 B",
    count: 4,
    space: { engine: ["copy-engine"], chunk: ["whole"], path: ["peer"] },
  });
  assert.is(advice.mode, "throughput");
  const run = await SimulatedMachine.open("hgx-h200-8").run(advice.program, { mode: "throughput" });
  const slower = Math.max(median(run.samples.totalNs), median(run.samples.apiNs));
  assert.ok(Math.abs(slower / advice.totalNs - 1) < 0.02);
});

answers("a recording advises among the programs that it holds", async () => {
  const advice = await advise(RecordedMachine.open("h200x2"), {
    bytes: "64 KiB",
    space: { streams: [1], engine: ["copy-engine"], submit: ["stream"] },
  });
  assert.is(advice.provenance.kind, "recorded");
  assert.is(advice.plan.path, "peer");
  assert.ok(advice.table.numRows() >= 2);
  assert.match(advice.why, /Of \d+ plans the recording holds \d, and only those were compared\./);
});

answers("where a recording lacks the naive plan its twin answers, and says that it is a model", async () => {
  const advice = await advise(RecordedMachine.open("h200x2"), small);
  assert.is(advice.provenance.kind, "simulated");
  assert.is(advice.provenance.source, "twin:h200x2");
  assert.match(
    advice.why,
    /^recorded:h200x2 holds no run of the naive plan: .* a model fitted to it, and not measured\.\n/,
  );
  for (const row of advice.table.objects() as Record<string, unknown>[])
    assert.is(row.provenance, "simulated");
});

answers("what is neither recorded nor has a twin says so", async () => {
  const recorded = RecordedMachine.open("h200x2");
  const elsewhere: Machine = {
    provenance: { ...recorded.provenance, source: "recorded:nowhere" },
    info: recorded.info,
    deterministic: true,
    run: (program, options) => recorded.run(program, options),
    close: () => recorded.close(),
  };
  try {
    await advise(elsewhere, small);
    assert.unreachable("it is not recorded");
  } catch (error) {
    assert.ok(error instanceof P2pError && error.code === "not-recorded", String(error));
  }
});

/** Every program takes the same, but for noise and for what changes from run to run. */
function sameForAll(seed: number, between: (random: Random) => number): Machine {
  const base = scriptedMachine("measured");
  const random = new Random(seed);
  return {
    ...base,
    run: async (program, options): Promise<Run> => {
      const run = await base.run(program, {});
      const level = 10_000 * between(random);
      const n = options?.sampling?.minSamples ?? 100;
      const totalNs = Float64Array.from({ length: n }, () => level * random.logNormal(0.03));
      const convergence = stop(totalNs, 1, samplingOf({ minSamples: n, maxSamples: n }));
      if (!convergence) throw new Error("no end");
      return { ...run, samples: { totalNs, apiNs: totalNs.map((ns) => ns / 4), convergence } };
    },
  };
}

for (const [what, between] of [
  ["noise", () => 1],
  ["runs that lie in one of two clusters", (random: Random) => (random.uniform() < 0.5 ? 0.7 : 0.81)],
] as const) {
  answers(`where all plans are the same, ${what} makes none the better`, async () => {
    let changed = 0;
    for (let seed = 1; seed <= 10; seed++) {
      const advice = await advise(sameForAll(seed, between), {
        bytes: "64 B",
        space: { chunk: ["whole"] },
        seed,
      });
      if (advice.plan !== advice.naive.plan) changed++;
    }
    assert.ok(changed <= 1, `${changed} of 10`);
  });
}

answers("cancelled, it keeps the plans tried so far", async () => {
  const machine = SimulatedMachine.open("hgx-h200-8");
  const stopper = new AbortController();
  let runs = 0;
  const counting: Machine = {
    provenance: machine.provenance,
    info: machine.info,
    deterministic: true,
    run: (program, options) => {
      if (++runs === 60) stopper.abort();
      return machine.run(program, options);
    },
    close: () => machine.close(),
  };
  try {
    await advise(counting, { bytes: "8 B", count: 8, signal: stopper.signal });
    assert.unreachable("it was stopped");
  } catch (error) {
    assert.instance(error, CancelledError);
    const { partial } = error as CancelledError;
    assert.ok(partial.numRows() > 1);
    assert.is(partial.columnNames().at(-1), "date");
  }
});

const named = (options: unknown) => inspect(options, { depth: 4 });

answers("wrong input ends in a typed error", async () => {
  const machine = SimulatedMachine.open("hgx-h200-8");
  const ok = { from: 0, to: 1, bytes: 8 };
  for (const options of [
    undefined,
    null,
    {},
    { from: 0, to: 1 },
    { ...ok, bytes: [] },
    { ...ok, bytes: Number.NaN },
    { ...ok, bytes: "fast" },
    { ...ok, bytes: null },
    { ...ok, from: "gpu0" },
    { ...ok, from: 9 },
    { ...ok, from: -1 },
    { ...ok, from: "host", to: "host" },
    { ...ok, count: 0 },
    { ...ok, count: 1.5 },
    { ...ok, count: 300 },
    { ...ok, pattern: "sometimes" },
    { ...ok, pattern: "all-to-all" },
    { ...ok, pattern: "halo", to: 0 },
    { ...ok, pairs: [[0, 1]] },
    { bytes: 8, pairs: [] },
    { bytes: 8, pairs: [0, 1] },
    {
      bytes: 8,
      pairs: [
        [0, 1],
        [0, 1],
      ],
    },
    { bytes: 8, pattern: "gather", gpus: [0] },
    { bytes: 8, pattern: "gather", gpus: [0, 0] },
    { bytes: 8, pattern: "gather", gpus: [0, 1], root: 2 },
    { bytes: 8, gpus: [0, 1] },
    { ...ok, compute: 5 },
    { ...ok, compute: { us: Number.NaN } },
    { ...ok, compute: { us: 5, relation: "near" } },
    { ...ok, compute: { us: 5, parts: 0 } },
    { ...ok, compute: { us: 5, when: "now" } },
    { ...ok, to: "host", waits: "peer" },
    { ...ok, waits: "nobody" },
    { ...ok, contiguous: "yes" },
    { ...ok, tolerance: Number.NaN },
    { ...ok, seed: 0.5 },
    { ...ok, sampling: { minSamples: -1 } },
    { ...ok, space: 3 },
    { ...ok, space: { sync: "spin" } },
    { ...ok, space: { sync: [] } },
    { ...ok, space: { sync: ["hope"] } },
    { ...ok, space: { streams: [0] } },
    { ...ok, space: { chunk: ["big"] } },
    { ...ok, space: { colour: ["red"] } },
    { ...ok, naive: null },
    { ...ok, naive: { sync: "hope" } },
    { ...ok, naive: { streams: 0 } },
    { ...ok, naive: { speed: 1 } },
    { ...ok, budget: 3 },
    { ...ok, bytes: Symbol("8") },
    { ...ok, bytes: Object.create(null) },
    { ...ok, from: 0n },
    { ...ok, pattern: Object.create(null) },
    { ...ok, compute: { us: Object.create(null) } },
    { ...ok, sampling: null },
    { ...ok, signal: 5 },
    { ...ok, space: { chunk: [Object.create(null)] } },
    { ...ok, naive: { streams: Object.create(null) } },
  ]) {
    try {
      await advise(machine, options as never);
      assert.unreachable(named(options));
    } catch (error) {
      assert.ok(error instanceof P2pError && error.code === "usage", `${named(options)}: ${error}`);
    }
  }
  for (const nothing of [undefined, {}, Promise.resolve(machine)]) {
    try {
      await advise(nothing as never, ok);
      assert.unreachable("no machine");
    } catch (error) {
      assert.ok(error instanceof P2pError && error.code === "usage", String(error));
    }
  }
});

answers("bytes delivered count every message of every way", () => {
  const workload = workloadOf({ pattern: "all-to-all", gpus: [0, 1, 2], bytes: 1000, count: 2 }, "test");
  assert.is(bytesOf(workload), 3 * 2 * 2 * 1000);
});

answers.run();
