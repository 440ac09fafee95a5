import { P2pError } from "../errors.js";
import type { Samples } from "../machine.js";
import type { NativeExecutor } from "../native.js";
import { median, type Sampling, StoppingRule, type Warmup } from "../sampling.js";
import { DEADLINE_MS, throwIfCancelled } from "./cuda-calls.js";

/** How long one batch of iterations should take: often enough asked whether to stop, seldom enough to cost nothing. */
const BATCH_MS = 50;
/** Medians of two groups in a row that differ by less are the same: the warm-up is over. */
const STABLE = 0.02;
/** The warm-up is asked in groups, at least this many to the iterations wanted. */
const GROUPS = 4;
/** A warm-up that does not become stable ends after this many times the iterations wanted. */
const MOST_WARMUPS = 5;

/** Latency mode: iterations one at a time until the stopping rule ends them. */
export async function sample(
  executor: NativeExecutor,
  sampling: Sampling,
  signal: AbortSignal | undefined,
): Promise<Samples> {
  const warm = await warmUp(executor, sampling, signal);
  let { perIterationNs } = warm;
  const rule = new StoppingRule(sampling);
  let totalNs: Float64Array = new Float64Array(0);
  let apiNs: Float64Array = new Float64Array(0);
  const begin = performance.now();
  for (;;) {
    const batch = new Batch(Math.min(iterationsOf(BATCH_MS, perIterationNs), rule.wanted(totalNs.length)));
    await batch.run(executor, signal);
    totalNs = joined(totalNs, batch.totalNs);
    apiNs = joined(apiNs, batch.apiNs);
    const convergence = rule.ended(totalNs, performance.now() - begin);
    if (convergence) return { totalNs, apiNs, convergence: { ...convergence, warmup: warm.warmup } };
    if (totalNs.length >= sampling.maxSamples) {
      throw new P2pError("usage", "the stopping rule wants more than maxSamples", "Raise maxSamples.");
    }
    perIterationNs = Math.max(1, median(batch.totalNs));
  }
}

/**
 * Iterations that are thrown away: at least those wanted, and on until the running median is stable; fewer where they would
 * take more than half of the time budget.
 * @returns how long an iteration takes, and what was thrown away.
 */
async function warmUp(
  executor: NativeExecutor,
  sampling: Sampling,
  signal: AbortSignal | undefined,
): Promise<{ perIterationNs: number; warmup: Warmup }> {
  const begin = performance.now();
  const first = new Batch(1);
  await first.run(executor, signal);
  let medianNs = Math.max(1, first.totalNs[0] as number);
  let stable = false;
  let done = 1;
  const over = () =>
    (stable && done >= sampling.warmup) ||
    done >= MOST_WARMUPS * sampling.warmup ||
    performance.now() - begin >= sampling.budgetMs / 2;
  while (!over()) {
    const group = Math.ceil(sampling.warmup / GROUPS);
    const batch = new Batch(Math.max(1, Math.min(group, iterationsOf(BATCH_MS, medianNs))));
    await batch.run(executor, signal);
    done += batch.totalNs.length;
    const before = medianNs;
    medianNs = Math.max(1, median(batch.totalNs));
    stable = Math.abs(medianNs - before) <= STABLE * before;
  }
  return { perIterationNs: medianNs, warmup: { iterations: done, stable } };
}

function iterationsOf(ms: number, perIterationNs: number): number {
  return Math.max(1, Math.round((ms * 1e6) / perIterationNs));
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
