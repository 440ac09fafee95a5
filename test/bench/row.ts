/** Rows of a benchmark: what was measured, the bar it is held to, and whether it meets it. */
import { messageOf } from "../../kernel/lab/index.js";
import { median } from "../../kernel/lab/sampling.js";

/** Both ends belong to it; one left out is open. */
export interface Bar {
  readonly min?: number;
  readonly max?: number;
}

export interface BenchRow {
  readonly name: string;
  /** Null when it was not measured; `reason` says why. */
  readonly value: number | null;
  readonly unit: string;
  /** Null for a figure that is given for orientation and held to nothing. */
  readonly bar: Bar | null;
  /** Whether the bar is met; false too when its measurement failed; null without a bar or when it was not run. */
  readonly ok: boolean | null;
  readonly reason: string | null;
  /** How both sides were measured, and what they gave. */
  readonly detail: Readonly<Record<string, string | number | boolean | null>>;
}

type Detail = BenchRow["detail"];

export function measured(
  name: string,
  value: number,
  unit: string,
  bar: Bar | null,
  detail: Detail = {},
): BenchRow {
  if (!Number.isFinite(value)) return notRun(name, unit, bar, `the value is ${value}`);
  const ok = bar === null ? null : value >= (bar.min ?? -Infinity) && value <= (bar.max ?? Infinity);
  return { name, value, unit, bar, ok, reason: null, detail };
}

/** A row whose measurement ended in an error: whatever it is held to is missed. */
export function failed(name: string, unit: string, bar: Bar | null, error: unknown): BenchRow {
  const reason = `failed: ${messageOf(error).replace(/\s*\n\s*/g, "; ")}`;
  return { name, value: null, unit, bar, ok: false, reason, detail: {} };
}

/** A row that could not be measured. It never counts as met. */
export function notRun(name: string, unit: string, bar: Bar | null, reason: string): BenchRow {
  return { name, value: null, unit, bar, ok: null, reason, detail: {} };
}

/** One round: the library's figure and the other side's, taken one right after the other. */
export interface Round {
  readonly ours: number;
  readonly theirs: number;
}

/**
 * Ours over theirs, the median of the ratios of all rounds: each round compares what was measured under the same clocks and
 * temperature, so a drift of the machine cancels.
 * @param figureUnit unit of both sides.
 */
export function ratio(
  name: string,
  rounds: readonly Round[],
  bar: Bar | null,
  figureUnit: string,
  detail: Detail = {},
): BenchRow {
  if (rounds.length === 0) return notRun(name, "ratio", bar, "no round gave both figures");
  const ratios = rounds.map(({ ours, theirs }) => ours / theirs);
  return measured(name, median(ratios), "ratio", bar, {
    ours: median(rounds.map((round) => round.ours)),
    theirs: median(rounds.map((round) => round.theirs)),
    figure_unit: figureUnit,
    lowest_ratio: Math.min(...ratios),
    highest_ratio: Math.max(...ratios),
    rounds: rounds.length,
    ...detail,
  });
}

/** Bars missed, met, and rows without a verdict because they were not measured. */
export function tally(rows: readonly BenchRow[]): { met: number; missed: number; notRun: number } {
  return {
    met: rows.filter((row) => row.ok === true).length,
    missed: rows.filter((row) => row.ok === false).length,
    notRun: rows.filter((row) => row.value === null && row.ok === null).length,
  };
}

/** 0 when something was measured and no bar was missed. */
export function exitCode(rows: readonly BenchRow[]): number {
  return rows.some((row) => row.value !== null) && tally(rows).missed === 0 ? 0 : 1;
}

/** The rows as people read them, a line each. */
export function tableOf(rows: readonly BenchRow[]): string {
  const cells = rows.map((row) => [
    row.ok === true ? "✓" : row.ok === false ? "✘" : row.value === null ? "–" : " ",
    row.name,
    row.value === null ? (row.ok === null ? "not run" : "failed") : `${digits(row.value)} ${row.unit}`,
    row.bar === null ? "" : barText(row.bar),
    row.reason ?? sides(row.detail),
  ]);
  const width = (column: number) => Math.max(0, ...cells.map((line) => (line[column] as string).length));
  const widths = [0, 1, 2, 3].map(width);
  return cells
    .map((line) => line.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  "))
    .map((line) => line.trimEnd())
    .join("\n");
}

function barText({ min, max }: Bar): string {
  return [min === undefined ? [] : [`≥ ${digits(min)}`], max === undefined ? [] : [`≤ ${digits(max)}`]]
    .flat()
    .join(", ");
}

function sides(detail: Detail): string {
  const { ours, theirs, figure_unit: unit, rounds } = detail;
  if (typeof ours !== "number" || typeof theirs !== "number") return String(detail.definition ?? "");
  return `${digits(ours)} against ${digits(theirs)} ${unit ?? ""}, ${rounds ?? 1} rounds`;
}

function digits(value: number): string {
  return String(Number(value.toPrecision(value >= 0.1 && value < 10 ? 4 : 5)));
}
