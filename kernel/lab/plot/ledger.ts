import type { Table } from "../measure/table.js";
import { Figure, type Origin, type PlotlyLayout, type PlotlyTrace, safe } from "./figure.js";
import { numberIn, type Row, rowsOf, textIn } from "./rows.js";
import { digits, type FigureOptions, PALETTE, type Style, shortened, styleOf, wrap } from "./style.js";

const WHO = "plot.ledger";
/** In units of the claimed range's width: beyond, a value is drawn at the edge, with an arrow. */
const EDGE = 1.5;

const RESULTS: Readonly<
  Record<string, { zh: string; en: string; mark: string; symbol: string; colour: string }>
> = {
  supported: { zh: "支持", en: "supported", mark: "✔", symbol: "circle", colour: PALETTE.blue },
  refuted: { zh: "不支持", en: "refuted", mark: "✘", symbol: "x", colour: PALETTE.vermilion },
  "not-testable": {
    zh: "此处无法检验",
    en: "not testable here",
    mark: "–",
    symbol: "circle-open",
    colour: PALETTE.grey,
  },
};

/**
 * The claims of a ledger, a row each: the interval of what was found against the range that was claimed. As claims are in
 * different units, every claimed range is drawn from 0 to 1, and the numbers stand beside it; a claim about a condition has
 * only its verdict. Predictions that were held against a measurement are claims of one value: 1 is the guess.
 * @param entries the table of `lab.ledger()`, or rows of it.
 * @throws P2pError `usage` when it is none, or holds neither claims nor predictions.
 */
export function ledger(entries: Table, options: FigureOptions = {}): Figure {
  const style = styleOf(options, WHO);
  const { say } = style;
  const columns = [
    "kind",
    "id",
    "says",
    "result",
    "quantity",
    "claimed_low",
    "claimed_high",
    "found_low",
    "found_high",
  ];
  const all = rowsOf(entries, columns, WHO, "lab.ledger");
  const claims = all.filter((row) => row.kind === "claim").map((row) => claimOf(row, style));
  const guesses = all
    .filter((row) => row.kind === "prediction" && numberIn(row, "found_low", WHO) !== null)
    .map((row) => guessOf(row, style));
  const lines = [...claims, ...guesses];
  const checks = all.filter((row) => row.kind === "check");
  const passed = checks.filter((row) => row.result === "passed").length;
  const count = (result: string) => all.filter((row) => row.kind === "claim" && row.result === result).length;
  const places = lines.map((_, index) => index);
  const traces = [
    ...Object.entries(RESULTS).map(([result, look]) => marks(lines, result, look, style)),
    marks(lines, "guess", { zh: "猜测", en: "guess", symbol: "diamond", colour: PALETTE.green }, style),
  ].filter((trace) => (trace.x as unknown[]).length > 0);
  return new Figure({
    title:
      options.title ??
      say("结论登记：测得的区间对照所称的范围", "Claims: what was found against what was claimed"),
    traces,
    layout: {
      showlegend: traces.length > 0,
      shapes: lines.flatMap((line, index) => (line.at === null ? [] : [bandOf(line, index, style)])),
      annotations: lines.map((line, index) => textOf(line, index, style)),
      xaxis: {
        domain: [0, 0.62],
        title: { text: say("相对所称范围的位置", "place relative to the claimed range") },
        range: [-EDGE, 1 + EDGE],
        tickvals: [-0.75, 0, 1, 1.75],
        ticktext: [
          say("更低", "below"),
          say("下限", "low end"),
          say("上限", "high end"),
          say("更高", "above"),
        ],
        ticks: "",
        gridcolor: "rgba(0, 0, 0, 0)",
        fixedrange: true,
      },
      yaxis: {
        tickvals: places,
        ticktext: lines.map((line) => line.label),
        range: [Math.max(lines.length, 1) - 0.5, -0.5],
        fixedrange: true,
        showgrid: false,
        ticks: "",
      },
    },
    plotHeight: 30 + 58 * Math.max(lines.length, 1),
    origins: originsOfEntries(all),
    notes: [
      [
        ...Object.entries(RESULTS).map(([result, { zh, en }]) =>
          say(`${zh}${count(result)}条`, `${en} ${count(result)}`),
        ),
        ...(checks.length > 0
          ? [say(`练习通过${passed}/${checks.length}`, `checks passed ${passed} of ${checks.length}`)]
          : []),
      ].join(say("，", ", ")),
    ],
    summary:
      lines.length > 0
        ? lines.map((line) => `${line.id}: ${line.plain}`).join("; ")
        : say("没有结论", "no claims"),
    style,
  });
}

