import { dirname, relative } from "node:path";
import type ts from "typescript";

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
}

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
  const where = {
    start: positionOf(start),
    end: positionOf(start + length),
    ...(isCell ? {} : { fileName: relative(dirname(cellFile), file.fileName) }),
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
