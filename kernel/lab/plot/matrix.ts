import { P2pError, shown } from "../errors.js";
import type { Table } from "../measure/table.js";
import { formatBytes } from "../units.js";
import { Figure, originsOf, type PlotlyLayout, type PlotlyTrace } from "./figure.js";
import { quantityTitle } from "./quantities.js";
import { missingNote, numberIn, type Row, rowsOf, textIn } from "./rows.js";
import { digits, type FigureOptions, type Style, shortened, styleOf } from "./style.js";

const WHO = "plot.matrix";
/** Above this many rows or columns a value is wider than its cell. */
const MOST_WITH_VALUES = 20;

/** Cividis grows evenly in lightness: above this place in it, black text has more contrast than white. */
const DARK_TEXT = 0.47;

/** Columns that a matrix may show, by preference. */
const VALUES = ["total_us", "gbps", "load_ns", "one_way_ns"] as const;

/**
 * A matrix of pairs: a row for where data flows from, a column for where to, values printed in cells up to 20 × 20 and
 * shown on hover above. Cells without a value are hatched and hold a dash; hover says why. The colours (cividis: Nuñez,
 * Anderton and Renslow, PLOS ONE 13(7), 2018) span what lies off the diagonal: a GPU's own memory is another league.
 * @param pairs a long table, a row a cell: `from`, `to` and the value's column, as `lab.matrix` gives it.
 * @param options.value the column to show; default by `metric` where the table says it, else the first there is of
 * `total_us`, `gbps`, `load_ns`, `one_way_ns`.
 * @throws P2pError `usage` for other tables, or several rows of a pair.
 */
export function matrix(pairs: Table, options: FigureOptions & { value?: string } = {}): Figure {
  const style = styleOf(options, WHO, ["value"]);
  const { say } = style;
  const rows = rowsOf(pairs, ["from", "to"], WHO, "lab.matrix");
  const column = valueColumn(pairs, rows, options.value);
  const cells = new Map<string, Row>();
  for (const row of rows) {
    const key = keyOf(row.from, row.to);
    if (cells.has(key)) {
      throw new P2pError(
        "usage",
        `${WHO}: the table has several rows for ${nameOf(row.from)} → ${nameOf(row.to)}`,
        `Choose one of them: table.filter(…)${differing(rows)}.`,
      );
    }
    cells.set(key, row);
  }
  const ends = sortedEnds(rows);
  const columns = ends.filter((end) => rows.some((row) => row.to === end));
  const lines = ends.filter((end) => rows.some((row) => row.from === end));
  const cellOf = (from: unknown, to: unknown) => {
    const row = cells.get(keyOf(from, to));
    return row ? numberIn(row, column, WHO) : null;
  };
  const z = lines.map((from) => columns.map((to) => cellOf(from, to)));
  const quantity = quantityTitle(column, say);
  const printed = Math.max(lines.length, columns.length) <= MOST_WITH_VALUES;
  // Beside measured cells, those of a model are marked one by one.
  const mixed = new Set(rows.map((row) => row.provenance)).size > 1;
  const modelled = (from: unknown, to: unknown) =>
    mixed && cells.get(keyOf(from, to))?.provenance === "simulated";
  const said = (from: unknown, to: unknown, value: number | null) =>
    value === null ? "" : `${modelled(from, to) ? "~" : ""}${digits(value)}`;
  const off = lines.flatMap((from) => columns.flatMap((to) => (from === to ? [] : [cellOf(from, to)])));
  const spread = (off.some((value) => value !== null) ? off : z.flat()).filter((value) => value !== null);
  const range = rangeOf(spread);
  const empty = lines.flatMap((from, y) =>
    columns.flatMap((to, x) => (z[y]?.[x] === null ? [{ from, to, x, y }] : [])),
  );
  const size = Math.min(Math.max(lines.length, 2) * 56, 560);
  const heat: PlotlyTrace = {
    type: "heatmap",
    x: columns.map((_, index) => index),
    y: lines.map((_, index) => index),
    z,
    zmin: range[0],
    zmax: range[1],
    colorscale: "Cividis",
    xgap: printed ? 2 : 0,
    ygap: printed ? 2 : 0,
    hoverongaps: false,
    hovertext: lines.map((from) =>
      columns.map((to) => hoverOf(from, to, cells.get(keyOf(from, to)), column, quantity)),
    ),
    hoverinfo: "text",
    colorbar: { title: { text: quantity, side: "right" }, thickness: 14, outlinewidth: 0 },
  };
  const numbers: PlotlyTrace = {
    type: "scatter",
    mode: "text",
    x: lines.flatMap(() => columns.map((_, x) => x)),
    y: lines.flatMap((_, y) => columns.map(() => y)),
    text: lines.flatMap((from, y) => columns.map((to, x) => said(from, to, z[y]?.[x] ?? null))),
    textfont: {
      size: fontSize(columns.length),
      color: z
        .flat()
        .map((value) =>
          ((value ?? 0) - range[0]) / (range[1] - range[0]) > DARK_TEXT ? "#111111" : "#FFFFFF",
        ),
    },
    hoverinfo: "skip",
    showlegend: false,
  };
  const dashes: PlotlyTrace = {
    type: "scatter",
    mode: printed ? "text" : "markers",
    x: empty.map((cell) => cell.x),
    y: empty.map((cell) => cell.y),
    text: empty.map(() => "—"),
    textfont: { color: style.ink, size: 14 },
    marker: { opacity: 0, size: 8 },
    hovertext: empty.map(({ from, to }) => hoverOf(from, to, cells.get(keyOf(from, to)), column, quantity)),
    hoverinfo: "text",
    showlegend: false,
  };
  const missing = missingNote(
    rows.filter((row) => numberIn(row, column, WHO) === null),
    ["reason", "note"],
    say,
  );
  const taken = z.flat().filter((value): value is number => value !== null);
  const payload = new Set(rows.map((row) => row.bytes).filter((bytes) => typeof bytes === "number"));
  return new Figure({
    title: options.title ?? `${quantity.replace(/（.*|\s\(.*/, "")}${say("矩阵", " matrix")}`,
    traces: [heat, ...(printed ? [numbers] : []), ...(empty.length > 0 ? [dashes] : [])],
    layout: {
      showlegend: false,
      shapes: empty.length > 0 ? [hatch(empty, style)] : [],
      xaxis: { ...endAxis(columns, say("数据去向", "data flows to")), side: "top" },
      yaxis: { ...endAxis(lines, say("数据来自", "data flows from")), range: [lines.length - 0.5, -0.5] },
    },
    plotHeight: size,
    origins: originsOf(pairs),
    notes: [
      ...statements(rows, payload, column, say),
      ...(mixed && rows.some(({ provenance }) => provenance === "simulated")
        ? [say("~ 模拟值，其余不是", "~ simulated; the others are not")]
        : []),
      ...(missing ? [missing] : []),
    ],
    summary:
      taken.length === 0
        ? say("没有一格有数字", "no cell has a number")
        : `${quantity} ${digits(Math.min(...taken))} … ${digits(Math.max(...taken))}`,
    style,
  });
}

