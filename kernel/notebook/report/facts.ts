/** Tables of facts in a page. */
import { escapeHtml } from "../../lab/index.js";

/** Names and values, a row each; rows without a value are left out. */
export function factsTable(rows: readonly (readonly [name: string, value: string | null])[]): string {
  const kept = rows.filter((row): row is readonly [string, string] => row[1] !== null && row[1] !== "");
  const body = kept.map(
    ([name, value]) => `<tr><th scope="row">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`,
  );
  return `<table class="facts">${body.join("\n")}</table>`;
}

/** A table with a line of heads. @param rows texts, made safe here. */
export function plainTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = heads.map((name) => `<th scope="col">${escapeHtml(name)}</th>`).join("");
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${escapeHtml(cell)}</td>`).join("")}</tr>`);
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>\n${body.join("\n")}\n</tbody></table></div>`;
}
