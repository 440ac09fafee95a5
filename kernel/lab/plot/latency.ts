import type { Prediction } from "../analyze/predict.js";
import { P2pError } from "../errors.js";
import type { Table } from "../measure/table.js";
import { formatBytes } from "../units.js";
import { logAxis, messageAxis } from "./axes.js";
import { Figure, originsOf, type PlotlyTrace } from "./figure.js";
import { guessIn, guessLine } from "./guess.js";
import { missingNote, numberIn, positiveIn, type Row, rowsOf, seriesOf, textIn } from "./rows.js";
import { digits, type FigureOptions, type Style, seriesStyles, styleOf, translucent } from "./style.js";

const WHO = "plot.latency";
/** More lines than this hide each other when each has a second one for p99. */
const MOST_WITH_P99 = 6;

interface Point {
  readonly bytes: number;
  readonly us: number | null;
  readonly lowUs: number | null;
  readonly highUs: number | null;
  readonly p99Us: number | null;
  readonly mark: string;
  readonly row: Row;
}

/**
 * Median latency against message size, both logarithmic: a line a path (and whatever else differs within the table), the
 * 95 % interval of the median as a band, p99 dotted. Ringed points carry a flag: a series that did not converge, drifts,
 * jumps or has two modes, or a machine that warned; the words stand in the hover text.
 * @param curve a table of `lab.sweep`.
 * @param options.guess a prediction in microseconds, drawn as a horizontal line.
 * @throws P2pError `usage` when the table is none of a sweep, or rows of a line cannot be told apart.
 */
export function latency(curve: Table, options: FigureOptions & { guess?: Prediction } = {}): Figure {
  const style = styleOf(options, WHO, ["guess"]);
  const { say } = style;
  const rows = rowsOf(curve, ["path", "bytes", "total_us"], WHO, "lab.sweep");
  const guess = guessIn("us", options.guess, WHO);
  const series = seriesOf(rows, "path", "bytes", WHO).map(({ name, rows: own }) => ({
    name,
    points: own.map(pointOf),
  }));
  const looks = seriesStyles(series.map(({ name }) => name));
  const withP99 = series.length <= MOST_WITH_P99;
  const traces: PlotlyTrace[] = series.flatMap(({ name, points }, index) => {
    const look = looks[index] as (typeof looks)[number];
    return [
      ...bandsOf(name, points, look.colour),
      lineOf(name, points, look, style),
      ...(withP99 && points.some((point) => point.p99Us !== null) ? [p99Of(name, points, look.colour)] : []),
    ];
  });
  const points = series.flatMap((line) => line.points.map((point) => ({ ...point, name: line.name })));
  const drawn = points.filter((point) => point.us !== null);
  const marked = drawn.filter((point) => point.mark !== "");
  const sizes = points.map((point) => point.bytes);
  if (marked.length > 0) traces.push(rings(marked, style));
  if (guess !== null) {
    traces.push(guessLine(guess, "us", [Math.min(...sizes) / 1.2, Math.max(...sizes) * 1.2], style));
  }
  const heights = drawn.flatMap(({ us, lowUs, highUs, p99Us }) =>
    [us, lowUs, highUs, withP99 ? p99Us : null].filter((value): value is number => value !== null),
  );
  const missing = missingNote(
    points.filter((point) => point.us === null).map((point) => point.row),
    ["reason", "note"],
    say,
  );
  const smallest = Math.min(...sizes);
  return new Figure({
    title: options.title ?? titleOf(rows, style),
    traces,
    layout: {
      xaxis: messageAxis(sizes, style),
      yaxis: logAxis(
        heights.length > 0 ? [...heights, ...(guess === null ? [] : [guess])] : [1],
        say("延迟（µs）", "latency (µs)"),
      ),
    },
    origins: originsOf(curve),
    notes: [
      ...(drawn.length > 0 ? [legendNote(series.length, withP99, say)] : []),
      ...(missing ? [missing] : []),
    ],
    summary:
      drawn.length === 0
        ? say("没有一格有数字", "no cell has a number")
        : drawn
            .filter((point) => point.bytes === smallest)
            .map((point) => `${point.name} ${formatBytes(point.bytes)} ${(point.us as number).toFixed(2)} µs`)
            .join(", "),
    style,
  });
}

/** `lab.sweep` has two metrics, and they are not the same time. */
function titleOf(rows: readonly Row[], { say }: Style): string {
  const metrics = new Set(rows.map((row) => row.metric ?? "latency"));
  if (metrics.size > 1) return say("一次传输的时间", "Time of one transfer");
  return metrics.has("bandwidth")
    ? say("连续传输：平均每次的时间", "Time of one transfer among many, back to back")
    : say("单次传输延迟：提交到主机得知完成", "Latency of one transfer, until the host knows");
}