/** What all cells share: the payload, the engine, who submits, the direction. */
function statements(
  rows: readonly Row[],
  payload: ReadonlySet<unknown>,
  column: string,
  say: Style["say"],
): string[] {
  // A table that defines its figures in words needs no more of them.
  const columns = rows.some((row) => textIn(row, "definition") !== "")
    ? ["definition", "engine"]
    : ["metric", "path", "engine", "initiator", "direction"];
  const shared = columns.flatMap((column) => {
    const values = new Set(rows.map((row) => textIn(row, column)).filter((text) => text !== ""));
    const [only] = values;
    if (values.size !== 1 || only === undefined) return [];
    return [column === "definition" ? say(definedInChinese(rows[0] as Row) ?? only, only) : only];
  });
  const bytes = payload.size === 1 ? [formatBytes([...payload][0] as number)] : [];
  const diagonal = rows.some((row) => row.from === row.to && typeof row[column] === "number")
    ? [say("对角线是自己的显存", "the diagonal is a GPU's own memory")]
    : [];
  const all = [...bytes, ...shared, ...diagonal];
  return all.length > 0 ? [all.join(say("，", ", "))] : [];
}

/** What each metric of `lab.matrix` is; the table's own definition is English. */
const DEFINITIONS: Readonly<Record<string, string>> = {
  latency: "一次一个拷贝，从第一次提交到主机得知全部完成",
  bandwidth: "一个接一个地拷贝，由设备事件计时，载荷除以时间",
  "load-latency": "一个线程前后相依的读，由GPU的时钟计时",
};

/** Null for a table that says nothing of its metric, or names one that is not known here. */
function definedInChinese(row: Row): string | null {
  const definition = DEFINITIONS[textIn(row, "metric")];
  if (definition === undefined) return null;
  return textIn(row, "direction") === "both-ways" ? `${definition}；两个方向同时传` : definition;
}

