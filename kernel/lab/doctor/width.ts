/** Text for a terminal: Chinese characters take two columns. */
import stringWidth from "string-width";

export function widthOf(text: string): number {
  return stringWidth(text);
}

export function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** Punctuation that must not begin a line. */
const CLOSING = /^[，。；：、！？）》」』”’,.;:!?)\]}]/u;

/**
 * Lines of at most so many columns. Breaks at spaces and between Chinese characters; a word that is wider than a line is cut.
 */
export function wrapped(text: string, width: number): string[] {
  const most = Math.max(8, width);
  const lines: string[] = [];
  let line = "";
  // Measured piece by piece: measuring is what takes the time.
  let filled = 0;
  for (const piece of piecesOf(text)) {
    const wide = widthOf(piece);
    if (filled + widthOf(piece.trimEnd()) <= most) {
      line += piece;
      filled += wide;
      continue;
    }
    if (line.trim() !== "") lines.push(line.trimEnd());
    line = piece;
    filled = wide;
    while (filled > most) {
      const cut = beginning(line, most);
      lines.push(cut);
      line = line.slice(cut.length);
      filled = widthOf(line);
    }
  }
  if (line.trim() !== "" || lines.length === 0) lines.push(line.trimEnd());
  return lines;
}

const WIDE = "\\u2e80-\\u9fff\\uf900-\\ufaff\\uff00-\\uffef";
const PIECES = new RegExp(`[${WIDE}]|[^\\s${WIDE}]+\\s*|\\s+`, "gu");

/** Words with the spaces behind them, and single wide characters; closing punctuation stays with what it closes. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (const piece of text.match(PIECES) ?? []) {
    const before = pieces.at(-1);
    if (before !== undefined && CLOSING.test(piece) && !/\s$/.test(before)) {
      pieces[pieces.length - 1] = before + piece;
    } else pieces.push(piece);
  }
  return pieces;
}

/** The beginning of a text that fits; one character at least. */
export function beginning(text: string, width: number): string {
  let fit = "";
  let filled = 0;
  for (const character of text) {
    filled += widthOf(character);
    if (filled > width) break;
    fit += character;
  }
  return fit === "" ? ([...text][0] ?? "") : fit;
}
