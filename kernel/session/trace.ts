/** Errors as a reader of a notebook wants them: name, message, cell and line, the hint, and the causes. */
import { inspect } from "node:util";
import { P2pError } from "../lab/index.js";
import { missingModuleAdvice, unknownNameAdvice } from "./advice.js";
import type { Diagnostic } from "./diagnostic.js";
import { type CellSource, type CellSources, cellName, isKernelFile } from "./sources.js";
import { rawStackOf } from "./stacks.js";

export interface CellError {
  readonly ename: string;
  readonly evalue: string;
  readonly traceback: string[];
}

/** Type errors: nothing of the cell has run. */
export function diagnosticsError(
  source: string,
  diagnostics: readonly Diagnostic[],
  count: number | null,
): CellError {
  const lines = source.split("\n");
  const traceback: string[] = [];
  let last: Diagnostic | null = null;
  let places = 0;
  for (const diagnostic of diagnostics) {
    const { line, character } = diagnostic.start;
    // TypeScript explains a finding by further ones at the same place.
    if (last && last.fileName === diagnostic.fileName && isSamePlace(last, diagnostic)) {
      if (places <= MOST.places) traceback.push(`    ${diagnostic.messageText}`);
      continue;
    }
    last = diagnostic;
    if (++places > MOST.places) continue;
    const where = `${diagnostic.fileName ?? cellName(count)}, line ${line + 1}, column ${character + 1}`;
    traceback.push(`${where}: TS${diagnostic.code}: ${diagnostic.messageText}`);
    const text = lines[line];
    if (diagnostic.fileName || text === undefined) continue;
    const end = diagnostic.end.line === line ? diagnostic.end.character : text.length;
    const before = text.slice(0, character).replace(/[^\t]/g, " ");
    traceback.push(`  ${text}`, `  ${before}${"^".repeat(Math.max(1, end - character))}`);
  }
  if (places > MOST.places) traceback.push(`… and ${places - MOST.places} more findings`);
  for (const hint of new Set(diagnostics.flatMap(({ hint }) => hint ?? []))) traceback.push(`→ ${hint}`);
  const first = diagnostics[0] as Diagnostic;
  return { ename: "TypeScriptError", evalue: `TS${first.code}: ${first.messageText}`, traceback };
}

function isSamePlace(a: Diagnostic, b: Diagnostic): boolean {
  return (["start", "end"] as const).every(
    (key) => a[key].line === b[key].line && a[key].character === b[key].character,
  );
}

/** So much of what was found, or thrown, is shown: an error may have a hundred thousand causes, members, frames or characters. */
const MOST = { places: 20, errors: 20, members: 10, frames: 40, stackLines: 400, characters: 10_000 };
const CANNOT = "(cannot be shown)";

/** What a cell threw. Frames of the kernel are left out; frames in cells show their source line. Never throws itself, whatever it is given. */
export function thrownError(error: unknown, sources: CellSources): CellError {
  if (!isError(error)) {
    const text = valueText(error);
    return { ename: "Thrown", evalue: text, traceback: [`Thrown: ${text}`] };
  }
  const traceback: string[] = [];
  describe(error, sources, "", traceback, new Set());
  return { ename: member(error, "name"), evalue: member(error, "message"), traceback };
}

/** A revoked proxy is nothing at all, not even an error. */
function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

function valueText(value: unknown): string {
  try {
    return shortened(typeof value === "string" ? value : inspect(value, { depth: 2 }));
  } catch {
    return CANNOT;
  }
}

/** A property as text: one that a cell's own code has put there may be anything, and may throw. */
function member(error: Error, name: "name" | "message" | "stack"): string {
  try {
    const text = String(error[name] ?? "");
    return name === "stack" ? text : shortened(text);
  } catch {
    return name === "stack" ? "" : CANNOT;
  }
}

function shortened(text: string): string {
  const { characters } = MOST;
  return text.length <= characters
    ? text
    : `${text.slice(0, characters)}… (${text.length - characters} more characters)`;
}

/** Null where there is none, or where it cannot be read. */
function causeOf(error: Error): unknown {
  try {
    return error.cause ?? null;
  } catch {
    return null;
  }
}

function membersOf(error: Error): readonly unknown[] {
  try {
    return error instanceof AggregateError && Array.isArray(error.errors) ? error.errors : [];
  } catch {
    return [];
  }
}

