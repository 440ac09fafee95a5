/** Whether what was typed so far is a whole cell. */
import type { TypeScriptParser } from "./typescript.js";

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

/**
 * @param indentOf the indentation that tslab would give the next line.
 */
export function completenessOf(
  ts: TypeScriptParser,
  source: string,
  indentOf: (source: string) => string | undefined,
): Completeness {
  // Two empty lines end a cell in a terminal, whatever it holds.
  if (/(^|\n)\s*\n\s*$/.test(source)) return { completed: true, status: "complete", indent: "" };
  const text = MODULE + source;
  const file = ts.createSourceFile("cell.ts", text, ts.ScriptTarget.ES2022, false);
  const found = file.parseDiagnostics ?? [];
  if (found.length === 0) return { completed: true, status: "complete", indent: "" };
  const end = text.trimEnd().length;
  const open = found.every(({ start, code }) =>
    start >= end ? code !== UNTERMINATED_STRING : OPEN_ENDED.has(code),
  );
  if (!open) return { completed: true, status: "invalid", indent: "" };
  return {
    completed: false,
    status: "incomplete",
    indent: indentOf(source) ?? /^[ \t]*/.exec(source.split("\n").at(-1) ?? "")?.[0] ?? "",
  };
}
