import { P2pError } from "../errors.js";
import type { Samples } from "../machine.js";
import type { NativeExecutor } from "../native.js";
import { median, type Sampling, stop } from "../sampling.js";
import { DEADLINE_MS, throwIfCancelled } from "./cuda-calls.js";

/** How long one batch of iterations should take: often enough asked whether to stop, seldom enough to cost nothing. */
const BATCH_MS = 50;

/** Latency mode: iterations one at a time until the stopping rule ends them. */
export async function sample(
  executor: NativeExecutor,
  sampling: Sampling,
  signal: AbortSignal | undefined,
): Promise<Samples> {
  // At least one, for its time sets the length of the first batch.
  const warmup = new Batch(Math.max(1, sampling.warmup));
  await warmup.run(executor, signal);
  let perIterationNs = Math.max(1, median(warmup.totalNs));
  let totalNs: Float64Array = new Float64Array(0);
  let apiNs: Float64Array = new Float64Array(0);
  const begin = performance.now();
  for (;;) {
    const wanted = Math.max(1, Math.round((BATCH_MS * 1e6) / perIterationNs));
    const batch = new Batch(Math.min(wanted, sampling.maxSamples - totalNs.length));
    await batch.run(executor, signal);
    totalNs = joined(totalNs, batch.totalNs);
    apiNs = joined(apiNs, batch.apiNs);
    const convergence = stop(totalNs, performance.now() - begin, sampling);
    if (convergence) return { totalNs, apiNs, convergence };
    if (totalNs.length >= sampling.maxSamples) {
      throw new P2pError("usage", "the stopping rule wants more than maxSamples", "Raise maxSamples.");
    }
    perIterationNs = Math.max(1, median(batch.totalNs));
  }
}

/** A number of iterations timed in one call of the addon. */
class Batch {
  readonly totalNs: Float64Array;
  readonly apiNs: Float64Array;

  constructor(iterations: number) {
    this.totalNs = new Float64Array(iterations);
    this.apiNs = new Float64Array(iterations);
  }

  async run(executor: NativeExecutor, signal: AbortSignal | undefined): Promise<void> {
    throwIfCancelled(signal);
    const { cancelled } = await executor.time(this.totalNs, this.apiNs, DEADLINE_MS);
    if (cancelled) throwIfCancelled(signal, true);
  }
}

function joined(a: Float64Array, b: Float64Array): Float64Array {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
