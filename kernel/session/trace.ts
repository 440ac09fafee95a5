/** Errors as a reader of a notebook wants them: name, message, cell and line, the hint, and the causes. */
import { P2pError } from "../lab/index.js";
import type { CellSources, Diagnostic } from "./tslab.js";

export interface CellError {
  ename: string;
  evalue: string;
  traceback: string[];
}

/** Type errors: nothing of the cell has run. */
export function diagnosticsError(
  source: string,
  diagnostics: readonly Diagnostic[],
  cell: number,
): CellError {
  const lines = source.split("\n");
  const traceback = diagnostics.flatMap((diagnostic) => {
    const { line, character } = diagnostic.start;
    const where = diagnostic.fileName ? diagnostic.fileName : `Cell [${cell}]`;
    const head = `${where}, line ${line + 1}, column ${character + 1}: TS${diagnostic.code}: ${diagnostic.messageText}`;
    const text = lines[line];
    if (diagnostic.fileName || text === undefined) return [head];
    const width = Math.max(
      1,
      diagnostic.end.line === line ? diagnostic.end.character - character : text.length - character,
    );
    return [head, `  ${text}`, `  ${" ".repeat(character)}${"^".repeat(width)}`];
  });
  const first = diagnostics[0] as Diagnostic;
  return { ename: "TypeScriptError", evalue: `TS${first.code}: ${first.messageText}`, traceback };
}

/** What a cell threw. Frames of the kernel are left out; frames in cells show their source line. */
export function thrownError(error: unknown, sources: CellSources): CellError {
  if (!(error instanceof Error)) {
    const text = String(error);
    return { ename: "Thrown", evalue: text, traceback: [`Thrown: ${text}`] };
  }
  const traceback: string[] = [];
  const seen = new Set<unknown>();
  for (
    let at: unknown = error;
    at !== undefined && !seen.has(at);
    at = at instanceof Error ? at.cause : undefined
  ) {
    seen.add(at);
    const lead = at === error ? "" : "caused by ";
    if (!(at instanceof Error)) {
      traceback.push(`${lead}${String(at)}`);
      break;
    }
    traceback.push(`${lead}${at.name}: ${at.message}`, ...framesOf(at, sources));
    if (at instanceof P2pError && at.hint) traceback.push(`→ ${at.hint}`);
  }
  return { ename: error.name, evalue: error.message, traceback };
}

const FRAME = /^\s*at (?:(.*?) \()?(.*?):(\d+):(\d+)\)?$/;

function framesOf(error: Error, sources: CellSources): string[] {
  const frames: string[] = [];
  for (const line of (error.stack ?? "").split("\n")) {
    const match = FRAME.exec(line);
    if (!match) continue;
    const [, name, file, row] = match as unknown as [string, string | undefined, string, string];
    const cell = sources.get(file);
    if (cell) {
      // Beyond the cell's own lines stands the function that tslab wraps around it.
      if (Number(row) > cell.output.split("\n").length) continue;
      frames.push(
        `  at ${name && !/^(eval|Object\.<anonymous>)$/.test(name) ? `${name}, ` : ""}${placeOf(cell, Number(row))}`,
      );
    } else if (
      !/node_modules[\\/]tslab|kernel[\\/](session|jupyter|notebook)[\\/]|^node:|^evalmachine/.test(file)
    ) {
      frames.push(line.replace(/^\s*/, "  "));
    }
  }
  return frames;
}

/**
 * Where in the cell a line of its JavaScript came from. tslab gives no source map, so the line is looked for by its text: it
 * is numbered when the cell has exactly one like it, and quoted without a number otherwise.
 */
function placeOf(cell: { source: string; output: string; cell: number }, row: number): string {
  const wanted = squeezed(cell.output.split("\n")[row - 1] ?? "");
  const lines = cell.source.split("\n");
  const hits = lines.flatMap((text, index) =>
    wanted !== "" && alike(squeezed(text), wanted) ? [index] : [],
  );
  const only = hits.length === 1 ? (hits[0] as number) : null;
  if (only !== null) return `Cell [${cell.cell}], line ${only + 1}: ${(lines[only] as string).trim()}`;
  return `Cell [${cell.cell}]${wanted ? `: ${(cell.output.split("\n")[row - 1] ?? "").trim()}` : ""}`;
}

function squeezed(text: string): string {
  return text
    .replace(/^\s*(?:export\s+|exports\.\w+ = (?:exports\.\w+ = )*)/, "")
    .replace(/\b(?:const|let|var|exports\.)\b\s*/g, "")
    .replace(/[\s;]/g, "")
    .replace(/exports\./g, "");
}

function alike(source: string, output: string): boolean {
  return (
    source === output ||
    (source.length > 3 && output.endsWith(source)) ||
    (output.length > 3 && source.endsWith(output))
  );
}
