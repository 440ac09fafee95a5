/**
 * Proof of the addon on two real GPUs, run by hand after `npm run build:addon && npm run build`:
 *
 *     node test/native/gpu-check.mjs [--no-harness]
 *
 * Prints one JSON object and exits 1 when something that must hold does not (`failures` says what). It judges no time.
 * The harness part needs g++.
 */
import { execFileSync } from "node:child_process";
import * as cuda from "../../dist/kernel/lab/cuda.js";
import { CudaMachine } from "../../dist/kernel/lab/machines/cuda.js";
import { transfer } from "../../dist/kernel/lab/measure/transfer.js";
import { program } from "../../dist/kernel/lab/program.js";
import { median } from "../../dist/kernel/lab/sampling.js";
import { coreProgram } from "../../dist/test/native/toolchain.js";

const SIZES = { "8 B": 8, "64 KiB": 65536, "1 MiB": 2 ** 20, "64 MiB": 2 ** 26 };
const SAMPLING = { budgetMs: 500, minSamples: 200, maxSamples: 5000, target: 0.01 };

const failures = [];
function must(holds, what) {
  if (!holds) failures.push(what);
}

const machine = await CudaMachine.open();
const result = {
  availability: cuda.availability(),
  devices: cuda.devices(),
  peers: [cuda.peer(0, 1), cuda.peer(1, 0)],
  facts: machine.info.facts,
};

async function timed(path, bytes, options = {}) {
  const run = await machine.run(transfer({ from: 0, to: 1, bytes, path, sync: options.sync }), {
    sampling: SAMPLING,
  });
  must(run.verification.state === "ok", `${path} of ${bytes} bytes verified`);
  return {
    totalUs: run.samples.convergence.medianNs / 1e3,
    apiUs: median(run.samples.apiNs) / 1e3,
    n: run.samples.convergence.n,
    ended: run.samples.convergence.ended,
    checkedBytes: run.verification.checkedBytes,
  };
}

// Before CUPTI has ever been in the process.
result.timing = {};
for (const path of ["peer", "staged", "driver-staged"]) {
  result.timing[path] = {};
  for (const [name, bytes] of Object.entries(SIZES)) result.timing[path][name] = await timed(path, bytes);
}
result.sync = {};
for (const sync of ["spin", "yield", "block"]) result.sync[sync] = await timed("peer", 8, { sync });

// Staged by hand must not depend on what ran before it.
result.stagedAfterDriverStaged = await timed("staged", 8);
result.peerAgain = await timed("peer", 8);

result.before = [await timed("peer", 8), await timed("peer", 8), await timed("peer", 8)].map(
  (run) => run.totalUs,
);
result.trace = {};
for (const path of ["peer", "staged", "driver-staged"]) {
  for (const [name, bytes] of Object.entries(SIZES)) {
    const run = await machine.run(transfer({ from: 0, to: 1, bytes, path }), {
      sampling: SAMPLING,
      trace: "copies",
    });
    must(run.trace !== null, `trace of ${path} ${name}: ${run.traceReason}`);
    if (!run.trace) continue;
    const { launchNs, engineNs, receiverNs, totalNs, apiNs, timeline } = run.trace;
    const parts = { launch: median(launchNs), engine: median(engineNs), receiver: median(receiverNs) };
    const total = median(totalNs);
    must(
      [launchNs, engineNs, receiverNs].every((part) => part.every((ns) => ns >= 0)),
      `parts of ${path} ${name} are positive`,
    );
    result.trace[`${path} ${name}`] = {
      launchUs: parts.launch / 1e3,
      engineUs: parts.engine / 1e3,
      receiverUs: parts.receiver / 1e3,
      apiUs: median(apiNs) / 1e3,
      tracedUs: total / 1e3,
      untracedUs: run.samples.convergence.medianNs / 1e3,
      closurePct: (100 * (parts.launch + parts.engine + parts.receiver - total)) / total,
      n: totalNs.length,
      copies: new Set(timeline.name.filter((_, i) => timeline.kind[i] === "copy")).size,
      warnings: run.warnings,
    };
  }
}
// After tracing: CUPTI was taken out again, and the difference to `before` is what stays behind.
result.after = [await timed("peer", 8), await timed("peer", 8), await timed("peer", 8)].map(
  (run) => run.totalUs,
);

const full = await machine.run(transfer({ from: 0, to: 1, bytes: 2 ** 20, path: "staged" }), {
  sampling: SAMPLING,
  trace: "full",
  traceIterations: 20,
});
must(full.trace !== null, `full trace: ${full.traceReason}`);
if (full.trace) {
  const { timeline } = full.trace;
  result.full = Array.from({ length: Math.min(12, timeline.kind.length) }, (_, i) => ({
    kind: timeline.kind[i],
    lane: timeline.lane[i],
    name: timeline.name[i],
    startUs: timeline.startNs[i] / 1e3,
    endUs: timeline.endNs[i] / 1e3,
    correlation: timeline.correlation[i],
  }));
  must(timeline.kind.includes("api"), "the full trace holds driver calls");
}
const afterFull = await timed("peer", 8);
result.afterFullUs = afterFull.totalUs;

// Two streams on two GPUs, joined by an event: contexts change within an iteration.
const exchange = program()
  .buffer("a", { gpu: 0, bytes: "1 MiB" })
  .buffer("b", { gpu: 1, bytes: "1 MiB" })
  .buffer("c", { gpu: 0, bytes: "1 MiB" })
  .stream("s0", { gpu: 0 })
  .stream("s1", { gpu: 1 })
  .copy("s0", "a", "b", { api: "peer" })
  .record("s0", "moved")
  .wait("s1", "moved")
  .copy("s1", "b", "c")
  .sync("s1", "yield");
const round = await machine.run(exchange, { sampling: SAMPLING, trace: "copies" });
result.exchange = { verification: round.verification, totalUs: round.samples.convergence.medianNs / 1e3 };
must(round.verification.state === "ok", "two streams joined by an event verified");

const abort = new AbortController();
setTimeout(() => abort.abort(), 100);
const began = performance.now();
try {
  await machine.run(transfer({ from: 0, to: 1, bytes: 2 ** 26, path: "peer" }), {
    signal: abort.signal,
    sampling: { budgetMs: 30_000, target: 1e-9, maxSamples: 1e6 },
  });
  must(false, "an aborted run rejects");
} catch (error) {
  result.cancel = { code: error.code, afterMs: performance.now() - began };
  must(error.code === "cancelled", `an aborted run ends as cancelled, not ${error.code}: ${error.message}`);
}

const buffers = [cuda.alloc(0, "16 MiB"), cuda.alloc(1, "16 MiB")];
buffers[0].write(
  Uint8Array.from({ length: 1000 }, (_, i) => i % 251),
  5_000_000,
);
cuda.copy(buffers[1], buffers[0]);
must(buffers[1].read(1, 5_000_250)[0] === 250, "an ad hoc copy arrives");
for (const buffer of buffers) buffer.close();

await machine.close();
if (!process.argv.includes("--no-harness")) {
  const harness = coreProgram("harness", "test/native/harness.cc", ["-O2"]);
  result.harness = [8, 65536].map((bytes) =>
    JSON.parse(execFileSync(harness, [String(bytes)], { encoding: "utf8" })),
  );
}
console.log(JSON.stringify({ ...result, failures }, null, 2));
process.exitCode = failures.length > 0 ? 1 : 0;
