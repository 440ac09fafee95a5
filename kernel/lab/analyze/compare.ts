import { P2pError } from "../errors.js";
import type { Run } from "../machine.js";
import { Random } from "../random.js";
import { type MimeBundle, richDisplay } from "../rich.js";
import { median, quantileSorted } from "../sampling.js";
import { formatNs } from "../units.js";

/** What a comparison comes to; `ambiguous` where the samples do not decide. */
export type Comparison = "faster" | "slower" | "same" | "ambiguous";

export interface CompareOptions {
  /** Ratios within 1 ± this are the same for the reader's purpose; default 0.02. */
  tolerance?: number;
}

/** Resamples of the bootstrap; the interval's ends move by less than a tenth of its width between seeds. */
const RESAMPLES = 1000;
/** Longer series are resampled at this length: the interval is then a little wider than it need be. */
const MOST_SAMPLES = 2000;
const LEAST_SAMPLES = 10;

/**
 * Compares two series of times: is the second faster than the first? The answer comes from the 95 % interval of the ratio
 * of medians (percentile bootstrap, Efron and Tibshirani 1993, chapter 13): wholly within the tolerance it is `same`, wholly
 * outside `faster` or `slower`, and across its edge `ambiguous`.
 * @param a the base line; runs of one mode, or samples in nanoseconds.
 * @param b what is held against it.
 * @throws P2pError `usage` for series of fewer than ten samples, runs of different modes, or a tolerance that is none.
 */
export function compare(
  a: Run | Float64Array,
  b: Run | Float64Array,
  options: CompareOptions = {},
): Compared {
  const { tolerance = 0.02 } = options;
  if (!(tolerance >= 0 && tolerance < 1)) {
    throw new P2pError(
      "usage",
      `the tolerance is ${tolerance}`,
      "Give a share from 0 up to 1, such as 0.02.",
    );
  }
  if (isRun(a) && isRun(b) && a.mode !== b.mode) {
    throw new P2pError(
      "usage",
      `a run in ${a.mode} mode cannot be compared with one in ${b.mode} mode: their times mean different things`,
      "Run both in the same mode.",
    );
  }
  const first = samplesOf(a, "the first series");
  const second = samplesOf(b, "the second series");
  const { low, high } = ratioInterval(first, second);
  const answer: Comparison =
    low >= 1 - tolerance && high <= 1 + tolerance
      ? "same"
      : high < 1 - tolerance
        ? "faster"
        : low > 1 + tolerance
          ? "slower"
          : "ambiguous";
  return new Compared({
    answer,
    ratio: median(second) / median(first),
    ratioLow: low,
    ratioHigh: high,
    superiority: superiority(first, second),
    firstNs: median(first),
    secondNs: median(second),
    tolerance,
    origins: [a, b].map((side) =>
      isRun(side)
        ? `${side.provenance.kind}, ${side.provenance.machine}, ${side.provenance.date.slice(0, 10)}`
        : "",
    ),
  });
}

export interface ComparedValues {
  readonly answer: Comparison;
  /** Median of the second over that of the first: below 1 the second is faster. */
  readonly ratio: number;
  readonly ratioLow: number;
  readonly ratioHigh: number;
  /** Share of pairs of samples in which the second is faster, ties counted half: 0.5 where they do not differ. */
  readonly superiority: number;
  readonly firstNs: number;
  readonly secondNs: number;
  readonly tolerance: number;
  /** Provenance of each side; empty for bare samples. */
  readonly origins: readonly string[];
}

/** The answer, with a sentence for the reader. */
export class Compared {
  readonly values: ComparedValues;

  constructor(values: ComparedValues) {
    this.values = values;
  }

  get answer(): Comparison {
    return this.values.answer;
  }

  get ratio(): number {
    return this.values.ratio;
  }

  toString(): string {
    const {
      answer,
      ratio,
      ratioLow,
      ratioHigh,
      superiority: share,
      firstNs,
      secondNs,
      tolerance,
    } = this.values;
    const short = (value: number) => Number(value.toPrecision(4));
    return (
      `${answer}: ${formatNs(secondNs)} against ${formatNs(firstNs)}, × ${short(ratio)} ` +
      `(95 % interval ${short(ratioLow)}–${short(ratioHigh)}, same within ± ${short(tolerance * 100)} %; ` +
      `faster in ${Math.round(share * 100)} % of pairs)`
    );
  }

  [richDisplay](): MimeBundle {
    const origins = [...new Set(this.values.origins)].filter((origin) => origin !== "");
    return { "text/plain": origins.length > 0 ? `${this} [${origins.join("; ")}]` : String(this) };
  }
}

function isRun(side: Run | Float64Array): side is Run {
  return !(side instanceof Float64Array) && typeof (side as Run | null)?.samples === "object";
}

function samplesOf(side: Run | Float64Array, which: string): Float64Array {
  const samples = isRun(side) ? side.samples.totalNs : side;
  if (samples instanceof Float64Array && samples.length >= LEAST_SAMPLES && samples.every((ns) => ns > 0))
    return samples;
  throw new P2pError(
    "usage",
    `${which} is not a run, or has too few samples to compare (at least ${LEAST_SAMPLES}, all positive)`,
    "Give two runs of machine.run(), or two Float64Arrays of nanoseconds.",
  );
}

/** Percentile bootstrap of the ratio of medians; the seed is fixed, so that the same samples give the same answer. */
function ratioInterval(first: Float64Array, second: Float64Array): { low: number; high: number } {
  const random = new Random(first.length * 7919 + second.length);
  const a = medians(first, random);
  const b = medians(second, random);
  const ratios = Float64Array.from(a, (value, i) => (b[i] as number) / value).sort();
  return { low: quantileSorted(ratios, 0.025), high: quantileSorted(ratios, 0.975) };
}

/**
 * Medians of resamples. The median of n draws with replacement is the order statistic at the median of n uniform ranks, so
 * that ranks are drawn, by the beta distribution of a middle order statistic (normal approximation), instead of n values.
 */
export function medians(samples: Float64Array, random: Random): Float64Array {
  const sorted = samples.slice().sort();
  const n = Math.min(sorted.length, MOST_SAMPLES);
  const sd = 0.5 / Math.sqrt(n + 2);
  return Float64Array.from({ length: RESAMPLES }, () =>
    quantileSorted(sorted, Math.min(1, Math.max(0, 0.5 + sd * random.normal()))),
  );
}

/** Mann and Whitney's U over the number of pairs, by a merge of the sorted series. */
function superiority(first: Float64Array, second: Float64Array): number {
  const a = first.slice().sort();
  const b = second.slice().sort();
  let wins = 0;
  let below = 0;
  let upTo = 0;
  for (const value of b) {
    while (below < a.length && (a[below] as number) < value) below++;
    while (upTo < a.length && (a[upTo] as number) <= value) upTo++;
    wins += a.length - upTo + (upTo - below) / 2;
  }
  return wins / (a.length * b.length);
}
