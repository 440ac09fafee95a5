import { spawnSync } from "node:child_process";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { coreProgram, fakeEnvironment, missing, SANITIZED } from "./toolchain.js";

export const TIME_LIMIT_S = 900;

const test = suite("the driver binding under AddressSanitizer and UBSan");

/** Contract, test of binding_test.cc, environment. */
const CASES: readonly [string, string, Record<string, string>?][] = [
  ["a source is compiled for the GPU's architecture, kernels keep or get their names", "compiles"],
  ["a source that does not compile is an error with the compiler's log and its lines", "compile-fails"],
  [
    "for a GPU newer than the compiler PTX of the newest architecture is made",
    "compiles-ptx",
    { P2PLAB_FAKE_NVRTC_ARCHS: "75,80" },
  ],
  [
    "a compiler that has dropped the GPU is not-available",
    "gpu-too-old",
    { P2PLAB_FAKE_NVRTC_ARCHS: "100,120" },
  ],
  ["without NVRTC it says what to install", "no-compiler", { P2PLAB_NVRTC: "/no/nvrtc" }],
  ["images that are no code or cut short never reach the driver", "images"],
  ["declared parameters are held against those of the kernel", "kernels"],
  ["arguments of every type arrive as they were given", "arguments"],
  ["values that a parameter does not hold are refused by name", "arguments-refused"],
  ["shapes that the GPU does not take are refused by dimension", "shapes"],
  ["launches and fills run in order, and memory is let go of when they are done", "launches"],
  ["memory that a GPU cannot reach is refused with what to do", "places"],
  ["events order streams and tell time", "events"],
  ["a graph does what was captured, joined streams among it, and keeps its memory", "graphs"],
  ["memory of a stream that is closed with work in flight is kept until it is done", "keeps-memory"],
  ["a wait ends at its deadline or when it is cancelled, for good", "stuck"],
  ["an illegal address says that the context is lost", "faults"],
  ["a kernel's time is taken beside that of an empty interval", "times-kernels"],
];

/** Calls that fail at their first use. */
const FAILING = [
  "cuModuleGetFunction",
  "cuFuncGetAttribute",
  "cuFuncSetAttribute",
  "cuStreamCreate",
  "cuStreamIsCapturing",
  "cuMemsetD8Async",
  "cuEventCreate@2",
  "cuEventRecord",
  "cuEventQuery",
  "cuEventElapsedTime",
  "cuLaunchKernel",
  "cuStreamWaitEvent",
  "cuStreamQuery",
  "cuStreamBeginCapture_v2",
  "cuStreamEndCapture",
  "cuGraphGetNodes",
  "cuGraphInstantiateWithFlags",
  "cuGraphLaunch",
  "cuMemGetInfo_v2",
];

function passes(name: string, settings: Record<string, string> = {}): void {
  const program = coreProgram("binding_test", "test/native/binding_test.cc", SANITIZED);
  const env = { ...fakeEnvironment(settings), ASAN_OPTIONS: "detect_leaks=1" };
  const run = spawnSync(program, [name], { env, encoding: "utf8", timeout: 300_000 });
  assert.is(run.status, 0, `${name} ${JSON.stringify(settings)}\n${run.stderr}`);
}

const reason = missing("compiler");
if (reason) {
  test.skip(`skipped: ${reason}`, () => {});
} else {
  for (const [title, name, settings] of CASES) test(title, () => passes(name, settings));
  for (const rule of FAILING) {
    const [call = "", from = "1"] = rule.split("@");
    test(`${call} that fails is an error and leaves nothing behind`, () =>
      passes("failing-call", { P2PLAB_FAKE_FAIL: `${call}=801@${from}` }));
  }
}

test.run();
