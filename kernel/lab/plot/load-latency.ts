import { expectTable } from "../measure/expect.js";
import type { Table } from "../measure/table.js";
import { formatBytes } from "../units.js";
import { bytesAxis, Figure, originsOf, type PlotlyTrace } from "./figure.js";

interface Row {
  gpu: number;
  memory: string;
  footprint_bytes: number;
  stride_bytes: number;
  order: string;
  cache: string;
  load_ns: number | null;
  ci_low_ns: number;
  ci_high_ns: number;
  level: string | null;
}

/** One colour a memory, in the order of the table; told apart by colour-blind readers (Okabe–Ito). */
const PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];

/**
 * Latency of a load against the footprint of its chain, one line a memory (and stride, order or cache, where the table has
 * several), with the 95 % interval of the median as error bars. Steps are levels of the memory.
 * @param latency a table of `lab.loadLatency`; cells without a number are left out.
 */
export function loadLatency(latency: Table, options: { title?: string } = {}): Figure {
  expectTable(
    latency,
    [
      "memory",
      "footprint_bytes",
      "stride_bytes",
      "order",
      "cache",
      "load_ns",
      "ci_low_ns",
      "ci_high_ns",
      "level",
    ],
    "plot.loadLatency",
  );
  const rows = (latency.objects() as Row[]).filter((row) => row.load_ns !== null);
  const label = labeller(rows);
  const names = [...new Set(rows.map(label))];
  const traces: PlotlyTrace[] = names.map((name, index) => {
    const own = rows
      .filter((row) => label(row) === name)
      .sort((a, b) => a.footprint_bytes - b.footprint_bytes);
    const ns = own.map((row) => row.load_ns as number);
    return {
      type: "scatter",
      mode: "lines+markers",
      name,
      x: own.map((row) => row.footprint_bytes),
      y: ns,
      error_y: {
        type: "data",
        symmetric: false,
        array: own.map((row, i) => row.ci_high_ns - (ns[i] as number)),
        arrayminus: own.map((row, i) => (ns[i] as number) - row.ci_low_ns),
        thickness: 1,
        width: 3,
      },
      line: { color: PALETTE[index % PALETTE.length], width: 2 },
      marker: { size: 6 },
      text: own.map(
        (row, i) =>
          `${name} ${formatBytes(row.footprint_bytes)}<br>中位数 ${(ns[i] as number).toFixed(1)} ns<br>${row.level ?? "层级未定"}`,
      ),
      hoverinfo: "text",
    };
  });
  const sizes = rows.map((row) => row.footprint_bytes);
  return new Figure(
    traces,
    {
      title: options.title ?? "加载延迟：依赖链上的一次读取",
      xaxis: bytesAxis(sizes.length > 0 ? sizes : [1], "链的大小 footprint"),
      yaxis: { rangemode: "tozero", title: { text: "延迟 latency（ns）" } },
    },
    originsOf(latency),
    names
      .map((name) => {
        const ns = rows.filter((row) => label(row) === name).map((row) => row.load_ns as number);
        return `${name} ${Math.min(...ns).toFixed(0)} … ${Math.max(...ns).toFixed(0)} ns`;
      })
      .join(", "),
  );
}

/** Names a line by its memory, and by whatever else differs within the table. */
function labeller(rows: readonly Row[]): (row: Row) => string {
  const differs = (field: keyof Row) => new Set(rows.map((row) => row[field])).size > 1;
  const parts: ((row: Row) => string)[] = [(row) => row.memory];
  if (differs("gpu")) parts.unshift((row) => `GPU ${row.gpu} →`);
  if (differs("stride_bytes")) parts.push((row) => formatBytes(row.stride_bytes));
  if (differs("order")) parts.push((row) => row.order);
  if (differs("cache")) parts.push((row) => row.cache);
  return (row) => parts.map((part) => part(row)).join(" ");
}
