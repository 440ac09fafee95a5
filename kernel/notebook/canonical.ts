/** The one way in which this project writes notebooks: the same bytes for the same notebook, those of Python's nbformat. */
import { createHash } from "node:crypto";
import { type MimeBundle, writeFileAtomic } from "../lab/index.js";
import { isJsonMime, type Notebook, type NotebookCell, type NotebookOutput } from "./nbformat.js";

/** The canonical text: keys sorted, one space of indentation, text as lists of lines, a newline at the end. */
export function formatNotebook(notebook: Notebook): string {
  const stored = {
    cells: notebook.cells.map(storedCell),
    metadata: notebook.metadata,
    nbformat: notebook.nbformat,
    nbformat_minor: notebook.nbformat_minor,
  };
  return `${JSON.stringify(sorted(stored), null, 1)}\n`;
}

/** @throws P2pError `output` when the file cannot be written; then nothing is. */
export function writeNotebook(file: string, notebook: Notebook): void {
  writeFileAtomic(file, formatNotebook(notebook));
}

/** A digest of the cells with their outputs, by which a report knows that nothing was run or edited since. */
export function digestOf(cells: readonly NotebookCell[]): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(cells.map(storedCell))))
    .digest("hex");
}

function storedCell(cell: NotebookCell): Record<string, unknown> {
  const { cell_type, id, metadata, attachments } = cell;
  return {
    cell_type,
    metadata,
    source: linesOf(cell.source),
    ...(id === undefined ? {} : { id }),
    ...(attachments === undefined ? {} : { attachments }),
    ...(cell_type === "code"
      ? { execution_count: cell.execution_count ?? null, outputs: (cell.outputs ?? []).map(storedOutput) }
      : {}),
  };
}

function storedOutput(output: NotebookOutput): unknown {
  if (output.output_type === "stream") return { ...output, text: linesOf(output.text) };
  if (output.output_type === "error") return output;
  return { ...output, data: storedBundle(output.data) };
}

/** Texts are lists of lines, as in every notebook; pictures and JSON stand as they are. */
function storedBundle(data: MimeBundle): MimeBundle {
  return Object.fromEntries(
    Object.entries(data).map(([mime, value]) => {
      const isText =
        mime.startsWith("text/") || mime === "image/svg+xml" || mime === "application/javascript";
      return [mime, isText && !isJsonMime(mime) && typeof value === "string" ? linesOf(value) : value];
    }),
  );
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** A copy with the keys of every object in order. Figures may hold typed arrays, which are written as plain ones. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return [...(value as unknown as number[])];
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return value.toJSON();
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(
    entries
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([key, item]) => [key, sorted(item)] as const),
  );
}