function legendNote(lines: number, withP99: boolean, say: Style["say"]): string {
  const p99 = withP99 ? say("，点线：p99", ", dotted: p99") : "";
  return lines > 0
    ? say(`线：中位数，带：95 %置信区间${p99}`, `line: median, band: its 95 % interval${p99}`)
    : "";
}

function pointOf(row: Row): Point {
  const bytes = positiveIn(row, "bytes", WHO);
  if (bytes === null) throw new P2pError("usage", `${WHO}: a row has no bytes`, "Leave such rows out.");
  return {
    bytes,
    us: positiveIn(row, "total_us", WHO),
    lowUs: positiveIn(row, "ci_low_us", WHO),
    highUs: positiveIn(row, "ci_high_us", WHO),
    p99Us: positiveIn(row, "p99_us", WHO),
    mark: [
      textIn(row, "flags"),
      textIn(row, "taints"),
      row.converged === false ? `not converged${row.ended ? ` (${textIn(row, "ended")})` : ""}` : "",
    ]
      .filter((text) => text !== "")
      .join("; "),
    row,
  };
}

function lineOf(
  name: string,
  points: readonly Point[],
  look: { colour: string; symbol: string },
  style: Style,
): PlotlyTrace {
  return {
    type: "scatter",
    mode: "lines+markers",
    name,
    legendgroup: name,
    x: points.map((point) => point.bytes),
    y: points.map((point) => point.us),
    line: { color: look.colour, width: 2 },
    marker: { size: 7, symbol: look.symbol, color: look.colour },
    text: points.map((point) => hoverOf(name, point, style)),
    hoverinfo: "text",
  };
}

function hoverOf(
  name: string,
  { bytes, us, lowUs, highUs, p99Us, mark, row }: Point,
  { say }: Style,
): string {
  if (us === null) return "";
  const gbps = numberIn(row, "gbps", WHO);
  const n = numberIn(row, "n", WHO);
  return [
    `<b>${name} ${formatBytes(bytes)}</b>`,
    `${say("中位数", "median")} ${digits(us)} µs${lowUs !== null && highUs !== null ? ` [${digits(lowUs)}, ${digits(highUs)}]` : ""}`,
    p99Us === null ? "" : `p99 ${digits(p99Us)} µs`,
    [gbps === null ? "" : `${digits(gbps)} GB/s`, n === null ? "" : `n = ${n}`].filter(Boolean).join(", "),
    mark,
  ]
    .filter((line) => line !== "")
    .join("<br>");
}

/** The interval as a closed outline, one for each stretch of points without a gap; a lone point has a bar instead. */
function bandsOf(name: string, points: readonly Point[], colour: string): PlotlyTrace[] {
  const stretches: Point[][] = [[]];
  for (const point of points) {
    if (point.us === null || point.lowUs === null || point.highUs === null) stretches.push([]);
    else stretches.at(-1)?.push(point);
  }
  return stretches
    .filter((stretch) => stretch.length > 0)
    .map((stretch) => {
      const whole = stretch.length === 1 ? [stretch[0] as Point, stretch[0] as Point] : stretch;
      const back = [...whole].reverse();
      return {
        type: "scatter",
        mode: "lines",
        name: `${name} 95 %`,
        legendgroup: name,
        showlegend: false,
        x: [...whole, ...back].map((point) => point.bytes),
        y: [...whole.map((point) => point.lowUs), ...back.map((point) => point.highUs)],
        fill: "toself",
        fillcolor: translucent(colour, 0.25),
        line: { color: colour, width: stretch.length === 1 ? 2 : 0.5 },
        hoverinfo: "skip",
      };
    });
}

function p99Of(name: string, points: readonly Point[], colour: string): PlotlyTrace {
  return {
    type: "scatter",
    mode: "lines",
    name: `${name} p99`,
    legendgroup: name,
    showlegend: false,
    x: points.map((point) => point.bytes),
    y: points.map((point) => point.p99Us),
    line: { color: colour, width: 1.2, dash: "dot" },
    hoverinfo: "skip",
  };
}

function rings(marked: readonly Point[], style: Style): PlotlyTrace {
  return {
    type: "scatter",
    mode: "markers",
    name: style.say("有标记的点（悬停看原因）", "flagged (hover says why)"),
    x: marked.map((point) => point.bytes),
    y: marked.map((point) => point.us),
    marker: { symbol: "circle-open", size: 14, color: style.alarm, line: { width: 1.5 } },
    hoverinfo: "skip",
  };
}
