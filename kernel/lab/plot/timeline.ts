import { P2pError } from "../errors.js";
import type { Run } from "../machine.js";
import { type Span, spanAt, type Timeline } from "../timeline.js";
import { formatBytes, formatNs } from "../units.js";
import { originsOfRuns } from "./ecdf.js";
import { Figure, importedOrigin, type Origin, type PlotlyLayout, safe } from "./figure.js";
import { type Bar, type Chart, chartOf, type Group, iterationOf, sortedLanes, within } from "./gantt.js";
import { type FigureOptions, PALETTE, type Style, shortened, styleOf } from "./style.js";

const WHO = "plot.timeline";

const KINDS: Readonly<Record<string, readonly [zh: string, en: string, colour: string]>> = {
  iteration: ["迭代 iteration", "iteration", PALETTE.grey],
  api: ["API调用 API call", "API call", PALETTE.sky],
  copy: ["拷贝 copy", "copy", PALETTE.green],
  kernel: ["核函数 kernel", "kernel", PALETTE.orange],
  memset: ["置数 memset", "memset", PALETTE.blue],
  graph: ["图 graph", "graph", PALETTE.blue],
  sync: ["同步 sync", "sync", PALETTE.purple],
  range: ["命名区间 named range", "named range", PALETTE.grey],
  overhead: ["工具与驱动开销 overhead", "overhead", PALETTE.vermilion],
};
/** More arrows than this hide the bars that they join. */
const MOST_ARROWS = 40;
/** More spans than this take seconds to draw, and show nothing. */
const MOST_SPANS = 200_000;

/**
 * One iteration of a traced run, or an imported timeline, as a Gantt chart: the host's calls, then each GPU's engines or
 * streams, an arrow from the call to the work it submitted where the trace knows. Drag to zoom in time, double-click to see
 * all.
 * @param of a run with a trace, an import with a timeline (`await lab.import("report.sqlite")`), or a timeline.
 * @param options.iteration of a run, which one, from 0; default the middle of those kept.
 * @param options.window part of it, [from, to] in microseconds from its begin.
 * @throws P2pError `usage` when there is no timeline, nothing in that iteration or window, or too much to draw.
 */
export function timeline(
  of: Run | Timeline | { readonly timeline: Timeline | null },
  options: FigureOptions & { iteration?: number; window?: readonly [number, number] } = {},
): Figure {
  const style = styleOf(options, WHO, ["iteration", "window"]);
  const { say } = style;
  const { iteration, spans, zeroNs, origins } = partOf(of, options);
  const all = spans.map((span) => barOf(span, zeroNs));
  const bars = within(all, options.window, WHO);
  const kept = new Set(bars);
  const lanes = sortedLanes(bars.map((bar) => bar.lane));
  const labels = new Map(lanes.map((lane) => [lane, safe(shortened(lane, 34))]));
  const chart = chartOf(bars, lanes, groupsOf(bars, style), style, labels);
  const pairs = joined(spans, all).filter(({ from, to }) => kept.has(from) && kept.has(to));
  const arrows = chart.merged === 0 && pairs.length <= MOST_ARROWS ? pairs : [];
  const notes = [
    ...(chart.merged > 0
      ? [
          say(
            `${bars.length}个事件：不足一个像素的相邻事件画在一起（window: [起, 止]看细节）`,
            `${bars.length} events: neighbours within a pixel are drawn as one (window: [from, to] shows more)`,
          ),
        ]
      : []),
    ...(pairs.length > arrows.length && chart.merged === 0
      ? [say(`${pairs.length}个箭头没有画出`, `${pairs.length} arrows are left out`)]
      : []),
  ];
  return new Figure({
    title: options.title ?? titleOf(iteration, style),
    traces: chart.traces,
    layout: {
      barmode: "overlay",
      uniformtext: { minsize: 9, mode: "hide" },
      showlegend: true,
      dragmode: "zoom",
      annotations: arrows.map((arrow) => arrowOf(arrow, chart, style)),
      xaxis: {
        title: { text: say("时间（µs，从提交开始）", "time (µs, from the first submission)") },
        ...(options.window ? { range: [...options.window] } : {}),
      },
      yaxis: chart.yaxis,
    },
    plotHeight: chart.plotHeight,
    origins,
    notes,
    summary: [
      ...spans.slice(0, 12).map((span) => `${nameOf(span)} ${formatNs(span.endNs - span.startNs)}`),
      ...(spans.length > 12 ? [`… ${spans.length} events`] : []),
    ].join("; "),
    style,
  });
}

interface Part {
  /** -1 where the timeline was not cut into iterations. */
  readonly iteration: number;
  /** By their begin. */
  readonly spans: readonly Span[];
  readonly zeroNs: number;
  readonly origins: readonly Origin[];
}

