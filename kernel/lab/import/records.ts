import type { Table } from "../measure/table.js";
import { type ImportOrigin, importedTable } from "./importer.js";

/** A word's entry in a list of known ones; unlike a plain access, none for `constructor` and other words that every object knows. */
export function entryOf<T>(list: Readonly<Record<string, T>>, word: string): T | undefined {
  return Object.hasOwn(list, word) ? list[word] : undefined;
}

export type Value = number | string | boolean | null;

/**
 * A table from rows that may lack some columns.
 * @param names columns in order, those that no row has too; by default those of the rows as they come up.
 */
export function recordsTable(
  rows: readonly Readonly<Record<string, Value | undefined>>[],
  origin: ImportOrigin,
  names: readonly string[] = [...new Set(rows.flatMap((row) => Object.keys(row)))],
): Table {
  return importedTable(
    Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name] ?? null)])),
    origin,
  );
}

/** Tables that have rows, by name. */
export function filled(tables: Readonly<Record<string, Table>>): Record<string, Table> {
  return Object.fromEntries(Object.entries(tables).filter(([, rows]) => rows.numRows() > 0));
}

/** Rows kept as columns, for files with very many of them. */
export class RowColumns {
  readonly columns: Record<string, Value[]>;
  readonly #names: readonly string[];

  constructor(names: readonly string[]) {
    this.#names = names;
    this.columns = Object.fromEntries(names.map((name) => [name, []]));
  }

  get length(): number {
    return this.columns[this.#names[0] as string]?.length ?? 0;
  }

  /** Adds a row; columns that it lacks are null. */
  add(row: Readonly<Record<string, Value | undefined>>): void {
    for (const name of this.#names) (this.columns[name] as Value[]).push(row[name] ?? null);
  }
}
