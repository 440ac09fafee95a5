/**
 * Proof of the probes on real GPUs, run by hand after `npm run build:addon && npm run build`:
 *
 *     node test/native/gpu-probe.mjs
 *
 * One GPU is enough; with two, peers are probed too. Prints one JSON object, less than a minute of work, and exits 1 when
 * something that must hold does not (`failures` says what). Times are judged only against each other: what must be further
 * away must take longer.
 */
import { lab } from "../../dist/kernel/lab/index.js";
import { CudaMachine } from "../../dist/kernel/lab/machines/cuda.js";
import { program } from "../../dist/kernel/lab/program.js";

const MIB = 2 ** 20;
const SAMPLING = { budgetMs: 150, minSamples: 10, maxSamples: 300, target: 0.01, warmup: 1 };

const failures = [];
function must(holds, what) {
  if (!holds) failures.push(what);
  return Boolean(holds);
}

const begin = performance.now();
const machine = await CudaMachine.open();
const pair = machine.info.pairs.find((p) => p.from === 0 && p.peerAccess);
const result = { machine: machine.info.name, facts: machine.info.facts, peer: pair?.to ?? null };

/** What a run says, or the error that it ended in. */
async function cell(what, build) {
  const from = performance.now();
  try {
    const run = await machine.run(build(program()), { sampling: SAMPLING });
    const { n, medianNs, ciLowNs, ciHighNs, ended } = run.samples.convergence;
    const sorted = run.samples.totalNs.slice().sort();
    const mean = sorted.reduce((a, b) => a + b, 0) / sorted.length;
    const { clockGhz, timedBy, overheadNs, accesses, sm } = run.probe;
    must(run.verification.state === "ok", `${what} is verified`);
    return {
      ns: medianNs,
      mean,
      low: ciLowNs,
      high: ciHighNs,
      min: sorted[0],
      max: sorted.at(-1),
      n,
      ended,
      accesses,
      ghz: [clockGhz.low, clockGhz.median, clockGhz.high],
      timedBy,
      overheadNs,
      sms: new Set(sm).size,
      owners: run.probe.owners.map((o) => o.gpu),
      ...(run.counts && { counts: run.counts }),
      ...(run.warnings.length > 0 && { warnings: run.warnings }),
      ms: Math.round(performance.now() - from),
    };
  } catch (error) {
    must(false, `${what}: ${error}`);
    return { error: String(error) };
  }
}

const places = { local: { gpu: 0 }, host: { host: "pinned" }, ...(pair && { peer: { gpu: pair.to } }) };
const chase =
  (place, footprintBytes, options = {}) =>
  (base) =>
    base
      .buffer("chain", { ...place, bytes: footprintBytes })
      .stream("s", { gpu: 0 })
      .probeLoad("s", "chain", { footprintBytes, accesses: 8192, ...options });

// 1. Where caches end: random order, a line apart.
result.ladder = {};
for (const [name, place] of Object.entries(places)) {
  const most = name === "local" ? 1024 : 128;
  result.ladder[name] = {};
  for (const mib of [0.125, 1, 8, 32, 64, 128, 256, 1024].filter((size) => size <= most)) {
    result.ladder[name][`${mib} MiB`] = await cell(`${name} ${mib} MiB`, chase(place, mib * MIB));
  }
  result.ladder[name]["2 MiB cold"] = await cell(`${name} 2 MiB cold`, chase(place, 2 * MIB, { cold: true }));
}
const local = result.ladder.local;
must(
  local["1 MiB"].ns < 0.8 * local["2 MiB cold"].ns,
  "a flushed chain of local memory takes longer than a warm one",
);
must(
  local["1 MiB"].ns < 0.8 * local["1024 MiB"].ns,
  "a chain larger than the L2 takes longer than a small one",
);
must(result.ladder.host["1 MiB"].ns > 2 * local["1 MiB"].ns, "host memory is further away than local memory");
if (pair) {
  must(
    result.ladder.peer["1 MiB"].ns > 2 * local["1 MiB"].ns,
    "a peer's memory is further away than local memory",
  );
  must(
    Math.abs(result.ladder.host["1 MiB"].ns / result.ladder.peer["1 MiB"].ns - 1) > 0.05,
    "a peer's memory is not the host's",
  );
}

// 2. Where translations end: always 4096 lines, which an L2 holds, ever further apart.
result.translations = {};
for (const [name, stride] of [
  ["4 KiB", 4096],
  ["64 KiB", 65536],
  ["512 KiB", 524288],
  ["2 MiB", 2 * MIB],
  ["4 MiB", 4 * MIB],
]) {
  result.translations[`4096 lines ${name} apart`] = await cell(
    `4096 lines ${name} apart`,
    chase({ gpu: 0 }, 4096 * stride, { strideBytes: stride }),
  );
}

// 3. As nvbandwidth does it: 2 MiB in order, 128 bytes apart, every SM in turn; `mean` is its figure.
result.likeNvbandwidth = {};
for (const [name, place] of Object.entries(places)) {
  const options = { order: "sequential", accesses: 7575 };
  result.likeNvbandwidth[name] = {
    each: await cell(`${name} on each SM`, chase(place, 2 * MIB, { ...options, sm: "each" })),
    one: await cell(`${name} on one SM`, chase(place, 2 * MIB, options)),
  };
}
must(result.likeNvbandwidth.local.each.sms > 1, "repetitions go round the SMs");

