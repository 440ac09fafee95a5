import { alphaBeta as fitOf, residuals as residualsOf } from "../analyze/alpha-beta.js";
import type { Table } from "../measure/table.js";
import { formatBytes } from "../units.js";
import { logAxis, messageAxis } from "./axes.js";
import { Figure, originsOf, type PlotlyTrace } from "./figure.js";
import { numberIn, positiveIn, type Row, rowsOf } from "./rows.js";
import { digits, type FigureOptions, seriesStyles, styleOf } from "./style.js";

const WHO = "plot.alphaBeta";
/** Points that a fitted line is drawn through: straight in linear axes, curved in logarithmic ones. */
const LINE_POINTS = 24;

/**
 * The α–β model held against the sweep that it is fitted to: measured medians and fitted lines above, what the fit leaves
 * over below, each residual with the 95 % interval of its own median. A residual whose bar misses zero is the model's.
 * @param curve a table of `lab.sweep` over at least three sizes a path; it is fitted by `lab.alphaBeta`.
 * @throws P2pError `usage` when it cannot be fitted.
 */
export function alphaBeta(curve: Table, options: FigureOptions = {}): Figure {
  const style = styleOf(options, WHO);
  const { say } = style;
  const needed = ["path", "bytes", "total_us", "ci_low_us", "ci_high_us"];
  for (const row of rowsOf(curve, needed, WHO, "lab.sweep")) {
    for (const column of needed.slice(1)) positiveIn(row, column, WHO);
  }
  const fits = fitOf(curve).objects() as Row[];
  const left = residualsOf(curve).objects() as Row[];
  const paths = [...new Set(fits.map((row) => String(row.path)))];
  const looks = seriesStyles(paths);
  const traces: PlotlyTrace[] = paths.flatMap((path, index) => {
    const { colour, symbol } = looks[index] as (typeof looks)[number];
    const own = left.filter((row) => row.path === path);
    const lines = fits.filter((row) => row.path === path).map(lineOf);
    const x = own.map((row) => row.bytes);
    const percent = (column: string) => own.map((row) => 100 * (row[column] as number));
    return [
      {
        type: "scatter",
        mode: "lines",
        name: `${path} fit`,
        legendgroup: path,
        showlegend: false,
        // A null parts the lines of a fit in pieces.
        x: lines.flatMap((line) => [...line.map((point) => point.bytes), null]),
        y: lines.flatMap((line) => [...line.map((point) => point.us), null]),
        line: { color: colour, width: 2 },
        hoverinfo: "skip",
      },
      {
        type: "scatter",
        mode: "markers",
        name: path,
        legendgroup: path,
        x,
        y: own.map((row) => row.total_us),
        marker: { color: colour, symbol, size: 8, line: { color: style.paper, width: 1 } },
        text: own.map((row) => `${path} ${formatBytes(row.bytes as number)}`),
        hovertemplate: `%{text}<br>%{y:.4g} µs<extra></extra>`,
      },
      {
        type: "scatter",
        mode: "markers",
        name: `${path} residual`,
        legendgroup: path,
        showlegend: false,
        x,
        y: percent("residual"),
        error_y: { type: "data", array: percent("noise"), color: colour, thickness: 1, width: 3 },
        marker: { color: colour, symbol, size: 7 },
        text: own.map((row) => `${path} ${formatBytes(row.bytes as number)}`),
        hovertemplate: `%{text}<br>%{y:.2f} %<extra></extra>`,
        yaxis: "y2",
      },
    ];
  });
  const sizes = left.map((row) => row.bytes as number);
  const heights = left.flatMap((row) => [row.total_us as number, row.fitted_us as number]);
  return new Figure({
    title: options.title ?? say("α–β模型：t = α + 字节数/β", "The α–β model: t = α + bytes/β"),
    traces,
    layout: {
      showlegend: true,
      xaxis: { ...messageAxis(sizes, style), anchor: "y2" },
      yaxis: { ...logAxis(heights, say("延迟（µs）", "latency (µs)")), domain: [0.42, 1] },
      yaxis2: {
        title: { text: say("残差（%）", "residual (%)") },
        domain: [0, 0.3],
        zeroline: true,
        zerolinecolor: style.faint,
        gridcolor: style.grid,
        linecolor: style.faint,
        ticks: "outside",
        automargin: true,
      },
    },
    plotHeight: 470,
    origins: originsOf(curve),
    notes: [
      ...fits.map((row) => `${String(row.path)}${rangeText(row, fits)}: ${parameters(row)}`),
      say(
        "方括号：95 %区间；下图竖条：该点中位数的95 %置信区间",
        "brackets: 95 % intervals; bars below: 95 % interval of the point's own median",
      ),
    ],
    summary: fits.map((row) => `${String(row.path)}: ${parameters(row)}`).join("; "),
    style,
  });
}

function lineOf(row: Row): { bytes: number; us: number }[] {
  const from = numberIn(row, "from_bytes", WHO) ?? 1;
  const to = numberIn(row, "to_bytes", WHO) ?? from;
  const alpha = numberIn(row, "alpha_us", WHO) ?? 0;
  const rate = numberIn(row, "beta_gbps", WHO);
  return Array.from({ length: LINE_POINTS }, (_, i) => {
    const bytes = from * (to / from) ** (i / (LINE_POINTS - 1));
    return { bytes, us: alpha + (rate === null ? 0 : bytes / rate / 1e3) };
  }).filter((point) => point.us > 0);
}

/** Over which sizes a line holds, where its path has several. */
function rangeText(row: Row, fits: readonly Row[]): string {
  if (fits.filter((other) => other.path === row.path).length === 1) return "";
  return ` ${formatBytes(row.from_bytes as number)}–${formatBytes(row.to_bytes as number)}`;
}

function parameters(row: Row): string {
  const interval = (low: unknown, high: unknown) =>
    typeof low === "number" && typeof high === "number" ? ` [${digits(low)}, ${digits(high)}]` : "";
  const half = numberIn(row, "half_bytes", WHO);
  const rate = numberIn(row, "beta_gbps", WHO);
  return [
    `α ${digits(numberIn(row, "alpha_us", WHO) ?? 0)}${interval(row.alpha_low_us, row.alpha_high_us)} µs`,
    rate === null ? "β —" : `β ${digits(rate)}${interval(row.beta_low_gbps, row.beta_high_gbps)} GB/s`,
    ...(half !== null && half >= 1 ? [`n½ ${formatBytes(Math.round(half))}`] : []),
  ].join(", ");
}
