import { P2pError } from "../errors.js";
import { expectSome } from "../measure/expect.js";
import { type Table, tableOf } from "../measure/table.js";
import { formatBytes } from "../units.js";
import { logAxis } from "./axes.js";
import { Figure, originsOf, type PlotlyTrace } from "./figure.js";
import { quantityTitle, unitOf } from "./quantities.js";
import { missingNote, numberIn, positiveIn, type Row, rowsOf, textIn } from "./rows.js";
import { digits, type FigureOptions, PATTERNS, seriesStyles, shortened, styleOf } from "./style.js";

const WHO = "plot.bars";

export interface BarsOptions extends FigureOptions {
  /** Column that is drawn; the end of its name is the unit (`_ns`, `_us`, `gbps`, `_pct`). */
  value: string;
  /** What the value is, in words, for the axis; default by the column's name. */
  quantity?: string;
  /** Columns that name a group of bars along the axis. */
  by: string | readonly string[];
  /** Column that tells the bars of a group apart, by colour and pattern. */
  series?: string;
  /** `log`: logarithmic; default linear from zero. */
  scale?: "linear" | "log";
  /** A prediction in the unit of the value, drawn as a line across. */
  guess?: { readonly value: number; readonly unit: string };
}

/** Columns that hold the 95 % interval of a median in these units, where a table has them. */
const INTERVALS: Readonly<Record<string, readonly [string, string]>> = {
  ns: ["ci_low_ns", "ci_high_ns"],
  us: ["ci_low_us", "ci_high_us"],
};

/** Height of the axis, and of a line of the numbers on the bars, roughly. */
const AXIS_PX = 330;
const TEXT_LINE_PX = 17;
/** An interval that reaches so far above its bar is in no number's way. */
const LEAST_LIFT_PX = 3;

/**
 * One value a row as bars: groups along the axis, a colour a series, the value on each bar and, where the table has it, the
 * 95 % interval of the median. Rows without a number have no bar and are told under the title.
 * @throws P2pError `usage` where the table lacks a column, two rows would be one bar, or the guess has another unit.
 */
export function bars(table: Table, options: BarsOptions): Figure {
  const style = styleOf(options, WHO, ["value", "by", "series", "scale", "guess", "quantity"]);
  const { say } = style;
  const { value, series } = options;
  const by = expectSome(Array.isArray(options.by) ? options.by : [options.by], "by", WHO) as string[];
  const wrong = [value, ...by, ...(series === undefined ? [] : [series])].find(
    (name) => typeof name !== "string",
  );
  if (wrong !== undefined) {
    throw new P2pError(
      "usage",
      `${WHO}: no column ${String(wrong)}`,
      'Give { value: "total_us", by: "path" }.',
    );
  }
  if (options.scale !== undefined && options.scale !== "linear" && options.scale !== "log") {
    throw new P2pError("usage", `${WHO}: no scale "${String(options.scale)}"`, 'Choose "linear" or "log".');
  }
  if (options.quantity !== undefined && typeof options.quantity !== "string") {
    throw new P2pError("usage", `${WHO} was given a quantity that is no text`, 'Give { quantity: "…" }.');
  }
  const log = options.scale === "log";
  const rows = rowsOf(table, [value, ...by, ...(series ? [series] : [])], WHO, "a measurement");
  const { unit, shown: shownUnit } = unitOf(value);
  const heightOf = (row: Row) => (log ? positiveIn : numberIn)(row, value, WHO);
  const groups = [...new Set(rows.map((row) => groupOf(row, by)))];
  // What a model gives and what was measured never share a colour.
  const mixed = new Set(rows.filter((row) => heightOf(row) !== null).map((row) => row.provenance)).size > 1;
  const nameOf = (row: Row) =>
    [...(series ? [labelOf(series, row[series])] : []), ...(mixed ? [textIn(row, "provenance")] : [])].join(
      " · ",
    );
  const drawn = rows.filter((row) => heightOf(row) !== null);
  const names = [...new Set((drawn.length > 0 ? drawn : rows).map(nameOf))];
  const looks = seriesStyles(names);
  const [low, high] = INTERVALS[unit] ?? [];
  const tops = drawn.map((row) => heightOf(row) as number);
  const span = log
    ? Math.log10(Math.max(...tops) / Math.min(...tops)) + 2 * Math.log10(2)
    : Math.max(...tops);
  /** Empty lines that lift a bar's number above the end of its interval. */
  const lifted = (height: number, above: number) => {
    const px = ((log ? Math.log10(1 + above / height) : above) / span) * AXIS_PX;
    return px > LEAST_LIFT_PX ? "<br> ".repeat(Math.ceil(px / TEXT_LINE_PX)) : "";
  };
  const traces: PlotlyTrace[] = names.map((name, index) => {
    const own = drawn.filter((row) => nameOf(row) === name);
    expectOne(own, by, name);
    const heights = own.map((row) => heightOf(row) as number);
    const away = (column: string | undefined) =>
      own.map((row, i) => {
        const end = column === undefined ? null : numberIn(row, column, WHO);
        return end === null ? 0 : Math.abs(end - (heights[i] as number));
      });
    const above = away(high);
    const look = looks[index] as (typeof looks)[number];
    return {
      type: "bar",
      name,
      showlegend: name !== "",
      x: own.map((row) => groupOf(row, by)),
      y: heights,
      text: heights.map((height, i) => digits(height) + lifted(height, above[i] as number)),
      textposition: "outside",
      cliponaxis: false,
      error_y: {
        type: "data",
        symmetric: false,
        array: above,
        arrayminus: away(low),
        thickness: 1,
        width: 3,
        color: style.faint,
      },
      marker: {
        color: look.colour,
        pattern: { shape: PATTERNS[index % PATTERNS.length], fillmode: "overlay", fgopacity: 0.25, size: 8 },
      },
      hovertemplate: own.map(
        (row, i) =>
          `<b>${groupOf(row, by)}${name ? ` · ${name}` : ""}</b><br>${digits(heights[i] as number)} ${shownUnit}<extra></extra>`,
      ),
    };
  });
  const guess = guessOf(options.guess, unit);
  if (guess !== null) {
    traces.push({
      type: "scatter",
      mode: "lines",
      name: say(`你的猜测 ${digits(guess)} ${shownUnit}`, `your guess ${digits(guess)} ${shownUnit}`),
      // On an axis of its own: along the one of the groups a line begins and ends in the middle of a group.
      xaxis: "x2",
      x: [0, 1],
      y: [guess, guess],
      line: { color: style.ink, width: 1.5, dash: "dash" },
      hoverinfo: "name",
    });
  }
  const all = [...drawn.map((row) => heightOf(row) as number), ...(guess === null ? [] : [guess])];
  const title = quantityTitle(value, say, options.quantity);
  const missing = missingNote(
    rows.filter((row) => heightOf(row) === null),
    ["note", "reason"],
    say,
  );
  return new Figure({
    title: options.title ?? say(`各组的${bare(title)}`, `${bare(title)} by group`),
    traces,
    layout: {
      barmode: "group",
      bargap: 0.25,
      xaxis: {
        type: "category",
        categoryorder: "array",
        categoryarray: groups,
        // Several columns stand under each other: side by side they would turn in a narrow cell.
        tickvals: groups,
        ticktext: groups.map((group) => group.replaceAll(" · ", "<br>")),
        range: [-0.5, groups.length - 0.5],
        showgrid: false,
      },
      ...(guess !== null && { xaxis2: { overlaying: "x", range: [0, 1], visible: false, fixedrange: true } }),
      yaxis:
        log && all.length > 0
          ? logAxis(roomAbove(all), title)
          : { rangemode: "tozero", title: { text: title } },
    },
    // A row without a number names the machine that lacks it.
    origins: originsOf(drawn.length > 0 ? tableOf(drawn) : table),
    notes: missing ? [missing] : [],
    summary:
      drawn.length === 0
        ? say("没有一格有数字", "no cell has a number")
        : drawn
            .map((row) =>
              [groupOf(row, by), nameOf(row), `${digits(heightOf(row) as number)} ${shownUnit}`]
                .map((part) => part.trim())
                .filter((part) => part !== "")
                .join(" "),
            )
            .join("; "),
    style,
  });
}

