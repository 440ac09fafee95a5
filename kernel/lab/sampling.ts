import { P2pError } from "./errors.js";

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

export type Sampling = Required<SamplingOptions>;

/** How a series of samples ended. */
export interface Convergence {
  readonly n: number;
  readonly medianNs: number;
  /** 95 % confidence interval of the median, from order statistics: no assumption on the distribution. */
  readonly ciLowNs: number;
  readonly ciHighNs: number;
  /** Whether the interval met the target. */
  readonly converged: boolean;
  readonly ended: "target" | "budget" | "max-samples" | "cancelled";
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
  return quantileSorted(Float64Array.from(values).sort(), 0.5);
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
 * The one stopping rule. Asked after each batch with all samples so far.
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

/** A series that ended by cancellation. */
export function cancelled(samplesNs: Float64Array): Convergence {
  return { n: samplesNs.length, ...summary(samplesNs), converged: false, ended: "cancelled" };
}

function summary(samplesNs: Float64Array): { medianNs: number; ciLowNs: number; ciHighNs: number } {
  const sorted = samplesNs.slice().sort();
  const { low, high } = medianInterval(sorted);
  return { medianNs: quantileSorted(sorted, 0.5), ciLowNs: low, ciHighNs: high };
}
