import { type ColumnTable, table } from "arquero";
import { P2pError, shown } from "../errors.js";
import type { Provenance } from "../machine.js";

/** The project's table: an Arquero table. */
export type Table = ColumnTable;

/** Columns that say where a row's numbers come from; every table of measurements ends with them. */
export const PROVENANCE_COLUMNS = ["machine", "provenance", "date"] as const;

/** What a figure prints where a table from another tool's file does not know. */
export const NOT_STATED = {
  machine: "machine not stated",
  provenance: "provenance not stated",
  date: "date not stated",
} as const;

/** A table from rows of one shape, in the order of the first row's keys. */
export function tableOf(rows: readonly Record<string, unknown>[], names?: readonly string[]): Table {
  const isRow = (row: unknown) => typeof row === "object" && row !== null && !Array.isArray(row);
  const isName = (name: unknown) => typeof name === "string" && name !== "";
  if (
    !Array.isArray(rows) ||
    !rows.every(isRow) ||
    (names !== undefined && !(Array.isArray(names) && names.every(isName)))
  ) {
    throw new P2pError(
      "usage",
      `lab.tableOf was given ${shown(rows)} as its rows${names === undefined ? "" : ` and ${shown(names)} as its columns`}`,
      "Give a list of objects, and the names of columns as a list of texts.",
    );
  }
  const columns = names ?? Object.keys(rows[0] ?? {});
  return table(columns.map((name) => [name, rows.map((row) => row[name] ?? null)]));
}

export function provenanceFields(
  provenance: Provenance,
): Record<(typeof PROVENANCE_COLUMNS)[number], string> {
  return { machine: provenance.machine, provenance: provenance.kind, date: provenance.date.slice(0, 10) };
}

/** The distinct provenances of a table's rows; of imported ones the file may not say all. */
export function provenancesOf(rows: Table): { machine: string; provenance: string; date: string }[] {
  const seen = new Map<string, { machine: string; provenance: string; date: string }>();
  if (PROVENANCE_COLUMNS.every((name) => rows.columnNames().includes(name))) {
    for (const row of rows.objects() as Record<string, unknown>[]) {
      const entry = {
        machine: String(row.machine ?? NOT_STATED.machine),
        provenance: String(row.provenance ?? NOT_STATED.provenance),
        date: String(row.date ?? NOT_STATED.date),
      };
      seen.set(JSON.stringify(entry), entry);
    }
  }
  return [...seen.values()];
}
