import type { NativeExecutor } from "../native.js";
import type { NvmlClocks } from "../native-nvml.js";
import { DEADLINE_MS, throwIfCancelled } from "./cuda-calls.js";
import { isIdle, type StateReader } from "./cuda-state.js";

/** No run waits longer than this for its GPUs. */
const LIMIT_MS = 300;
/** Work between two looks: long enough for a clock to move, short enough not to be noticed. */
const ROUND_MS = 10;
/** Two readings that differ by less are the same clock. */
const SAME_CLOCK = 0.01;

type Clocks = Map<number, NvmlClocks>;

/**
 * Makes GPUs that rest run at the clocks and the PCIe generation of work, by iterations of the program itself whose times
 * are thrown away, until two readings in a row agree. GPUs at their full clock, or at the one where they settled before, are
 * awake already and cost one reading.
 */
export class Waker {
  readonly #reader: StateReader;
  /** Where each GPU settled under load: limits that someone set keep it below its most. */
  readonly #settled: Clocks = new Map();

  constructor(reader: StateReader) {
    this.#reader = reader;
  }

  /**
   * @returns what did not settle in time, as warnings of the run.
   * @throws P2pError `cancelled`, or what the iterations throw.
   */
  async wake(
    executor: NativeExecutor,
    gpus: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<string[]> {
    let last = this.#read(gpus);
    if ([...last].every(([gpu, clocks]) => this.#isAwake(gpu, clocks))) return [];
    const end = performance.now() + LIMIT_MS;
    let iterations = 1;
    let agreed = 0;
    for (;;) {
      throwIfCancelled(signal);
      const begin = performance.now();
      const { cancelled } = await executor.time(
        new Float64Array(iterations),
        new Float64Array(iterations),
        DEADLINE_MS,
      );
      if (cancelled) throwIfCancelled(signal, true);
      const perIterationMs = Math.max(1e-4, (performance.now() - begin) / iterations);
      iterations = Math.max(1, Math.round(ROUND_MS / perIterationMs));
      const now = this.#read(gpus);
      // The first agreement may be that of a GPU which has not begun to wake.
      agreed = [...now].every(([gpu, clocks]) => agree(last.get(gpu), clocks)) ? agreed + 1 : 0;
      if (agreed >= 2) {
        for (const [gpu, clocks] of now) this.#settled.set(gpu, clocks);
        return [];
      }
      if (performance.now() >= end) return unsettled(last, now);
      last = now;
    }
  }

  /** GPUs that NVML does not know cannot be waited for. */
  #read(gpus: readonly number[]): Clocks {
    const read: Clocks = new Map();
    for (const gpu of gpus) {
      const clocks = this.#reader.clocks(gpu);
      if (typeof clocks !== "string") read.set(gpu, clocks);
    }
    return read;
  }

  #isAwake(gpu: number, clocks: NvmlClocks): boolean {
    if (isIdle(clocks)) return false;
    const facts = this.#reader.facts(gpu);
    const full =
      typeof facts !== "string" &&
      near(clocks.smClockMhz, facts.maxSmClockMhz) &&
      (clocks.pcieGeneration ?? 0) >= (facts.maxPcieGeneration ?? 0);
    return full || agree(this.#settled.get(gpu), clocks);
  }
}

function agree(a: NvmlClocks | undefined, b: NvmlClocks): boolean {
  return a !== undefined && near(a.smClockMhz, b.smClockMhz) && a.pcieGeneration === b.pcieGeneration;
}

/** A clock that cannot be read keeps nothing waiting. */
function near(a: number | null, b: number | null): boolean {
  return a === null || b === null || Math.abs(a - b) <= SAME_CLOCK * Math.max(a, b);
}

function unsettled(last: Clocks, now: Clocks): string[] {
  return [...now].flatMap(([gpu, clocks]) => {
    const before = last.get(gpu);
    if (before === undefined || agree(before, clocks)) return [];
    const sm = `SM clock ${before.smClockMhz ?? "?"} → ${clocks.smClockMhz ?? "?"} MHz`;
    const pcie = `PCIe generation ${before.pcieGeneration ?? "?"} → ${clocks.pcieGeneration ?? "?"}`;
    return [`clock: GPU ${gpu} had not settled ${LIMIT_MS} ms after it was woken (${sm}, ${pcie})`];
  });
}
