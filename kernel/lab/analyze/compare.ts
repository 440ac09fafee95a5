import { P2pError, shown } from "../errors.js";
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
/** Of a side that is several runs; of fewer the bootstrap knows too little. */
const LEAST_RUNS = 5;

/** A run or its samples in nanoseconds, or several of the same program. */
export type Side = Run | Float64Array | readonly (Run | Float64Array)[];

/**
 * Compares two series of times: is the second faster than the first? The answer comes from the 95 % interval of the ratio
 * of medians (percentile bootstrap, Efron and Tibshirani 1993, chapter 13): wholly within the tolerance it is `same`, wholly
 * outside `faster` or `slower`, and across its edge `ambiguous`.
 *
 * Two runs say how these two runs compare. On real machines runs of one and the same program differ, by more than their
 * samples do: whether two programs differ is told by several runs of each, taken in turns. Then the interval is of the
 * median over runs, and runs are drawn anew as well as samples.
 * @param a the base line; runs of one mode, or samples in nanoseconds; one or at least five.
 * @param b what is held against it; one where the base line is one.
 * @throws P2pError `usage` for series of fewer than ten samples, runs of different modes, one against several, or a tolerance
 * that is none.
 */
export function compare(a: Side, b: Side, options: CompareOptions = {}): Compared {
  const { tolerance = 0.02 } = options ?? {};
  if (typeof tolerance !== "number" || !(tolerance >= 0 && tolerance < 1)) {
    throw new P2pError(
      "usage",
      `the tolerance is ${shown(tolerance)}`,
      "Give a share from 0 up to 1, such as 0.02.",
    );
  }
  const sides = [a, b].map(listOf) as [readonly (Run | Float64Array)[], readonly (Run | Float64Array)[]];
  const runs = sides.flat().filter(isRun);
  const other = runs.find((run) => run.mode !== runs[0]?.mode);
  if (other) {
    throw new P2pError(
      "usage",
      `a run in ${runs[0]?.mode} mode cannot be compared with one in ${other.mode} mode: their times mean different things`,
      "Run both in the same mode.",
    );
  }
  const [first, second] = sides.map((side, i) =>
    side.map((entry) => samplesOf(entry, `the ${i === 0 ? "first" : "second"} series`)),
  ) as [Float64Array[], Float64Array[]];
  requireRuns(first.length, second.length);
  const { low, high } = ratioInterval(first, second);
  const answer: Comparison =
    low >= 1 - tolerance && high <= 1 + tolerance
      ? "same"
      : high < 1 - tolerance
        ? "faster"
        : low > 1 + tolerance
          ? "slower"
          : "ambiguous";
  const [firstNs, secondNs] = [first, second].map((side) => median(side.map((run) => median(run)))) as [
    number,
    number,
  ];
  return new Compared({
    answer,
    ratio: secondNs / firstNs,
    ratioLow: low,
    ratioHigh: high,
    superiority: superiority(pooled(first), pooled(second)),
    firstNs,
    secondNs,
    runs: [first.length, second.length],
    tolerance,
    origins: [
      ...new Set(
        runs.map(
          ({ provenance }) => `${provenance.kind}, ${provenance.machine}, ${provenance.date.slice(0, 10)}`,
        ),
      ),
    ],
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
  /** Runs of each side. */
  readonly runs: readonly [number, number];
  readonly tolerance: number;
  /** Provenances of the runs, each once; empty for bare samples. */
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
      runs,
      tolerance,
    } = this.values;
    const short = (value: number) => Number(value.toPrecision(4));
    return (
      `${answer}: ${formatNs(secondNs)} against ${formatNs(firstNs)}, × ${short(ratio)} ` +
      `(95 % interval ${short(ratioLow)}–${short(ratioHigh)}, same within ± ${short(tolerance * 100)} %; ` +
      `faster in ${Math.round(share * 100)} % of pairs; ${runs[0] === 1 ? "one run each" : `${runs[0]} and ${runs[1]} runs`})`
    );
  }

  [richDisplay](): MimeBundle {
    const { origins } = this.values;
    return { "text/plain": origins.length > 0 ? `${this} [${origins.join("; ")}]` : String(this) };
  }
}

function listOf(side: Side): readonly (Run | Float64Array)[] {
  return Array.isArray(side) ? side : [side as Run | Float64Array];
}

function requireRuns(first: number, second: number): void {
  if ((first === 1 && second === 1) || (first >= LEAST_RUNS && second >= LEAST_RUNS)) return;
  throw new P2pError(
    "usage",
    `${first} and ${second} runs cannot be compared`,
    `Give one run of each, or at least ${LEAST_RUNS} of each, taken in turns.`,
  );
}

function pooled(runs: readonly Float64Array[]): Float64Array {
  return Float64Array.from(runs.flatMap((run) => [...run]));
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
    `${which} is ${shown(side)}: not a run, or with too few samples to compare (at least ${LEAST_SAMPLES}, all positive)`,
    "Give two runs, each what machine.run(program) returned, or two Float64Arrays of nanoseconds.",
  );
}

/** Percentile bootstrap of the ratio of medians; the seed is fixed, so that the same samples give the same answer. */
function ratioInterval(
  first: readonly Float64Array[],
  second: readonly Float64Array[],
): { low: number; high: number } {
  const count = (side: readonly Float64Array[]) => side.reduce((sum, run) => sum + run.length, 0);
  const random = new Random(count(first) * 7919 + count(second));
  const a = mediansOverRuns(first, random);
  const b = mediansOverRuns(second, random);
  const ratios = Float64Array.from(a, (value, i) => (b[i] as number) / value).sort();
  return { low: quantileSorted(ratios, 0.025), high: quantileSorted(ratios, 0.975) };
}

/** Runs drawn anew, and each one's median from its samples drawn anew: the median of these. */
function mediansOverRuns(runs: readonly Float64Array[], random: Random): Float64Array {
  const drawn = runs.map((run) => medians(run, random));
  if (drawn.length === 1) return drawn[0] as Float64Array;
  return Float64Array.from({ length: RESAMPLES }, (_, i) =>
    median(drawn.map(() => (drawn[random.integer(drawn.length)] as Float64Array)[i] as number)),
  );
}

/**
 * Medians of resamples. The median of n draws with replacement is the order statistic at the median of n uniform ranks, so
 * that ranks are drawn, by the beta distribution of a middle order statistic (normal approximation), instead of n values.
 */
function medians(samples: Float64Array, random: Random): Float64Array {
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