/** The quantity without its unit. */
function bare(title: string): string {
  return title.replace(/（[^）]*）$| \([^)]*\)$/, "");
}

/** Bars need a foot below the smallest and room for the number on the largest. */
function roomAbove(values: readonly number[]): number[] {
  return [Math.min(...values) / 2, Math.max(...values) * 2];
}

/** A pair of GPUs reads as an arrow. */
function groupOf(row: Row, by: readonly string[]): string {
  const pair = by.includes("from") && by.includes("to");
  return by
    .filter((column) => !(pair && column === "to"))
    .map((column) =>
      pair && column === "from"
        ? `GPU ${String(row.from)} → GPU ${String(row.to)}`
        : labelOf(column, row[column]),
    )
    .join(" · ");
}

function labelOf(column: string, value: unknown): string {
  if (value === null || value === undefined) return "—";
  if (typeof value === "number" && /(^|_)bytes$/.test(column)) return formatBytes(value);
  return shortened(typeof value === "number" ? `${column} ${value}` : String(value), 40);
}

/** @throws P2pError `usage` where two rows would lie in one place. */
function expectOne(rows: readonly Row[], by: readonly string[], name: string): void {
  const seen = new Set<string>();
  for (const row of rows) {
    const group = groupOf(row, by);
    if (seen.has(group)) {
      throw new P2pError(
        "usage",
        `${WHO}: two rows of "${[group, name].filter(Boolean).join(" · ")}"`,
        `Name in "by" or "series" what tells them apart (${textIn(row, "note") || "their columns"}).`,
      );
    }
    seen.add(group);
  }
}

function guessOf(guess: BarsOptions["guess"], unit: string): number | null {
  if (guess === undefined) return null;
  if (guess !== null && typeof guess === "object" && Number.isFinite(guess.value) && guess.value > 0) {
    if (guess.unit === unit) return guess.value;
  }
  throw new P2pError(
    "usage",
    `${WHO} was given a guess that is not in ${unit || "the unit of the value"}`,
    'Give what lab.predict("…", "800 ns") returned, in the unit of the column.',
  );
}