function describe(
  error: unknown,
  sources: CellSources,
  lead: string,
  lines: string[],
  seen: Set<unknown>,
): void {
  if (seen.has(error)) return;
  seen.add(error);
  if (seen.size > MOST.errors) {
    lines.push(`${lead}… (further ones are left out)`);
    return;
  }
  if (!isError(error)) {
    lines.push(`${lead}${valueText(error)}`);
    return;
  }
  lines.push(`${lead}${member(error, "name")}: ${member(error, "message")}`, ...framesOf(error, sources));
  const hint = error instanceof P2pError ? error.hint : foreignHint(error);
  if (hint) lines.push(`→ ${hint}`);
  const members = membersOf(error);
  for (const one of members.slice(0, MOST.members)) describe(one, sources, "one of them ", lines, seen);
  if (members.length > MOST.members) lines.push(`… and ${members.length - MOST.members} more of them`);
  const cause = causeOf(error);
  if (cause !== null) describe(cause, sources, "caused by ", lines, seen);
}

function foreignHint(error: Error): string | null {
  const unknown = /^(\w+) is not defined$/.exec(member(error, "message"))?.[1];
  if (unknown !== undefined) return unknownNameAdvice(unknown);
  const name = /^Cannot find (?:module|package) '([^']*)'$/.exec(member(error, "message"))?.[1];
  return name === undefined ? null : missingModuleAdvice(name, process.cwd());
}

const FRAME = /^\s*at (?:async (?=\S+$))?(?:(.*?) \()?(.*?):(\d+):(\d+)\)?$/;
const LIBRARY = /dist[\\/]kernel[\\/]lab[\\/]/;

interface Frame {
  readonly line: string;
  readonly name: string | undefined;
  readonly file: string;
  readonly row: number;
  readonly column: number;
}

function framesOf(error: Error, sources: CellSources): string[] {
  const lines = rawStackOf(error, member(error, "stack")).split("\n", MOST.stackLines);
  const all = lines.flatMap((line): Frame[] => {
    const match = line.length < MOST.characters ? FRAME.exec(line) : null;
    if (!match) return [];
    const [, name, file = "", row, column] = match;
    return [{ line, name, file, row: Number(row), column: Number(column) }];
  });
  // Below the cell stands the kernel, and whoever has called that.
  const last = all.findLastIndex(({ file }) => sources.has(file));
  const end = last < 0 ? -1 : all.findIndex(({ file }, i) => i > last && isKernelFile(file));
  const frames: string[] = [];
  let inCell = false;
  for (const [i, { line, name, file, row, column }] of all.slice(0, end < 0 ? undefined : end).entries()) {
    if (i >= MOST.frames) return [...frames, "  … (further frames are left out)"];
    const cell = sources.get(file);
    if (cell) {
      const place = placeOf(cell, row - 1, column - 1, name, !inCell);
      inCell ||= place.length > 0;
      frames.push(...place);
    } else if (!isKernelFile(file) && !(LIBRARY.test(file) && (inCell || error instanceof P2pError))) {
      frames.push(line.replace(/^\s*/, "  "));
    }
  }
  return frames;
}

/** @param excerpt true shows the lines around, false the line alone. */
function placeOf(
  cell: CellSource,
  line: number,
  character: number,
  name: string | undefined,
  excerpt: boolean,
): string[] {
  const origin = cell.origin({ line, character });
  if (!origin) return [];
  const lines = cell.source.split("\n");
  const caller = callerOf(name);
  const head = `  at ${caller}${cell.name}, line ${origin.line + 1}`;
  if (!excerpt || lines.length === 1) return [`${head}: ${(lines[origin.line] ?? "").trim()}`];
  const from = Math.max(0, origin.line - 1);
  const shown = lines.slice(from, origin.line + 2).map((text, i) => {
    const number = String(from + i + 1).padStart(4);
    return `  ${from + i === origin.line ? "→" : " "}${number} │ ${text}`;
  });
  return [head, ...shown];
}

/** The function's name as the cell has it: names of earlier cells are properties of the session's scope. */
function callerOf(name: string | undefined): string {
  const plain = (name ?? "").replace(/^async /, "").replace(/^(Object|\$p2plab_scope)\./, "");
  return /^(eval|<anonymous>)?$/.test(plain) ? "" : `${plain}, `;
}