interface Line {
  readonly id: string;
  /** Tick: the name and what it says, wrapped. */
  readonly label: string;
  readonly result: string;
  /** Ends of what was found, in units of the claimed range; null where there is none to draw. */
  readonly at: readonly [number, number] | null;
  /** Numbers, beside the drawing, in Plotly's markup. */
  readonly text: string;
  /** The same for front ends that cannot draw. */
  readonly plain: string;
  readonly hover: string;
  readonly guess: boolean;
}

function claimOf(row: Row, style: Style): Line {
  const id = textIn(row, "id");
  const [low, high] = [numberIn(row, "claimed_low", WHO), numberIn(row, "claimed_high", WHO)];
  const [from, to] = [numberIn(row, "found_low", WHO), numberIn(row, "found_high", WHO)];
  const result = Object.hasOwn(RESULTS, String(row.result)) ? String(row.result) : "not-testable";
  const look = RESULTS[result] as (typeof RESULTS)[string];
  const verdict = `${look.mark} ${style.say(look.zh, look.en)}`;
  const ranged = low !== null && high !== null;
  const width = ranged ? high - low || Math.abs(low) || 1 : 1;
  const { short, unit } = quantityOf(textIn(row, "quantity"));
  const found =
    from === null || to === null ? "—" : from === to ? digits(from) : `${digits(from)}–${digits(to)}`;
  const claimed = `${style.say("，称 ", ", claimed ")}${digits(low ?? 0)}–${digits(high ?? 0)}${unit}`;
  return {
    id,
    label: labelOf(id, textIn(row, "says")),
    result,
    at: ranged && from !== null && to !== null ? [(from - low) / width, (to - low) / width] : null,
    text: ranged ? `${verdict}<br>${safe(short)} <b>${found}</b>${unit}${claimed}` : verdict,
    plain: ranged ? `${verdict} ${short} ${found}${unit}${claimed}` : verdict,
    hover: `<b>${safe(id)}</b><br>${safe(textIn(row, "says"))}<br>${wrap(textIn(row, "evidence"), 420, 12).map(safe).join("<br>")}<br>${safe(textIn(row, "provenance"))} · ${safe(textIn(row, "machine"))}`,
    guess: false,
  };
}

function guessOf(row: Row, style: Style): Line {
  const id = textIn(row, "id");
  const guess = numberIn(row, "claimed_low", WHO) ?? 0;
  const found = numberIn(row, "found_low", WHO) ?? 0;
  const unit = textIn(row, "quantity").replace(/^us$/, "µs");
  const ratio = guess === 0 ? null : found / guess;
  const said = (value: string, name: string) =>
    `${style.say("猜", "guessed ")} ${digits(guess)} ${name}${style.say("，实为 ", ", found ")}${value} ${name}${ratio === null ? "" : style.say(`（×${digits(ratio)}）`, ` (×${digits(ratio)})`)}`;
  return {
    id,
    label: labelOf(id, style.say("猜测", "guess")),
    result: "guess",
    at: ratio === null ? null : [ratio, ratio],
    text: said(`<b>${digits(found)}</b>`, safe(unit)),
    plain: said(digits(found), unit),
    hover: `<b>${safe(id)}</b>`,
    guess: true,
  };
}