function partOf(of: unknown, options: { iteration?: number; window?: readonly [number, number] }): Part {
  const given = (typeof of === "object" && of !== null ? of : {}) as Partial<
    Run & { timeline: Timeline | null }
  >;
  const imported =
    given.timeline ?? ((of as Timeline | null)?.startNs instanceof Float64Array ? (of as Timeline) : null);
  if (typeof given.provenance === "object" || !imported) {
    const { iteration, spans } = iterationOf(of, options.iteration, WHO);
    return { iteration, spans, zeroNs: (spans[0] as Span).startNs, origins: originsOfRuns([of as Run]) };
  }
  const spans = spansIn(imported, options.window);
  return { iteration: -1, spans, zeroNs: 0, origins: [importedOrigin(imported.origin)] };
}

/** Of an import, only what lies in the window becomes bars: a file may hold millions of spans. */
function spansIn(timeline: Timeline, window: readonly [number, number] | undefined): Span[] {
  const [fromNs, toNs] = Array.isArray(window)
    ? [Number(window[0]) * 1e3, Number(window[1]) * 1e3]
    : [-Infinity, Infinity];
  const spans: Span[] = [];
  for (let row = 0; row < timeline.startNs.length; row++) {
    if ((timeline.endNs[row] as number) < fromNs || (timeline.startNs[row] as number) > toNs) continue;
    if (spans.length === MOST_SPANS) {
      throw new P2pError(
        "usage",
        `${WHO}: more than ${MOST_SPANS} spans lie ${window ? "in the window" : `on the timeline of ${formatNs(lengthOf(timeline))}`}`,
        "Give a shorter { window: [from, to] } in microseconds.",
      );
    }
    spans.push(spanAt(timeline, row));
  }
  if (spans.length > 0) return spans.sort((a, b) => a.startNs - b.startNs);
  throw new P2pError(
    "usage",
    `${WHO}: the timeline holds no span${window ? " in the window" : ""}`,
    `The timeline is ${formatNs(lengthOf(timeline))} long.`,
  );
}

function lengthOf({ endNs }: Timeline): number {
  return endNs.reduce((most, end) => Math.max(most, end), 0);
}

function titleOf(iteration: number, { say }: Style): string {
  return iteration < 0
    ? say("时间线", "Timeline")
    : say(`时间线：第${iteration}次迭代`, `Timeline of iteration ${iteration}`);
}

function barOf(span: Span, zeroNs: number): Bar {
  const startUs = (span.startNs - zeroNs) / 1e3;
  const endUs = (span.endNs - zeroNs) / 1e3;
  const took = formatNs(span.endNs - span.startNs);
  return {
    lane: span.lane,
    group: span.kind,
    startUs,
    endUs,
    label: safe(`${shortened(nameOf(span), 28)} ${took}`),
    hover: `<b>${safe(nameOf(span))}</b><br>${safe(span.lane)}<br>${startUs.toFixed(2)} … ${endUs.toFixed(2)} µs<br>${took}`,
  };
}

function nameOf(span: Span): string {
  return span.bytes > 0 ? `${span.name} ${formatBytes(span.bytes)}` : span.name;
}

function groupsOf(bars: readonly Bar[], { say }: Style): Map<string, Group> {
  const seen = new Set(bars.map((bar) => bar.group));
  const kinds = [...Object.keys(KINDS), ...[...seen].filter((kind) => !Object.hasOwn(KINDS, kind))];
  return new Map(
    kinds
      .filter((kind) => seen.has(kind))
      .map((kind): [string, Group] => {
        const [zh, en, colour] = KINDS[kind] ?? [kind, kind, PALETTE.vermilion];
        return [kind, { name: say(zh, en), colour, behind: kind === "iteration" }];
      }),
  );
}

interface Joined {
  readonly from: Bar;
  readonly to: Bar;
}

/** Calls and the first work that each submitted. */
function joined(spans: readonly Span[], bars: readonly Bar[]): Joined[] {
  const calls = new Map<number, Bar>();
  for (const [index, span] of spans.entries()) {
    if (span.kind === "api" && span.correlation > 0) calls.set(span.correlation, bars[index] as Bar);
  }
  const pairs: Joined[] = [];
  for (const [index, span] of spans.entries()) {
    if (span.kind !== "copy" && span.kind !== "kernel") continue;
    const from = calls.get(span.correlation);
    if (!from) continue;
    calls.delete(span.correlation);
    pairs.push({ from, to: bars[index] as Bar });
  }
  return pairs;
}

function arrowOf({ from, to }: Joined, chart: Chart, style: Style): PlotlyLayout {
  return {
    text: "",
    showarrow: true,
    xref: "x",
    yref: "y",
    axref: "x",
    ayref: "y",
    x: to.startUs,
    y: chart.place(to) - 0.31,
    ax: from.endUs,
    ay: chart.place(from) + 0.31,
    arrowhead: 2,
    arrowsize: 0.9,
    arrowwidth: 1.2,
    arrowcolor: style.faint,
  };
}