// 4. Flags between resident kernels: on one GPU in two streams, and between two GPUs.
const flags = (a, b, store) => (base) =>
  base
    .buffer("mine", a)
    .buffer("theirs", b)
    .stream("s", { gpu: 0 })
    .stream("t", { gpu: b.gpu ?? 0 })
    .probePingPong("s", "t", { flag: "mine", otherFlag: "theirs" }, { store, rounds: 1000 });
result.pingPong = {};
for (const store of ["volatile", "release", "atomic"]) {
  const own = { gpu: 0, bytes: 8 };
  result.pingPong[`same GPU, ${store}`] = await cell(
    `ping-pong on one GPU by ${store}`,
    flags(own, own, store),
  );
  if (!pair) continue;
  const far = { gpu: pair.to, bytes: 8 };
  result.pingPong[`peer, ${store}`] = await cell(`ping-pong with a peer by ${store}`, flags(own, far, store));
}
const host = { host: "pinned", bytes: 8 };
result.pingPong["same GPU through the host, release"] = await cell(
  "ping-pong through the host",
  flags(host, host, "release"),
);

// 5. Atomics and fences.
result.atomics = {};
result.fences = {};
for (const [name, place] of Object.entries(places)) {
  for (const operation of ["add", "exchange", "compare-and-swap"]) {
    for (const scope of name === "local" ? ["gpu", "system"] : ["system"]) {
      result.atomics[`${name} ${operation} ${scope}`] = await cell(
        `${name} atomic ${operation} ${scope}`,
        (base) =>
          base
            .buffer("word", { ...place, bytes: 8 })
            .stream("s", { gpu: 0 })
            .probeAtomic("s", "word", { operation, scope, accesses: 2000 }),
      );
    }
  }
  for (const scope of ["block", "gpu", "system"]) {
    for (const stores of [0, 1, 16]) {
      result.fences[`${name} ${scope} after ${stores}`] = await cell(
        `${name} fence ${scope} after ${stores}`,
        (base) =>
          base
            .buffer("words", { ...place, bytes: 128 })
            .stream("s", { gpu: 0 })
            .probeFence("s", "words", { scope, stores, accesses: 2000 }),
      );
    }
  }
}

// 6. Message passing: with a fence that reaches far enough the flag is never ahead of its data.
result.messages = {};
const litmus = (data, flag, to, fence) => (base) =>
  base
    .buffer("data", data)
    .buffer("flag", flag)
    .stream("s", { gpu: 0 })
    .stream("t", { gpu: to })
    .probeMessagePassing("s", "t", { data: "data", flag: "flag" }, { fence, rounds: 40_000 });
async function message(name, data, flag, to, fence, reaches) {
  const found = await cell(`message passing, ${name}, fence ${fence}`, litmus(data, flag, to, fence));
  result.messages[`${name}, fence ${fence}`] = found;
  if (found.error) return;
  if (reaches)
    must(found.counts.flagNewDataOld === 0, `no flag is ahead of its data: ${name}, fence ${fence}`);
  must(
    found.counts.flagNewDataNew > 0 && found.counts.flagOldDataOld > 0,
    `both orders were met: ${name}, fence ${fence}`,
  );
}
const here = { gpu: 0, bytes: 8 };
for (const fence of ["none", "gpu", "system"]) {
  await message("one GPU", here, here, 0, fence, fence !== "none");
  await message("data on the host, flag on the GPU", host, here, 0, fence, fence === "system");
  if (!pair) continue;
  const there = { gpu: pair.to, bytes: 8 };
  await message("to a peer, both there", there, there, pair.to, fence, fence === "system");
  await message("to a peer, data there, flag here", there, here, pair.to, fence, fence === "system");
  await message("to a peer, data here, flag there", here, there, pair.to, fence, fence === "system");
}

// 7. The tables of the library, and the machine's own self-check.
const memory = [{ gpu: 0 }, ...(pair ? [{ gpu: pair.to }] : []), "host"];
const quick = { sampling: SAMPLING };
result.levels = (
  await lab.loadLatency(machine, {
    memory,
    footprints: ["1 MiB", "16 MiB", "256 MiB"],
    accesses: 8192,
    ...quick,
  })
)
  .objects()
  .map((row) => [
    row.memory,
    row.footprint_bytes / MIB,
    row.load_ns,
    row.flushed_ns,
    row.level,
    row.level_reason,
  ]);
must(
  result.levels.some(([name, mib, , , level]) => name === "GPU 0" && mib === 1 && level === "L2"),
  "1 MiB of local memory is told to be in the L2",
);
must(
  result.levels.some(([name, mib, , , level]) => name === "GPU 0" && mib === 256 && level === "memory"),
  "256 MiB of local memory are told not to be",
);
result.selfCheck = (await lab.selfCheck(machine))
  .objects()
  .map(({ check, measured, ok, detail }) => ({ check, measured, ok, detail }));
for (const { check, ok, detail } of result.selfCheck) must(ok !== false, `self-check: ${check}: ${detail}`);

await machine.close();
result.seconds = (performance.now() - begin) / 1000;
result.ok = failures.length === 0;
result.failures = failures;
console.log(JSON.stringify(result, null, 1));
process.exit(result.ok ? 0 : 1);
