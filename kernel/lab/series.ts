/**
 * What a series of samples is like beside its median: whether it settled late, drifted, jumped or has two modes. A flag keeps
 * the numbers and tells the reader; nothing is thrown away.
 */
import { P2pError, shown } from "./errors.js";
import { type Convergence, quantileSorted } from "./sampling.js";

/** A change smaller than this share of the median is no news, however certain it is. */
const LEAST_CHANGE = 0.03;
/** Blocks whose medians stand for the series: outliers and one-sample noise are gone, a trend is not. */
const BLOCKS = 20;
/** Fewer samples than this say nothing about how they change. */
const LEAST_SAMPLES = 60;

export interface Drift {
  /** Change over the whole series by the median slope (Theil and Sen), as a share of the median. */
  readonly change: number;
}

export interface ChangePoint {
  /** Index of the first sample after the change. */
  readonly at: number;
  readonly beforeNs: number;
  readonly afterNs: number;
}

export interface Modes {
  readonly lowNs: number;
  readonly highNs: number;
  /** Share of samples in the higher mode. */
  readonly highShare: number;
}

export interface SeriesShape {
  /** Leading samples that are unlike the rest (MSER-5); 0 when it began settled. */
  readonly unsettled: number;
  readonly drift: Drift | null;
  readonly changePoint: ChangePoint | null;
  readonly modes: Modes | null;
}

/**
 * Looks at samples in the order they were taken.
 * @param inOrder the same, ascending, where the caller has them.
 * @throws P2pError `usage` for an empty series, or what is none.
 */
export function shapeOf(samplesNs: Float64Array, inOrder?: Float64Array): SeriesShape {
  const filled = samplesNs instanceof Float64Array && samplesNs.length > 0;
  const sorted = filled ? (inOrder ?? samplesNs.slice().sort()) : null;
  // What is no number is sorted to the end.
  if (!sorted || Number.isNaN(sorted.at(-1))) {
    const what = samplesNs instanceof Float64Array ? "" : `, but ${shown(samplesNs)}`;
    throw new P2pError(
      "usage",
      `a series of no samples${what}`,
      "Give a Float64Array of numbers, such as run.samples.totalNs.",
    );
  }
  const medianNs = quantileSorted(sorted, 0.5);
  const long = samplesNs.length >= LEAST_SAMPLES && medianNs > 0;
  const ranks = long ? ranksOf(samplesNs, sorted) : new Float64Array(0);
  const changePoint = long ? changePointOf(samplesNs, ranks, medianNs) : null;
  return {
    unsettled: long ? unsettledOf(samplesNs, ranks, medianNs) : 0,
    drift: long && !changePoint ? driftOf(samplesNs, medianNs) : null,
    changePoint,
    modes: long ? modesOf(sorted, medianNs) : null,
  };
}

/** The flags in words, for a table or a warning; empty for a series of one kind. */
export function flagsOf(shape: SeriesShape): string[] {
  if (typeof shape?.unsettled !== "number") {
    throw new P2pError("usage", `flags of ${shown(shape)}`, "Give what lab.shapeOf returned.");
  }
  const { unsettled, drift, changePoint, modes } = shape;
  return [
    ...(unsettled > 0 ? [`unsettled: the first ${unsettled} samples are unlike the rest`] : []),
    ...(drift ? [`drift: ${drift.change > 0 ? "+" : "−"}${percent(drift.change)} over the series`] : []),
    ...(changePoint
      ? [
          `jump: ${microseconds(changePoint.beforeNs)} before sample ${changePoint.at}, ${microseconds(changePoint.afterNs)} after`,
        ]
      : []),
    ...(modes
      ? [
          `two modes: ${microseconds(modes.lowNs)} and ${microseconds(modes.highNs)} (${percent(modes.highShare)} of samples)`,
        ]
      : []),
  ];
}

/**
 * Whether visits to one cell at different times gave different medians: neither interval reaches the other's median, and they
 * lie {@link LEAST_CHANGE} apart. In words; null when they agree.
 */
export function visitsFlag(visits: readonly Convergence[]): string | null {
  for (const [i, a] of visits.entries()) {
    const other = visits
      .slice(i + 1)
      .findIndex(
        (b) =>
          (a.ciHighNs < b.medianNs || b.medianNs < a.ciLowNs) &&
          (b.ciHighNs < a.medianNs || a.medianNs < b.ciLowNs) &&
          Math.abs(a.medianNs - b.medianNs) >= LEAST_CHANGE * Math.min(a.medianNs, b.medianNs),
      );
    if (other >= 0) return `visits differ: ${visits.map((visit) => microseconds(visit.medianNs)).join(", ")}`;
  }
  return null;
}

function microseconds(ns: number): string {
  return `${Number((ns / 1e3).toPrecision(3))} µs`;
}

