import { spawnSync } from "node:child_process";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { coreProgram, fakeEnvironment, missing, SANITIZED } from "./toolchain.js";

export const TIME_LIMIT_S = 900;

const test = suite("native core under AddressSanitizer and UBSan");

/** Contract, test of core_test.cc, environment. */
const CASES: readonly [string, string, Record<string, string>?][] = [
  [
    "without a driver everything but pageable memory is not-available",
    "no-driver",
    { P2PLAB_LIBCUDA: "/no/libcuda" },
  ],
  [
    "a driver of another version than its module is named",
    "unusable-driver",
    fails("cuInit=803", "different versions"),
  ],
  ["a missing fabric manager is named", "unusable-driver", fails("cuInit=802", "fabric manager")],
  [
    "a driver without devices is named",
    "unusable-driver",
    { P2PLAB_FAKE_DEVICES: "0", P2PLAB_TEST_EXPECT: "no GPU" },
  ],
  ["a stub library is named", "unusable-driver", fails("cuInit=34", "stub")],
  ["an unknown code of cuInit is shown", "unusable-driver", fails("cuInit=12345", "12345")],
  ["the pattern is the same by words and by bytes, at every offset", "pattern"],
  ["copies, staging through events, and peer copies deliver every byte", "delivers"],
  [
    "writes that only the writer sees are all counted wrong and untouched",
    "lost",
    { P2PLAB_FAKE_MODE: "mirror" },
  ],
  ["copies that do nothing are all counted wrong and untouched", "lost", { P2PLAB_FAKE_MODE: "zero-write" }],
  ["every iteration is timed whole, its API part no longer", "times", { P2PLAB_FAKE_DELAY_NS: "20000" }],
  ["one call at a time, and close is refused meanwhile", "one-call-at-a-time"],
  ["cancel ends a call from another thread", "cancels", { P2PLAB_FAKE_DELAY_NS: "100000" }],
  ["programs with peer access on and off take turns", "peers-take-turns"],
  ["too many peers is an error with what to do", "too-many-peers", { P2PLAB_FAKE_MAX_PEERS: "0" }],
  [
    "without peer access the driver's own staging still works",
    "no-peer-access",
    { P2PLAB_FAKE_MODE: "no-peer" },
  ],
  ["memory that is not there is refused, on GPU and host", "out-of-memory"],
  [
    "a copy that never completes ends at the deadline and keeps its memory",
    "hangs",
    { P2PLAB_FAKE_MODE: "hang" },
  ],
  ["traced records are sorted, complete and inside their iterations", "traces"],
  ["dropped records are counted", "tracer-drops", { P2PLAB_FAKE_CUPTI_DROPPED: "3" }],
  ["a tracer that refuses leaves timing as it was", "tracer-refused", { P2PLAB_FAKE_CUPTI_ENABLE: "39" }],
  ["without CUPTI only the trace is not-available", "no-tracer", { P2PLAB_CUPTI: "/no/libcupti" }],
  ["ad hoc memory is written, copied and read in pieces", "blocks"],
  ["lists of CPUs are read, and nothing else", "cpu-lists"],
  ["threads that a bound thread makes may run on every CPU", "threads-spread"],
  ["the host clock never goes back and keeps step with the system's", "clock"],
  ["so does the system's own, where it is asked for", "clock", { P2PLAB_CLOCK: "system" }],
  ["arrays of noise are refused with a reason, or run", "fuzz"],
];

/** Driver calls that fail at their first or second use: nothing leaks, nothing crashes. */
const FAILING = [
  "cuDevicePrimaryCtxRetain",
  "cuModuleLoadDataEx",
  "cuModuleGetFunction",
  "cuCtxPushCurrent_v2",
  "cuCtxSetCurrent",
  "cuMemAlloc_v2",
  "cuMemHostAlloc",
  "cuStreamCreate",
  "cuEventCreate",
  "cuEventRecord",
  "cuStreamWaitEvent",
  "cuMemcpyAsync",
  "cuStreamQuery",
  "cuStreamSynchronize",
  "cuLaunchKernel",
];

function fails(rule: string, reason: string): Record<string, string> {
  return { P2PLAB_FAKE_FAIL: rule, P2PLAB_TEST_EXPECT: reason };
}

function passes(name: string, settings: Record<string, string> = {}): void {
  const program = coreProgram("core_test", "test/native/core_test.cc", SANITIZED);
  const env = { ...fakeEnvironment(settings), ASAN_OPTIONS: "detect_leaks=1" };
  const run = spawnSync(program, [name], { env, encoding: "utf8", timeout: 300_000 });
  assert.is(run.status, 0, `${name} ${JSON.stringify(settings)}\n${run.stderr}`);
}

const reason = missing("compiler");
if (reason) {
  test.skip(`skipped: ${reason}`, () => {});
} else {
  for (const [title, name, settings] of CASES) test(title, () => passes(name, settings));
  for (const call of FAILING) {
    test(`${call} that fails leaves nothing behind`, () => {
      passes("failing-call", { P2PLAB_FAKE_FAIL: `${call}=801` });
      // An event is created once only.
      if (call !== "cuEventCreate") passes("failing-call", { P2PLAB_FAKE_FAIL: `${call}=801@2` });
    });
  }
}

test.run();
