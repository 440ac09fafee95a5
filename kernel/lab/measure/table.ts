import { type ColumnTable, table } from "arquero";
import type { Provenance } from "../machine.js";

/** The project's table: an Arquero table. */
export type Table = ColumnTable;

/** Columns that say where a row's numbers come from; every table of measurements ends with them. */
export const PROVENANCE_COLUMNS = ["machine", "provenance", "date"] as const;

/** A table from rows of one shape, in the order of the first row's keys. */
export function tableOf(rows: readonly Record<string, unknown>[], names?: readonly string[]): Table {
  const columns = names ?? Object.keys(rows[0] ?? {});
  return table(columns.map((name) => [name, rows.map((row) => row[name] ?? null)]));
}

export function provenanceFields(
  provenance: Provenance,
): Record<(typeof PROVENANCE_COLUMNS)[number], string> {
  return { machine: provenance.machine, provenance: provenance.kind, date: provenance.date.slice(0, 10) };
}

/** The distinct provenances of a table's rows. */
export function provenancesOf(rows: Table): { machine: string; provenance: string; date: string }[] {
  const seen = new Map<string, { machine: string; provenance: string; date: string }>();
  if (PROVENANCE_COLUMNS.every((name) => rows.columnNames().includes(name))) {
    for (const row of rows.objects() as Record<string, unknown>[]) {
      const entry = {
        machine: String(row.machine),
        provenance: String(row.provenance),
        date: String(row.date),
      };
      seen.set(JSON.stringify(entry), entry);
    }
  }
  return [...seen.values()];
}
