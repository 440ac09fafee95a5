import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { SETUP_KINDS } from "../../kernel/lab/operations.js";
import { ADDON, fakeCudaOf, inLabLeavingNothing, missing } from "../native/toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("lab.setupCosts, on the stand-in driver");

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

const COSTS = JSON.stringify(new URL("../../kernel/lab/measure/setup-costs.js", import.meta.url).href);
const OPEN = `import { setupCosts } from ${COSTS};
  const machine = await CudaMachine.open();
  const few = { sampling: { budgetMs: 10, maxSamples: 20 } };
  const refused = (error) => print(failure(error));
  const ask = async (options) => { for (const row of (await setupCosts(machine, { ...few, ...options })).objects()) print(row); };`;

function run(script: string, settings: Record<string, string> = {}) {
  return inLabLeavingNothing(`${OPEN}\n${script}\nawait machine.close();`, settings);
}

function register(): void {
  test("every kind has a row with its costs; what is sized or counted has one for each", () => {
    const { lines, children } = run(`await ask({ bytes: ["4 KiB", "1 MiB"], nodes: [1, 8, 20] });`);
    assert.ok(children > 0);
    assert.equal(new Set(lines.map((row) => row.kind)), new Set(SETUP_KINDS));
    assert.is(lines.filter((row) => row.kind === "vmm-map").length, 2);
    assert.is(lines.filter((row) => row.kind === "graph-update").length, 3);
    assert.is(lines.filter((row) => row.kind === "peer-enable").length, 1);
    for (const row of lines) {
      assert.ok(row.median_us > 0 && row.p05_us <= row.median_us && row.median_us <= row.p95_us, row.kind);
      assert.ok(row.first_us > 0 && row.n > 0 && row.n <= 20, row.kind);
      assert.match(row.note, /every call of \d+ repetitions succeeded and was undone/);
      assert.is(row.reason, "");
      assert.is(row.provenance, "measured");
    }
    const opened = lines.find((row) => row.kind === "ipc-open" && row.bytes === 1048576);
    assert.match(opened.note, "read all 1048576 bytes as the owner wrote them");
  });

  test("with one GPU, kinds between GPUs are null with the reason, and IPC opens on the same GPU", () => {
    const { lines } = run(`await ask({ bytes: ["4 KiB"], nodes: [1] });`, { P2PLAB_FAKE_DEVICES: "1" });
    const none = lines.filter((row) => row.median_us === null);
    assert.equal(
      none.map((row) => row.kind),
      [
        "pool-access",
        "vmm-access",
        "peer-enable",
        "peer-enable-again",
        "peer-disable",
        "peer-query",
        "peer-attribute",
      ],
    );
    for (const row of none)
      assert.equal([row.reason, row.note], Array(2).fill("this machine has no other GPU"));
    const opened = lines.find((row) => row.kind === "ipc-open");
    assert.equal([opened.gpu, opened.peer], [0, 0]);
  });

  test("what the driver lacks or refuses is null with the reason, and the kinds behind it go on", () => {
    const old = run(
      `await ask({ bytes: ["4 KiB"], kinds: ["pool-malloc", "graph-update", "malloc"], nodes: [2] });`,
      {
        P2PLAB_LIBCUDA: fakeCudaOf("11.0"),
      },
    ).lines;
    assert.match(old[0].note, "cuMemPoolCreate (it came with CUDA 11.2)");
    assert.is(old[0].median_us, null);
    assert.match(old[1].note, "it came with CUDA 11.4");
    assert.ok(old[2].median_us > 0);
    const denied = run(`await ask({ kinds: ["peer-enable", "event-create"] });`, {
      P2PLAB_FAKE_MODE: "no-peer",
    }).lines;
    assert.match(denied[0].note, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED");
    assert.ok(denied[1].median_us > 0);
    const ipc = run(`await ask({ bytes: ["4 KiB"], kinds: ["ipc-open", "ipc-export"] });`, {
      P2PLAB_FAKE_FAIL: "cuIpcOpenMemHandle_v2=201",
    }).lines;
    assert.match(ipc[0].note, "cuIpcOpenMemHandle_v2 failed: CUDA_ERROR_INVALID_CONTEXT");
    assert.ok(ipc[1].median_us > 0);
  });

  test("a process that dies while it opens memory costs its row, and nothing here", () => {
    const folder = mkdtempSync(join(tmpdir(), "p2plab-addon-"));
    try {
      const file = join(folder, "dies.cjs");
      writeFileSync(
        file,
        `const addon = require(${JSON.stringify(ADDON)}); module.exports = { ...addon, setup: () => process.kill(process.pid, "SIGKILL") };`,
      );
      const { lines } = run(
        `process.env.P2PLAB_ADDON = ${JSON.stringify(file)};
         await ask({ bytes: ["4 KiB"], kinds: ["ipc-close", "free"] });`,
      );
      assert.is(lines[0].median_us, null);
      assert.match(lines[0].note, "the process that opens the memory ended");
      assert.match(lines[0].note, "SIGKILL");
      assert.ok(lines[1].median_us > 0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("a run of set-up work says its mode, its first repetition and what was checked; it is not traced", () => {
    const [result] = run(
      `const one = await machine.run(program().setup("vmm-create", { gpu: 1, bytes: 100 }), { ...few, trace: "copies" });
       print({ mode: one.mode, api: one.samples.apiNs.length, first: one.firstNs > 0, trace: one.trace, traceReason: one.traceReason,
         verification: one.verification, warning: one.warnings[0] });`,
    ).lines;
    assert.is(result.mode, "setup");
    assert.is(result.api, 0);
    assert.is(result.first, true);
    assert.is(result.trace, null);
    assert.is(result.traceReason, "set-up work is timed, not traced");
    assert.is(result.verification.state, "ok");
    assert.match(result.verification.detail, "of 2097152 bytes, the size rounded up");
    assert.match(result.warning, "the first repetition took");
  });

  test("peer access is as it was before, whichever way", () => {
    const { lines } = run(
      `for (const on of [true, false]) {
         if (on) cuda.enablePeer(0, 1); else cuda.disablePeer(0, 1);
         await ask({ kinds: ["peer-enable", "peer-enable-again", "peer-disable", "pool-access", "vmm-access"], bytes: [4096] });
         print(on ? cuda.enablePeer(0, 1) : cuda.disablePeer(0, 1));
       }
       cuda.disablePeer(0, 1);`,
    );
    assert.equal(
      lines.filter((line) => typeof line === "boolean"),
      [false, false],
    );
    assert.ok(lines.filter((line) => typeof line === "object").every((row) => row.median_us > 0));
  });

  test("an abort ends set-up work between two repetitions, here and in the other process", () => {
    const { lines } = run(
      `for (const kind of ["malloc", "ipc-open"]) {
         const stop = new AbortController(); setTimeout(() => stop.abort(), 100);
         await machine.run(program().setup(kind, { gpu: 0, bytes: 4096, ...(kind === "ipc-open" ? { peer: 1 } : {}) }),
           { signal: stop.signal, sampling: { budgetMs: 60_000, target: 1e-9, maxSamples: 1e6 } }).then(() => print("finished"), refused);
       }`,
    );
    assert.equal(
      lines.map((line) => line.code),
      ["cancelled", "cancelled"],
    );
  });

  test("kinds, sizes and GPUs that do not exist are refused by name", () => {
    const { lines } = run(
      `for (const options of [{ kinds: ["mmap"] }, { kinds: ["malloc"], bytes: ["-1 B"] }, { kinds: ["peer-enable"], gpu: 1, peer: 1 }])
         await ask(options).then(() => print("accepted"), refused);
       await ask({ kinds: ["event-create"], gpu: 7 });`,
    );
    assert.match(lines[0].message, 'no set-up work "mmap"');
    assert.is(lines[1].code, "usage");
    assert.match(lines[2].message, "GPU 1 is no peer of itself");
    assert.match(lines[3].note, "uses GPU 7, but this machine has 2");
  });
}

test.run();