function percent(share: number): string {
  return `${Number((Math.abs(share) * 100).toPrecision(2))} %`;
}

/**
 * The truncation that leaves the smallest standard error of the mean over batches of five (White, Cobb and Spratt, "A
 * comparison of five steady-state truncation heuristics", WSC 2000). Ranks take the place of values, so that one outlier
 * does not decide; a truncation beyond half of the series means that it never settled, and none that is not worth a tenth
 * of the error is made. That alone cuts every fifth series of 100 independent samples: a cut counts where the rank sum of what
 * is before it is beyond chance, though the best of many places was taken, and the medians differ by {@link LEAST_CHANGE}.
 */
function unsettledOf(samplesNs: Float64Array, ranks: Float64Array, medianNs: number): number {
  const batches: number[] = [];
  for (let i = 0; i + 5 <= ranks.length; i += 5) {
    batches.push(
      ((ranks[i] as number) +
        (ranks[i + 1] as number) +
        (ranks[i + 2] as number) +
        (ranks[i + 3] as number) +
        (ranks[i + 4] as number)) /
        5,
    );
  }
  let sum = 0;
  let squares = 0;
  let best = { from: 0, error: Number.POSITIVE_INFINITY };
  let whole = 0;
  for (let from = batches.length - 1; from >= 0; from--) {
    const value = batches[from] as number;
    sum += value;
    squares += value * value;
    const n = batches.length - from;
    if (n < batches.length / 2) continue;
    const error = (squares - (sum * sum) / n) / (n * n);
    if (error <= best.error) best = { from, error };
    whole = error;
  }
  const at = best.error < 0.9 * whole ? best.from * 5 : 0;
  return at > 0 && isUnlike(samplesNs, ranks, at, medianNs) ? at : 0;
}

/** Standard deviations of a rank sum that the best of many cuts does not reach by chance. */
const UNLIKE = 4;

function isUnlike(samplesNs: Float64Array, ranks: Float64Array, at: number, medianNs: number): boolean {
  const n = ranks.length;
  const expected = (at * (n + 1)) / 2;
  const sum = ranks.subarray(0, at).reduce((total, rank) => total + rank, 0);
  if (Math.abs(sum - expected) < UNLIKE * Math.sqrt((expected * (n - at)) / 6)) return false;
  const medianOf = (part: Float64Array) => quantileSorted(part.sort(), 0.5);
  const step = medianOf(samplesNs.slice(0, at)) - medianOf(samplesNs.slice(at));
  return Math.abs(step) >= LEAST_CHANGE * medianNs;
}

/** Median slope of the block medians, where Mann and Kendall's test is sure of it (two-sided, p < 0.001). */
function driftOf(samplesNs: Float64Array, medianNs: number): Drift | null {
  const blocks = blockMedians(samplesNs);
  let s = 0;
  for (let i = 0; i < BLOCKS; i++) {
    for (let j = i + 1; j < BLOCKS; j++) s += Math.sign((blocks[j] as number) - (blocks[i] as number));
  }
  const z = (Math.abs(s) - 1) / Math.sqrt((BLOCKS * (BLOCKS - 1) * (2 * BLOCKS + 5)) / 18);
  if (z <= 3.29) return null;
  const slopes: number[] = [];
  for (let i = 0; i < BLOCKS; i++) {
    for (let j = i + 1; j < BLOCKS; j++)
      slopes.push(((blocks[j] as number) - (blocks[i] as number)) / (j - i));
  }
  const change = (quantileSorted(Float64Array.from(slopes).sort(), 0.5) * BLOCKS) / medianNs;
  return Math.abs(change) >= LEAST_CHANGE ? { change } : null;
}

/**
 * Pettitt's rank test for one change of location (p < 0.001), kept where the medians of the two parts differ by more than
 * {@link LEAST_CHANGE} and by more than each part's own spread explains, and a step fits the blocks better than a slope.
 */
function changePointOf(samplesNs: Float64Array, ranks: Float64Array, medianNs: number): ChangePoint | null {
  const n = samplesNs.length;
  let sum = 0;
  let largest = 0;
  let at = 0;
  for (let k = 1; k < n; k++) {
    sum += ranks[k - 1] as number;
    const u = Math.abs(2 * sum - k * (n + 1));
    if (u > largest) [largest, at] = [u, k];
  }
  const p = 2 * Math.exp((-6 * largest * largest) / (n ** 3 + n ** 2));
  if (p >= 0.001 || at < n / BLOCKS || n - at < n / BLOCKS) return null;
  const before = samplesNs.slice(0, at).sort();
  const after = samplesNs.slice(at).sort();
  const beforeNs = quantileSorted(before, 0.5);
  const afterNs = quantileSorted(after, 0.5);
  const spread = Math.max(
    quantileSorted(before, 0.75) - quantileSorted(before, 0.25),
    quantileSorted(after, 0.75) - quantileSorted(after, 0.25),
  );
  const step = Math.abs(afterNs - beforeNs);
  if (step < LEAST_CHANGE * medianNs || step < spread / 2) return null;
  return stepFits(samplesNs, at / n) ? { at, beforeNs, afterNs } : null;
}

