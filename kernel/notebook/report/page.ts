/** An HTML page that asks the network nothing, around whatever a report holds. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { escapeHtml, P2pError, packagePath } from "../../lab/index.js";
import { PAGE_SCRIPT, packed } from "./page-script.js";
import { REPORT_CSS } from "./style.js";

/** Where the build puts the minified plotly.js. */
export function plotlyFile(): string {
  return packagePath("dist/assets/plotly.min.js");
}

/**
 * The element by which browsers refuse every request and every script but the page's own, whatever an output holds.
 * @param plotly where plotly.js comes from: the page itself, a file beside it, or nowhere.
 */
export function policy(plotly: "inside" | "beside" | "none"): string {
  const sources = [
    hashOf(PAGE_SCRIPT),
    ...(plotly === "inside" ? [hashOf(plotlySource())] : []),
    ...(plotly === "beside" ? ["'self'", "file:"] : []),
  ];
  // plotly.js makes functions of texts for some kinds of figures.
  const scripts = [...sources, "'unsafe-eval'"].join(" ");
  return `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ${scripts}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; worker-src blob:; base-uri 'none'; form-action 'none'">`;
}

export interface Page {
  /** Language of its text, such as `zh-CN`. */
  readonly lang: string;
  readonly title: string;
  /** HTML that stays on top: where the numbers come from. */
  readonly band: string;
  /** HTML of the table of contents; empty for none. */
  readonly contents: string;
  readonly body: string;
  /** Plotly figures for the places `p2plab-figure-0` and on. */
  readonly figures: readonly unknown[];
  /** HTML between band and contents: ways to other pages. */
  readonly ways?: string;
  /** File beside the page that holds plotly.js; without one it stands in the page. */
  readonly plotlyBeside?: string;
  /** Whether there is code to open and close. */
  readonly folds?: boolean;
}

/** @throws P2pError `not-available` when there are figures and the bundled plotly.js has not been built. */
export function htmlPage(page: Page): string {
  const { lang, title, band, contents, body, figures, plotlyBeside } = page;
  return `<!doctype html>
<html lang="${escapeHtml(lang)}">
<head>
<meta charset="utf-8">
${policy(figures.length === 0 ? "none" : plotlyBeside === undefined ? "inside" : "beside")}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="p2plab">
<title>${escapeHtml(title)}</title>
<style>${REPORT_CSS}</style>
</head>
<body>
<header>
${band}
</header>
<div class="tools">${page.ways ?? ""}${page.folds ? FOLDS : ""}${THEME}</div>
<div class="page">
${contents}
<main>
${body}
</main>
</div>
${figures.length > 0 ? drawing(figures, plotlyBeside) : ""}
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
}

const THEME = `<button type="button" data-does="theme">明暗 theme</button>`;
const FOLDS = `<button type="button" data-does="open">展开代码 open code</button><button type="button" data-does="close">收起代码 close code</button>`;

/** Buttons over a page with code. */
export const TOOLS = FOLDS + THEME;

/** What unpacks, draws and changes the theme, with plotly.js in it. */
export function pageScripts(): string {
  return `${packedScript("p2plab-plotly", plotlySource())}\n<script>${PAGE_SCRIPT}</script>`;
}

/** The figures' data and what draws them, each once. */
function drawing(figures: readonly unknown[], beside: string | undefined): string {
  const plotly =
    beside === undefined
      ? packedScript("p2plab-plotly", plotlySource())
      : `<script src="${escapeHtml(beside)}"></script>`;
  return `<noscript><p class="undrawn">图需要JavaScript。 Figures need JavaScript.</p></noscript>
${packedScript("p2plab-figures", JSON.stringify(figures))}
${plotly}`;
}

/** As browsers take it of a script that stands in the page. */
function hashOf(script: string): string {
  return `'sha256-${createHash("sha256").update(script).digest("base64")}'`;
}

function packedScript(id: string, text: string): string {
  return `<script type="text/plain" id="${id}">${packed(text)}</script>`;
}

function plotlySource(): string {
  if (!existsSync(plotlyFile())) {
    throw new P2pError("not-available", `${plotlyFile()} is missing`, "Build it: npm run build.");
  }
  return readFileSync(plotlyFile(), "utf8");
}
