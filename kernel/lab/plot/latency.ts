import type { Prediction } from "../analyze/predict.js";
import { expectTable } from "../measure/expect.js";
import type { Table } from "../measure/table.js";
import { formatBytes } from "../units.js";
import { bytesAxis, COLOURS, colourOf, Figure, originsOf, type PlotlyTrace } from "./figure.js";

interface Row {
  path: string;
  bytes: number;
  total_us: number;
  ci_low_us: number;
  ci_high_us: number;
  p99_us: number;
  gbps: number;
  n: number;
}

/**
 * Median latency against message size, one line a path, with the 95 % interval of the median as error bars and p99 dotted.
 * @param curve a table of `lab.sweep`.
 * @param options.guess a prediction in microseconds, drawn as a horizontal line.
 */
export function latency(curve: Table, options: { title?: string; guess?: Prediction } = {}): Figure {
  expectTable(
    curve,
    ["path", "bytes", "total_us", "ci_low_us", "ci_high_us", "p99_us", "gbps"],
    "plot.latency",
  );
  const rows = curve.objects() as Row[];
  const paths = [...new Set(rows.map((row) => row.path))];
  const traces: PlotlyTrace[] = [];
  for (const path of paths) {
    const own = rows.filter((row) => row.path === path).sort((a, b) => a.bytes - b.bytes);
    const x = own.map((row) => row.bytes);
    traces.push({
      type: "scatter",
      mode: "lines+markers",
      name: path,
      x,
      y: own.map((row) => row.total_us),
      error_y: {
        type: "data",
        symmetric: false,
        array: own.map((row) => row.ci_high_us - row.total_us),
        arrayminus: own.map((row) => row.total_us - row.ci_low_us),
        thickness: 1,
        width: 3,
      },
      line: { color: colourOf(path), width: 2 },
      marker: { size: 6 },
      text: own.map(
        (row) =>
          `${path} ${formatBytes(row.bytes)}<br>中位数 ${row.total_us.toFixed(2)} µs，p99 ${row.p99_us.toFixed(2)} µs<br>${row.gbps.toFixed(2)} GB/s，n = ${row.n}`,
      ),
      hoverinfo: "text",
    });
    traces.push({
      type: "scatter",
      mode: "lines",
      name: `${path} p99`,
      x,
      y: own.map((row) => row.p99_us),
      line: { color: colourOf(path), width: 1, dash: "dot" },
      hoverinfo: "skip",
    });
  }
  const sizes = rows.map((row) => row.bytes);
  if (options.guess) {
    traces.push({
      type: "scatter",
      mode: "lines",
      name: `你的猜测 ${options.guess.value} ${options.guess.unit}`,
      x: [Math.min(...sizes), Math.max(...sizes)],
      y: [options.guess.value, options.guess.value],
      line: { color: COLOURS.guess, width: 1.5, dash: "dash" },
      hoverinfo: "name",
    });
  }
  const smallest = rows.filter((row) => row.bytes === Math.min(...sizes));
  return new Figure(
    traces,
    {
      title: options.title ?? "单次传输延迟：提交到主机得知完成",
      xaxis: bytesAxis(sizes),
      yaxis: { type: "log", dtick: 1, title: { text: "延迟 latency（µs）" } },
    },
    originsOf(curve),
    smallest.map((row) => `${row.path} ${formatBytes(row.bytes)} ${row.total_us.toFixed(2)} µs`).join(", "),
  );
}
