import type { Table } from "../measure/table.js";
import { formatBytes } from "../units.js";
import { Figure, originsOf } from "./figure.js";
import { missingNote, numberIn, type Row, rowsOf, textIn } from "./rows.js";
import { COLOURS, digits, type FigureOptions, PATTERNS, shortened, styleOf, textOn } from "./style.js";

const WHO = "plot.breakdown";

const PARTS = [
  ["launch_us", "启动", "launch", COLOURS.launch],
  ["setup_us", "准备", "setup", COLOURS.setup],
  ["link_us", "链路", "link", COLOURS.link],
  ["receiver_us", "接收端", "receiver", COLOURS.receiver],
] as const;

/**
 * The four parts stacked, a bar a path and size, as shares of their sum, absolute microseconds on the bars; the sum and the
 * closure error stand beside each. A row that lacks a part has no bar and says why under the title.
 * @param parts a table of `lab.breakdown`.
 * @throws P2pError `usage` when it is none.
 */
export function breakdown(parts: Table, options: FigureOptions = {}): Figure {
  const style = styleOf(options, WHO);
  const { say } = style;
  const columns = ["path", "bytes", ...PARTS.map(([column]) => column), "sum_us", "closure_traced_pct"];
  const rows = rowsOf(parts, columns, WHO, "lab.breakdown");
  const numbers = [...PARTS.map(([column]) => column), "sum_us"];
  const whole = (row: Row) => numbers.every((column) => numberIn(row, column, WHO) !== null);
  const drawn = rows.filter(whole);
  const sum = (row: Row) => row.sum_us as number;
  const nameOf = namesOf(rows);
  const labels = drawn.map((row) => {
    const closure = numberIn(row, "closure_traced_pct", WHO);
    const error =
      closure === null
        ? "—"
        : `${closure
            .toFixed(1)
            .replace(/^-(?!0\.0$)/, "−")
            .replace(/^-/, "")} %`;
    return `<b>${shortened(nameOf(row), 34)}</b><br>${digits(sum(row))} µs${say("，闭合误差 ", ", closure ")}${error}`;
  });
  const places = drawn.map((_, index) => index);
  const traces = PARTS.map(([column, zh, en, colour], index) => {
    const name = say(`${zh} ${en}`, en);
    return {
      type: "bar",
      orientation: "h",
      name,
      y: places,
      x: drawn.map((row) => (100 * (row[column] as number)) / sum(row)),
      text: drawn.map((row) => `${digits(row[column] as number)} µs`),
      textposition: "inside",
      insidetextanchor: "middle",
      textangle: 0,
      insidetextfont: { color: textOn(colour) },
      width: 0.62,
      marker: {
        color: colour,
        line: { color: style.paper, width: 1 },
        pattern: {
          shape: PATTERNS[index],
          fillmode: "overlay",
          fgcolor: "#111111",
          fgopacity: 0.22,
          size: 9,
          solidity: 0.15,
        },
      },
      hovertemplate: drawn.map(
        (row) => `${nameOf(row)}<br>${name} %{text}${say("，占 ", ", ")}%{x:.1f} %<extra></extra>`,
      ),
    };
  });
  const negative = drawn.some((row) => PARTS.some(([column]) => (row[column] as number) < 0));
  const missing = missingNote(
    rows.filter((row) => !whole(row)),
    ["reason", "launch_reason", "note"],
    say,
  );
  return new Figure({
    title: options.title ?? say("四段拆解：时间花在哪里", "Where the time goes: four parts"),
    traces,
    layout: {
      barmode: "relative",
      uniformtext: { minsize: 10, mode: "hide" },
      showlegend: true,
      xaxis: {
        title: { text: say("占四段之和的比例（%）", "share of the sum of the parts (%)") },
        ...(negative ? {} : { range: [0, 100] }),
      },
      yaxis: {
        tickvals: places,
        ticktext: labels,
        range: [Math.max(drawn.length, 1) - 0.5, -0.5],
        ticks: "",
        showgrid: false,
      },
    },
    plotHeight: 30 + 58 * Math.max(drawn.length, 1),
    origins: originsOf(parts),
    notes: missing ? [missing] : [],
    summary: drawn
      .map(
        (row) =>
          `${nameOf(row)} = ${PARTS.map(([column, , en]) => `${en} ${digits(row[column] as number)}`).join(" + ")} µs`,
      )
      .join("; "),
    style,
  });
}

/** Path and size of a row, and what else differs among the rows. */
function namesOf(rows: readonly Row[]): (row: Row) => string {
  const count = (...columns: string[]) =>
    new Set(rows.map((row) => JSON.stringify(columns.map((column) => row[column])))).size;
  // Where the kind tells the machines apart, their names, which the subtitle gives, would only make the labels long.
  const byKind = count("provenance") === count("provenance", "machine");
  const more = [
    "from",
    "to",
    "engine",
    "sync",
    "submit",
    "provenance",
    ...(byKind ? [] : ["machine"]),
  ].filter((column) => count(column) > 1);
  return (row) =>
    [
      textIn(row, "path"),
      formatBytes(numberIn(row, "bytes", WHO) ?? 0),
      ...more.map((column) =>
        column === "from" || column === "to" ? `${column} GPU ${textIn(row, column)}` : textIn(row, column),
      ),
    ].join(" ");
}
