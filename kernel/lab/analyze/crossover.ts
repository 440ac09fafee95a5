import { P2pError } from "../errors.js";
import { expectTable } from "../measure/expect.js";
import { provenancesOf, type Table } from "../measure/table.js";
import { type MimeBundle, richDisplay } from "../rich.js";
import { formatBytes } from "../units.js";

/** How two paths compare over message size. */
export interface CrossoverResult {
  readonly paths: readonly [string, string];
  /** Path with the lower median at every size, where intervals of the medians do not overlap anywhere; null otherwise. */
  readonly winner: string | null;
  /** Sizes between which the lead changes: the last size led by one path and the first led by the other. */
  readonly crossings: readonly { from: string; to: string; above: number; below: number }[];
  /** Sizes at which the confidence intervals overlap, so that neither leads. */
  readonly ties: readonly number[];
  /** Median of the second path over that of the first, by size: above 1 the first path is faster. */
  readonly ratios: readonly { bytes: number; ratio: number }[];
}

/**
 * Finds the sizes at which one path overtakes the other in a sweep of exactly two paths. A lead counts only where the
 * 95 % intervals of the two medians do not overlap.
 * @throws P2pError `usage` when the table does not hold two paths over common sizes.
 */
export function crossover(curve: Table): Crossover {
  expectTable(curve, ["path", "bytes", "total_us", "ci_low_us", "ci_high_us"], "lab.crossover");
  const rows = curve.objects() as {
    path: string;
    bytes: number;
    total_us: number;
    ci_low_us: number;
    ci_high_us: number;
  }[];
  const names = [...new Set(rows.map((row) => row.path))];
  if (names.length !== 2) {
    throw new P2pError(
      "usage",
      `a crossover compares two paths, the table holds ${names.length}: ${names.join(", ") || "none"}`,
      'Sweep two, such as path: ["peer", "staged"], or filter the table.',
    );
  }
  const [a, b] = names as [string, string];
  const of = (path: string) =>
    new Map(rows.filter((row) => row.path === path).map((row) => [row.bytes, row]));
  const first = of(a);
  const second = of(b);
  const common = [...first.keys()].filter((bytes) => second.has(bytes)).sort((x, y) => x - y);
  if (common.length === 0) {
    throw new P2pError("usage", `${a} and ${b} have no size in common`, "Sweep both over the same sizes.");
  }
  const crossings: { from: string; to: string; above: number; below: number }[] = [];
  const ties: number[] = [];
  const ratios: { bytes: number; ratio: number }[] = [];
  const leads: { bytes: number; path: string }[] = [];
  for (const bytes of common) {
    const x = first.get(bytes) as (typeof rows)[number];
    const y = second.get(bytes) as (typeof rows)[number];
    ratios.push({ bytes, ratio: y.total_us / x.total_us });
    if (x.ci_high_us < y.ci_low_us) leads.push({ bytes, path: a });
    else if (y.ci_high_us < x.ci_low_us) leads.push({ bytes, path: b });
    else ties.push(bytes);
  }
  for (let i = 1; i < leads.length; i++) {
    const before = leads[i - 1] as (typeof leads)[number];
    const after = leads[i] as (typeof leads)[number];
    if (before.path !== after.path) {
      crossings.push({ from: before.path, to: after.path, above: before.bytes, below: after.bytes });
    }
  }
  const winner = crossings.length === 0 && ties.length === 0 ? (leads[0]?.path ?? null) : null;
  return new Crossover({ paths: [a, b], winner, crossings, ties, ratios }, common, provenancesOf(curve));
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
    const ties = this.ties.length > 0 ? `; undecided at ${this.ties.map(formatBytes).join(", ")}` : "";
    if (this.crossings.length > 0) {
      const list = this.crossings.map(
        (c) => `${c.from} leads up to ${formatBytes(c.above)}, ${c.to} from ${formatBytes(c.below)}`,
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
