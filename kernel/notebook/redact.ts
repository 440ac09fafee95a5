/** Outputs without what tells the machine and its user from others of their kind. */
import { hostname } from "node:os";
import { cleaner } from "../lab/index.js";
import { homeFolder } from "./data-folder.js";
import type { Notebook, NotebookOutput } from "./nbformat.js";

/** Names that every machine has, or that are words of a report. */
const COMMON = /^(?:localhost|gpu|cuda|lab|host|node|machine|server)$/i;

/**
 * A copy whose outputs tell no host name, home folder, UUID of a GPU, or hardware address; what cells say themselves stands as
 * it was written.
 * @param names more names to take out; default this machine's.
 */
export function redactedOutputs(notebook: Notebook, names: readonly string[] = hostNames()): Notebook {
  const clean = cleaner(names.filter((name) => !COMMON.test(name)));
  const home = homeFolder() ?? "";
  const text = (value: string) => clean(home.length > 1 ? value.replaceAll(home, "~") : value);
  const visit = (value: unknown): unknown => {
    if (typeof value === "string") return text(value);
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, own]) => [name, visit(own)]));
  };
  const cells = notebook.cells.map((cell) =>
    cell.outputs ? { ...cell, outputs: cell.outputs.map((output) => redacted(output, visit)) } : cell,
  );
  const run = notebook.metadata.p2plab;
  return {
    ...notebook,
    cells,
    metadata: run === undefined ? notebook.metadata : { ...notebook.metadata, p2plab: visit(run) },
  };
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

function hostNames(): string[] {
  const name = hostname();
  return [name, name.split(".")[0] ?? ""];
}
