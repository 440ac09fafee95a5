/** An executed notebook as one HTML file that opens offline: figures, tables, code and provenance inside. */
import { basename, dirname } from "node:path";
import { escapeHtml } from "../lab/index.js";
import type { Notebook } from "./nbformat.js";
import { htmlPage } from "./page.js";
import { CellRenderer, type Heading } from "./report-cells.js";
import { originBand } from "./report-origin.js";

/**
 * Renders a notebook.
 * @param file the notebook: names the report where it has no heading; pictures are looked for beside it.
 * @throws P2pError `not-available` when the bundled plotly.js has not been built.
 */
export function renderReport(notebook: Notebook, file: string): string {
  const renderer = new CellRenderer(dirname(file));
  const body = notebook.cells.map((cell) => renderer.cell(cell)).join("\n");
  const { headings, figures } = renderer;
  return htmlPage({
    lang: "zh-CN",
    title: headings[0]?.text ?? basename(file, ".ipynb"),
    band: originBand(notebook),
    contents: contents(headings),
    body,
    figures,
  });
}

function contents(headings: readonly Heading[]): string {
  const items = headings
    .filter((heading) => heading.level === 2 || heading.level === 3)
    .map(
      ({ level, text, anchor }) =>
        `<li class="level-${level}"><a href="#${escapeHtml(anchor)}">${escapeHtml(text)}</a></li>`,
    );
  return `<nav aria-label="目录"><ol>${items.join("")}</ol></nav>`;
}
