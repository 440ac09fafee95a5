import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { coreProgram, fakeEnvironment, missing, SANITIZED } from "./toolchain.js";

export const TIME_LIMIT_S = 900;

const test = suite("the executor under AddressSanitizer and UBSan");

/** Runs a test of executor_test.cc; gives what the driver was called and what it still held at the end. */
function run(name: string, settings: Record<string, string> = {}) {
  const program = coreProgram("executor_test", "test/native/executor_test.cc", SANITIZED);
  const folder = mkdtempSync(join(tmpdir(), "p2plab-executor-"));
  try {
    const counts = join(folder, "counts.json");
    const env = {
      ...fakeEnvironment({ ...settings, P2PLAB_FAKE_COUNTS: counts }),
      ASAN_OPTIONS: "detect_leaks=1",
    };
    const child = spawnSync(program, [name], { env, encoding: "utf8", timeout: 300_000 });
    assert.is(child.status, 0, `${name} ${JSON.stringify(settings)}\n${child.stderr}`);
    // A test that makes no driver call leaves no counts.
    const { calls, ...live } = existsSync(counts) ? JSON.parse(readFileSync(counts, "utf8")) : {};
    return { calls, live: Object.entries(live).filter(([, count]) => count !== 0) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function leavesNothing(name: string, settings: Record<string, string> = {}): void {
  assert.equal(run(name, settings).live, []);
}

/** Driver calls of the operations that fail at their first or third use: nothing leaks, nothing crashes. */
const FAILING = [
  "cuMemPoolCreate",
  "cuMemAllocFromPoolAsync",
  "cuMemCreate",
  "cuMemAddressReserve",
  "cuMemMap",
  "cuMemSetAccess",
  "cuMemGetAllocationGranularity",
  "cuMemsetD8Async",
  "cuMemsetD32Async",
  "cuEventCreate",
  "cuEventQuery",
  "cuEventRecord",
  "cuEventElapsedTime",
  "cuStreamWriteValue32_v2",
  "cuStreamWaitValue32_v2",
  "cuMemcpyBatchAsync_v2",
  "cuLaunchKernel",
  "cuStreamBeginCapture_v2",
  "cuStreamEndCapture",
  "cuGraphInstantiateWithFlags",
  "cuGraphLaunch",
  "cuGraphGetNodes",
  "cuGraphExecUpdate_v2",
];
/** Of these, called fewer than three times. */
const SELDOM = [
  "cuGraphGetNodes",
  "cuGraphExecUpdate_v2",
  "cuMemPoolCreate",
  "cuMemAllocFromPoolAsync",
  "cuMemCreate",
  "cuMemAddressReserve",
  "cuMemMap",
  "cuMemGetAllocationGranularity",
  "cuMemsetD8Async",
  "cuMemsetD32Async",
];

const reason = missing("compiler");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

function register(): void {
  test("copies by cuMemcpyAsync, batches and kernels deliver at every offset and size", () =>
    leavesNothing("copies"));

  test("neighbouring batch copies are one call, unless one depends on another", () => {
    const { calls, live } = run("batches");
    assert.is(calls.cuMemcpyBatchAsync_v2, 2 * (1 + 9));
    assert.equal(live, []);
  });

  test("memory of pools and mappings is delivered into and out of", () => leavesNothing("allocators"));
  test("memory of pools and mappings is closed to whom the program gives no access", () => {
    // The context is broken on purpose, and every release says so: named as a call that may fail.
    for (const name of ["rights-pool", "rights-vmm"])
      run(name, { P2PLAB_FAKE_FAIL: "cuMemPoolDestroy=700@100" });
  });
  test("puts by flag, ll and ll128 arrive at a receiver that was there first", () =>
    leavesNothing("transfers"));
  test("two puts of an iteration into one window are told apart", () => leavesNothing("twice"));
  test("a signal lets the stream that awaits it go, in every iteration anew", () => leavesNothing("signals"));
  test("every sync sees its stream complete, by calls and by graph", () => leavesNothing("syncs"));
  test("compute lasts as long as it says, and moves nothing to verify", () => leavesNothing("moves-nothing"));

  test("a flag or signal that never arrives is named, and everything is given back", () =>
    leavesNothing("lost", { P2PLAB_FAKE_MODE: "lost-flag" }));
  test("a blocking sync of a link that hangs ends by the deadline of the first iteration", () => {
    run("blocked", { P2PLAB_FAKE_MODE: "hang" });
  });

  test("batches are timed whole, on each stream and over all", () =>
    leavesNothing("throughput", { P2PLAB_FAKE_DELAY_NS: "20000" }));
  test("a batch whose gate gave up is not told", () => leavesNothing("gate"));
  test("a batch that hangs ends at its deadline", () => {
    run("throughput-hangs", { P2PLAB_FAKE_MODE: "hang" });
  });

  test("streams, kernels, puts and receives are captured into one graph, whose costs are told", () =>
    leavesNothing("graphs"));
  test("an operation that is not captured is named", () =>
    leavesNothing("not-captured", { P2PLAB_FAKE_FAIL: "cuMemcpyBatchAsync_v2=900" }));
  test("a program that is no graph has no costs of one", () => leavesNothing("no-graph"));
  test("rows that make no sense are refused by what is wrong", () => leavesNothing("refused"));

  for (const call of FAILING) {
    test(`${call} that fails leaves nothing behind`, () => {
      run("failing-call", { P2PLAB_FAKE_FAIL: `${call}=801` });
      if (!SELDOM.includes(call)) run("failing-call", { P2PLAB_FAKE_FAIL: `${call}=801@3` });
    });
  }
}

test.run();
