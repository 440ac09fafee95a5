import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { coreProgram, fakeCudaOf, fakeEnvironment, missing, SANITIZED } from "./toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("the stand-in driver");

/** Runs a test of stand_in_test.cc; gives what it printed and what the driver still held at the end. */
function run(name: string, settings: Record<string, string> = {}) {
  const sources = ["test", "streams", "memory"].map((part) => `test/native/stand_in_${part}.cc`);
  const program = coreProgram("stand_in_test", sources, SANITIZED);
  const folder = mkdtempSync(join(tmpdir(), "p2plab-stand-in-"));
  try {
    const counts = join(folder, "counts.json");
    const env = {
      ...fakeEnvironment({ ...settings, P2PLAB_FAKE_COUNTS: counts }),
      ASAN_OPTIONS: "detect_leaks=1",
    };
    const child = spawnSync(program, [name], { env, encoding: "utf8", timeout: 120_000 });
    assert.is(child.status, 0, `${name} ${JSON.stringify(settings)}\n${child.stderr}`);
    const { calls, ...live } = JSON.parse(readFileSync(counts, "utf8"));
    return { printed: child.stdout.trim(), live: Object.entries(live).filter(([, count]) => count !== 0) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function leavesNothing(name: string, settings: Record<string, string> = {}): void {
  assert.equal(run(name, settings).live, []);
}

const reason = missing("compiler");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

function register(): void {
  test("a gate holds its stream only, and an event carries the wait to another", () =>
    leavesNothing("order"));
  test("streams that answer each other run at the same time", () => leavesNothing("conversation"));
  test("memory of another GPU without peer access is an illegal address that breaks the context", () =>
    leavesNothing("illegal"));

  test("each fault of the window does to stores and copies what it says", () => {
    leavesNothing("window");
    for (const mode of ["mirror", "zero-write", "lost-flag", "corrupt"])
      leavesNothing("window", { P2PLAB_FAKE_MODE: mode, P2PLAB_FAKE_CORRUPT_AT: "77" });
  });

  test("a fault of one pair leaves the others alone", () => {
    leavesNothing("conversation", { P2PLAB_FAKE_MODE: "lost-flag", P2PLAB_FAKE_PAIRS: "2>0,0>2" });
  });

  test("pools and mappings are reached by whom they are granted to", () => leavesNothing("grants"));
  test("a captured graph does its work at each launch, and an update replaces it", () =>
    leavesNothing("capture"));
  test("memory opened in another process is the same memory", () => leavesNothing("ipc"));
  test("batches move every copy, or name the one that is refused", () => leavesNothing("batch"));
  test("registered memory is page-locked until it is unregistered", () => leavesNothing("registered"));
  test("under which address a GPU reaches memory needs a current context, and is answered all the same", () =>
    leavesNothing("pointers"));
  test("events time what lies between them", () =>
    leavesNothing("elapsed", { P2PLAB_FAKE_DELAY_NS: "2000000" }));
  test("CUPTI's stand-in records calls, kernels and copies, those of a graph by its launch", () =>
    leavesNothing("traced"));
  test("the ninth peer of a GPU is refused", () => leavesNothing("peers", { P2PLAB_FAKE_DEVICES: "10" }));
  test("work that never completes gives way when the process ends", () => {
    assert.equal(
      run("endless")
        .live.map(([kind]) => kind)
        .sort(),
      ["allocations", "contexts", "modules", "streams"],
    );
  });

  test("memory ends at the allocation that was ordered, and a context breaks at the call that was ordered", () =>
    leavesNothing("ordered", { P2PLAB_FAKE_OOM: "2", P2PLAB_FAKE_STICKY: "cuMemcpyAsync@3" }));

  test("without peer access CUDA says no and NVML says why, for the pairs that were ordered", () => {
    for (const reason of ["CNS", "GNS", "TNS", "DR", "NS", "U"]) {
      const { printed } = run("access", { P2PLAB_FAKE_MODE: `no-peer:${reason}` });
      assert.is(printed, `0 0 ${reason} ${reason}; 0 0 ${reason} ${reason};`);
    }
    const oneWay = { P2PLAB_FAKE_MODE: "no-peer", P2PLAB_FAKE_PAIRS: "1>0" };
    assert.is(run("access", oneWay).printed, "1 1 OK OK; 0 0 NS NS;");
  });

  test("a driver of the CUDA 11.0 age lacks what came later and nothing else", () => {
    const library = fakeCudaOf("11.0");
    leavesNothing("elapsed", { P2PLAB_LIBCUDA: library, P2PLAB_FAKE_DELAY_NS: "2000000" });
    const lacking = run("optional", { P2PLAB_LIBCUDA: library }).printed;
    assert.match(lacking, "cuMemAllocAsync came with CUDA 11.2");
    assert.is(run("optional", { P2PLAB_LIBCUDA: fakeCudaOf("12.0") }).printed.includes("11."), false);
    assert.is(run("optional").printed, "");
  });

  test("devices are permuted and left out by index and by UUID, and keep UUID and PCI address", () => {
    const shown = (settings: Record<string, string>) =>
      run("devices", { P2PLAB_FAKE_DEVICES: "3", ...settings }).printed;
    assert.is(shown({}), "0/0/10 1/1/11 2/2/12");
    assert.is(shown({ CUDA_VISIBLE_DEVICES: "2,0" }), "2/2/12 0/0/10");
    assert.is(shown({ CUDA_VISIBLE_DEVICES: "GPU-01010101-0101-0101-0101-010101010101" }), "1/1/11");
    assert.is(shown({ CUDA_VISIBLE_DEVICES: "GPU-02,0" }), "2/2/12 0/0/10");
    assert.is(shown({ CUDA_VISIBLE_DEVICES: "1,7,0" }), "1/1/11");
    assert.is(shown({ CUDA_VISIBLE_DEVICES: "1,1" }), "");
    assert.is(shown({ P2PLAB_FAKE_MIG: "1" }), "0/160/10");
  });
}

test.run();