function valueColumn(table: Table, rows: readonly Row[], asked: unknown): string {
  const names = table.columnNames();
  if (asked !== undefined) {
    if (typeof asked === "string" && names.includes(asked)) return asked;
    throw new P2pError(
      "usage",
      `${WHO}: no column ${JSON.stringify(asked)} to show`,
      `The table has ${names.join(", ")}.`,
    );
  }
  const metric = textIn(rows[0] as Row, "metric");
  const preferred = metric === "bandwidth" ? "gbps" : metric === "load-latency" ? "load_ns" : null;
  const found = [...(preferred ? [preferred] : []), ...VALUES].find((name) => names.includes(name));
  if (found) return found;
  throw new P2pError(
    "usage",
    `${WHO}: the table has none of ${VALUES.join(", ")}`,
    'Name the column to show: { value: "…" }.',
  );
}

function keyOf(from: unknown, to: unknown): string {
  return JSON.stringify([from, to]);
}

function nameOf(end: unknown): string {
  return typeof end === "number" ? `GPU ${end}` : String(end);
}

/** GPUs by number, then whatever has a name. */
function sortedEnds(rows: readonly Row[]): unknown[] {
  const ends = [...new Set(rows.flatMap((row) => [row.from, row.to]))];
  const wrong = ends.find((end) => !Number.isInteger(end) && (typeof end !== "string" || end === ""));
  if (wrong !== undefined || ends.includes(undefined)) {
    throw new P2pError(
      "usage",
      `${WHO}: ${shown(wrong)} is no GPU`,
      "from and to hold GPU numbers, or names.",
    );
  }
  const numbers = ends.filter((end) => typeof end === "number").sort((a, b) => a - b);
  return [...numbers, ...ends.filter((end) => typeof end === "string").sort()];
}

function differing(rows: readonly Row[]): string {
  const names = ["bytes", "metric", "path", "engine", "direction", "sync", "machine", "date"].filter(
    (name) => new Set(rows.map((row) => row[name])).size > 1,
  );
  return names.length > 0 ? ` by ${names.join(", ")}` : "";
}

/** Ends of the colour scale; a matrix of one value lies in its middle. */
function rangeOf(values: readonly number[]): [number, number] {
  if (values.length === 0) return [0, 1];
  const low = Math.min(...values);
  const high = Math.max(...values);
  const pad = high - low > Math.abs(high) * 0.02 ? 0 : Math.abs(high) * 0.05 || 1;
  return [low - pad, high + pad];
}

function fontSize(columns: number): number {
  return Math.max(9, Math.min(13, Math.floor(620 / Math.max(columns, 1) / 3)));
}

function endAxis(ends: readonly unknown[], title: string): PlotlyLayout {
  const step = Math.max(1, Math.ceil(ends.length / 20));
  const shown = ends.map((_, index) => index).filter((index) => index % step === 0);
  const short = ends.length > 8;
  return {
    title: { text: title },
    tickvals: shown,
    ticktext: shown.map((index) => {
      const end = ends[index];
      return short && typeof end === "number" ? String(end) : shortened(nameOf(end), 14);
    }),
    range: [-0.5, ends.length - 0.5],
    showgrid: false,
    ticks: "",
  };
}

function hoverOf(from: unknown, to: unknown, row: Row | undefined, column: string, quantity: string): string {
  const pair = `<b>${nameOf(from)} → ${nameOf(to)}</b>`;
  if (!row) return `${pair}<br>—`;
  const value = numberIn(row, column, WHO);
  const details = [
    ...["path", "verdict", "link", "class", "measured", "flags", "taints", "reason", "note"],
    "provenance",
  ]
    .map((name) => textIn(row, name))
    .filter((text) => text !== "");
  return [pair, `${quantity} ${value === null ? "—" : digits(value)}`, ...details].join("<br>");
}

/** Diagonal lines over cells without a value, all in one shape. */
function hatch(cells: readonly { x: number; y: number }[], style: Style): PlotlyLayout {
  const path = cells
    .map(({ x, y }) => {
      const [l, r, t, b] = [x - 0.48, x + 0.48, y - 0.48, y + 0.48];
      return `M${l},${t}L${r},${t}L${r},${b}L${l},${b}ZM${l},${y}L${x},${t}M${l},${b}L${r},${t}M${x},${b}L${r},${y}`;
    })
    .join("");
  return { type: "path", path, layer: "below", line: { color: style.faint, width: 0.7 }, opacity: 0.7 };
}
