import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { fakeNvtx, inChild, missing } from "./toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("named ranges for profilers");

const RUN = `const executor = await addon.prepare(push());
  const samples = new Float64Array(3);
  await executor.verify(5000);
  await executor.time(samples, new Float64Array(3), 5000);
  executor.close();
  print("done");`;

/** What a listener heard while a program was verified and timed; null when nobody listened. */
function heard(settings: Record<string, string>): string[] | null {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-ranges-"));
  try {
    const file = join(folder, "heard.txt");
    const child = inChild(RUN, { P2PLAB_FAKE_NVTX: file, ...settings });
    assert.equal([child.status, child.lines], [0, ["done"]], child.stderr);
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : null;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const reason = missing("compiler") ?? missing("addon");
if (reason) {
  test.skip(`skipped: ${reason}`, () => {});
} else {
  test("each call of the executor is one range that names its program, whatever it repeats", () => {
    assert.equal(heard({ NVTX_INJECTION64_PATH: fakeNvtx() }), [
      "push p2plab verify: copy GPU 0 → GPU 1, 64 bytes and 1 more",
      "pop",
      "push p2plab time: copy GPU 0 → GPU 1, 64 bytes and 1 more",
      "pop",
    ]);
  });

  test("without a listener, with one that is not there, or one that does not want to, programs run all the same", () => {
    const deaf: readonly Record<string, string>[] = [
      {},
      { NVTX_INJECTION64_PATH: "/no/such/library.so" },
      { NVTX_INJECTION64_PATH: fakeNvtx(), P2PLAB_FAKE_NVTX_DEAF: "1" },
    ];
    for (const settings of deaf) assert.is(heard(settings), null);
  });
}

test.run();