/** Whether two levels, changing at a share of the series, leave smaller residuals of the block medians than one slope. */
function stepFits(samplesNs: Float64Array, share: number): boolean {
  const blocks = blockMedians(samplesNs);
  const cut = Math.min(BLOCKS - 1, Math.max(1, Math.round(share * BLOCKS)));
  const residual = (part: number[]) => {
    const mean = part.reduce((sum, value) => sum + value, 0) / part.length;
    return part.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  };
  const middle = (BLOCKS - 1) / 2;
  const mean = blocks.reduce((sum, value) => sum + value, 0) / BLOCKS;
  const slope =
    blocks.reduce((sum, value, i) => sum + (i - middle) * (value - mean), 0) /
    blocks.reduce((sum, _, i) => sum + (i - middle) ** 2, 0);
  const sloped = blocks.reduce((sum, value, i) => sum + (value - mean - slope * (i - middle)) ** 2, 0);
  return residual(blocks.slice(0, cut)) + residual(blocks.slice(cut)) < sloped;
}

/**
 * The best split of the logarithms into two groups (least squares, exact in one dimension), counted as two modes where
 * Ashman's D exceeds 4 (2 would separate two normals; the halves of a uniform reach 3.5), each holds 5 % and they lie
 * {@link LEAST_CHANGE} apart. The outermost percent on each side does not vote.
 */
export function modesOf(sorted: Float64Array, medianNs: number): Modes | null {
  const n = sorted.length;
  const cutOff = Math.floor(n / 100);
  const kept = sorted.subarray(Math.max(cutOff, countBelow(sorted, 0, true)), n - cutOff);
  const logs = kept.map(Math.log);
  const count = logs.length;
  const origin = Math.log(medianNs);
  let total = 0;
  for (const value of logs) total += value - origin;
  const least = Math.max(3, Math.ceil(count * 0.05));
  let cut = 0;
  let best = Number.POSITIVE_INFINITY;
  let below = 0;
  for (let i = 1; i <= count - least; i++) {
    below += (logs[i - 1] as number) - origin;
    if (i < least) continue;
    // The sum of squares within the two groups, but for a part that no cut changes.
    const within = -(below * below) / i - (total - below) ** 2 / (count - i);
    if (within < best) [best, cut] = [within, i];
  }
  if (cut === 0) return null;
  const low = momentsOf(logs.subarray(0, cut), origin);
  const high = momentsOf(logs.subarray(cut), origin);
  // Two steps of a clock are no modes: a spread of nothing counts as a tenth of the least change.
  const spread = Math.max(Math.sqrt(low.variance + high.variance), LEAST_CHANGE / 10);
  const apart = high.mean - low.mean;
  if ((Math.SQRT2 * apart) / spread <= 4 || apart < LEAST_CHANGE) return null;
  return {
    lowNs: quantileSorted(kept.slice(0, cut), 0.5),
    highNs: quantileSorted(kept.slice(cut), 0.5),
    highShare: high.count / logs.length,
  };
}

/** @param origin a number near the values, so that squares of nearly equal numbers do not cancel. */
function momentsOf(values: Float64Array, origin: number): { count: number; mean: number; variance: number } {
  let sum = 0;
  let squares = 0;
  for (const value of values) {
    sum += value - origin;
    squares += (value - origin) ** 2;
  }
  const mean = sum / values.length;
  return { count: values.length, mean, variance: Math.max(0, squares / values.length - mean * mean) };
}

/** Ranks from 1, equal values sharing their mean rank. */
function ranksOf(values: Float64Array, sorted: Float64Array): Float64Array {
  return values.map((value) => {
    const below = countBelow(sorted, value, false);
    // Most values are alone.
    const upTo = sorted[below + 1] === value ? countBelow(sorted, value, true) : below + 1;
    return (below + upTo + 1) / 2;
  });
}

/** How many of ascending values are below one, or not above it. */
function countBelow(sorted: Float64Array, value: number, orEqual: boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = sorted[middle] as number;
    if (at < value || (orEqual && at === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function blockMedians(samplesNs: Float64Array): number[] {
  const copy = samplesNs.slice();
  return Array.from({ length: BLOCKS }, (_, block) => {
    const from = Math.floor((block * samplesNs.length) / BLOCKS);
    const to = Math.floor(((block + 1) * samplesNs.length) / BLOCKS);
    return quantileSorted(copy.subarray(from, to).sort(), 0.5);
  });
}
