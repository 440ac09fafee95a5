/** Bars against time in rows: what timeline and schedule have in common. */
import { P2pError } from "../errors.js";
import type { Run } from "../machine.js";
import { type Span, spanAt } from "../timeline.js";
import type { PlotlyLayout, PlotlyTrace } from "./figure.js";
import { PATTERNS, type Style, textOn } from "./style.js";

export interface Bar {
  /** Name of the row. */
  readonly lane: string;
  /** What bars of one colour have in common; its name stands in the legend. */
  readonly group: string;
  readonly startUs: number;
  readonly endUs: number;
  /** Inside the bar, where there is room. */
  readonly label: string;
  readonly hover: string;
}

export interface Group {
  readonly name: string;
  readonly colour: string;
  /** Full height of its row, behind the others. */
  readonly behind?: boolean;
}

/** Above this many bars, those that lie within a pixel of each other become one. */
const MOST_BARS = 3000;
const PIXELS = 1200;
/** Above this many, labels inside bars are left out: they would not fit, and drawing them takes seconds. */
const MOST_LABELS = 400;

/**
 * Spans of one iteration of a traced run.
 * @returns the iteration's number and its spans, by start.
 * @throws P2pError `usage` when it is no run, has no trace, or not this iteration.
 */
export function iterationOf(run: unknown, asked: unknown, who: string): { iteration: number; spans: Span[] } {
  const { trace, traceReason } = (run ?? {}) as Partial<Run>;
  if (typeof (run as Run | null)?.provenance !== "object") {
    throw new P2pError(
      "usage",
      `${who} was given no run`,
      'Give it a run: await machine.run(program, { trace: "full" }).',
    );
  }
  if (!trace) {
    throw new P2pError(
      "usage",
      `this run has no timeline${traceReason ? `: ${traceReason}` : ""}`,
      'Run the program with { trace: "copies" } or { trace: "full" }.',
    );
  }
  const all = trace.timeline;
  const kept = [...new Set(all.iteration)].filter((iteration) => iteration >= 0).sort((a, b) => a - b);
  // A trace that was not cut into iterations is one of them.
  const wanted = asked ?? kept[Math.floor(kept.length / 2)] ?? -1;
  const spans: Span[] = [];
  for (let index = 0; index < all.kind.length; index++) {
    if (all.iteration[index] === wanted) spans.push(spanAt(all, index));
  }
  const finite = spans.every((span) => Number.isFinite(span.startNs) && span.endNs >= span.startNs);
  if (spans.length === 0 || !finite) {
    throw new P2pError(
      "usage",
      spans.length === 0
        ? `the timeline has no iteration ${String(wanted)}`
        : `iteration ${String(wanted)} of the timeline has a span that ends before it begins`,
      kept.length > 0 ? `It keeps iterations ${rangeText(kept)}.` : "The timeline holds no spans.",
    );
  }
  return { iteration: wanted as number, spans: spans.sort((a, b) => a.startNs - b.startNs) };
}

function rangeText(numbers: readonly number[]): string {
  return numbers.length > 8 ? `${numbers[0]} … ${numbers.at(-1)}` : numbers.join(", ");
}

/** Host first, then GPUs by number, then whatever else, each in the order of its first bar. */
export function sortedLanes(lanes: Iterable<string>): string[] {
  const rank = (lane: string) => {
    if (/^host/i.test(lane)) return -1;
    const gpu = /^GPU (\d+)/.exec(lane);
    return gpu ? Number(gpu[1]) : 1e6;
  };
  const found = [...new Set(lanes)];
  return found
    .map((lane, index) => ({ lane, index, rank: rank(lane) }))
    .sort((a, b) => a.rank - b.rank || a.index - b.index)
    .map(({ lane }) => lane);
}

export interface Chart {
  readonly traces: PlotlyTrace[];
  readonly yaxis: PlotlyLayout;
  readonly plotHeight: number;
  /** Vertical place of a bar, for arrows. */
  place(bar: Bar): number;
  /** How many bars were drawn as part of another. */
  readonly merged: number;
}

/**
 * Draws bars; where bars of a lane overlap it gets a further row. Many events are thinned for the window they are drawn in.
 * @param labels text of a lane's tick; default its name.
 */
