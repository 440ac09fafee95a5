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
  for (const piece of piecesOf(text)) {
    if (widthOf(line + piece.trimEnd()) <= most || (CLOSING.test(piece) && widthOf(line) < most + 2)) {
      line += piece;
      continue;
    }
    if (line.trim() !== "") lines.push(line.trimEnd());
    line = piece;
    while (widthOf(line) > most) {
      const cut = columns(line, most);
      lines.push(cut);
      line = line.slice(cut.length);
    }
  }
  if (line.trim() !== "" || lines.length === 0) lines.push(line.trimEnd());
  return lines;
}

/** Words with the spaces behind them, and single wide characters. */
function piecesOf(text: string): string[] {
  return (
    text.match(
      /[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u303f]|[^\s\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u303f]+\s*|\s+/gu,
    ) ?? []
  );
}

/** The beginning of a text that fits. */
function columns(text: string, width: number): string {
  let fit = "";
  for (const character of text) {
    if (widthOf(fit + character) > width) break;
    fit += character;
  }
  return fit === "" ? ([...text][0] ?? "") : fit;
}
