/**
 * `lab.advise` against the exhaustive best on real GPUs, one or two, run by hand after `npm run build:addon && npm run build`:
 *
 *     node test/native/gpu-advice.mjs [--only TEXT] [--first N]
 *
 * Per workload it asks for advice, then measures every plan of the same space, and visits the advised plan and the fastest of
 * those in turn. Prints one JSON object: `workloads`, a row each with the plan, its gains, `ratio` (advised over best, medians
 * of the visits in turn) and `ok`; `failures`. A row is ok when the ratio is at most 1.05 and every byte arrived. Exits 1 when
 * one is not. Takes some minutes; the first three are the kinds of work that bound in other ways (`--first 3`).
 */

import { advise } from "../../dist/kernel/lab/analyze/advice/advise.js";
import { build } from "../../dist/kernel/lab/analyze/advice/build.js";
import { plansOf, planText, spaceOf } from "../../dist/kernel/lab/analyze/advice/plan.js";
import { costsOf } from "../../dist/kernel/lab/analyze/advice/trials.js";
import { workloadOf } from "../../dist/kernel/lab/analyze/advice/workload.js";
import { CudaMachine } from "../../dist/kernel/lab/machines/cuda.js";
import { Random } from "../../dist/kernel/lab/random.js";
import { median } from "../../dist/kernel/lab/sampling.js";

const BAR = 1.05;
const VISITS = 7;
const argument = (name) =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined;
const only = argument("--only") ?? "";
const first = Number(argument("--first") ?? Number.POSITIVE_INFINITY);
const ONCE = { minSamples: 20, maxSamples: 60, budgetMs: 60, warmup: 20 };
const IN_TURN = { minSamples: 40, maxSamples: 200, budgetMs: 150, warmup: 50 };

const small = { sync: ["spin", "block", "poll-flag"], chunk: ["whole"] };
const large = { sync: ["spin"], chunk: ["whole", "4 MiB"], streams: [1, 2], submit: ["stream", "graph"] };

/** Between two GPUs: bound by calls, by the link beside a kernel, and through the host in pieces. */
const PAIR = [
  { name: "burst", from: 0, to: 1, bytes: "8 B", count: 32, space: small },
  { name: "large beside a kernel", from: 0, to: 1, bytes: "64 MiB", compute: { us: 150 }, space: large },
  {
    name: "staged",
    from: 0,
    to: 1,
    bytes: "32 MiB",
    naive: { path: "driver-staged" },
    space: {
      sync: ["spin"],
      path: ["staged", "driver-staged"],
      chunk: ["whole", "512 KiB", "1 MiB", "2 MiB", "4 MiB", "8 MiB"],
    },
  },
  { name: "halo", pattern: "halo", from: 0, to: 1, bytes: "64 KiB", count: 4, space: small },
  { name: "the receiving GPU waits", from: 0, to: 1, bytes: "4 KiB", count: 4, waits: "peer", space: small },
];
/** The same kinds of work with one GPU: between it and the host, and within its memory. */
const ALONE = [
  { name: "burst from the host", from: "host", to: 0, bytes: "4 KiB", count: 32, space: small },
  {
    name: "large from the host beside a kernel",
    from: "host",
    to: 0,
    bytes: "32 MiB",
    compute: { us: 500 },
    space: large,
  },
  {
    name: "to the host as a kernel makes it",
    from: 0,
    to: "host",
    bytes: "16 MiB",
    compute: { us: 300, relation: "produces", parts: 8 },
    space: large,
  },
  {
    name: "stream from the host",
    pattern: "stream",
    from: "host",
    to: 0,
    bytes: "16 KiB",
    count: 8,
    space: small,
  },
  { name: "burst within a GPU", from: 0, to: 0, bytes: "4 KiB", count: 16, contiguous: true, space: small },
];

