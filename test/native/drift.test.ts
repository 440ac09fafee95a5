import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { CUDA_INCLUDE, missing, NVML_INCLUDE, NVRTC_INCLUDE, ROOT } from "./toolchain.js";

const test = suite("what is written down twice stays the same");

function compile(source: string, flags: readonly string[] = []): { status: number | null; stderr: string } {
  const all = ["-std=c++20", "-fsyntax-only", "-I", "native", "-I", CUDA_INCLUDE, ...flags, source];
  return spawnSync(process.env.CXX ?? "g++", all, { cwd: ROOT, encoding: "utf8" });
}

const headers = missing("compiler") ?? missing("cuda headers");
if (headers) {
  test.skip(`skipped (optional): ${headers}`, () => {});
} else {
  test("our declarations of the driver and of CUPTI fit the real headers", () => {
    for (const source of ["test/native/api_drift.cc", "test/native/cupti_drift.cc"]) {
      const checked = compile(source);
      assert.is(checked.status, 0, checked.stderr);
    }
  });

  test("a declaration that does not fit is found", () => {
    const drifted = compile("test/native/cupti_drift.cc", ["-DP2P_DRIFT_EXAMPLE"]);
    assert.is.not(drifted.status, 0);
    assert.match(drifted.stderr, "CUPTI_ACTIVITY_MEMCPY_KIND_DTOH");
  });
}

const nvml = missing("compiler") ?? missing("nvml header");
if (nvml) {
  test.skip(`skipped (optional): ${nvml}`, () => {});
} else {
  const compileNvml = (flags: readonly string[] = []) =>
    compile("test/native/nvml_drift.cc", ["-I", NVML_INCLUDE, ...flags]);

  test("our declarations of NVML fit the real header", () => {
    const checked = compileNvml();
    assert.is(checked.status, 0, checked.stderr);
  });

  test("a declaration of NVML's that does not fit is found", () => {
    const drifted = compileNvml(["-DP2P_DRIFT_EXAMPLE"]);
    assert.is.not(drifted.status, 0);
    assert.match(drifted.stderr, "NVML_P2P_STATUS_NOT_SUPPORTED");
  });
}

const nvrtc = missing("compiler") ?? missing("nvrtc header");
if (nvrtc) {
  test.skip(`skipped (optional): ${nvrtc}`, () => {});
} else {
  test("our declarations of NVRTC fit the real header", () => {
    const checked = compile("test/native/nvrtc_drift.cc", ["-I", NVRTC_INCLUDE]);
    assert.is(checked.status, 0, checked.stderr);
  });
}

const nvtx = missing("compiler") ?? missing("nvtx header");
if (nvtx) {
  test.skip(`skipped (optional): ${nvtx}`, () => {});
} else {
  test("our declarations of NVTX fit the real headers", () => {
    const checked = compile("test/native/nvtx_drift.cc");
    assert.is(checked.status, 0, checked.stderr);
  });
}

const nvcc = missing("nvcc");
if (nvcc) {
  test.skip(`skipped (optional): ${nvcc}`, () => {});
} else {
  test("the committed PTX is what kernels.cu gives, and every architecture assembles it", () => {
    const folder = mkdtempSync(join(tmpdir(), "p2plab-ptx-"));
    try {
      const built = join(folder, "kernels.ptx");
      const run = spawnSync("sh", ["native/build-ptx.sh", built], { cwd: ROOT, encoding: "utf8" });
      assert.is(run.status, 0, run.stderr);
      assert.is(readFileSync(built, "utf8"), readFileSync(join(ROOT, "native/kernels.ptx"), "utf8"));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

test("the committed PTX asks for no more than CUDA 11.0 and Volta", () => {
  const ptx = readFileSync(join(ROOT, "native/kernels.ptx"), "utf8");
  assert.match(ptx, /^\.version 7\.0$/m);
  assert.match(ptx, /^\.target sm_70$/m);
});

test.run();
