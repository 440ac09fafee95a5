import { P2pError } from "../errors.js";
import { provenancesOf, type Table } from "../measure/table.js";
import { Random } from "../random.js";
import { type MimeBundle, richDisplay } from "../rich.js";
import { quantileSorted } from "../sampling.js";
import { formatBytes } from "../units.js";
import { type Curve, type CurvePoint, curvesOf, mixedHint } from "./curves.js";

/** Where the lead changes. */
export interface Crossing {
  readonly from: string;
  readonly to: string;
  /** The last size led by one, and the first led by the other: in between it lies, whatever the curves do there. */
  readonly above: number;
  readonly below: number;
  /**
   * Where it lies if the ratio of the two goes straight between sizes (both in logarithms), bytes, and the 95 % interval of
   * that from the intervals of the medians.
   */
  readonly bytes: number;
  readonly lowBytes: number;
  readonly highBytes: number;
}

/** How two paths compare over message size. */
export interface CrossoverResult {
  readonly paths: readonly [string, string];
  /** Path with the lower median at every size, where intervals of the medians do not overlap anywhere; null otherwise. */
  readonly winner: string | null;
  readonly crossings: readonly Crossing[];
  /** Sizes at which the confidence intervals overlap, so that neither leads. */
  readonly ties: readonly number[];
  /** Median of the second path over that of the first, by size: above 1 the first path is faster. */
  readonly ratios: readonly { bytes: number; ratio: number }[];
}

const DRAWS = 1000;

/**
 * Finds the sizes at which one path overtakes the other in a sweep of exactly two paths, or of two engines, ways to sync, …: of
 * whatever axis the sweep goes over beside size. A lead counts only where the 95 % intervals of the two medians do not overlap.
 * @throws P2pError `usage` when the table does not hold two curves over common sizes.
 */
export function crossover(curve: Table): Crossover {
  const curves = curvesOf(curve, "lab.crossover");
  if (curves.length !== 2) {
    throw new P2pError(
      "usage",
      `a crossover compares two paths, the table holds ${curves.length}: ${curves.map(({ label }) => label).join(", ")}`,
      mixedHint(curve) ?? 'Sweep two, such as path: ["peer", "staged"], or filter the table.',
    );
  }
  const [first, second] = curves as [Curve, Curve];
  const [a, b] = [first.label, second.label];
  const both = first.points.flatMap((x): Both[] => {
    const y = second.points.find((point) => point.bytes === x.bytes);
    return y ? [{ bytes: x.bytes, x, y }] : [];
  });
  if (both.length === 0) {
    throw new P2pError("usage", `${a} and ${b} have no size in common`, "Sweep both over the same sizes.");
  }
  const ties: number[] = [];
  const leads: { index: number; path: string }[] = [];
  both.forEach(({ bytes, x, y }, index) => {
    if (x.ci_high_us < y.ci_low_us) leads.push({ index, path: a });
    else if (y.ci_high_us < x.ci_low_us) leads.push({ index, path: b });
    else ties.push(bytes);
  });
  const crossings = leads.slice(1).flatMap((after, i): Crossing[] => {
    const before = leads[i] as (typeof leads)[number];
    if (before.path === after.path) return [];
    return [crossingOf(both.slice(before.index, after.index + 1), before.path, after.path)];
  });
  const winner = crossings.length === 0 && ties.length === 0 ? (leads[0]?.path ?? null) : null;
  const ratios = both.map(({ bytes, x, y }) => ({ bytes, ratio: y.total_us / x.total_us }));
  return new Crossover(
    { paths: [a, b], winner, crossings, ties, ratios },
    both.map(({ bytes }) => bytes),
    provenancesOf(curve),
  );
}

/** A size of both curves. */
interface Both {
  readonly bytes: number;
  readonly x: CurvePoint;
  readonly y: CurvePoint;
}

