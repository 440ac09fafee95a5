import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { profilerAttached, profilerWarnings } from "../../../kernel/lab/machines/profiler.js";
import { fakeNvml, inLab, missing } from "../../native/toolchain.js";

export const TIME_LIMIT_S = 240;

const test = suite("profilers that are attached");

/** Runs something with variables set and takes them away again. */
function withVariables<T>(variables: Record<string, string>, use: () => T): T {
  Object.assign(process.env, variables);
  try {
    return use();
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
  }
}

test("none is seen in a process that nothing was injected into", () => {
  assert.is(profilerAttached(), null);
  assert.equal(profilerWarnings(), []);
});

for (const [what, name] of [
  ["CUDA's injection", "CUDA_INJECTION64_PATH"],
  ["NVTX's injection", "NVTX_INJECTION64_PATH"],
  ["Nsight Systems", "NSYS_PROFILING_SESSION_ID"],
  ["Nsight Compute", "NV_NSIGHT_INJECTION_PORT_BASE"],
  ["nvprof", "NVPROF_ID"],
] as const) {
  test(`${what} is seen by its variable`, () => {
    withVariables({ [name]: "1" }, () => assert.is(profilerAttached(), `${name} is set`));
  });
}

test("several variables are named in order", () => {
  withVariables({ NVTX_INJECTION64_PATH: "/a", CUDA_INJECTION64_PATH: "/b" }, () =>
    assert.equal(profilerWarnings(), [
      "profiled: a profiler is attached (CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH are set)",
    ]),
  );
});

test("empty variables and settings of other programs are no profiler", () => {
  withVariables({ CUDA_INJECTION64_PATH: "", NSYS_OUTPUT: "report", MY_CUDA_INJECTION64_PATH: "/a" }, () =>
    assert.is(profilerAttached(), null),
  );
});

const reason = missing("compiler") ?? missing("addon");
if (reason) {
  test.skip(`skipped: ${reason}`, () => {});
} else {
  for (const library of ["libcuda-injection.so", "libToolsInjection64.so", "libToolsInjectionProxy64.so"]) {
    test(`${library} in the process is seen, and said with the samples`, () => {
      const folder = mkdtempSync(join(tmpdir(), "p2plab-"));
      try {
        copyFileSync(fakeNvml(), join(folder, library));
        const { lines } = inLab(
          "const machine = await CudaMachine.open(); print((await machine.run(push(), { sampling: quick })).warnings);",
          { LD_PRELOAD: join(folder, library) },
        );
        assert.equal(lines, [[`profiled: a profiler is attached (${library} is loaded)`]]);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }
}

test.run();
