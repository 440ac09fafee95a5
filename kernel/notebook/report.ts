/** An executed notebook as one HTML file that opens offline: figures, tables, code and provenance inside. */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { escapeHtml, P2pError, packagePath } from "../lab/index.js";
import type { Notebook } from "./nbformat.js";
import { CellRenderer, type Heading } from "./report-cells.js";
import { originBand } from "./report-origin.js";
import { REPORT_CSS } from "./report-style.js";

/** Where the build puts the minified plotly.js. */
export function plotlyFile(): string {
  return packagePath("dist/assets/plotly.min.js");
}

/** Browsers then refuse every request, whatever an output holds. */
const POLICY =
  "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; worker-src blob:";

/**
 * Renders a notebook.
 * @param file the notebook: names the report where it has no heading; pictures are looked for beside it.
 * @throws P2pError `not-available` when the bundled plotly.js has not been built.
 */
export function renderReport(notebook: Notebook, file: string): string {
  const renderer = new CellRenderer(dirname(file));
  const body = notebook.cells.map((cell) => renderer.cell(cell)).join("\n");
  const { headings, figures } = renderer;
  const title = headings[0]?.text ?? basename(file, ".ipynb");
  return `<!doctype html>
<html lang="zh-CN">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="p2plab">
<title>${escapeHtml(title)}</title>
<style>${REPORT_CSS}</style>
${figures.length > 0 ? `<script>${inline(plotlySource())}</script>` : ""}
</head>
<body>
<header>
${originBand(notebook)}
</header>
<div class="page">
${contents(headings)}
<main>
${body}
</main>
</div>
${figures.length > 0 ? drawing(figures) : ""}
</body>
</html>
`;
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

/** The figures' data, once, and what draws them. One that cannot be drawn says so in its place and does not stop the rest. */
function drawing(figures: readonly unknown[]): string {
  return `<script type="application/json" id="p2plab-figures">${JSON.stringify(figures).replace(/</g, "\\u003c")}</script>
<script>
for (const [index, figure] of JSON.parse(document.getElementById("p2plab-figures").textContent).entries()) {
  const place = document.getElementById("p2plab-figure-" + index);
  window.Plotly.newPlot(place, figure.data, figure.layout, figure.config).catch((error) => {
    console.error(error);
    place.textContent = "图没有画出来 figure not drawn: " + error;
  });
}
</script>`;
}

function plotlySource(): string {
  if (!existsSync(plotlyFile())) {
    throw new P2pError("not-available", `${plotlyFile()} is missing`, "Build it: npm run build.");
  }
  return readFileSync(plotlyFile(), "utf8");
}

/** Nothing inside a script's strings may end the script, or begin what HTML takes for a comment in it. */
function inline(source: string): string {
  return source.replace(/<(?=\/script|!--)/gi, "<\\");
}
