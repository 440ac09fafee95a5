/**
 * Comma-separated values line by line, since tools print their own lines before, between and after the rows. RFC 4180 quoting;
 * rows may be shorter or longer than their header.
 */

/** Longer records are cut: a quotation mark that is never closed must not swallow the file. */
const MAX_RECORD_LINES = 50;

export interface Csv {
  /** Number of the line that the record begins on, from 0. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** Fields of one line; null where a quoted field is still open at its end. */
export function splitLine(line: string, delimiter = ","): string[] | null {
  if (!line.includes('"')) return line.split(delimiter);
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    let start = at;
    while (line[start] === " ") start++;
    if (line[start] === '"') {
      let cell = "";
      let from = start + 1;
      let end = line.indexOf('"', from);
      while (end >= 0 && line[end + 1] === '"') {
        cell += line.slice(from, end + 1);
        from = end + 2;
        end = line.indexOf('"', from);
      }
      if (end < 0) return null;
      const next = line.indexOf(delimiter, end);
      // What stands between the closing mark and the delimiter belongs to the cell: quotes inside quotes, not doubled.
      cells.push(cell + line.slice(from, end) + line.slice(end + 1, next < 0 ? undefined : next));
      if (next < 0) return cells;
      at = next + delimiter.length;
    } else {
      const next = line.indexOf(delimiter, at);
      cells.push(line.slice(at, next < 0 ? undefined : next));
      if (next < 0) return cells;
      at = next + delimiter.length;
    }
  }
}

/** The record that begins on a line, and the line after it. A quoted field may go on over lines. */
export function recordAt(
  lines: readonly string[],
  line: number,
  delimiter = ",",
): { cells: string[]; next: number } {
  const first = lines[line] as string;
  const cells = splitLine(first, delimiter);
  if (cells) return { cells, next: line + 1 };
  let text = first;
  for (let next = line + 1; next < Math.min(lines.length, line + MAX_RECORD_LINES); next++) {
    text += `\n${lines[next]}`;
    const joined = splitLine(text, delimiter);
    if (joined) return { cells: joined, next: next + 1 };
  }
  return { cells: first.split(delimiter).map((cell) => cell.replaceAll('"', "")), next: line + 1 };
}
