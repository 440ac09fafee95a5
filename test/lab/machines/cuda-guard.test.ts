import { suite } from "uvu";
import * as assert from "uvu/assert";
import { CudaError } from "../../../kernel/lab/errors.js";
import { Guard } from "../../../kernel/lab/machines/cuda-guard.js";
import type { NativeExecutor } from "../../../kernel/lab/native.js";
import type { SyncMethod } from "../../../kernel/lab/program.js";
import { program } from "../../../kernel/lab/program.js";

const test = suite("the watch over blocking syncs");

const one = (method: SyncMethod) =>
  program()
    .buffer("a", { gpu: 0, bytes: 8 })
    .buffer("b", { gpu: 1, bytes: 8 })
    .stream("s", { gpu: 0 })
    .copy("s", "a", "b")
    .sync("s", method);

/** An executor whose timed calls take as long as they are told. */
function executor(time: () => Promise<{ done: number; cancelled: boolean }>): NativeExecutor {
  return { timedStreams: new Int32Array(1), time } as unknown as NativeExecutor;
}

test("a call that does not come back is an error that says what to do, and the executor is left alone", async () => {
  const guard = new Guard(20);
  const watched = guard.watch(
    executor(() => new Promise(() => {})),
    one("block"),
  );
  try {
    await watched.time(new Float64Array(1), new Float64Array(1), 1000);
    assert.unreachable();
  } catch (error) {
    assert.instance(error, CudaError);
    assert.is((error as CudaError).result, 600);
    assert.match((error as CudaError).hint, "restart the kernel");
  }
  assert.is(guard.hung, true);
});

test("a call that comes back in time is as it was, its error too", async () => {
  const guard = new Guard(10_000);
  const done = { done: 1, cancelled: false };
  assert.is(
    await guard
      .watch(
        executor(async () => done),
        one("block"),
      )
      .time(new Float64Array(1), new Float64Array(1), 1000),
    done,
  );
  const failing = guard.watch(
    executor(() => Promise.reject(new Error("no"))),
    one("block"),
  );
  try {
    await failing.time(new Float64Array(1), new Float64Array(1), 1000);
    assert.unreachable();
  } catch (error) {
    assert.is((error as Error).message, "no");
  }
  assert.is(guard.hung, false);
});

test("a program whose syncs poll is not watched: its deadlines are the addon's", () => {
  const own = executor(() => new Promise(() => {}));
  assert.is(new Guard(1).watch(own, one("spin")), own);
});

test.run();
