import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ADDON, inLab, inLabLeavingNothing, missing } from "../native/toolchain.js";

export const TIME_LIMIT_S = 900;

const test = suite("the verdict ladder, on the stand-in driver");

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

const VERDICTS = JSON.stringify(new URL("../../kernel/lab/measure/verdicts.js", import.meta.url).href);
/** `ask(options)` prints a row a cell, `left` what this process's driver holds at its end. */
const OPEN = `import { verdicts } from ${VERDICTS};
  const machine = await CudaMachine.open();
  const ask = async (options) => { for (const row of (await verdicts(machine, options)).objects()) print(row); };
  const refused = (error) => print({ ...failure(error), verdict: error.verdict ?? null });
  const path = (from, to) => program().buffer("src", { gpu: from, bytes: 64 }).buffer("dst", { gpu: to, bytes: 64 }).stream("s", { gpu: from })
    .copy("s", "src", "dst").sync("s");`;

interface Row {
  from: number;
  to: number;
  allocator: string;
  verdict: string;
  stage: string;
  reason: string;
  next: string;
}

function run(script: string, settings: Record<string, string> = {}) {
  return inLabLeavingNothing(`${OPEN}\n${script}\nawait machine.close();`, settings);
}

const PLAIN = `{ allocators: ["malloc"] }`;

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** `0>1 malloc ok put` and the like, one a row. */
function short(lines: readonly Row[]): string[] {
  return lines.map((row) => `${row.from}>${row.to} ${row.allocator} ${row.verdict} at ${row.stage}`);
}

