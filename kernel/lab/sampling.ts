import { P2pError, shown } from "./errors.js";

/** When to stop sampling. */
export interface SamplingOptions {
  /** Wanted relative half-width of the 95 % confidence interval of the median; default 0.02. */
  target?: number;
  /** Wall time after which sampling ends whether or not the target is met, milliseconds; default 1000. */
  budgetMs?: number;
  /** Never fewer samples than this (unless cancelled); default 100. */
  minSamples?: number;
  /** Never more samples than this; default 2000. */
  maxSamples?: number;
  /** Iterations run and thrown away first; default 200. */
  warmup?: number;
}

/** Defaults of throughput mode, where one sample is a batch: few are needed, because each is already a mean. */
export const THROUGHPUT_SAMPLING = { minSamples: 20, warmup: 3 } as const;

export type Sampling = Required<SamplingOptions>;

/** What was run and thrown away before the first sample. */
export interface Warmup {
  readonly iterations: number;
  /** Whether the running median had become stable by then. */
  readonly stable: boolean;
}

/** How a series of samples began and ended. */
export interface Convergence {
  readonly n: number;
  readonly medianNs: number;
  /** 95 % confidence interval of the median, from order statistics: no assumption on the distribution. */
  readonly ciLowNs: number;
  readonly ciHighNs: number;
  /** Whether the interval met the target. */
  readonly converged: boolean;
  /** `unsteady`: each of several visits met its share of the target, but they differ too much to meet it together. */
  readonly ended: "target" | "budget" | "max-samples" | "cancelled" | "unsteady";
  /** Absent where nothing has to warm up (a model), and in recordings that do not say. */
  readonly warmup?: Warmup;
}

/** What options may be: beyond these limits a run would take days, or more memory than hosts have. */
const RANGES: Record<keyof Sampling, { least: number; most: number; whole: boolean }> = {
  target: { least: 1e-12, most: 1, whole: false },
  budgetMs: { least: 1e-3, most: 86_400_000, whole: false },
  minSamples: { least: 1, most: 5_000_000, whole: true },
  maxSamples: { least: 1, most: 5_000_000, whole: true },
  warmup: { least: 0, most: 1_000_000, whole: true },
};

/** @throws P2pError `usage` naming the option that makes no sense. */
export function samplingOf(options: SamplingOptions = {}): Sampling {
  const sampling = {
    target: 0.02,
    budgetMs: 1000,
    minSamples: 100,
    maxSamples: 2000,
    warmup: 200,
    ...options,
  };
  for (const [name, value] of Object.entries(sampling)) {
    const range = RANGES[name as keyof Sampling];
    if (!range) {
      throw new P2pError(
        "usage",
        `there is no sampling option ${name}`,
        `Use ${Object.keys(RANGES).join(", ")}.`,
      );
    }
    const { least, most, whole } = range;
    if (value >= least && value <= most && (!whole || Number.isInteger(value))) continue;
    throw new P2pError(
      "usage",
      `sampling option ${name} is ${value}`,
      `Give a ${whole ? "whole number" : "number"} from ${least} to ${most}.`,
    );
  }
  if (sampling.maxSamples < sampling.minSamples) {
    throw new P2pError(
      "usage",
      `maxSamples (${sampling.maxSamples}) is below minSamples (${sampling.minSamples})`,
      "Raise maxSamples or lower minSamples.",
    );
  }
  return sampling;
}

/** Quantile of ascending values by linear interpolation between order statistics (type 7 of Hyndman & Fan 1996). */
export function quantileSorted(sorted: ArrayLike<number>, q: number): number {
  const position = (sorted.length - 1) * q;
  const low = Math.floor(position);
  const a = sorted[low] as number;
  const b = sorted[Math.min(low + 1, sorted.length - 1)] as number;
  return a + (b - a) * (position - low);
}

export function median(values: ArrayLike<number>): number {
  if (!(values?.length > 0)) {
    throw new P2pError("usage", "the median of no values", "Give at least one value.");
  }
  const copy = values instanceof Float64Array ? values.slice() : Float64Array.from(values);
  copy.sort();
  // What is no number is sorted to the end.
  if (Number.isNaN(copy.at(-1))) {
    const wrong = Array.from(values).findIndex((value) => Number.isNaN(Number(value)));
    throw new P2pError(
      "usage",
      `the median of values of which number ${wrong} is ${shown(values[wrong])}`,
      "Give numbers.",
    );
  }
  return quantileSorted(copy, 0.5);
}

