import { dirname, relative } from "node:path";
import type ts from "typescript";
import { JSX_ADVICE, jsxIn, magicAdvice, missingModuleAdvice, unknownNameAdvice } from "./advice.js";
import { LANGUAGE_LEVEL, tsc } from "./typescript.js";

/** Line and column of a position; both count from 0. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

/** A finding of TypeScript in a cell. */
export interface Diagnostic {
  readonly start: Position;
  readonly end: Position;
  readonly messageText: string;
  readonly code: number;
  /** Where it is not the cell itself: the file, from the notebook's folder. */
  readonly fileName?: string;
  /** What to do about it, where the kernel knows more than TypeScript. */
  readonly hint?: string;
}

/** TypeScript's codes for a module and a name that cannot be found, and for JSX where it is not known. */
const NO_MODULE = new Set([2307, 2792]);
const NO_NAME = new Set([2304, 2552, 2584, 2867, 2868]);
const NO_JSX = 17004;

/**
 * A finding and those that explain it.
 * @param lines of the cell; what stands behind them was added by the kernel, and is told at the cell's end.
 */
export function diagnosticOf(found: ts.Diagnostic, cellFile: string, lines: number): Diagnostic[] {
  const { file, start = 0, length = 0, code, messageText } = found;
  if (!file) return [];
  const isCell = file.fileName === cellFile;
  const positionOf = (offset: number): Position => {
    const place = file.getLineAndCharacterOfPosition(offset);
    if (!isCell || place.line < lines) return place;
    const line = lines - 1;
    return { line, character: (file.text.split("\n")[line] ?? "").length };
  };
  const folder = dirname(cellFile);
  const where = {
    start: positionOf(start),
    end: positionOf(start + length),
    ...(isCell ? {} : { fileName: relative(folder, file.fileName) }),
    ...hintOf(code, file.text.slice(start, start + length), folder),
  };
  const chain = (message: string | ts.DiagnosticMessageChain, number: number): Diagnostic[] =>
    typeof message === "string"
      ? [{ ...where, messageText: message, code: number }]
      : [
          { ...where, messageText: message.messageText, code: number },
          ...(message.next ?? []).flatMap((next) => chain(next, next.code)),
        ];
  return chain(messageText, code);
}

function hintOf(code: number, text: string, folder: string): { hint?: string } {
  const hint = NO_MODULE.has(code)
    ? missingModuleAdvice(text.slice(1, -1), folder)
    : NO_NAME.has(code)
      ? unknownNameAdvice(text)
      : null;
  return hint === null ? {} : { hint };
}

/** The one finding in a cell that was written with JSX, which TypeScript takes for other things; null for any other. */
export function jsxDiagnostic(source: string): Diagnostic | null {
  const found = jsxIn(source);
  if (!found) return null;
  const file = tsc.createSourceFile("cell.ts", source, LANGUAGE_LEVEL);
  const [start, end] = [found.pos, found.end].map((at) => file.getLineAndCharacterOfPosition(at)) as [
    Position,
    Position,
  ];
  return { start, end, messageText: "Cells have no JSX.", code: NO_JSX, hint: JSX_ADVICE };
}

/** The findings in a cell, with what to do where it was written for IPython. */
export function withMagicAdvice(found: readonly Diagnostic[], source: string): readonly Diagnostic[] {
  const hint = magicAdvice(source);
  const [first, ...rest] = found;
  return first && hint !== null ? [{ ...first, hint }, ...rest.map(({ hint: _, ...one }) => one)] : found;
}
