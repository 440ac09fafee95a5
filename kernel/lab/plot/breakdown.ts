import { expectTable } from "../measure/expect.js";
import type { Table } from "../measure/table.js";
import { formatBytes } from "../units.js";
import { COLOURS, Figure, originsOf } from "./figure.js";

interface Row {
  path: string;
  bytes: number;
  launch_us: number;
  setup_us: number;
  link_us: number;
  receiver_us: number;
  sum_us: number;
  traced_us: number;
  closure_traced_pct: number;
}

const PARTS = [
  ["launch_us", "启动 launch", COLOURS.launch],
  ["setup_us", "准备 setup", COLOURS.setup],
  ["link_us", "链路 link", COLOURS.link],
  ["receiver_us", "接收端 receiver", COLOURS.receiver],
] as const;

/**
 * The four parts stacked, a bar a path and size, as shares of their sum; absolute microseconds on the bars.
 * @param parts a table of `lab.breakdown`.
 */
export function breakdown(parts: Table, options: { title?: string } = {}): Figure {
  expectTable(
    parts,
    ["path", "bytes", "launch_us", "setup_us", "link_us", "receiver_us", "sum_us", "closure_traced_pct"],
    "plot.breakdown",
  );
  const rows = parts.objects() as Row[];
  const labels = rows.map(
    (row) =>
      `${row.path} ${formatBytes(row.bytes)}<br>${short(row.sum_us)} µs，闭合误差 ${row.closure_traced_pct.toFixed(1)} %`,
  );
  const traces = PARTS.map(([column, name, colour]) => ({
    type: "bar",
    orientation: "h",
    name,
    y: labels,
    x: rows.map((row) => (100 * row[column]) / row.sum_us),
    text: rows.map((row) => `${short(row[column])} µs`),
    textposition: "inside",
    insidetextanchor: "middle",
    marker: { color: colour },
    hovertemplate: `%{y}<br>${name} %{text}（%{x:.1f} %）<extra></extra>`,
  }));
  return new Figure(
    traces,
    {
      title: options.title ?? "四段拆解：时间花在哪里",
      barmode: "stack",
      height: 190 + 70 * rows.length,
      xaxis: { title: { text: "占四段之和的比例（%）" }, range: [0, 100] },
      yaxis: { autorange: "reversed" },
    },
    originsOf(parts),
    rows
      .map(
        (row) =>
          `${row.path} ${formatBytes(row.bytes)} = ${PARTS.map(([column, name]) => `${name} ${short(row[column])}`).join(" + ")} µs`,
      )
      .join("; "),
  );
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}
