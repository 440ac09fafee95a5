import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { coreProgram, fakeCudaOf, fakeEnvironment, missing, SANITIZED } from "./toolchain.js";

export const TIME_LIMIT_S = 900;

const test = suite("set-up costs under AddressSanitizer and UBSan");

/** Runs a test of setup_test.cc; gives the objects that the driver still held at its end. */
function left(name: string, settings: Record<string, string> = {}): [string, unknown][] {
  const program = coreProgram("setup_test", "test/native/setup_test.cc", SANITIZED);
  const folder = mkdtempSync(join(tmpdir(), "p2plab-setup-"));
  try {
    const counts = join(folder, "counts.json");
    const env = {
      ...fakeEnvironment({ ...settings, P2PLAB_FAKE_COUNTS: counts }),
      ASAN_OPTIONS: "detect_leaks=1",
    };
    const child = spawnSync(program, [name], { env, encoding: "utf8", timeout: 300_000 });
    assert.is(child.status, 0, `${name} ${JSON.stringify(settings)}\n${child.stderr}`);
    assert.ok(existsSync(counts), `no counts; ${child.stderr}`);
    const { calls, ...live } = JSON.parse(readFileSync(counts, "utf8"));
    return Object.entries(live).filter(([, count]) => count !== 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Calls that make something, ask something or grant something: each fails at its first and at its third use. */
const MAKING = [
  "cuMemAlloc_v2",
  "cuMemHostAlloc",
  "cuMemHostRegister_v2",
  "cuMemPoolCreate",
  "cuMemPoolSetAttribute",
  "cuMemPoolSetAccess",
  "cuMemAllocFromPoolAsync",
  "cuMemGetAllocationGranularity",
  "cuMemCreate",
  "cuMemAddressReserve",
  "cuMemMap",
  "cuMemSetAccess",
  "cuMemExportToShareableHandle",
  "cuCtxEnablePeerAccess",
  "cuIpcGetMemHandle",
  "cuEventCreate",
  "cuStreamCreate",
  "cuStreamQuery",
  "cuStreamBeginCapture_v2",
  "cuLaunchKernel",
  "cuGraphGetNodes",
  "cuGraphInstantiateWithFlags",
  "cuGraphExecUpdate_v2",
  "cuModuleLoadDataEx",
];
/** Calls that take something back: what they refuse to release stays, but nothing else does, and nothing crashes. */
const UNMAKING = ["cuMemFree_v2", "cuMemUnmap", "cuMemFreeAsync", "cuCtxDisablePeerAccess"];

const reason = missing("compiler");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

function register(): void {
  test("every kind is done, timed and undone, and leaves nothing", () => assert.equal(left("kinds"), []));
  test("a batch ends at its budget, after one repetition at the earliest", () =>
    assert.equal(left("budget"), []));
  test("one call at a time; close is refused meanwhile, and final", () => assert.equal(left("one-call"), []));
  test("cancel ends a call from another thread", () => assert.equal(left("cancels"), []));
  test("peer access is afterwards as it was, and is not touched while somebody relies on it", () =>
    assert.equal(left("peers"), []));
  test("a process cannot open its own export, and says which call refused", () =>
    assert.equal(left("own-export"), []));
  test("a file descriptor names memory for whoever has it", () => assert.equal(left("own-file"), []));
  test("a driver that lacks a function is not-available with the CUDA release that brought it; the rest works", () =>
    assert.equal(left("missing", { P2PLAB_LIBCUDA: fakeCudaOf("11.0") }), []));
  for (const call of MAKING) {
    test(`${call} that fails leaves nothing behind`, () => {
      // The context itself loads a module and has a stream of its own: from the third use on.
      const early = call === "cuModuleLoadDataEx" ? [] : [""];
      for (const at of [...early, "@3"]) {
        assert.equal(left("failing-call", { P2PLAB_FAKE_FAIL: `${call}=801${at}` }), [], at);
      }
    });
  }
  for (const call of UNMAKING) {
    test(`${call} that fails is said, and nothing crashes`, () => {
      left("failing-call", { P2PLAB_FAKE_FAIL: `${call}=801@2` });
    });
  }
}

test.run();
