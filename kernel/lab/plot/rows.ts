/** Rows of a table that a figure is made from, checked: what cannot be drawn ends in an error that names it. */
import { expectAxes, AXES as SWEEP_AXES } from "../analyze/curves.js";
import { P2pError, shown } from "../errors.js";
import type { Table } from "../measure/table.js";
import { shortened } from "./style.js";

export type Row = Readonly<Record<string, unknown>>;

/**
 * @param source functions whose tables the figure takes, for the hint.
 * @throws P2pError `usage` unless it is a table with rows and these columns.
 */
export function rowsOf(table: unknown, columns: readonly string[], who: string, source: string): Row[] {
  const given = table as Table | null | undefined;
  const names = typeof given?.columnNames === "function" ? given.columnNames() : null;
  const missing = names ? columns.filter((column) => !names.includes(column)) : [];
  const why = !names
    ? table instanceof Promise
      ? "was given a table that is not awaited"
      : "was given no table"
    : missing.length > 0
      ? `needs the columns ${missing.join(", ")}, the table has ${names.join(", ") || "none"}`
      : (given as Table).numRows() === 0
        ? "was given a table without rows"
        : null;
  if (why !== null) throw new P2pError("usage", `${who} ${why}`, `Give it the table of ${source}.`);
  return (given as Table).objects() as Row[];
}

/** A number or null. @throws P2pError `usage` for anything else, NaN and infinities among it. */
export function numberIn(row: Row, column: string, who: string): number | null {
  const value = row[column];
  if (value === null || value === undefined) return null;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new P2pError(
    "usage",
    `${who}: a value in ${column} is no number: ${shown(value)}`,
    "Columns that are drawn hold finite numbers, or null.",
  );
}

/** A number above 0, for a logarithmic axis, or null. @throws P2pError `usage` for anything else. */
export function positiveIn(row: Row, column: string, who: string): number | null {
  const value = numberIn(row, column, who);
  if (value === null || value > 0) return value;
  throw new P2pError(
    "usage",
    `${who}: a value in ${column} is ${value}, and the axis is logarithmic`,
    "Leave such rows out, or mend what made them.",
  );
}

/** A text from a column that may be missing; empty where there is none. */
export function textIn(row: Row, column: string): string {
  const value = row[column];
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.join("; ") : String(value);
}

/** Columns that tell rows of a sweep apart, in the order in which a series' name states them. */
const AXES = [
  "gpu",
  "memory",
  ...SWEEP_AXES,
  "mode",
  "stride_bytes",
  "order",
  "cache",
  "provenance",
  "machine",
  "date",
] as const;

/**
 * Splits rows into series by whatever differs among them. Rows of two machines never share a line.
 * @param always column that names a series even where all have the same.
 * @param x what is drawn along the horizontal axis: two rows of a series may not have the same.
 * @throws P2pError `usage` where rows cannot be told apart.
 */
export function seriesOf(
  rows: readonly Row[],
  always: string,
  x: string,
  who: string,
  write: (column: string, value: unknown) => string = (column, value) =>
    column === "path" || typeof value === "string" ? String(value) : `${column} ${String(value)}`,
): { name: string; rows: Row[] }[] {
  expectAxes(rows, AXES, who);
  const differing = AXES.filter((column) => new Set(rows.map((row) => row[column])).size > 1);
  const pair = differing.some((column) => column === "from" || column === "to");
  const nameOf = (row: Row) =>
    [
      ...(differing.includes(always as never) ? [] : [write(always, row[always])]),
      ...differing.flatMap((column) => {
        if (column === "from" || (column === "to" && !differing.includes("from"))) {
          return [`GPU ${String(row.from)} → ${String(row.to)}`];
        }
        return column === "to" && pair ? [] : [write(column, row[column])];
      }),
    ].join(" · ");
  const series = new Map<string, Row[]>();
  for (const row of rows) {
    const name = nameOf(row);
    series.set(name, [...(series.get(name) ?? []), row]);
  }
  return [...series].map(([name, own]) => {
    const sorted = [...own].sort((a, b) => (a[x] as number) - (b[x] as number));
    const twice = sorted.find((row, i) => i > 0 && row[x] === sorted[i - 1]?.[x]);
    if (twice) {
      throw new P2pError(
        "usage",
        `${who}: two rows of "${name}" have ${x} ${String(twice[x])}`,
        "Keep one of them: table.filter(…), or table.groupby(…).rollup(…).",
      );
    }
    return { name, rows: sorted };
  });
}

/** Characters of a reason in a note. */
const LONGEST_REASON = 140;

/** Rows without a number, as a note: how many, and the reasons that the table gives; null when there are none. */
export function missingNote(
  rows: readonly Row[],
  reasonColumns: readonly string[],
  say: (zh: string, en: string) => string,
): string | null {
  if (rows.length === 0) return null;
  // Of an error that goes on over several lines the first says what is missing.
  const reasonOf = (row: Row) =>
    reasonColumns.map((column) => textIn(row, column).split("\n")[0] as string).find((text) => text !== "") ??
    "";
  const reasons = [...new Set(rows.map(reasonOf))]
    .filter((reason) => reason !== "")
    .map((reason) => shortened(reason, LONGEST_REASON));
  const why =
    reasons.length === 0
      ? say("表中没有写原因", "the table gives no reason")
      : reasons.slice(0, 2).join("; ");
  const more = reasons.length > 2 ? say("等", ", …") : "";
  return say(`${rows.length} 处没有数字：${why}${more}`, `${rows.length} without a number: ${why}${more}`);
}