/**
 * 95 % confidence interval of the median from order statistics: ranks (n ∓ 1.96 √n) / 2, the normal approximation of
 * the binomial distribution of the number of samples below the median (Conover, Practical Nonparametric Statistics, 3.2).
 */
export function medianInterval(sorted: ArrayLike<number>): { low: number; high: number } {
  const n = sorted.length;
  const spread = 0.98 * Math.sqrt(n);
  const low = Math.max(0, Math.floor(n / 2 - spread) - 1);
  const high = Math.min(n - 1, Math.ceil(n / 2 + spread));
  return { low: sorted[low] as number, high: sorted[high] as number };
}

/**
 * One look of the stopping rule at all samples so far; {@link StoppingRule} says when to look.
 * @returns how the series ended, or null to go on.
 */
export function stop(samplesNs: Float64Array, elapsedMs: number, sampling: Sampling): Convergence | null {
  const n = samplesNs.length;
  if (n === 0 || (n < sampling.minSamples && elapsedMs < sampling.budgetMs * 4)) return null;
  const { medianNs, ciLowNs, ciHighNs } = summary(samplesNs);
  const converged = n >= sampling.minSamples && (ciHighNs - ciLowNs) / 2 <= sampling.target * medianNs;
  const ended = converged
    ? "target"
    : n >= sampling.maxSamples
      ? "max-samples"
      : elapsedMs >= sampling.budgetMs
        ? "budget"
        : null;
  return ended && { n, medianNs, ciLowNs, ciHighNs, converged, ended };
}

/** Each look has this many times the samples of the one before. */
const LOOK_GROWTH = 1.5;

/**
 * When to look: at `minSamples`, then at half as many more each time, and when the budget is spent. A rule that looked at
 * every few samples would stop at the moments when the interval happens to be narrow, and such intervals cover the true
 * median less often than they say.
 */
export class StoppingRule {
  readonly #sampling: Sampling;
  #next: number;

  constructor(sampling: Sampling) {
    this.#sampling = sampling;
    this.#next = Math.min(sampling.minSamples, sampling.maxSamples);
  }

  /** How many samples are to be taken before the next look, of which `n` are there. */
  wanted(n: number): number {
    return Math.max(1, this.#next - n);
  }

  /** @returns how the series ended, or null to go on. */
  ended(samplesNs: Float64Array, elapsedMs: number): Convergence | null {
    const n = samplesNs.length;
    if (n < this.#next && elapsedMs < this.#sampling.budgetMs) return null;
    if (n >= this.#next) this.#next = Math.min(this.#sampling.maxSamples, Math.ceil(n * LOOK_GROWTH));
    return stop(samplesNs, elapsedMs, this.#sampling);
  }
}

/** A series that ended by cancellation. */
export function cancelled(samplesNs: Float64Array): Convergence {
  return { n: samplesNs.length, ...summary(samplesNs), converged: false, ended: "cancelled" };
}

/** A share of the sampling for each of several visits, so that all of them together meet the target. */
export function shareOf(sampling: Sampling, visits: number): Sampling {
  const share = (n: number) => Math.max(1, Math.ceil(n / visits));
  return {
    ...sampling,
    // The interval narrows with the root of the number of samples.
    target: Math.min(1, sampling.target * Math.sqrt(visits)),
    budgetMs: sampling.budgetMs / visits,
    minSamples: share(sampling.minSamples),
    maxSamples: share(sampling.maxSamples),
  };
}

/** One series of several visits to a cell, in their order. */
export function mergedConvergence(
  samplesNs: Float64Array,
  visits: readonly Convergence[],
  sampling: Sampling,
): Convergence {
  const n = samplesNs.length;
  const whole = summary(samplesNs);
  const converged =
    n >= sampling.minSamples && (whole.ciHighNs - whole.ciLowNs) / 2 <= sampling.target * whole.medianNs;
  const warmups = visits.flatMap((visit) => (visit.warmup ? [visit.warmup] : []));
  return {
    n,
    ...whole,
    converged,
    ended: converged ? "target" : (visits.find((visit) => visit.ended !== "target")?.ended ?? "unsteady"),
    ...(warmups.length > 0 && {
      warmup: {
        iterations: warmups.reduce((sum, warmup) => sum + warmup.iterations, 0),
        stable: warmups.every((warmup) => warmup.stable),
      },
    }),
  };
}

function summary(samplesNs: Float64Array): { medianNs: number; ciLowNs: number; ciHighNs: number } {
  const sorted = samplesNs.slice().sort();
  const { low, high } = medianInterval(sorted);
  return { medianNs: quantileSorted(sorted, 0.5), ciLowNs: low, ciHighNs: high };
}