const began = performance.now();
const machine = await CudaMachine.open();
const peers = machine.info.pairs.some(({ from, to, peerAccess }) => from === 0 && to === 1 && peerAccess);
const failures = [];
const workloads = [];

async function medianOf(program, mode, sampling) {
  return median(costsOf(await machine.run(program, { mode, sampling })));
}

/** Every plan of the space once, in random order; those that the machine refuses are counted. */
async function exhaustive(workload, space) {
  const plans = new Random(1).shuffle(plansOf(workload, space));
  let best = null;
  let refused = 0;
  for (const plan of plans) {
    const program = build(workload, plan);
    try {
      const ns = await medianOf(program, workload.mode, ONCE);
      if (best === null || ns < best.ns) best = { ns, plan, program };
    } catch (error) {
      if (!["not-available", "cuda", "program"].includes(error.code)) throw error;
      refused++;
    }
  }
  return { best, plans: plans.length, refused };
}

async function compared({ name, ...options }) {
  const start = performance.now();
  const advice = await advise(machine, options);
  const adviseS = (performance.now() - start) / 1e3;
  const { space: choice, naive: _, ...rest } = options;
  const workload = workloadOf(rest, name);
  const { space } = spaceOf(workload, machine.info, choice);
  const { best, plans, refused } = await exhaustive(workload, space);
  const visits = { advised: [], best: [], naive: [] };
  for (let visit = 0; visit < VISITS; visit++) {
    visits.advised.push(await medianOf(advice.program, workload.mode, IN_TURN));
    visits.best.push(await medianOf(best.program, workload.mode, IN_TURN));
    visits.naive.push(await medianOf(advice.naive.program, workload.mode, IN_TURN));
  }
  const ratio = median(visits.advised) / median(visits.best);
  const final = await machine.run(advice.program, { mode: workload.mode, sampling: ONCE });
  return {
    name,
    workload: advice.workload,
    ok: ratio <= BAR && final.verification.state === "ok",
    ratio,
    plan: planText(advice.plan, space),
    bestPlan: planText(best.plan, space),
    advisedUs: median(visits.advised) / 1e3,
    bestUs: median(visits.best) / 1e3,
    naiveUs: median(visits.naive) / 1e3,
    visitsUs: visits.advised.map((ns) => ns / 1e3),
    gain: advice.gain,
    gainAgain: median(visits.naive) / median(visits.advised),
    ties: advice.ties.length,
    why: advice.why,
    excluded: advice.excluded,
    tried: advice.table.numRows(),
    plans,
    refused,
    verification: final.verification.state,
    adviseS,
    wallS: (performance.now() - start) / 1e3,
  };
}

const wanted = [...(peers ? PAIR : []), ...ALONE].filter(({ name }) => name.includes(only));
for (const workload of wanted.slice(0, first)) {
  try {
    const row = await compared(workload);
    workloads.push(row);
    // Said at once: a run that is ended from outside leaves this much.
    console.error(
      `${row.name}: ${row.ratio.toFixed(3)} × the best of ${row.plans}, ${row.gainAgain.toFixed(2)} × as fast as the naive plan, ${row.wallS.toFixed(0)} s: ${row.plan}`,
    );
    if (!row.ok) failures.push(`${row.name}: ${row.ratio.toFixed(3)} × the best, bytes ${row.verification}`);
  } catch (error) {
    workloads.push({ name: workload.name, ok: false });
    failures.push(`${workload.name}: ${error.stack ?? error}${error.hint ? ` → ${error.hint}` : ""}`);
  }
}
await machine.close();
const result = {
  ok: failures.length === 0 && workloads.length > 0,
  machine: machine.info.name,
  facts: machine.info.facts,
  peers,
  failures,
  workloads,
  wallS: (performance.now() - began) / 1e3,
};
console.log(
  JSON.stringify(result, (_, value) => (typeof value === "number" ? Number(value.toPrecision(6)) : value), 1),
);
process.exitCode = result.ok ? 0 : 1;
