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

  /** What it is, in one line. */
  get heading(): string {
    const version = this.version === null ? "" : `, ${this.version}`;
    return `${this.source.name}: ${this.title}${version} (imported, not measured by this library)`;
  }

  toString(): string {
    return [
      this.heading,
      ...Object.entries(this.tables).map(
        ([name, rows]) => `  ${name}: ${counted(rows.numRows())}: ${rows.columnNames().join(", ")}`,
      ),
      ...(this.timeline ? [`  timeline: ${this.timeline.startNs.length} spans`] : []),
      ...(this.topology ? [`  topology: ${this.topology.layout.gpuCount} GPUs`] : []),
      ...this.notes.map((note) => `- ${note}`),
    ].join("\n");
  }

  [richDisplay](): MimeBundle {
    const parts = Object.entries(this.tables).map(
      ([name, rows]) => `<h4>${escapeHtml(name)} (${counted(rows.numRows())})</h4>${tableHtml(rows)}`,
    );
    const others = [
      ...(this.timeline ? [`timeline: ${this.timeline.startNs.length} spans`] : []),
      ...(this.topology ? [`topology: ${this.topology.layout.gpuCount} GPUs`] : []),
    ].map((text) => `<p>${escapeHtml(text)}</p>`);
    const notes = this.notes.map((note) => `<li>${escapeHtml(note)}</li>`);
    const html = [
      `<p><b>${escapeHtml(this.heading)}</b></p>`,
      ...parts,
      ...others,
      ...(notes.length > 0 ? [`<ul>${notes.join("")}</ul>`] : []),
    ].join("\n");
    return { "text/html": html, "text/plain": this.toString() };
  }
}

function counted(rows: number): string {
  return rows === 1 ? "1 row" : `${rows} rows`;
}

/** Rows and characters of a cell that a notebook shows of each table. */
const SHOWN_ROWS = 5;
const SHOWN_CHARACTERS = 80;

/** The first rows of a table, the provenance columns left out: the heading says the same. */
function tableHtml(rows: Table): string {
  const names = rows.columnNames().filter((name) => !["machine", "provenance", "date"].includes(name));
  const cell = (value: unknown) => {
    const text = value === null || value === undefined ? "" : String(value);
    return escapeHtml(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS - 1)}…` : text);
  };
  const head = names.map((name) => `<th>${escapeHtml(name)}</th>`).join("");
  const body = (rows.objects({ limit: SHOWN_ROWS }) as Record<string, unknown>[]).map(
    (row) => `<tr>${names.map((name) => `<td>${cell(row[name])}</td>`).join("")}</tr>`,
  );
  const more = rows.numRows() > SHOWN_ROWS ? `<tr><td colspan="${names.length}">…</td></tr>` : "";
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join("")}${more}</tbody></table>`;
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
