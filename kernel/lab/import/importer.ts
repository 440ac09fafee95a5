import { table as columnTable } from "arquero";
import type { Table } from "../measure/table.js";
import { escapeHtml, type MimeBundle, richDisplay } from "../rich.js";
import type { Timeline } from "../timeline.js";
import type { Description } from "../topology/description.js";

/** A reader of one format. A file of `kernel/lab/import/` exports one, and `formats.ts` lists it. */
export interface Importer {
  /** Stable word for the command line, such as `nccl-tests`. */
  readonly format: string;
  /** For the reader, such as `output of nccl-tests`. */
  readonly title: string;
  /**
   * How likely a file is of this format, by its content alone.
   * @param head the first bytes, at most `HEAD_BYTES`, decompressed where the file is gzip.
   * @param name of the file, for messages; not for the decision.
   * @returns 0 (not at all) to 1 (a signature that nothing else has).
   */
  detect(head: Uint8Array, name: string): number;
  /** @throws P2pError `import` for what is damaged beyond reading, naming what is wrong with it. */
  read(source: ImportSource): Promise<Imported>;
}

/** What an importer reads. A file compressed with gzip is decompressed on the way. */
export interface ImportSource {
  /** As the caller named it. */
  readonly name: string;
  /** Where the file lies, for readers that seek in it; null for content that was handed over, and for a gzip file. */
  readonly path: string | null;
  /** Of the file as it is stored. */
  readonly sizeBytes: number;
  /**
   * The whole content, decompressed.
   * @throws P2pError `import` when it is more than `mostBytes`.
   */
  bytes(mostBytes: number): Promise<Uint8Array>;
  /** The content piece by piece, decompressed: for readers of large files. */
  chunks(): AsyncIterable<Uint8Array>;
}

/** What the file says of the place and time of its numbers; null where it does not say. */
export interface ImportOrigin {
  readonly machine: string | null;
  /** ISO 8601, or the day alone. */
  readonly date: string | null;
}

/** What `provenance` says in tables from other tools' files: they are neither measured nor recorded by this library. */
export const IMPORTED = "imported";

export interface ImportedContent {
  readonly format: string;
  readonly title: string;
  readonly version?: string | null;
  readonly tables: Readonly<Record<string, Table>>;
  readonly timeline?: Timeline | null;
  readonly topology?: Description | null;
  readonly notes?: readonly string[];
  readonly source: Pick<ImportSource, "name" | "path" | "sizeBytes">;
}

/** The content of another tool's file: tables with units in the names of their columns, numbers as numbers, missing ones null. */
export class Imported {
  /** The importer's word, such as `nccl-tests`. */
  readonly format: string;
  readonly title: string;
  /** Of the tool or of the format, as the file says; null where it does not. */
  readonly version: string | null;
  readonly tables: Readonly<Record<string, Table>>;
  readonly timeline: Timeline | null;
  readonly topology: Description | null;
  /** What is missing, odd, or means something else than it seems to, a sentence each. */
  readonly notes: readonly string[];
  readonly source: Pick<ImportSource, "name" | "path" | "sizeBytes">;

  constructor(content: ImportedContent) {
    this.format = content.format;
    this.title = content.title;
    this.version = content.version ?? null;
    this.tables = content.tables;
    this.timeline = content.timeline ?? null;
    this.topology = content.topology ?? null;
    this.notes = content.notes ?? [];
    const { name, path, sizeBytes } = content.source;
    this.source = { name, path, sizeBytes };
  }

  toString(): string {
    const version = this.version === null ? "" : ` ${this.version}`;
    return [
      `${this.source.name}: ${this.title}${version} (imported, not measured by this library)`,
      ...Object.entries(this.tables).map(
        ([name, rows]) => `  ${name}: ${rows.numRows()} rows: ${rows.columnNames().join(", ")}`,
      ),
      ...(this.timeline ? [`  timeline: ${this.timeline.startNs.length} spans`] : []),
      ...(this.topology ? ["  topology"] : []),
      ...this.notes.map((note) => `- ${note}`),
    ].join("\n");
  }

  [richDisplay](): MimeBundle {
    const text = this.toString();
    return { "text/html": `<pre>${escapeHtml(text)}</pre>`, "text/plain": text };
  }
}

/**
 * A table of an import: the columns given, then those that say where its numbers come from.
 * @param columns of equal length, in order; numbers are finite, missing ones null.
 */
export function importedTable(
  columns: Readonly<Record<string, ArrayLike<unknown>>>,
  origin: ImportOrigin,
): Table {
  const entries = Object.entries(columns);
  const rows = entries[0]?.[1].length ?? 0;
  const same = (value: string | null) => new Array<string | null>(rows).fill(value);
  return columnTable([
    ...entries.map(([name, values]) => [name, values] as [string, unknown[]]),
    ["machine", same(origin.machine)],
    ["provenance", same(IMPORTED)],
    ["date", same(origin.date)],
  ]);
}
