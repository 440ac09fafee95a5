/**
 * What NVML tells on a real machine with one or two GPUs, run by hand after `npm run build:addon && npm run build`:
 *
 *     node test/native/gpu-state.mjs
 *
 * Prints one JSON object: what NVML tells of every GPU and pair, what each reading costs the host, and a run with its state
 * and taints. Exits 1 when something that must hold does not (`failures` says what).
 */

import { CudaMachine } from "../../dist/kernel/lab/machines/cuda.js";
import { profilerAttached } from "../../dist/kernel/lab/machines/profiler.js";
import { loadAddon } from "../../dist/kernel/lab/native.js";
import { program } from "../../dist/kernel/lab/program.js";
import { median } from "../../dist/kernel/lab/sampling.js";

const BYTES = 2 ** 26;

const failures = [];
function must(holds, what) {
  if (!holds) failures.push(what);
}

/** Microseconds of the first call and the median of twenty more. */
function cost(call) {
  const microseconds = Array.from({ length: 21 }, () => {
    const begin = process.hrtime.bigint();
    call();
    return Number(process.hrtime.bigint() - begin) / 1e3;
  });
  return { firstUs: microseconds[0], medianUs: median(Float64Array.from(microseconds.slice(1))) };
}

const addon = loadAddon();
const loading = process.hrtime.bigint();
const availability = addon.availability();
const loadMs = Number(process.hrtime.bigint() - loading) / 1e6;
must(availability.nvml.available, `NVML: ${availability.nvml.reason}`);
const devices = addon.devices();
// NVML lists this process only where it has a context.
for (const { index } of devices) addon.retainContext(index);

const gpus = devices.map(({ index, uuid, pci }) => {
  const costs = {
    facts: cost(() => addon.nvmlFacts(index)),
    state: cost(() => addon.nvmlState(index)),
    clocks: cost(() => addon.nvmlClocks(index)),
  };
  const facts = addon.nvmlFacts(index);
  const state = addon.nvmlState(index);
  must(facts.joinedBy === "uuid" || facts.joinedBy === "mig-parent", `GPU ${index} is joined by its UUID`);
  must(
    facts.pci === null || facts.pci === pci,
    `GPU ${index}: NVML's PCI address ${facts.pci} is CUDA's ${pci}`,
  );
  must((state.smClockMhz ?? 1) > 0, `GPU ${index} has an SM clock`);
  return { index, uuid, pci, costs, facts, state };
});
const pairs = devices.flatMap((a) =>
  devices
    .filter((b) => b !== a)
    .map((b) => ({ from: a.index, to: b.index, ...addon.nvmlPair(a.index, b.index) })),
);
for (const pair of pairs) {
  const driver = addon.peer(pair.from, pair.to).access;
  must(
    pair.read === null || (pair.read === "OK") === driver,
    `NVML and CUDA agree on ${pair.from} > ${pair.to}`,
  );
}

const machine = await CudaMachine.open();
const to = devices.length > 1 ? 1 : 0;
const copy = program()
  .buffer("src", { gpu: 0, bytes: BYTES })
  .buffer("dst", { gpu: to, bytes: BYTES })
  .stream("s", { gpu: 0 })
  .copy("s", "src", "dst")
  .sync("s");
const runs = [];
// The first one may wake the GPUs; the second finds them awake.
for (let i = 0; i < 2; i++) {
  const begin = performance.now();
  const run = await machine.run(copy, { sampling: { budgetMs: 500, minSamples: 200, maxSamples: 5000 } });
  runs.push({
    wallMs: performance.now() - begin,
    n: run.samples.convergence.n,
    medianUs: run.samples.convergence.medianNs / 1e3,
    state: run.state,
    stateReason: run.stateReason,
    warnings: run.warnings,
    sent: sentBytes(run),
  });
}

/** Payload that left GPU 0 over NVLink between the readings, beside what the samples copied and the first batch warmed up with. */
function sentBytes(run) {
  const [before, after] = [run.state?.before[0]?.nvlink, run.state?.after[0]?.nvlink];
  if (!before || !after || before.txBytes === null || after.txBytes === null) return null;
  const counted = after.txBytes - before.txBytes;
  const copied = run.samples.convergence.n * BYTES;
  return { counted, copied, ratio: counted / copied };
}

const [pair] = machine.info.pairs;
if (pair?.peerAccess && pair.link?.startsWith("NV")) {
  must(
    runs.every(({ sent }) => sent === null || sent.counted >= 0.99 * sent.copied),
    "the links of GPU 0 count at least the bytes that were copied",
  );
}
must(
  runs.every(({ state }) => state !== null),
  "runs have a state",
);
await machine.close();
console.log(
  JSON.stringify(
    {
      failures,
      availability,
      loadMs,
      profiler: profilerAttached(),
      name: machine.info.name,
      pairInfo: machine.info.pairs,
      facts: machine.info.facts,
      gpus,
      pairs,
      runs,
    },
    null,
    1,
  ),
);
process.exit(failures.length > 0 ? 1 : 0);
