/** Outputs without what tells the machine and its user from others of their kind. */
import { realpathSync } from "node:fs";
import { cleaner, ownNames } from "../lab/index.js";
import { homeFolder } from "./data-folder.js";
import type { Notebook, NotebookCell, NotebookOutput } from "./nbformat.js";

/** Names that every machine has, or that are words of a report. */
const COMMON = /^(?:localhost|gpu|cuda|lab|host|node|machine|server)$/i;

/** Fields whose value is a serial number, whatever it looks like. */
const SERIAL_FIELD = /(?:^|[_-])serial(?:[_-]?(?:number|no))?$/i;

/**
 * A copy whose outputs and metadata tell no name of the host or the user, home folder, UUID, serial number or address; what
 * cells say themselves stands as it was written, and so do the authors.
 * @param names to take out; default this machine's and this user's.
 */
export function redactedOutputs(notebook: Notebook, names: readonly string[] = ownNames()): Notebook {
  const text = cleanText(names);
  const visit = (value: unknown): unknown => {
    if (typeof value === "string") return text(value);
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, own]) => [
        text(name),
        SERIAL_FIELD.test(name) && typeof own !== "object" ? "redacted" : visit(own),
      ]),
    );
  };
  const cells = notebook.cells.map((cell) => ({
    ...cell,
    metadata: visit(cell.metadata) as NotebookCell["metadata"],
    ...(cell.outputs ? { outputs: cell.outputs.map((output) => redacted(output, visit)) } : {}),
  }));
  const { authors, ...metadata } = notebook.metadata;
  return {
    ...notebook,
    cells,
    metadata: {
      ...(visit(metadata) as Notebook["metadata"]),
      ...(authors === undefined ? {} : { authors }),
    },
  };
}

/** The cells whose own text tells what their outputs may not, by id or place. */
export function tellingCells(notebook: Notebook, names: readonly string[] = ownNames()): string[] {
  const text = cleanText(names);
  return notebook.cells.flatMap((cell, at) =>
    text(cell.source) === cell.source ? [] : [cell.id ?? `cell ${at + 1}`],
  );
}

function cleanText(names: readonly string[]): (text: string) => string {
  const clean = cleaner(names.filter((name) => !COMMON.test(name)));
  const homes = homeFolders();
  return (text) => clean(homes.reduce((rest, home) => rest.replaceAll(home, "~"), text));
}

/** As the environment names it, and where links lead. */
function homeFolders(): string[] {
  const home = homeFolder();
  if (home === null || home.length < 2) return [];
  try {
    return [...new Set([home, realpathSync(home)])].filter((folder) => folder.length > 1);
  } catch {
    return [home];
  }
}

/** Pictures hold no text, and are long. */
function redacted(output: NotebookOutput, visit: (value: unknown) => unknown): NotebookOutput {
  if (!("data" in output)) return visit(output) as NotebookOutput;
  const data = Object.entries(output.data).map(([mime, value]) => [
    mime,
    /^image\/(?!svg)/.test(mime) ? value : visit(value),
  ]);
  return {
    ...output,
    data: Object.fromEntries(data),
    metadata: visit(output.metadata) as typeof output.metadata,
  };
}
