/**
 * Proof of set-up costs (and, with two GPUs, of the verdict ladder) on real GPUs, run by hand after
 * `npm run build:addon && npm run build`:
 *
 *     node test/native/gpu-setup.mjs
 *
 * Prints one JSON object and exits 1 when something that must hold does not (`failures` says what). It judges no time.
 */
import * as cuda from "../../dist/kernel/lab/cuda.js";
import { CudaMachine } from "../../dist/kernel/lab/machines/cuda.js";
import { setupCosts } from "../../dist/kernel/lab/measure/setup-costs.js";

const failures = [];
function must(holds, what) {
  if (!holds) failures.push(what);
}

const began = performance.now();
const machine = await CudaMachine.open();
const gpus = machine.info.gpus.length;
const result = { machine: machine.info.name, facts: machine.info.facts, gpus };

// Every kind; with one GPU those that need a second one say so, and IPC opens in another process on the same GPU.
const costs = await setupCosts(machine, {
  bytes: ["64 KiB", "64 MiB"],
  nodes: [1, 32],
  sampling: { budgetMs: 200, maxSamples: 300 },
});
const NEED_PEER = ["pool-access", "vmm-access", "peer-enable", "peer-enable-again", "peer-disable"];
result.setup = costs.objects().map((row) => {
  const ok = row.median_us !== null;
  must(ok || (gpus < 2 && NEED_PEER.includes(row.kind)), `${row.kind} ${row.bytes ?? ""}: ${row.note}`);
  const { kind, bytes, nodes, median_us, p05_us, p95_us, first_us, n, note } = row;
  return { ok, kind, bytes, nodes, median_us, p05_us, p95_us, first_us, n, note };
});
result.setupSeconds = (performance.now() - began) / 1e3;

// Peer access is as it was: a program that wants it on, one that wants it off, and ad hoc work agree.
if (gpus > 1) {
  must(cuda.enablePeer(0, 1) === true, "peer access is off after set-up costs, so that enabling changes it");
  must(cuda.disablePeer(0, 1) === true, "and disabling takes it back");
}

await machine.close();
console.log(JSON.stringify({ ok: failures.length === 0, ...result, failures }, null, 2));
process.exitCode = failures.length > 0 ? 1 : 0;
