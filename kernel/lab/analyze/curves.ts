/** The curves in a table of a sweep: rows that differ in size alone. */
import { P2pError, shown } from "../errors.js";
import { expectTable } from "../measure/expect.js";
import { PROVENANCE_COLUMNS, provenancesOf, type Table } from "../measure/table.js";

/** Columns of a sweep that tell curves apart. */
export const AXES = [
  "path",
  "from",
  "to",
  "engine",
  "initiator",
  "direction",
  "streams",
  "chunk_bytes",
  "submit",
  "sync",
  "allocator",
  "metric",
] as const;
export type Axis = (typeof AXES)[number];

/** A size of a curve: median and its 95 % interval, microseconds. */
export interface CurvePoint {
  readonly bytes: number;
  readonly total_us: number;
  readonly ci_low_us: number;
  readonly ci_high_us: number;
}

export interface Curve {
  /** The axes' values, of those columns that the table has. */
  readonly key: Readonly<Partial<Record<Axis, unknown>>>;
  /** The provenance columns, where the table has them: curves of two machines, or days, are two. */
  readonly origin: Readonly<Record<string, unknown>>;
  /** The values of the axes that differ between the table's curves; of the path where none does. */
  readonly label: string;
  /** Ascending by size, each size once. */
  readonly points: readonly CurvePoint[];
}

/**
 * Parts a table of `lab.sweep` into its curves. Rows that were not measured (null) are left out.
 * @throws P2pError `usage` when it is no such table, or a curve has a size twice.
 */
export function curvesOf(table: Table, who: string): Curve[] {
  expectTable(table, ["path", "bytes", "total_us", "ci_low_us", "ci_high_us"], who);
  const present = <T extends string>(names: readonly T[]) =>
    names.filter((name) => table.columnNames().includes(name));
  const axes = present(AXES);
  const origins = present(PROVENANCE_COLUMNS);
  const rows = table.objects() as Record<string, unknown>[];
  expectAxes(rows, [...axes, ...origins], who);
  const differing = [...axes, ...origins].filter((axis) => new Set(rows.map((row) => row[axis])).size > 1);
  const groups = new Map<string, Record<string, unknown>[]>();
  for (const row of rows) {
    if (row.total_us === null || row.total_us === undefined) continue;
    const name = differing.map((axis) => nameOfValue(axis, row[axis])).join(" ") || String(row.path);
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  if (groups.size === 0) {
    throw new P2pError("usage", `${who} was given a table without a time`, "Give it the table of lab.sweep.");
  }
  return [...groups].map(([label, own]) => {
    const points = own.map((row) => pointOf(row, who)).sort((a, b) => a.bytes - b.bytes);
    const twice = points.find((point, i) => points[i - 1]?.bytes === point.bytes);
    if (twice) {
      throw new P2pError(
        "usage",
        `${who}: "${label}" has ${twice.bytes} bytes more than once`,
        "Give one sweep of one machine, or filter the table.",
      );
    }
    const valuesOf = (names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, own[0]?.[name]]));
    return { key: valuesOf(axes), origin: valuesOf(origins), label, points };
  });
}

/** @throws P2pError `usage` for a value that tells nothing apart: an object, or a number that is none. */
export function expectAxes(
  rows: readonly Readonly<Record<string, unknown>>[],
  axes: readonly string[],
  who: string,
): void {
  for (const axis of axes) {
    const plain = (value: unknown) =>
      value === null || ["string", "boolean", "undefined"].includes(typeof value) || Number.isFinite(value);
    const row = rows.find((each) => !plain(each[axis]));
    if (!row) continue;
    throw new P2pError(
      "usage",
      `${who}: ${axis} is ${shown(row[axis])} in a row`,
      "Columns that tell rows apart hold texts, finite numbers, or null.",
    );
  }
}

/** What to do with a table whose rows are of several machines or kinds; null where they are of one. */
export function mixedHint(table: Table): string | null {
  const kinds = [...new Set(provenancesOf(table).map(({ provenance }) => provenance))];
  if (provenancesOf(table).length < 2) return null;
  return kinds.length > 1
    ? `Its rows are ${kinds.join(" and ")}: keep one kind, such as table.filter((row) => row.provenance === "${kinds[0]}").`
    : "Its rows are of several machines or days: keep one, such as table.filter((row) => row.machine === …).";
}

/** `peer`, `yield`; but `streams 4`, `from 0`: a bare number says nothing. */
function nameOfValue(axis: string, value: unknown): string {
  return typeof value === "string" ? value : `${axis} ${String(value)}`;
}

function pointOf(row: Record<string, unknown>, who: string): CurvePoint {
  const { bytes, total_us, ci_low_us, ci_high_us } = row;
  const times = [total_us, ci_low_us ?? total_us, ci_high_us ?? total_us];
  if (
    !isPositive(bytes) ||
    bytes > Number.MAX_SAFE_INTEGER ||
    !times.every(isTime) ||
    (times[1] as number) > (times[2] as number)
  ) {
    throw new P2pError(
      "usage",
      `${who}: a row has ${shown(bytes)} bytes in ${shown(total_us)} µs (${shown(ci_low_us)} to ${shown(ci_high_us)})`,
      "Sizes and times are positive numbers, an interval goes from its lower end to its higher; leave out rows that are not so.",
    );
  }
  const [total, low, high] = times as [number, number, number];
  return { bytes, total_us: total, ci_low_us: low, ci_high_us: high };
}

/** From a picosecond to eleven days: beyond, squares of times would leave what numbers hold. */
function isTime(us: unknown): us is number {
  return isPositive(us) && us >= 1e-6 && us <= 1e12;
}

function isPositive(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}