function labelOf(id: string, says: string): string {
  const whole = wrap(says, 170, 11);
  const lines = (whole.length > 2 ? [whole[0] as string, `${whole[1]?.slice(0, -1)}…`] : whole).map(safe);
  return `<b>${safe(shortened(id, 24))}</b>${lines.map((line) => `<br><span style="font-size:11px">${line}</span>`).join("")}`;
}

/** `launch_us` is `launch` in microseconds. */
function quantityOf(column: string): { short: string; unit: string } {
  const units: Readonly<Record<string, string>> = {
    us: " µs",
    ns: " ns",
    gbps: " GB/s",
    pct: " %",
    bytes: " B",
  };
  const at = column.lastIndexOf("_");
  const unit = units[column.slice(at + 1)];
  if (unit === undefined) return { short: shortened(column, 16), unit: "" };
  return { short: shortened(column.slice(0, Math.max(at, 0)), 16), unit };
}

function clipped(value: number): number {
  return Math.min(1 + EDGE - 0.06, Math.max(-EDGE + 0.06, value));
}

function marks(
  lines: readonly Line[],
  result: string,
  look: { zh: string; en: string; symbol: string; colour: string },
  style: Style,
): PlotlyTrace {
  const own = lines.flatMap((line, y) =>
    line.result === result && line.at ? [{ line, y, at: line.at }] : [],
  );
  // An interval that goes on beyond the drawing has its mark at that edge, as an arrow.
  const right = (at: readonly [number, number]) => at[1] > 1 + EDGE;
  const left = (at: readonly [number, number]) => at[0] < -EDGE;
  const middle = own.map(({ at }) =>
    right(at) ? clipped(at[1]) : left(at) ? clipped(at[0]) : (at[0] + at[1]) / 2,
  );
  return {
    type: "scatter",
    mode: "markers",
    name: style.say(look.zh, look.en),
    x: middle,
    y: own.map(({ y }) => y),
    error_x: {
      type: "data",
      symmetric: false,
      array: own.map(({ at }, i) => clipped(at[1]) - (middle[i] as number)),
      arrayminus: own.map(({ at }, i) => (middle[i] as number) - clipped(at[0])),
      color: look.colour,
      thickness: 3,
      width: 6,
    },
    marker: {
      color: look.colour,
      size: 11,
      line: { color: style.ink, width: 1 },
      symbol: own.map(({ at }) => (right(at) ? "triangle-right" : left(at) ? "triangle-left" : look.symbol)),
    },
    text: own.map(({ line }) => line.hover),
    hoverinfo: "text",
  };
}

function bandOf(line: Line, y: number, style: Style): PlotlyLayout {
  return {
    type: line.guess ? "line" : "rect",
    x0: line.guess ? 1 : 0,
    x1: 1,
    y0: y - 0.3,
    y1: y + 0.3,
    layer: "below",
    fillcolor: style.grid,
    line: { color: style.faint, width: line.guess ? 2 : 1 },
  };
}

function textOf(line: Line, y: number, style: Style): PlotlyLayout {
  return {
    xref: "paper",
    x: 0.64,
    xanchor: "left",
    yref: "y",
    y,
    yanchor: "middle",
    align: "left",
    showarrow: false,
    text: line.text,
    font: { size: 12, color: line.result === "refuted" ? style.alarm : style.ink },
    hovertext: line.hover,
  };
}

/** Of entries that a measurement backs. */
function originsOfEntries(rows: readonly Row[]): Origin[] {
  const seen = new Map<string, Origin>();
  for (const row of rows) {
    if (typeof row.provenance !== "string") continue;
    const origin = {
      machine: textIn(row, "machine"),
      provenance: row.provenance,
      date: textIn(row, "entered").slice(0, 10),
    };
    seen.set(JSON.stringify(origin), origin);
  }
  return [...seen.values()];
}
