/** Rows of the tables that CUPTI's records become in SQLite, which the exports of Nsight Systems and nvprof have in common. */
import type { Lanes } from "./lanes.js";
import { quoted, type SqliteFile } from "./sqlite.js";
import type { Draft } from "./timeline-builder.js";

/** A cell of a number; null where the column is missing or empty. */
export type NumberCell = number | null | undefined;

/**
 * Columns of a table by SQL expressions; one that uses a column which this version of the file does not have is null.
 * Numbers become doubles in SQL: a damaged file may hold integers that are none in JavaScript.
 */
export function scanNumbers(
  { file, mostRows }: { readonly file: SqliteFile; readonly mostRows: number },
  table: string,
  expressions: readonly string[],
  onRow: (cells: readonly NumberCell[]) => void,
): void {
  const columns = file.tables.get(table);
  if (!columns) return;
  const sql = expressions.map((expression) => asNumber(columns, expression));
  file.scan(`SELECT ${sql.join(", ")} FROM ${quoted(table)} LIMIT ${mostRows}`, (cells) => {
    onRow(cells as readonly NumberCell[]);
  });
}

/** Longer names, and the environments of processes that stand in the same table, are cut. */
const NAME_LENGTH = 300;

/** The strings of a file by their number. Text stops at the first NUL: behind it stand the environments of other processes. */
export function stringsOf(
  { file, mostRows }: { readonly file: SqliteFile; readonly mostRows: number },
  table: string,
  key: string,
): Map<number, string> {
  const strings = new Map<number, string>();
  const columns = file.tables.get(table);
  if (!columns?.has(key) || !columns.has("value")) return strings;
  file.scan(
    `SELECT ${quoted(key)}, substr(value, 1, ${NAME_LENGTH}) FROM ${quoted(table)} LIMIT ${mostRows}`,
    ([id, value]) => {
      if (typeof id === "number" && typeof value === "string")
        strings.set(id, value.split("\0", 1)[0] as string);
    },
  );
  return strings;
}

/** The SQL of a column as a double; NULL where it uses a column that is not there. */
export function asNumber(columns: ReadonlySet<string>, expression: string): string {
  const used = expression.match(/[A-Za-z_]\w*/g) ?? [];
  return used.every((column) => columns.has(column)) ? `CAST(${expression} AS REAL)` : "NULL";
}

/** @param cells begin, end, process, correlation, device, stream, node of a graph; then whatever the kind of work has. */
export function setWork(draft: Draft, cells: readonly NumberCell[], lanes: Lanes): void {
  draft.startNs = cells[0] ?? Number.NaN;
  draft.endNs = cells[1] ?? Number.NaN;
  draft.process = cells[2] ?? -1;
  draft.correlation = cells[3] ?? 0;
  draft.device = cells[4] ?? -1;
  draft.lane = lanes.stream(draft.process, draft.device, cells[5] ?? -1);
  draft.graphNode = typeof cells[6] === "number";
}

/**
 * @param cells begin, end, process, thread, name; then whatever the kind of call has.
 * @returns the number of the name.
 */
export function setCall(draft: Draft, cells: readonly NumberCell[], lanes: Lanes): number {
  draft.startNs = cells[0] ?? Number.NaN;
  draft.endNs = cells[1] ?? Number.NaN;
  draft.process = cells[2] ?? -1;
  draft.lane = lanes.host(draft.process, cells[3] ?? -1);
  return cells[4] ?? -1;
}
