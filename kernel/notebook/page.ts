/** One HTML file that opens offline and asks the network nothing, around whatever a report holds. */
import { existsSync, readFileSync } from "node:fs";
import { escapeHtml, P2pError, packagePath } from "../lab/index.js";
import { REPORT_CSS } from "./report-style.js";

/** Where the build puts the minified plotly.js. */
export function plotlyFile(): string {
  return packagePath("dist/assets/plotly.min.js");
}

/** Browsers then refuse every request, whatever an output holds. */
const POLICY =
  "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; worker-src blob:";

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
}

/** @throws P2pError `not-available` when there are figures and the bundled plotly.js has not been built. */
export function htmlPage({ lang, title, band, contents, body, figures }: Page): string {
  return `<!doctype html>
<html lang="${escapeHtml(lang)}">
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
${band}
</header>
<div class="page">
${contents}
<main>
${body}
</main>
</div>
${figures.length > 0 ? drawing(figures) : ""}
</body>
</html>
`;
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
