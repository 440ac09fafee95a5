import { suite } from "uvu";
import * as assert from "uvu/assert";
import { inLabLeavingNothing, missing } from "../native/toolchain.js";

export const TIME_LIMIT_S = 300;

const test = suite("memory of another process, on the stand-in driver");

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

const TRANSFER = JSON.stringify(new URL("../../kernel/lab/measure/transfer.js", import.meta.url).href);
const OPEN = `import { transfer } from ${TRANSFER};
  const machine = await CudaMachine.open();
  const few = { sampling: { budgetMs: 10, minSamples: 10, maxSamples: 20 } };
  const copy = transfer({ from: 0, to: 1, bytes: 4096, allocator: "ipc" });`;

function register(): void {
  test("a copy into it is verified here and by the process that owns it, and leaves nothing", () => {
    const { lines, children } = inLabLeavingNothing(`${OPEN}
      print(copy.toString());
      const run = await machine.run(copy, few);
      print({ kind: run.provenance.kind, n: run.samples.totalNs.length, verification: run.verification });
      const beside = transfer({ from: 0, to: 1, bytes: 4096 }).buffer("other", { gpu: 1, bytes: 64, allocator: "ipc" });
      print((await machine.run(beside, few)).verification);
      await machine.close();`);
    assert.match(lines[0], /dst: 4 KiB on GPU 1 \(ipc\)/);
    assert.not.match(lines[0], /src: .*ipc/);
    assert.is(lines[1].kind, "measured");
    assert.ok(lines[1].n > 0);
    assert.is(lines[1].verification.state, "ok");
    const seen = /the process that owns the memory sees (\d+) bytes of it changed/.exec(
      lines[1].verification.detail,
    );
    assert.ok(Number(seen?.[1]) > 3900 && Number(seen?.[1]) <= 4096, lines[1].verification.detail);
    // The control: another process lives and its memory is open here, but the copy goes elsewhere.
    assert.is(lines[2].checkedBytes, 4096);
    assert.match(lines[2].detail, /the process that owns the memory sees \d\d? bytes of it changed/);
    assert.ok(children > 0);
  });

  test("what cannot be opened ends in the driver's error, and a probe of it in one of ours", () => {
    const { lines } = inLabLeavingNothing(
      `${OPEN}
      await machine.run(copy, few).catch((error) => print(failure(error)));
      const word = program().buffer("word", { gpu: 1, bytes: 8, allocator: "ipc" }).stream("s", { gpu: 0 }).probeAtomic("s", "word");
      await machine.run(word).catch((error) => print(failure(error)));
      await machine.close();`,
      { P2PLAB_FAKE_FAIL: "cuIpcOpenMemHandle_v2=201" },
    );
    assert.is(lines[0].code, "cuda");
    assert.match(lines[0].message, /cuIpcOpenMemHandle_v2/);
    assert.is(lines[1].code, "program");
    assert.match(lines[1].message, /another process/);
  });
}

test.run();