/** @param stretch from the last size that one leads to the first that the other does. */
function crossingOf(stretch: readonly Both[], from: string, to: string): Crossing {
  const sizes = stretch.map(({ bytes }) => Math.log(bytes));
  const ratios = stretch.map(({ x, y }) => Math.log(y.total_us / x.total_us));
  const errors = stretch.map(({ x, y }) => Math.hypot(errorOf(x), errorOf(y)));
  const random = new Random(stretch.length);
  const draws = Float64Array.from({ length: DRAWS }, () =>
    zeroOf(
      sizes,
      ratios.map((ratio, i) => ratio + (errors[i] as number) * random.normal()),
      Math.sign(ratios[0] as number),
    ),
  ).sort();
  return {
    from,
    to,
    above: stretch[0]?.bytes as number,
    below: stretch.at(-1)?.bytes as number,
    bytes: zeroOf(sizes, ratios, Math.sign(ratios[0] as number)),
    lowBytes: quantileSorted(draws, 0.025),
    highBytes: quantileSorted(draws, 0.975),
  };
}

/** Standard error of the logarithm of a median. */
function errorOf({ total_us, ci_low_us, ci_high_us }: CurvePoint): number {
  return (ci_high_us - ci_low_us) / (2 * 1.96 * total_us);
}

/** The size at which a ratio that begins with this sign first has lost it; the ends where it never had or never loses it. */
function zeroOf(sizes: readonly number[], ratios: readonly number[], sign: number): number {
  const after = ratios.findIndex((ratio) => ratio * sign <= 0);
  if (after <= 0) return Math.exp(sizes.at(after) as number);
  const [s0, s1] = [sizes[after - 1] as number, sizes[after] as number];
  const [r0, r1] = [ratios[after - 1] as number, ratios[after] as number];
  return Math.exp(s0 + ((s1 - s0) * r0) / (r0 - r1));
}

/** The answer, with a sentence for the reader. */
export class Crossover implements CrossoverResult {
  readonly paths: readonly [string, string];
  readonly winner: string | null;
  readonly crossings: CrossoverResult["crossings"];
  readonly ties: readonly number[];
  readonly ratios: CrossoverResult["ratios"];
  readonly #range: string;
  readonly #origin: string;

  constructor(
    result: CrossoverResult,
    sizes: readonly number[],
    origins: readonly { machine: string; provenance: string; date: string }[],
  ) {
    this.paths = result.paths;
    this.winner = result.winner;
    this.crossings = result.crossings;
    this.ties = result.ties;
    this.ratios = result.ratios;
    this.#range = `${formatBytes(sizes[0] as number)} … ${formatBytes(sizes.at(-1) as number)}`;
    this.#origin = origins.map((o) => `${o.provenance}, ${o.machine}, ${o.date}`).join("; ");
  }

  /** Range of how many times faster the first path is. */
  get ratioRange(): { low: number; high: number } {
    const values = this.ratios.map((entry) => entry.ratio);
    return { low: Math.min(...values), high: Math.max(...values) };
  }

  toString(): string {
    const size = (bytes: number) => formatBytes(Math.round(bytes));
    const ties = this.ties.length > 0 ? `; undecided at ${this.ties.map(formatBytes).join(", ")}` : "";
    if (this.crossings.length > 0) {
      const list = this.crossings.map(
        (c) =>
          `at about ${size(c.bytes)} (95 % interval ${size(c.lowBytes)} to ${size(c.highBytes)}): ` +
          `${c.from} leads up to ${formatBytes(c.above)}, ${c.to} from ${formatBytes(c.below)}`,
      );
      return `crossover: ${list.join("; ")}${ties} (${this.#range})`;
    }
    if (this.winner) return `none: ${this.winner} wins at every size measured (${this.#range})`;
    return `none found (${this.#range})${ties}`;
  }

  [richDisplay](): MimeBundle {
    return { "text/plain": this.#origin ? `${this} [${this.#origin}]` : String(this) };
  }
}
