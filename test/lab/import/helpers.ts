import { P2pError } from "../../../kernel/lab/errors.js";
import type { Imported } from "../../../kernel/lab/import/importer.js";
import { type ImportOptions, importFile } from "../../../kernel/lab/import/index.js";

export type Row = Record<string, unknown>;

export function read(text: string | Uint8Array, options?: ImportOptions): Promise<Imported> {
  return importFile(typeof text === "string" ? new TextEncoder().encode(text) : text, options);
}

/** Rows of one of an import's tables. */
export function rows(imported: Imported, table: string): Row[] {
  const found = imported.tables[table];
  if (!found) throw new Error(`no table ${table}, but ${Object.keys(imported.tables).join(", ")}`);
  return found.objects() as Row[];
}

/** Columns of a table's row, in order. */
export function cells(row: Row | undefined, ...names: string[]): unknown[] {
  return names.map((name) => row?.[name]);
}

/** The error that an import ends in; any other outcome is thrown. */
export async function refusal(action: Promise<unknown>): Promise<P2pError> {
  try {
    await action;
  } catch (error) {
    if (error instanceof P2pError) return error;
    throw error;
  }
  throw new Error("it was imported");
}
