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
import { transfer } from "../../dist/kernel/lab/measure/transfer.js";
import { verdicts } from "../../dist/kernel/lab/measure/verdicts.js";

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

// Every pair, every kind of memory; twice, for the second time everything is known.
const climb = performance.now();
const table = await verdicts(machine);
result.verdictSeconds = (performance.now() - climb) / 1e3;
result.verdicts = table.objects().map((row) => {
  const { from, to, allocator, verdict, stage, reason, next } = row;
  const ok = verdict === "ok";
  must(ok, `GPU ${from} → GPU ${to}, ${allocator}: ${verdict} at ${stage}: ${reason}`);
  return { ok, from, to, allocator, verdict, stage, reason, next };
});
must(table.numRows() === gpus * (gpus - 1) * 3, "a row for each pair and allocator");
const again = performance.now();
await verdicts(machine);
result.verdictAgainSeconds = (performance.now() - again) / 1e3;
must(result.verdictAgainSeconds < 0.1, "a verdict is asked for once");

// The gate of a machine that knows nothing yet: the first run pays for the ladder, the second does not.
if (gpus > 1) {
  const fresh = await CudaMachine.open();
  const run = async (program) => {
    const start = performance.now();
    const { verification, warnings } = await fresh.run(program, {
      sampling: { budgetMs: 50, maxSamples: 200 },
    });
    must(verification.state === "ok", "a program on a pair that is ok runs");
    return { seconds: (performance.now() - start) / 1e3, warnings };
  };
  const push = transfer({ from: 0, to: 1, bytes: 65536 });
  result.gate = { first: await run(push), second: await run(push) };
  process.env.P2PLAB_P2P = "off";
  result.gate.off = await run(push);
  must(
    result.gate.off.warnings.some((line) => line.startsWith("host-staged")),
    "with P2PLAB_P2P=off a run says that it is host-staged",
  );
  delete process.env.P2PLAB_P2P;
  await fresh.close();
}

// Peer access is as it was: a program that wants it on, one that wants it off, and ad hoc work agree.
if (gpus > 1) {
  const on = cuda.enablePeer(0, 1);
  await setupCosts(machine, { kinds: ["peer-enable", "peer-disable"], sampling: { maxSamples: 5 } });
  must(cuda.enablePeer(0, 1) === false, "peer access that was on before set-up costs is on after them");
  must(cuda.disablePeer(0, 1) === true, "peer access can be taken back");
  await setupCosts(machine, { kinds: ["peer-enable-again"], sampling: { maxSamples: 5 } });
  must(cuda.disablePeer(0, 1) === false, "peer access that was off before set-up costs is off after them");
  result.peers = { enabledAnew: on };
}

await machine.close();
console.log(JSON.stringify({ ok: failures.length === 0, ...result, failures }, null, 2));
process.exitCode = failures.length > 0 ? 1 : 0;
