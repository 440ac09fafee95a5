/** Whether what was typed so far is a whole cell. */
import type ts from "typescript";
import { LANGUAGE_LEVEL, tsc } from "./typescript.js";

export interface Completeness {
  /** True unless more has to be typed: a text that is invalid is run, so that its errors are shown. */
  readonly completed: boolean;
  readonly status: "complete" | "incomplete" | "invalid";
  /** What the next line should begin with, for an incomplete one. */
  readonly indent: string;
}

// Makes the text a module, so that `await` is a keyword; on the same line, so that nothing else changes.
const MODULE = "export {};";
/** TypeScript's codes for a text that ends inside of something: */
const OPEN_ENDED = new Set([
  1160, // a template
  1010, // a comment
]);
// A string ends with its line.
const UNTERMINATED_STRING = 1002;
const INDENT = "  ";

export function completenessOf(source: string): Completeness {
  // Two empty lines end a cell in a terminal, whatever it holds.
  if (/(^|\n)\s*\n\s*$/.test(source)) return { completed: true, status: "complete", indent: "" };
  const text = MODULE + source;
  const file = tsc.createSourceFile("cell.ts", text, LANGUAGE_LEVEL, false);
  const { parseDiagnostics: found = [] } = file as unknown as {
    parseDiagnostics?: readonly ts.DiagnosticWithLocation[];
  };
  if (found.length === 0) return { completed: true, status: "complete", indent: "" };
  const end = text.trimEnd().length;
  const open = found.every(({ start, code }) =>
    start >= end ? code !== UNTERMINATED_STRING : OPEN_ENDED.has(code),
  );
  if (!open) return { completed: true, status: "invalid", indent: "" };
  return { completed: false, status: "incomplete", indent: indentAfter(source.split("\n").at(-1) ?? "") };
}

/** The line's own indentation, one step more where it opens a bracket that it does not close; less where it only closes one. */
function indentAfter(line: string): string {
  const own = /^[ \t]*/.exec(line)?.[0] ?? "";
  const bare = line.replace(/\/\/.*$/, "").replace(/(["'`])(?:\\.|(?!\1).)*\1/g, "");
  let depth = 0;
  for (const character of bare) {
    if ("([{".includes(character)) depth++;
    else if (")]}".includes(character)) depth = Math.max(0, depth - 1);
  }
  if (depth > 0) return own + INDENT;
  return /^\s*[)\]}]/.test(bare) ? own.slice(0, -INDENT.length) : own;
}
