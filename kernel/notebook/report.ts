/** An executed notebook as one HTML file that opens offline: figures, tables, code and provenance inside. */
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import hljs from "highlight.js/lib/core";
import typescript from "highlight.js/lib/languages/typescript";
import MarkdownIt from "markdown-it";
import { escapeHtml, type lab, type MimeBundle, P2pError, packagePath } from "../lab/index.js";
import type { Notebook, NotebookCell, NotebookOutput } from "./nbformat.js";
import { REPORT_CSS } from "./report-style.js";

type Markdown = InstanceType<typeof MarkdownIt>;

hljs.registerLanguage("typescript", typescript);

const PLOTLY = "application/vnd.plotly.v1+json";

/** Where the build puts the minified plotly.js. */
export function plotlyFile(): string {
  return packagePath("dist/assets/plotly.min.js");
}

/**
 * Renders a notebook.
 * @param name the notebook's file, for the title where it has no heading.
 * @throws P2pError `not-available` when the bundled plotly.js has not been built.
 */
export function renderReport(notebook: Notebook, name: string): string {
  const figures: unknown[] = [];
  const headings: { level: number; text: string; anchor: string }[] = [];
  const markdown = markdownRenderer(headings);
  const body = notebook.cells.map((cell) => renderCell(cell, markdown, figures)).join("\n");
  const title = headings[0]?.text ?? basename(name, ".ipynb");
  const plotly = figures.length > 0 ? `<script>${inlineScript(plotlySource())}</script>` : "";
  const contents = headings
    .filter((heading) => heading.level === 2)
    .map((heading) => `<li><a href="#${heading.anchor}">${escapeHtml(heading.text)}</a></li>`)
    .join("");
  return `<!doctype html>
<html lang="zh-CN">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="p2plab">
<title>${escapeHtml(title)}</title>
<style>${REPORT_CSS}</style>
${plotly}
</head>
<body>
${originBand(notebook)}
<div class="page">
<nav aria-label="目录"><ol>${contents}</ol></nav>
<main>
${body}
</main>
</div>
<script type="application/json" id="p2plab-figures">${JSON.stringify(figures).replace(/</g, "\\u003c")}</script>
<script>
for (const [index, figure] of JSON.parse(document.getElementById("p2plab-figures").textContent).entries()) {
  window.Plotly.newPlot("p2plab-figure-" + index, figure.data, figure.layout, figure.config);
}
</script>
</body>
</html>
`;
}

interface Origin {
  executed?: string;
  machines?: readonly lab.Provenance[];
}

const KINDS: Record<string, string> = {
  measured: "实测 MEASURED",
  recorded: "录制的实测 RECORDED",
  simulated: "模拟，不是实测 SIMULATED, NOT A MEASUREMENT",
};

/** The band at the top: where the numbers come from. One line a machine that the notebook opened. */
function originBand(notebook: Notebook): string {
  const { executed, machines } = (notebook.metadata.p2plab ?? {}) as Origin;
  const distinct = [...new Map((machines ?? []).map((origin) => [JSON.stringify(origin), origin])).values()];
  const when = executed
    ? `<span>执行于 ${escapeHtml(executed.slice(0, 16).replace("T", " "))} UTC</span>`
    : "";
  if (distinct.length === 0) {
    const why = executed
      ? "没有打开任何机器 no machine was opened"
      : "来源不明：未由p2plab执行 origin unknown: not executed by p2plab";
    return `<header class="origin unknown"><strong>${why}</strong>${when}</header>`;
  }
  return distinct
    .map(
      ({ kind, machine, date, source }) =>
        `<header class="origin ${escapeHtml(kind)}"><strong>${KINDS[kind] ?? escapeHtml(kind)}</strong><span>${escapeHtml(machine)}</span><span>${escapeHtml(date.slice(0, 10))}</span><code>${escapeHtml(source)}</code>${when}</header>`,
    )
    .join("\n");
}

function markdownRenderer(headings: { level: number; text: string; anchor: string }[]): Markdown {
  const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });
  markdown.core.ruler.push("anchors", (state) => {
    for (const [index, token] of state.tokens.entries()) {
      if (token.type !== "heading_open") continue;
      const text = state.tokens[index + 1]?.content ?? "";
      const anchor = `s${headings.length + 1}`;
      token.attrSet("id", anchor);
      headings.push({ level: Number(token.tag.slice(1)), text, anchor });
    }
  });
  return markdown;
}

function renderCell(cell: NotebookCell, markdown: Markdown, figures: unknown[]): string {
  const id = cell.id ? ` id="${escapeHtml(cell.id)}"` : "";
  if (cell.cell_type === "markdown")
    return `<section class="markdown"${id}>${markdown.render(cell.source)}</section>`;
  if (cell.cell_type === "raw")
    return `<section class="raw"${id}><pre>${escapeHtml(cell.source)}</pre></section>`;
  const count =
    cell.execution_count === null || cell.execution_count === undefined ? " " : String(cell.execution_count);
  const code = hljs.highlight(cell.source, { language: "typescript" }).value;
  const outputs = (cell.outputs ?? []).map((output) => renderOutput(output, markdown, figures)).join("\n");
  return `<section class="code"${id}><div class="input"><span class="count">[${count}]</span><pre><code>${code}</code></pre></div>${outputs ? `<div class="outputs">${outputs}</div>` : ""}</section>`;
}

function renderOutput(output: NotebookOutput, markdown: Markdown, figures: unknown[]): string {
  switch (output.output_type) {
    case "stream":
      return `<pre class="${output.name}">${escapeHtml(withoutAnsi(output.text))}</pre>`;
    case "error":
      return `<pre class="error">${escapeHtml(withoutAnsi(output.traceback.join("\n") || `${output.ename}: ${output.evalue}`))}</pre>`;
    default:
      return renderBundle(output.data, markdown, figures);
  }
}

/** The richest representation that works offline. */
function renderBundle(data: MimeBundle, markdown: Markdown, figures: unknown[]): string {
  if (data[PLOTLY]) {
    figures.push(data[PLOTLY]);
    const height = Number((data[PLOTLY] as { layout?: { height?: unknown } }).layout?.height) || 440;
    return `<div class="figure" id="p2plab-figure-${figures.length - 1}" style="min-height:${height}px"></div>`;
  }
  const text = (mime: string) => (typeof data[mime] === "string" ? (data[mime] as string) : null);
  const svg = text("image/svg+xml");
  if (svg !== null) return `<div class="svg">${svg}</div>`;
  for (const mime of ["image/png", "image/jpeg", "image/gif"]) {
    const image = text(mime);
    if (image !== null) return `<img alt="" src="data:${mime};base64,${image.replace(/\s/g, "")}">`;
  }
  const html = text("text/html");
  if (html !== null) return `<div class="html">${html}</div>`;
  const prose = text("text/markdown");
  if (prose !== null) return `<div class="markdown">${markdown.render(prose)}</div>`;
  return `<pre class="result">${escapeHtml(text("text/plain") ?? `[${Object.keys(data).join(", ")}]`)}</pre>`;
}

function withoutAnsi(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with the control character ESC
  return text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, "");
}

function plotlySource(): string {
  if (!existsSync(plotlyFile())) {
    throw new P2pError("not-available", `${plotlyFile()} is missing`, "Build it: npm run setup.");
  }
  return readFileSync(plotlyFile(), "utf8");
}

function inlineScript(source: string): string {
  return source.replace(/<\/script/gi, "<\\/script");
}
