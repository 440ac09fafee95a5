/** The course as its tests read it: chapters with their cells, solutions and examples. */
import { readdirSync, readFileSync } from "node:fs";
import { packagePath } from "../../kernel/lab/index.js";

export const FOLDER = packagePath("notebooks");

/** A cell as it stands in the file. */
export interface Cell {
  readonly id: string;
  readonly cell_type: string;
  /** Lines, as chapters are committed; other editors may save one text. */
  readonly source: readonly string[] | string;
  readonly outputs?: readonly unknown[];
  readonly execution_count?: unknown;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface Chapter {
  readonly file: string;
  /** Two digits. */
  readonly number: string;
  readonly cells: readonly Cell[];
}

export const chapters: readonly Chapter[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".ipynb") && !file.startsWith("00-"))
  .sort()
  .map((file) => ({
    file,
    number: file.slice(0, 2),
    cells: (JSON.parse(readFileSync(`${FOLDER}/${file}`, "utf8")) as { cells: Cell[] }).cells,
  }));

export const textOf = ({ source }: Cell) => (typeof source === "string" ? source : source.join(""));

export function cellsOf({ cells }: Chapter, type: "code" | "markdown"): readonly Cell[] {
  return cells.filter((cell) => cell.cell_type === type);
}

/** Ids that a chapter gives to what it enters into the ledger by one of these functions, in order. */
export function enteredIds(chapter: Chapter, by: "claim" | "predict" | "check"): string[] {
  const call = new RegExp(`\\blab\\.${by}\\(\\s*"([^"]*)"`, "g");
  return cellsOf(chapter, "code").flatMap((cell) =>
    [...textOf(cell).matchAll(call)].map((match) => match[1] as string),
  );
}

/** Solutions of a chapter: the cell that each replaces, and its code. */
export function solutionsOf({ number }: Chapter): { readonly id: string; readonly code: string }[] {
  const source = readFileSync(`${FOLDER}/solutions/${number}.ts`, "utf8");
  return [...source.matchAll(/^\/\/ #region (\S+)\n([\s\S]*?)^\/\/ #endregion/gm)].map(([, id, code]) => ({
    id: id as string,
    code: (code as string).replace(/^export /gm, "").trimEnd(),
  }));
}