function register(): void {
  test("GPUs that reach each other are ok in every kind of memory, and this process's driver did nothing for it", () => {
    const { lines, calls, children } = run("await ask();");
    assert.is(children, 1);
    assert.equal(short(lines), [
      "0>1 malloc ok at ping-pong",
      "0>1 pool ok at ping-pong",
      "0>1 vmm ok at ping-pong",
      "1>0 malloc ok at ping-pong",
      "1>0 pool ok at ping-pong",
      "1>0 vmm ok at ping-pong",
    ]);
    assert.is(lines[0].next, "");
    assert.is(lines[0].provenance, "measured");
    assert.is(calls.cuDevicePrimaryCtxRetain ?? 0, 0);
    assert.is(calls.cuMemAlloc_v2 ?? 0, 0);
    assert.is(calls.cuCtxEnablePeerAccess ?? 0, 0);
  });

  test("a writer that reads back its own bytes while the owner sees none is a mirror, in every kind of memory", () => {
    const { lines } = run("await ask({ pairs: [{ from: 0, to: 1 }] });", { P2PLAB_FAKE_MODE: "mirror" });
    assert.equal(short(lines), [
      "0>1 malloc mirror at copy-engine write",
      "0>1 pool mirror at copy-engine write",
      "0>1 vmm mirror at copy-engine write",
    ]);
    assert.match(lines[0].reason, "the writer reads back all 1048576 bytes");
    assert.match(lines[0].reason, "the same bytes arrive when the driver stages them");
    assert.match(lines[0].next, "virtual machine");
  });

  test("a pair whose copies do nothing is broken, never written; the other direction is not", () => {
    const { lines } = run(`await ask(${PLAIN});`, {
      P2PLAB_FAKE_MODE: "zero-write",
      P2PLAB_FAKE_PAIRS: "0>1",
    });
    assert.is(short(lines)[0], "0>1 malloc broken at copy-engine write");
    assert.match(lines[0].reason, "never written: all 1048576 bytes");
    assert.match(lines[0].reason, "the direct path alone is at fault");
    assert.match(lines[0].next, /IOMMU|iommu/);
    assert.is(lines[1].from, 1);
    assert.is.not(lines[1].stage, "copy-engine write");
  });

  test("one damaged byte is broken, corrupt, with its offset", () => {
    const { lines } = run(`await ask({ ...${PLAIN}, pairs: [{ from: 1, to: 0 }] });`, {
      P2PLAB_FAKE_MODE: "corrupt",
      P2PLAB_FAKE_CORRUPT_AT: "70001",
    });
    assert.equal(short(lines), ["1>0 malloc broken at copy-engine write"]);
    assert.match(lines[0].reason, "corrupt: 1 of 1048576 bytes wrong");
    assert.match(lines[0].reason, "the first at offset 70001");
  });

  test("a copy that never completes is a hang; the pairs behind it go on", () => {
    const { lines } = run("await ask();", { P2PLAB_FAKE_MODE: "hang", P2PLAB_FAKE_PAIRS: "0>1" });
    assert.equal(short(lines), [
      "0>1 malloc hang at copy-engine write",
      "0>1 pool hang at copy-engine write",
      "0>1 vmm hang at copy-engine write",
      "1>0 malloc ok at ping-pong",
      "1>0 pool ok at ping-pong",
      "1>0 vmm ok at ping-pong",
    ]);
  });

  test("stores of kernels that are lost while copies arrive are found by the rungs of kernels", () => {
    const { lines } = run(`await ask(${PLAIN});`, { P2PLAB_FAKE_MODE: "lost-flag" });
    assert.equal(short(lines), ["0>1 malloc broken at kernel write", "1>0 malloc broken at kernel write"]);
  });

  test("a GPU that may not reach the other is no-p2p by the driver's own word, without a process", () => {
    const { lines, calls } = run("await ask();", { P2PLAB_FAKE_MODE: "no-peer" });
    assert.equal(
      new Set(lines.map((row: Row) => `${row.verdict} at ${row.stage}`)),
      new Set(["no-p2p at capability"]),
    );
    assert.match(lines[0].reason, "does not let GPU 0 access the memory of GPU 1");
    assert.match(lines[0].next, "nvidia-smi topo -p2p r");
    assert.is(calls.cuDevicePrimaryCtxRetain ?? 0, 0);
  });

  test("access that is granted on paper and refused when asked for is no-p2p, with the driver's reason", () => {
    const exhausted = run(`await ask(${PLAIN});`, { P2PLAB_FAKE_MAX_PEERS: "0" }).lines;
    assert.equal(short(exhausted), ["0>1 malloc no-p2p at mapping", "1>0 malloc no-p2p at mapping"]);
    assert.match(exhausted[0].reason, "CUDA_ERROR_TOO_MANY_PEERS");
    const small = run(`await ask(${PLAIN});`, { P2PLAB_FAKE_FAIL: "cuCtxEnablePeerAccess=205" }).lines;
    assert.is(short(small)[0], "0>1 malloc no-p2p at mapping");
    assert.match(small[0].reason, "BAR1");
    const confidential = run(`await ask(${PLAIN});`, { P2PLAB_FAKE_FAIL: "cuMemcpyAsync=801" }).lines;
    assert.is(confidential[0].verdict, "no-p2p");
    assert.match(confidential[0].reason, "confidential computing");
  });

  test("what says nothing of the link is inconclusive: no memory, no fabric, a pool that the driver lacks", () => {
    const memory = run(`await ask(${PLAIN});`, { P2PLAB_FAKE_OOM: "2" }).lines;
    assert.equal(short(memory), ["0>1 malloc inconclusive at mapping", "1>0 malloc inconclusive at mapping"]);
    assert.match(memory[0].reason, "no memory for the probe");
    const fabric = run(`await ask(${PLAIN});`, { P2PLAB_FAKE_FAIL: "cuDevicePrimaryCtxRetain=802" }).lines;
    assert.is(short(fabric)[0], "0>1 malloc inconclusive at mapping");
    assert.match(fabric[0].reason, "nvidia-fabricmanager");
    const pool = run("await ask({ pairs: [{ from: 0, to: 1 }] });", {
      P2PLAB_FAKE_FAIL: "cuMemPoolCreate=801",
    }).lines;
    assert.equal(short(pool), [
      "0>1 malloc ok at ping-pong",
      "0>1 pool inconclusive at mapping",
      "0>1 vmm ok at ping-pong",
    ]);
  });

  test("an access that breaks its context is broken, and the next pair begins with a new one", () => {
    const { lines } = run("await ask({ pairs: [{ from: 0, to: 1 }] });", {
      P2PLAB_FAKE_STICKY: "cuMemcpyAsync@2",
    });
    assert.is(lines[0].verdict, "broken");
    assert.match(lines[0].reason, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert.is(lines.length, 3);
  });

  test("a probe's process that waits for a copy that never completes does not outlive its parent", () => {
    const child = inLab(
      `import { readFileSync, writeSync } from "node:fs";
      ${OPEN}
      ask({ allocators: ["malloc"] }).catch(() => undefined);
      setTimeout(() => {
        const children = readFileSync("/proc/self/task/" + process.pid + "/children", "utf8").trim().split(" ");
        writeSync(1, JSON.stringify(children.map(Number)) + "\\n");
        process.kill(process.pid, "SIGKILL");
      }, 2500);`,
      { P2PLAB_FAKE_MODE: "hang" },
    );
    assert.is(child.signal, "SIGKILL", child.stderr);
    const [probes] = child.lines as [number[]];
    assert.is(probes.length, 1);
    const [probe] = probes as [number];
    const until = Date.now() + 10_000;
    while (existsSync(`/proc/${probe}`) && Date.now() < until) sleep(50);
    assert.not(existsSync(`/proc/${probe}`), `process ${probe} is still there`);
  });

  test("GPUs are told apart by UUID: a permuted order changes no verdict", () => {
    const { lines } = run(`await ask(${PLAIN});`, {
      CUDA_VISIBLE_DEVICES: "1,0",
      P2PLAB_FAKE_MODE: "hang",
      P2PLAB_FAKE_PAIRS: "0>1",
    });
    assert.equal(short(lines), ["0>1 malloc ok at ping-pong", "1>0 malloc hang at copy-engine write"]);
    const hidden = run(
      `process.env.CUDA_VISIBLE_DEVICES = "0"; await ask({ ...${PLAIN}, pairs: [{ from: 0, to: 1 }] });`,
    ).lines;
    assert.equal(short(hidden), ["0>1 malloc inconclusive at start"]);
    assert.match(hidden[0].reason, "does not see the GPU");
  });

  test("with one GPU, or one slice of a GPU, the table is empty and says why", () => {
    const script = `const table = await verdicts(machine); print([table.numRows(), table.columnNames().slice(0, 7), String(table)]);`;
    for (const name of ["P2PLAB_FAKE_DEVICES", "P2PLAB_FAKE_MIG"]) {
      const [[rows, columns, says]] = run(script, { [name]: "1" }).lines;
      assert.is(rows, 0);
      assert.equal(columns, ["from", "to", "allocator", "verdict", "stage", "reason", "next"]);
      assert.match(says, "has one GPU");
    }
  });

  test("pairs and allocators that do not exist are refused by name", () => {
    const { lines } = run(
      `for (const options of [{ pairs: [{ from: 0, to: 2 }] }, { pairs: [{ from: 1, to: 1 }] }, { allocators: ["managed"] }])
         await ask(options).catch((error) => print(failure(error)));`,
    );
    assert.equal(
      lines.map((error) => error.code),
      ["usage", "usage", "usage"],
    );
    assert.match(lines[0].message, "GPU 0 → GPU 2");
    assert.match(lines[2].message, "managed");
  });

  test("a probe's process that dies, hangs or has no addon costs its pair a verdict, and this process nothing", () => {
    const folder = mkdtempSync(join(tmpdir(), "p2plab-addon-"));
    try {
      // The contexts are made: what dies or hangs is the first program that has memory.
      const addon = (name: string, rung: string) => {
        const file = join(folder, `${name}.cjs`);
        writeFileSync(
          file,
          `const addon = require(${JSON.stringify(ADDON)}); const rung = ${rung};
             module.exports = { ...addon, prepare: (program) => (program.buffers.length === 0 ? addon.prepare(program) : rung()) };`,
        );
        return JSON.stringify(file);
      };
      const script = `const ask1 = async (file) => { process.env.P2PLAB_ADDON = file;
          const one = await CudaMachine.open(); for (const row of (await verdicts(one, { ...${PLAIN}, pairs: [{ from: 0, to: 1 }] })).objects()) print(row); await one.close(); };
        await ask1(${addon("dies", '() => process.kill(process.pid, "SIGSEGV")')});
        await ask1(${addon("hangs", "() => { for (;;); }")});
        await ask1("/no/addon");`;
      const { lines } = run(script);
      assert.equal(short(lines), [
        "0>1 malloc inconclusive at copy-engine write",
        "0>1 malloc hang at copy-engine write",
        "0>1 malloc inconclusive at start",
      ]);
      assert.match(lines[0].reason, "SIGSEGV");
      assert.match(lines[1].reason, "did not answer within 12000 ms");
      assert.match(lines[2].reason, "cannot be loaded");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("an abort ends the ladder at once, and the next one begins anew", () => {
    const { lines } = run(
      `const stop = new AbortController(); setTimeout(() => stop.abort(), 400);
       await verdicts(machine, { ...${PLAIN}, signal: stop.signal }).then(() => print("finished"), refused);
       await ask({ ...${PLAIN}, pairs: [{ from: 1, to: 0 }] });`,
      { P2PLAB_FAKE_MODE: "hang", P2PLAB_FAKE_PAIRS: "0>1" },
    );
    assert.is(lines[0].code, "cancelled");
    assert.is(short(lines.slice(1))[0], "1>0 malloc ok at ping-pong");
  });

  test("a program runs on a pair that is ok, and is refused with the verdict on one that is not", () => {
    const { lines } = run(
      `await machine.run(path(0, 1), { sampling: quick }).then(() => print("ran"), refused);
       print((await machine.run(path(1, 0), { sampling: quick })).verification.state);`,
      { P2PLAB_FAKE_MODE: "hang", P2PLAB_FAKE_PAIRS: "0>1" },
    );
    assert.is(lines[0].name, "VerdictError");
    assert.is(lines[0].code, "verification");
    assert.match(
      lines[0].message,
      "GPU 0 → GPU 1 (malloc memory) is hang at copy-engine write: not complete by its deadline",
    );
    assert.match(lines[0].hint, ".peerAccess(false)");
    assert.is(lines[0].verdict.outcome, "hang");
    assert.is(lines[1], "ok");
  });

  test("staged paths run on a broken pair, and say that they are host-staged", () => {
    const { lines } = run(
      `const warnings = async (one) => print((await machine.run(one, { sampling: quick })).warnings.filter((line) => line.startsWith("host-staged")));
       await warnings(staged());
       await machine.run(push(), { sampling: quick }).catch(() => undefined);
       await warnings(staged()); await warnings(push().peerAccess(false));`,
      { P2PLAB_FAKE_MODE: "mirror", P2PLAB_FAKE_PAIRS: "0>1" },
    );
    const label = "host-staged: GPU 0 → GPU 1 is mirror at copy-engine write";
    assert.equal(lines, [[], [label], [label]]);
  });

  test("P2PLAB_P2P=off stages every transfer and says so; what cannot be staged is refused; another word is refused", () => {
    const { lines, calls } = run(
      `const result = await machine.run(push(), { sampling: quick });
       print([result.verification.state, result.program.data.peerAccess, result.warnings.filter((line) => line.startsWith("host-staged"))]);
       await machine.run(program().setup("peer-enable", { gpu: 0, peer: 1 })).then(() => print("ran"), refused);
       await machine.run(program().buffer("src", { gpu: 0, bytes: 64 }).buffer("dst", { gpu: 1, bytes: 64 }).stream("s", { gpu: 0 })
         .copy("s", "src", "dst", { engine: "kernel-write" }).sync("s")).then(() => print("ran"), refused);
       process.env.P2PLAB_P2P = "never";
       await machine.run(push()).then(() => print("ran"), refused);`,
      { P2PLAB_P2P: "off" },
    );
    assert.equal(lines[0], [
      "ok",
      false,
      ["host-staged: P2PLAB_P2P=off turns peer access off for every transfer"],
    ]);
    assert.is(calls.cuCtxEnablePeerAccess ?? 0, 0);
    assert.is(lines[1].code, "not-available");
    assert.match(lines[1].message, "P2PLAB_P2P=off");
    assert.is(lines[2].code, "not-available");
    assert.is(lines[3].code, "usage");
    assert.match(lines[3].message, 'P2PLAB_P2P is "never"');
  });

  test("a verdict is asked for once, and all pairs of a small machine in one process", () => {
    const { lines } = run(
      `const { syncBuiltinESMExports } = await import("node:module");
       const childProcess = (await import("node:child_process")).default;
       const fork = childProcess.fork;
       let forks = 0;
       childProcess.fork = (...given) => { forks++; return fork(...given); };
       syncBuiltinESMExports();
       for (const one of [push(), push(), path(1, 0), path(2, 0)]) { await machine.run(one, { sampling: quick }); print(forks); }`,
      { P2PLAB_FAKE_DEVICES: "3" },
    );
    assert.equal(lines, [1, 1, 1, 1]);
  });
}

test.run();
