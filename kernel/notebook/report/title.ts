/** The block under a report's title: whose it is, of which course, when it ran and on which machine. */
import type { Notebook } from "../nbformat.js";
import type { Origin } from "../run-metadata.js";
import { originText } from "./origin.js";

export interface TitleOptions {
  /** Name of the author; default what the notebook's metadata say. */
  readonly author?: string | undefined;
  /** Title of the course that the notebook is a chapter of; null for none. */
  readonly course?: string | null | undefined;
}

const UNKNOWN = "未知 not known";

/** Rows of the block: a name in two languages, and a value or null. */
export function titleRows(
  notebook: Notebook,
  origin: Origin,
  { author, course = null }: TitleOptions,
): [name: string, value: string | null][] {
  const { run } = origin;
  const machines = [...new Map((run?.opened ?? []).map((m) => [m.fingerprint, m])).values()];
  return [
    ["作者 Author", author ?? authorsOf(notebook)],
    ["课程 Course", course],
    ["日期 Date", run ? `${run.executed.slice(0, 16).replace("T", " ")} UTC` : null],
    [
      "机器指纹 Machine",
      machines.map((m) => `${m.name}（${m.fingerprint}）`).join("；") || (origin.cells && UNKNOWN),
    ],
    ["来源 Provenance", originText(origin) || null],
  ];
}

/** Jupyter keeps authors as a list of `{ name }`. */
function authorsOf(notebook: Notebook): string | null {
  const { authors } = notebook.metadata;
  if (!Array.isArray(authors)) return null;
  const names = authors.flatMap((author: unknown) => {
    const name = typeof author === "string" ? author : (author as { name?: unknown } | null)?.name;
    return typeof name === "string" && name.trim() !== "" ? [name.trim()] : [];
  });
  return names.join("、") || null;
}
