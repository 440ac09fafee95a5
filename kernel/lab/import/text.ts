import { P2pError } from "../errors.js";
import type { ImportSource } from "./importer.js";

/** Longer texts are refused: their lines would take several times as much memory. */
export const MAX_TEXT_BYTES = 256 * 2 ** 20;

/** Text of a tool, made plain: without a byte order mark, terminal escapes and prefixes of launchers. */
export class PlainText {
  readonly lines: readonly string[];
  /** What was odd about it. */
  readonly notes: readonly string[];

  constructor(lines: readonly string[], notes: readonly string[]) {
    this.lines = lines;
    this.notes = notes;
  }

  /** All lines, ended by `\n`: a copy, made anew each time. */
  get text(): string {
    return this.lines.join("\n");
  }
}

/**
 * Reads a source as text.
 * @throws P2pError `import` for what is too large or no text.
 */
export async function textOf(source: ImportSource): Promise<PlainText> {
  return plainText(await source.bytes(MAX_TEXT_BYTES));
}

const heads = new WeakMap<Uint8Array, string>();

/** The beginning of a file as text, for those who tell formats apart; empty for what is no text. Kept for the next who asks. */
export function headText(head: Uint8Array): string {
  const known = heads.get(head);
  if (known !== undefined) return known;
  let text = "";
  try {
    text = plainText(head).text;
  } catch (error) {
    if (!(error instanceof P2pError)) throw error;
  }
  heads.set(head, text);
  return text;
}

/** @throws P2pError `import` for bytes that are no text. */
export function plainText(bytes: Uint8Array): PlainText {
  const { text, notes } = decode(bytes);
  const unescaped = text.includes(ESC) ? text.replace(ESCAPES, "") : text;
  const lines = withoutIndent(unescaped.includes("\r") ? unescaped.split(/\r*\n|\r/) : unescaped.split("\n"));
  const own = unescaped.includes("]<std") ? lines.map((line) => line.replace(RANK_PREFIX, "")) : lines;
  return new PlainText(withoutCommonPrefix(own), notes);
}

const ESC = String.fromCharCode(27);
const BEL = String.fromCharCode(7);

/** CSI and OSC sequences of terminals. */
const ESCAPES = new RegExp(
  `${ESC}(?:\\[[0-9;:?]*[ -/]*[@-~]|\\][^${BEL}${ESC}\\n]{0,1000}(?:${BEL}|${ESC}\\\\)?)`,
  "g",
);

/** Of mpirun --tag-output: `[1,0]<stdout>:`. */
const RANK_PREFIX = /^\[[^[\]\s]{1,100},\d{1,7}\]<std(?:out|err|diag)>: ?/;

/** Prefixes that launchers and log collectors put before every line; they are only taken off where nearly all lines have one. */
const COMMON_PREFIXES: readonly RegExp[] = [
  // srun --label
  /^ *\d{1,6}: /,
  // mpirun of MPICH -prepend-rank
  /^\[\d{1,6}\] /,
  // kubectl logs --timestamps and the like
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d) /,
];

/** Lines without the blanks that all begin with, as in what was copied out of a list; a single blank is the tool's own. */
function withoutIndent(lines: readonly string[]): readonly string[] {
  let indent: string | null = null;
  for (const line of lines) {
    if (line.trim() === "") continue;
    if (indent === null) indent = /^[ \t]{0,80}/.exec(line)?.[0] ?? "";
    while (!line.startsWith(indent)) indent = indent.slice(0, -1);
    if (indent.length < 2) return lines;
  }
  const width = indent?.length ?? 0;
  return width === 0 ? lines : lines.map((line) => line.slice(width));
}

/** So many lines show whether nearly all have a prefix. */
const LOOKED_AT = 2000;

function withoutCommonPrefix(lines: readonly string[]): readonly string[] {
  const looked: string[] = [];
  for (const line of lines) {
    if (line.trim() === "") continue;
    // A prefix with nothing behind it may have lost its blank.
    if (looked.push(`${line.slice(0, 100)} `) >= LOOKED_AT) break;
  }
  for (const prefix of COMMON_PREFIXES) {
    const having = looked.filter((line) => prefix.test(line)).length;
    if (having >= 3 && having >= 0.9 * looked.length) {
      return withoutCommonPrefix(lines.map((line) => `${line} `.replace(prefix, "").slice(0, -1)));
    }
  }
  return lines;
}

function decode(bytes: Uint8Array): { text: string; notes: string[] } {
  const [first, second, third, fourth] = bytes;
  if (first === 0xff && second === 0xfe && third === 0 && fourth === 0) {
    throw new P2pError("import", "the text is UTF-32", "Write it as UTF-8: iconv -f UTF-32 -t UTF-8.");
  }
  if (first === 0xff && second === 0xfe) return { text: decodeAs("utf-16le", bytes), notes: [] };
  if (first === 0xfe && second === 0xff) return { text: decodeAs("utf-16be", bytes), notes: [] };
  const bom = first === 0xef && second === 0xbb && third === 0xbf;
  const content = bom ? bytes.subarray(3) : bytes;
  const zeros = zeroShare(content);
  if (zeros.odd > 0.3 && zeros.even < 0.05) return { text: decodeAs("utf-16le", content), notes: [] };
  if (zeros.even > 0.3 && zeros.odd < 0.05) return { text: decodeAs("utf-16be", content), notes: [] };
  if (zeros.even + zeros.odd > 0.002) {
    throw new P2pError(
      "import",
      "the file is binary, no text of a known tool",
      "Give the tool's text, CSV, JSON or XML output.",
    );
  }
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(content), notes: [] };
  } catch {
    // A name in another encoding, or a character cut in two at the end; the numbers are ASCII all the same.
    return {
      text: decodeAs("utf-8", content),
      notes: ["The file is no valid UTF-8: characters that cannot be told are shown as �."],
    };
  }
}

function decodeAs(encoding: string, bytes: Uint8Array): string {
  return new TextDecoder(encoding).decode(bytes);
}

/** Share of zero bytes at even and odd places of the beginning: which tells UTF-16 of ASCII, and binary files. */
function zeroShare(bytes: Uint8Array): { even: number; odd: number } {
  const looked = Math.min(bytes.length, 2 ** 16) & ~1;
  const zeros = [0, 0];
  for (let i = 0; i < looked; i++) if (bytes[i] === 0) (zeros[i & 1] as number) += 1;
  const half = Math.max(1, looked / 2);
  return { even: (zeros[0] as number) / half, odd: (zeros[1] as number) / half };
}
