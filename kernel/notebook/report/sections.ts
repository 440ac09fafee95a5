/** Sections that a report adds behind the notebook, before they are HTML or Markdown. */
import { escapeHtml } from "../../lab/index.js";
import { plainTable } from "./facts.js";

export interface Section {
  readonly anchor: string;
  readonly title: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** A sentence under the table. */
  readonly note?: string;
  /** Long: opened by the reader. */
  readonly folded?: boolean;
}

export function sectionHtml({ anchor, title, heads, rows, note, folded }: Section): string {
  const table = rows.length > 0 ? plainTable(heads, rows) : "";
  const content = folded
    ? `<details class="fold"><summary>${rows.length}行 ${rows.length} rows</summary>${table}</details>`
    : table;
  const below = note ? `<p class="note">${escapeHtml(note)}</p>` : "";
  return `<section class="added"><h2 id="${escapeHtml(anchor)}">${escapeHtml(title)}</h2>${content}${below}</section>`;
}

export function sectionMarkdown({ title, heads, rows, note }: Section): string {
  return [
    `## ${title}`,
    ...(rows.length > 0 ? [markdownTable(heads, rows)] : []),
    ...(note ? [note] : []),
  ].join("\n\n");
}

export function markdownTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/([|\\`*_<>[\]])/g, "\\$1").replace(/\r?\n/g, "<br>")).join(" | ")} |`;
  return [line(heads), `|${" --- |".repeat(heads.length)}`, ...rows.map(line)].join("\n");
}
