/** A value as the MIME bundle that a front end shows. */
import { inspect } from "node:util";
import { escapeHtml, type MimeBundle, richDisplay } from "../lab/index.js";

const PLOTLY = "application/vnd.plotly.v1+json";
const TABLE_ROWS = 60;

/** The bundle of any value: its own, if it has one; a table, a figure; otherwise its text. */
export async function bundleOf(value: unknown): Promise<MimeBundle> {
  const own = (value as { [richDisplay]?: () => unknown } | null)?.[richDisplay];
  if (typeof own === "function") {
    const bundle = (await own.call(value)) as MimeBundle;
    return completed({ ...bundle });
  }
  if (isTable(value)) return tableBundle(value);
  return { "text/plain": textOf(value) };
}

/** A bundle with what front ends expect beside it: a plain text always, and offline HTML for a figure. */
export function completed(bundle: MimeBundle): MimeBundle {
  if (PLOTLY in bundle && !("text/html" in bundle)) bundle["text/html"] = plotlyHtml(bundle[PLOTLY]);
  if (!("text/plain" in bundle)) bundle["text/plain"] = `[${Object.keys(bundle).join(", ") || "empty"}]`;
  return bundle;
}

export function textOf(value: unknown): string {
  if (typeof value === "object" && value !== null && hasOwnText(value)) return String(value);
  return inspect(value, { depth: 4, maxArrayLength: 100, breakLength: 110, colors: false });
}

/** Objects of the library say in toString what they are; plain objects and arrays do not. */
function hasOwnText(value: object): boolean {
  const text = (value as { toString?: unknown }).toString;
  const builtIn = [Object.prototype, Array.prototype, Function.prototype, Error.prototype, Date.prototype];
  return (
    typeof text === "function" &&
    !builtIn.some((p) => p.toString === text) &&
    !ArrayBuffer.isView(value) &&
    isLibraryClass(value)
  );
}

function isLibraryClass(value: object): boolean {
  const source = Function.prototype.toString.call(value.constructor);
  return source.startsWith("class ") && Object.hasOwn(value.constructor.prototype, "toString");
}

interface TableLike {
  numRows(): number;
  columnNames(): string[];
  objects(options: { limit: number }): Record<string, unknown>[];
}

function isTable(value: unknown): value is TableLike {
  const table = value as Partial<TableLike> | null;
  return (
    typeof table === "object" &&
    table !== null &&
    typeof table.numRows === "function" &&
    typeof table.columnNames === "function" &&
    typeof table.objects === "function"
  );
}

const ORIGIN = ["machine", "provenance", "date"];

/** Rows up to a limit; constant provenance columns become a line under the table. */
function tableBundle(table: TableLike): MimeBundle {
  const rows = table.objects({ limit: TABLE_ROWS });
  const total = table.numRows();
  const all = table.columnNames();
  const constant = ORIGIN.every(
    (name) => all.includes(name) && new Set(rows.map((row) => row[name])).size === 1,
  );
  const names = constant ? all.filter((name) => !ORIGIN.includes(name)) : all;
  const origin = constant ? ORIGIN.slice(0, 3).map((name) => String(rows[0]?.[name])) : [];
  const caption = [
    ...(constant ? [`${origin[1]} · ${origin[0]} · ${origin[2]}`] : []),
    total > rows.length ? `${rows.length} of ${total} rows` : `${total} ${total === 1 ? "row" : "rows"}`,
  ].join(" · ");
  const cells = rows.map((row) => names.map((name) => cellText(row[name])));
  const numeric = names.map((name) =>
    rows.every((row) => row[name] == null || typeof row[name] === "number"),
  );
  const align = (column: number) =>
    numeric[column] ? ' style="text-align:right"' : ' style="text-align:left"';
  const head = names.map((name, i) => `<th${align(i)}>${escapeHtml(name)}</th>`).join("");
  const body = cells
    .map((row) => `<tr>${row.map((cell, i) => `<td${align(i)}>${escapeHtml(cell)}</td>`).join("")}</tr>`)
    .join("\n");
  const simulated = origin[1] === "simulated" ? ";color:#B00020" : "";
  return {
    "text/html": `<table><thead><tr>${head}</tr></thead><tbody>\n${body}\n</tbody></table><div style="font-size:0.85em${simulated}">${escapeHtml(caption)}</div>`,
    "text/plain": plainTable(names, cells, numeric, caption),
  };
}

function plainTable(names: string[], rows: string[][], numeric: boolean[], caption: string): string {
  const widths = names.map((name, i) =>
    Math.max(name.length, ...rows.map((row) => (row[i] as string).length)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, i) => (numeric[i] ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number)))
      .join("  ")
      .trimEnd();
  return [line(names), ...rows.map(line), `(${caption})`].join("\n");
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(4)));
}

let figures = 0;

/**
 * A figure for front ends without a Plotly renderer: draws with a Plotly that is already on the page, otherwise loads the
 * one that the kernelspec brings. Asks nothing of any other server.
 */
function plotlyHtml(figure: unknown): string {
  const id = `p2plab-figure-${process.pid}-${Date.now().toString(36)}-${figures++}`;
  const json = JSON.stringify(figure).replace(/</g, "\\u003c");
  return `<div id="${id}" class="p2plab-figure" style="min-height:320px"></div>
<script type="application/json" id="${id}-data">${json}</script>
<script>(function () {
  var draw = function () {
    var figure = JSON.parse(document.getElementById("${id}-data").textContent);
    window.Plotly.newPlot("${id}", figure.data, figure.layout, figure.config);
  };
  if (window.Plotly) return draw();
  var config = document.getElementById("jupyter-config-data");
  var base = config ? JSON.parse(config.textContent).baseUrl : "/";
  var script = document.createElement("script");
  script.src = base + "kernelspecs/p2plab/plotly.min.js";
  script.onload = draw;
  script.onerror = function () { document.getElementById("${id}").textContent = "Plotly could not be loaded: run npm run setup."; };
  document.head.appendChild(script);
})();</script>`;
}
