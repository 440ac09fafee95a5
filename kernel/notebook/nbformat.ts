/** Notebook files (nbformat 4): read with clear errors, written in one canonical form. */
import { readFileSync } from "node:fs";
import { type MimeBundle, messageOf, P2pError, writeFileAtomic } from "../lab/index.js";

export type NotebookOutput =
  | { output_type: "stream"; name: "stdout" | "stderr"; text: string }
  | { output_type: "display_data"; data: MimeBundle; metadata: Record<string, unknown> }
  | {
      output_type: "execute_result";
      data: MimeBundle;
      metadata: Record<string, unknown>;
      execution_count: number;
    }
  | { output_type: "error"; ename: string; evalue: string; traceback: string[] };

export interface NotebookCell {
  cell_type: "code" | "markdown" | "raw";
  id?: string;
  metadata: Record<string, unknown>;
  source: string;
  outputs?: NotebookOutput[];
  execution_count?: number | null;
}

export interface Notebook {
  cells: NotebookCell[];
  metadata: Record<string, unknown>;
  nbformat: number;
  nbformat_minor: number;
}

/** @throws P2pError `notebook` naming the file and what is wrong in it. */
export function readNotebook(file: string): Notebook {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new P2pError(
      "notebook",
      `cannot read ${file}: ${messageOf(error)}`,
      "Check the path of the notebook.",
      {
        cause: error,
      },
    );
  }
  return parseNotebook(text, file);
}

export function parseNotebook(text: string, file: string): Notebook {
  const refuse = (why: string): never => {
    throw new P2pError(
      "notebook",
      `${file} is not a notebook: ${why}`,
      "Open it in JupyterLab and save it anew, or fetch it again.",
    );
  };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return refuse(`${messageOf(error)}${positionOf(text, messageOf(error))}`);
  }
  if (!isObject(json)) return refuse("its top level is not an object");
  if (json.nbformat !== 4)
    return refuse(`nbformat is ${JSON.stringify(json.nbformat)}, this version reads 4`);
  if (!Array.isArray(json.cells)) return refuse("it has no list of cells");
  const cells = json.cells.map((cell, index): NotebookCell => {
    if (!isObject(cell)) return refuse(`cell ${index} is not an object`);
    const { cell_type } = cell;
    if (cell_type !== "code" && cell_type !== "markdown" && cell_type !== "raw") {
      return refuse(`cell ${index} has cell_type ${JSON.stringify(cell_type)}`);
    }
    const source = textOf(cell.source);
    if (source === null) return refuse(`cell ${index} has no source text`);
    const read: NotebookCell = { cell_type, metadata: isObject(cell.metadata) ? cell.metadata : {}, source };
    if (typeof cell.id === "string") read.id = cell.id;
    if (cell_type === "code") {
      if (cell.outputs !== undefined && !Array.isArray(cell.outputs))
        return refuse(`cell ${index} has outputs that are no list`);
      read.outputs = ((cell.outputs ?? []) as unknown[]).map(
        (output) => outputOf(output) ?? refuse(`cell ${index} has an output of an unknown kind`),
      );
      read.execution_count = typeof cell.execution_count === "number" ? cell.execution_count : null;
    }
    return read;
  });
  return {
    cells,
    metadata: isObject(json.metadata) ? json.metadata : {},
    nbformat: 4,
    nbformat_minor: typeof json.nbformat_minor === "number" ? json.nbformat_minor : 5,
  };
}

function outputOf(output: unknown): NotebookOutput | null {
  if (!isObject(output)) return null;
  const data = isObject(output.data) ? (joined(output.data) as MimeBundle) : {};
  const metadata = isObject(output.metadata) ? output.metadata : {};
  switch (output.output_type) {
    case "stream":
      return {
        output_type: "stream",
        name: output.name === "stderr" ? "stderr" : "stdout",
        text: textOf(output.text) ?? "",
      };
    case "display_data":
      return { output_type: "display_data", data, metadata };
    case "execute_result":
      return {
        output_type: "execute_result",
        data,
        metadata,
        execution_count: Number(output.execution_count ?? 0),
      };
    case "error":
      return {
        output_type: "error",
        ename: String(output.ename ?? ""),
        evalue: String(output.evalue ?? ""),
        traceback: Array.isArray(output.traceback) ? output.traceback.map(String) : [],
      };
    default:
      return null;
  }
}

/** Text representations may be stored as lists of lines; JSON ones are kept as they are. */
function joined(data: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(data).map(([mime, value]) => [
      mime,
      /json$/.test(mime) ? value : (textOf(value) ?? value),
    ]),
  );
}

function textOf(source: unknown): string | null {
  if (typeof source === "string") return source;
  if (Array.isArray(source) && source.every((line) => typeof line === "string")) return source.join("");
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function positionOf(text: string, message: string): string {
  const match = /position (\d+)/.exec(message);
  if (!match) return "";
  const before = text.slice(0, Number(match[1])).split("\n");
  return ` (line ${before.length}, column ${(before.at(-1) as string).length + 1})`;
}

/** The canonical text: keys in one order, one space of indentation, text as lists of lines, a newline at the end. */
export function formatNotebook(notebook: Notebook): string {
  const cells = notebook.cells.map((cell) => ({
    cell_type: cell.cell_type,
    ...(cell.cell_type === "code" ? { execution_count: cell.execution_count ?? null } : {}),
    ...(cell.id === undefined ? {} : { id: cell.id }),
    metadata: cell.metadata,
    ...(cell.cell_type === "code" ? { outputs: (cell.outputs ?? []).map(formatOutput) } : {}),
    source: linesOf(cell.source),
  }));
  const ordered = {
    cells,
    metadata: notebook.metadata,
    nbformat: 4,
    nbformat_minor: notebook.nbformat_minor,
  };
  return `${JSON.stringify(ordered, null, 1)}\n`;
}

function formatOutput(output: NotebookOutput): unknown {
  if (output.output_type === "stream") return { ...output, text: linesOf(output.text) };
  return output;
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** @throws P2pError `output` when the file cannot be written; then nothing is. */
export function writeNotebook(file: string, notebook: Notebook): void {
  writeFileAtomic(file, formatNotebook(notebook));
}
