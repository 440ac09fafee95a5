import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import { StateReader } from "../../../kernel/lab/machines/cuda-state.js";
import { Waker } from "../../../kernel/lab/machines/cuda-wake.js";
import type { NativeExecutor } from "../../../kernel/lab/native.js";
import type { NativeNvml, NvmlClocks, NvmlFacts } from "../../../kernel/lab/native-nvml.js";

const test = suite("waking GPUs");

/** SM clock and PCIe generation that one GPU tells at each reading; the last one stays. */
type Script = readonly (readonly [number | null, number | null])[];

/** A waker on GPUs that tell what the scripts say, and an executor that counts what it is asked to run. */
function scripted(scripts: readonly Script[], max: readonly [number, number] = [1980, 5]) {
  const readings = scripts.map(() => 0);
  const rounds: number[] = [];
  const nvml = {
    nvmlFacts: () => ({ maxSmClockMhz: max[0], maxPcieGeneration: max[1] }) as NvmlFacts,
    nvmlClocks: (gpu: number): NvmlClocks => {
      const script = scripts[gpu] as Script;
      const at = Math.min(readings[gpu] as number, script.length - 1);
      readings[gpu] = at + 1;
      const [smClockMhz, pcieGeneration] = script[at] as Script[number];
      return {
        smClockMhz,
        pcieGeneration,
        memoryClockMhz: null,
        pcieWidth: null,
        performanceState: 0,
        events: [],
        missing: {},
      };
    },
  } as unknown as NativeNvml;
  const executor = {
    time: async (totalNs: Float64Array) => {
      rounds.push(totalNs.length);
      await new Promise((resolve) => setTimeout(resolve, 1));
      return { done: totalNs.length, cancelled: false };
    },
  } as unknown as NativeExecutor;
  const waker = new Waker(new StateReader(nvml));
  const gpus = scripts.map((_, gpu) => gpu);
  return {
    rounds,
    wake: (signal?: AbortSignal) => waker.wake(executor, gpus, signal),
    replay: (gpu: number) => {
      readings[gpu] = 0;
    },
  };
}

test("GPUs at their full clock and PCIe generation are awake: nothing is run", async () => {
  const { wake, rounds } = scripted([[[1980, 5]], [[1970, 5]]]);
  assert.equal(await wake(), []);
  assert.equal(rounds, []);
});

test("a GPU that rests is worked until two readings in a row agree with the one before", async () => {
  const { wake, rounds } = scripted([
    [
      [345, 1],
      [345, 1],
      [1200, 3],
      [1980, 5],
      [1980, 5],
      [1975, 5],
    ],
  ]);
  assert.equal(await wake(), []);
  // The agreement of the first round is that of a GPU that has not begun to wake.
  assert.is(rounds.length, 5);
  assert.is(rounds[0], 1);
});

test("a GPU that a limit keeps below its most settles once, and then counts as awake", async () => {
  const { wake, rounds } = scripted([[[1500, 4]]]);
  assert.equal(await wake(), []);
  assert.is(rounds.length, 2);
  assert.equal(await wake(), []);
  assert.is(rounds.length, 2);
});

test("it is woken again when it rests again", async () => {
  const gpu = scripted([
    [
      [345, 1],
      [1500, 4],
      [1500, 4],
      [1500, 4],
    ],
  ]);
  await gpu.wake();
  const before = gpu.rounds.length;
  gpu.replay(0);
  await gpu.wake();
  assert.is(gpu.rounds.length, 2 * before);
});

test("one GPU of several that rests keeps all waiting; the others are not named", async () => {
  const jumps = Array.from({ length: 400 }, (_, i) => [i % 2 ? 1000 : 1100, 5] as const);
  const { wake } = scripted([[[1980, 5]], jumps]);
  const warnings = await wake();
  assert.is(warnings.length, 1);
  assert.match(
    warnings[0] as string,
    /^clock: GPU 1 had not settled 300 ms after it was woken \(SM clock 1[01]00 → 1[01]00 MHz, PCIe generation 5 → 5\)$/,
  );
});

test("what NVML does not tell keeps nothing waiting for long", async () => {
  const { wake, rounds } = scripted([[[null, null]]]);
  assert.equal(await wake(), []);
  assert.is(rounds.length, 2);
});

test("GPUs that NVML does not know are not woken", async () => {
  const refuse = () => {
    throw new P2pError("not-available", "no NVML", "");
  };
  const nvml = { nvmlFacts: refuse, nvmlClocks: refuse } as unknown as NativeNvml;
  const executor = { time: () => assert.unreachable("it ran") } as unknown as NativeExecutor;
  assert.equal(await new Waker(new StateReader(nvml)).wake(executor, [0, 1], undefined), []);
});

test("an abort ends the waking", async () => {
  const { wake } = scripted([[[345, 1]]]);
  try {
    await wake(AbortSignal.abort());
    assert.unreachable("it went on");
  } catch (error) {
    assert.is((error as P2pError).code, "cancelled");
  }
});

test.run();