export function chartOf(
  bars: readonly Bar[],
  lanes: readonly string[],
  groups: ReadonlyMap<string, Group>,
  style: Style,
  labels: ReadonlyMap<string, string> = new Map(),
): Chart {
  const drawn = bars.length > MOST_BARS ? thinned(bars, style) : [...bars];
  const rows = rowsFor(drawn, lanes, groups);
  const labelled = drawn.length <= MOST_LABELS;
  const traces = [...groups].flatMap(([group, look], index) => {
    const own = drawn.filter((bar) => bar.group === group);
    if (own.length === 0) return [];
    return [
      {
        type: "bar",
        orientation: "h",
        name: look.name,
        y: own.map((bar) => rows.place(bar)),
        base: own.map((bar) => bar.startUs),
        x: own.map((bar) => bar.endUs - bar.startUs),
        width: own.map((bar) => (look.behind ? rows.heightOf(bar.lane) - 0.08 : 0.62)),
        text: own.map((bar) => (look.behind || !labelled ? "" : bar.label)),
        textposition: labelled ? "inside" : "none",
        insidetextanchor: "middle",
        textangle: 0,
        insidetextfont: { color: textOn(look.colour), size: 11 },
        hovertext: own.map((bar) => bar.hover),
        hoverinfo: "text",
        marker: {
          color: look.colour,
          opacity: look.behind ? 0.35 : 1,
          line: { color: style.paper, width: labelled ? 1 : 0 },
          ...(look.behind || !labelled
            ? {}
            : {
                pattern: {
                  shape: PATTERNS[index % PATTERNS.length],
                  fillmode: "overlay",
                  fgcolor: textOn(look.colour),
                  fgopacity: 0.2,
                  size: 9,
                  solidity: 0.12,
                },
              }),
        },
      },
    ];
  });
  return {
    traces,
    yaxis: {
      tickvals: lanes.map((lane) => rows.centreOf(lane)),
      ticktext: lanes.map((lane) => labels.get(lane) ?? lane),
      range: [rows.count - 0.5, -0.5],
      fixedrange: true,
      showgrid: false,
      ticks: "",
    },
    plotHeight: Math.max(90, Math.min(900, 40 * rows.count)),
    place: rows.place,
    merged: bars.length - drawn.length,
  };
}

/** Gives each bar of a lane the first row in which it overlaps no other. */
function rowsFor(bars: readonly Bar[], lanes: readonly string[], groups: ReadonlyMap<string, Group>) {
  const ends = new Map<string, number[]>(lanes.map((lane) => [lane, []]));
  const rowOf = new Map<Bar, number>();
  for (const bar of [...bars].sort((a, b) => a.startUs - b.startUs || b.endUs - a.endUs)) {
    if (groups.get(bar.group)?.behind) continue;
    const open = ends.get(bar.lane) as number[];
    const free = open.findIndex((end) => end <= bar.startUs + 1e-9);
    const row = free >= 0 ? free : open.length;
    open[row] = bar.endUs;
    rowOf.set(bar, row);
  }
  const first = new Map<string, number>();
  let count = 0;
  for (const lane of lanes) {
    first.set(lane, count);
    count += Math.max(1, (ends.get(lane) as number[]).length);
  }
  const heightOf = (lane: string) => Math.max(1, (ends.get(lane) as number[]).length);
  const centreOf = (lane: string) => (first.get(lane) as number) + (heightOf(lane) - 1) / 2;
  const place = (bar: Bar) => {
    const row = rowOf.get(bar);
    return row === undefined ? centreOf(bar.lane) : (first.get(bar.lane) as number) + row;
  };
  return { count, heightOf, centreOf, place };
}

/** Neighbours of a lane and group closer than a pixel become one bar that says how many it stands for. */
function thinned(bars: readonly Bar[], style: Style): Bar[] {
  const low = bars.reduce((least, bar) => Math.min(least, bar.startUs), Number.POSITIVE_INFINITY);
  const high = bars.reduce((most, bar) => Math.max(most, bar.endUs), Number.NEGATIVE_INFINITY);
  const pixelUs = (high - low) / PIXELS;
  const kept: Bar[] = [];
  const open = new Map<string, { bar: Bar; count: number; endUs: number }>();
  const close = ({ bar, count, endUs }: { bar: Bar; count: number; endUs: number }) =>
    kept.push(
      count === 1
        ? bar
        : {
            ...bar,
            endUs,
            label: `×${count}`,
            hover: style.say(`${count}个事件，放大再看`, `${count} events: draw a shorter window`),
          },
    );
  for (const bar of [...bars].sort((a, b) => a.startUs - b.startUs)) {
    const key = `${bar.lane}\n${bar.group}`;
    const before = open.get(key);
    const short = bar.endUs - bar.startUs < pixelUs;
    if (
      before &&
      short &&
      bar.startUs - before.endUs < pixelUs &&
      (before.count > 1 || before.endUs - before.bar.startUs < pixelUs)
    ) {
      before.count++;
      before.endUs = Math.max(before.endUs, bar.endUs);
    } else {
      if (before) close(before);
      open.set(key, { bar, count: 1, endUs: bar.endUs });
    }
  }
  for (const last of open.values()) close(last);
  return kept;
}

/**
 * Keeps what lies in a window of time.
 * @throws P2pError `usage` for a window that is none, or empty.
 */
export function within(bars: readonly Bar[], window: unknown, who: string): readonly Bar[] {
  if (window === undefined) return bars;
  const [from, to] = Array.isArray(window) ? (window as unknown[]) : [];
  if (typeof from !== "number" || typeof to !== "number" || !(from < to)) {
    throw new P2pError(
      "usage",
      `${who} was given a window that is none`,
      "Give { window: [from, to] } in microseconds.",
    );
  }
  const kept = bars.filter((bar) => bar.endUs >= from && bar.startUs <= to);
  if (kept.length > 0) return kept;
  throw new P2pError("usage", `${who}: nothing happens between ${from} and ${to} µs`, "Give another window.");
}
