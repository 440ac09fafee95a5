/** Notebook files (nbformat 4): what they hold, and a reader that says what is wrong with one. */
import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { type MimeBundle, messageOf, P2pError } from "../lab/index.js";
import { extracted, isHtml } from "./embedded.js";
import { isDeeperThan, jsonErrorPosition, MAX_DEPTH } from "./json-position.js";
import { textOfFile } from "./text-file.js";

export type NotebookOutput =
  | { output_type: "stream"; name: "stdout" | "stderr"; text: string }
  | { output_type: "display_data"; data: MimeBundle; metadata: Record<string, unknown> }
  | {
      output_type: "execute_result";
      data: MimeBundle;
      metadata: Record<string, unknown>;
      execution_count: number | null;
    }
  | { output_type: "error"; ename: string; evalue: string; traceback: string[] };

export interface NotebookCell {
  cell_type: "code" | "markdown" | "raw";
  id?: string;
  metadata: Record<string, unknown>;
  source: string;
  /** Of code cells. */
  outputs?: NotebookOutput[];
  /** Of code cells; null when it has not run. */
  execution_count?: number | null;
  /** Of markdown cells: pictures pasted into them, by name. */
  attachments?: Record<string, unknown>;
}

export interface Notebook {
  cells: NotebookCell[];
  metadata: Record<string, unknown>;
  nbformat: number;
  nbformat_minor: number;
}

/** Node.js holds no longer text. */
const MAX_BYTES = 2 ** 29 - 25;

function factsOf(file: string): { size: number; isFile: boolean } {
  const facts = statSync(file);
  return { size: facts.size, isFile: facts.isFile() };
}

/** A notebook's name: its file's, without the extension. */
export function nameOfNotebook(file: string): string {
  return basename(file).replace(/\.(ipynb|html?)$/i, "");
}

/**
 * Reads a notebook file, or the notebook inside a report.
 * @throws P2pError `notebook` naming the file and what is wrong in it.
 */
export function readNotebook(file: string): Notebook {
  let bytes: Buffer;
  try {
    const { size, isFile } = factsOf(file);
    if (!isFile) throw new Error("it is not a regular file");
    if (size > MAX_BYTES)
      throw new Error(`it has ${size} bytes, more than the ${MAX_BYTES} that a notebook may have`);
    bytes = readFileSync(file);
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
  let text: string;
  try {
    text = textOfFile(bytes);
  } catch (error) {
    return refuse(file, messageOf(error));
  }
  return parseNotebook(text, file);
}

function refuse(file: string, why: string): never {
  throw new P2pError(
    "notebook",
    `${file} is not a notebook: ${why}`,
    "Open it in JupyterLab and save it anew, or fetch it again.",
  );
}

export function parseNotebook(content: string, file: string): Notebook {
  const refused = (why: string): never => refuse(file, why);
  let text = content;
  if (isHtml(content)) {
    try {
      text = extracted(content);
    } catch (error) {
      return refused(messageOf(error));
    }
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const position = jsonErrorPosition(text);
    const where = position ? `line ${position.line}, column ${position.column}: ` : "";
    return refused(`${where}${messageOf(error)}`);
  }
  if (isDeeperThan(MAX_DEPTH, json)) return refused(`it is nested more than ${MAX_DEPTH} levels deep`);
  if (!isObject(json)) return refused("its top level is not an object");
  if (json.nbformat !== 4)
    return refused(
      `nbformat is ${JSON.stringify(json.nbformat) ?? "missing"}, and 4 is what can be read (jupyter nbconvert --to notebook converts older ones)`,
    );
  if (!Array.isArray(json.cells)) return refused("it has no list of cells");
  const cells = json.cells.map((cell, index): NotebookCell => {
    if (!isObject(cell)) return refused(`cell ${index} is not an object`);
    const { cell_type } = cell;
    if (cell_type !== "code" && cell_type !== "markdown" && cell_type !== "raw") {
      return refused(`cell ${index} has cell_type ${JSON.stringify(cell_type)}`);
    }
    const source = textOf(cell.source);
    if (source === null) return refused(`cell ${index} has no source text`);
    const read: NotebookCell = { cell_type, metadata: isObject(cell.metadata) ? cell.metadata : {}, source };
    if (typeof cell.id === "string") read.id = cell.id;
    if (isObject(cell.attachments)) read.attachments = cell.attachments;
    if (cell_type === "code") {
      if (cell.outputs !== undefined && !Array.isArray(cell.outputs))
        return refused(`cell ${index} has outputs that are no list`);
      read.outputs = ((cell.outputs ?? []) as unknown[]).map(
        (output) => outputOf(output) ?? refused(`cell ${index} has an output of an unknown kind`),
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

const CELL_ID = /^[\w-]{1,64}$/;

/** Gives cells the ids that the notebook's minor version asks for (from 5 on: each its own), or forbids (before). */
export function withProperIds(notebook: Notebook): Notebook {
  const { nbformat_minor } = notebook;
  const minor = Number.isInteger(nbformat_minor) && nbformat_minor >= 0 ? nbformat_minor : 5;
  const given = new Set(
    notebook.cells.flatMap(({ id }) => (id !== undefined && CELL_ID.test(id) ? [id] : [])),
  );
  const taken = new Set<string>();
  const cells = notebook.cells.map(({ id, ...cell }, index): NotebookCell => {
    if (minor < 5) return cell;
    let own = id !== undefined && given.has(id) && !taken.has(id) ? id : null;
    for (let made = `cell-${index + 1}`; own === null; made += "-") {
      if (!given.has(made) && !taken.has(made)) own = made;
    }
    taken.add(own);
    return { ...cell, id: own };
  });
  return { ...notebook, cells, nbformat_minor: minor };
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
        execution_count: typeof output.execution_count === "number" ? output.execution_count : null,
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
    Object.entries(data).map(([mime, value]) => [mime, isJsonMime(mime) ? value : (textOf(value) ?? value)]),
  );
}

/** Whether a representation is stored as JSON instead of text. */
export function isJsonMime(mime: string): boolean {
  return /[/+]json$/.test(mime);
}

function textOf(source: unknown): string | null {
  if (typeof source === "string") return source;
  if (Array.isArray(source) && source.every((line) => typeof line === "string")) return source.join("");
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
