import type { Prediction } from "../analyze/predict.js";
import { P2pError } from "../errors.js";
import type { Table } from "../measure/table.js";
import { formatBytes } from "../units.js";
import { bytesAxis } from "./axes.js";
import { Figure, originsOf, type PlotlyTrace } from "./figure.js";
import { guessIn, guessLine } from "./guess.js";
import { missingNote, numberIn, positiveIn, rowsOf, seriesOf, textIn } from "./rows.js";
import { digits, type FigureOptions, seriesStyles, styleOf } from "./style.js";

const WHO = "plot.loadLatency";

/**
 * Latency of a load against the footprint of its chain, one line a memory (and stride, order or cache, where the table has
 * several), with the 95 % interval of the median as error bars. Steps are levels of the memory.
 * @param latency a table of `lab.loadLatency`; cells without a number are left out, and counted under the title.
 * @param options.guess a prediction in nanoseconds, drawn as a horizontal line.
 * @throws P2pError `usage` when it is none, or the guess has another unit.
 */
export function loadLatency(latency: Table, options: FigureOptions & { guess?: Prediction } = {}): Figure {
  const style = styleOf(options, WHO, ["guess"]);
  const { say } = style;
  const columns = ["memory", "footprint_bytes", "load_ns", "ci_low_ns", "ci_high_ns", "level"];
  const rows = rowsOf(latency, columns, WHO, "lab.loadLatency");
  const drawn = rows.filter((row) => positiveIn(row, "load_ns", WHO) !== null);
  const series = seriesOf(drawn, "memory", "footprint_bytes", WHO, (column, value) =>
    column === "stride_bytes" && typeof value === "number"
      ? formatBytes(value)
      : column === "gpu"
        ? `GPU ${String(value)}`
        : String(value),
  );
  const looks = seriesStyles(series.map(({ name }) => name));
  const traces: PlotlyTrace[] = series.map(({ name, rows: own }, index) => {
    const { colour, symbol } = looks[index] as (typeof looks)[number];
    const ns = own.map((row) => row.load_ns as number);
    const away = (column: string) =>
      own.map((row, i) => Math.abs((numberIn(row, column, WHO) ?? (ns[i] as number)) - (ns[i] as number)));
    return {
      type: "scatter",
      mode: "lines+markers",
      name,
      x: own.map((row) => positiveIn(row, "footprint_bytes", WHO)),
      y: ns,
      error_y: {
        type: "data",
        symmetric: false,
        array: away("ci_high_ns"),
        arrayminus: away("ci_low_ns"),
        thickness: 1,
        width: 3,
      },
      line: { color: colour, width: 2 },
      marker: { size: 7, symbol, color: colour },
      text: own.map(
        (row, i) =>
          `<b>${name} ${formatBytes(row.footprint_bytes as number)}</b><br>${say("中位数", "median")} ${digits(ns[i] as number)} ns<br>${textIn(row, "level") || say("层级未定", "level unknown")}`,
      ),
      hoverinfo: "text",
    };
  });
  const sizes = rows.map((row) => positiveIn(row, "footprint_bytes", WHO));
  if (sizes.includes(null))
    throw new P2pError("usage", `${WHO}: a row has no footprint`, "Leave such rows out.");
  const guess = guessIn("ns", options.guess, WHO);
  if (guess !== null) {
    const ends = sizes as number[];
    traces.push(guessLine(guess, "ns", [Math.min(...ends), Math.max(...ends)], style));
  }
  const missing = missingNote(
    rows.filter((row) => row.load_ns === null || row.load_ns === undefined),
    ["note", "level_reason"],
    say,
  );
  return new Figure({
    title:
      options.title ?? say("加载延迟：依赖链上的一次读取", "Load latency: one read along a dependent chain"),
    traces,
    layout: {
      showlegend: true,
      xaxis: bytesAxis(sizes as number[], say("链的大小（footprint）", "footprint of the chain")),
      yaxis: { rangemode: "tozero", title: { text: say("延迟（ns）", "latency (ns)") } },
    },
    origins: originsOf(latency),
    notes: missing ? [missing] : [],
    summary:
      series.length === 0
        ? say("没有一格有数字", "no cell has a number")
        : series
            .map(({ name, rows: own }) => {
              const ns = own.map((row) => row.load_ns as number);
              return `${name} ${Math.min(...ns).toFixed(0)} … ${Math.max(...ns).toFixed(0)} ns`;
            })
            .join(", "),
    style,
  });
}
