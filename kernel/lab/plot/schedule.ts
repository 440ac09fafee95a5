import type { Run } from "../machine.js";
import type { Span } from "../timeline.js";
import { formatBytes, formatNs } from "../units.js";
import { originsOfRuns } from "./ecdf.js";
import { Figure, safe } from "./figure.js";
import { type Bar, chartOf, type Group, iterationOf } from "./gantt.js";
import { digits, type FigureOptions, seriesStyles, shortened, styleOf } from "./style.js";

const WHO = "plot.schedule";
/** More ways than this get no colour each; then each destination has one. */
const MOST_WAYS = 7;

/**
 * The schedule that a program comes to: a row a stream, its operations against time, coloured by the way the bytes take.
 * The share of the time that each stream is busy stands beside its name, the whole length at the last bar's end.
 * @param run a run with a trace, of a simulated machine to see a plan before it runs on real GPUs.
 * @param options.iteration which one, from 0; default the middle of those kept.
 * @throws P2pError `usage` when the run has no trace, or no operation in that iteration.
 */
export function schedule(run: Run, options: FigureOptions & { iteration?: number } = {}): Figure {
  const style = styleOf(options, WHO, ["iteration"]);
  const { say } = style;
  const { spans } = iterationOf(run, options.iteration, WHO);
  const program = programOf(run);
  const work = spans.filter(
    (span) => span.kind !== "iteration" && span.kind !== "api" && span.kind !== "sync",
  );
  const zeroNs = (spans[0] as Span).startNs;
  const streamOf = streamsOf(program);
  const crowded = new Set(work.map((span) => wayOf(span, program.places))).size > MOST_WAYS;
  const bars = work.map((span): Bar => {
    const startUs = (span.startNs - zeroNs) / 1e3;
    const endUs = (span.endNs - zeroNs) / 1e3;
    const size = span.bytes > 0 ? ` ${formatBytes(span.bytes)}` : "";
    return {
      lane: streamOf(span),
      group: crowded ? wayOf(span, program.places).replace(/^.* → /, "→ ") : wayOf(span, program.places),
      startUs,
      endUs,
      label: safe(`${shortened(span.name, 24)}${size}`),
      hover: `<b>${safe(span.name)}${size}</b><br>${safe(span.lane)}<br>${startUs.toFixed(2)} … ${endUs.toFixed(2)} µs<br>${formatNs(span.endNs - span.startNs)}`,
    };
  });
  const ways = [...new Set(bars.map((bar) => bar.group))].sort(naturally);
  const looks = seriesStyles(ways);
  const groups = new Map<string, Group>(
    ways.map((way, index) => [way, { name: way, colour: looks[index]?.colour as string }]),
  );
  const lanes = [...new Set([...program.streams, ...bars.map((bar) => bar.lane)])].filter((lane) =>
    bars.some((bar) => bar.lane === lane),
  );
  const endUs = bars.reduce((last, bar) => Math.max(last, bar.endUs), 0);
  const labels = new Map(
    lanes.map((lane) => [
      lane,
      `${safe(shortened(lane, 22))}<br>${say("忙 ", "busy ")}${((100 * busyUs(bars, lane)) / Math.max(endUs, 1e-9)).toFixed(0)} %`,
    ]),
  );
  const chart = chartOf(bars, lanes, groups, style, labels);
  return new Figure({
    title: options.title ?? say("调度：每条流上的操作", "Schedule: what each stream does"),
    traces: chart.traces,
    layout: {
      barmode: "overlay",
      uniformtext: { minsize: 9, mode: "hide" },
      showlegend: true,
      dragmode: "zoom",
      shapes: [
        {
          type: "line",
          xref: "x",
          yref: "paper",
          x0: endUs,
          x1: endUs,
          y0: 0,
          y1: 1,
          line: { color: style.ink, width: 1.2, dash: "dash" },
        },
      ],
      xaxis: {
        title: { text: say("时间（µs，从提交开始）", "time (µs, from the first submission)") },
        range: [0, endUs * 1.02],
      },
      yaxis: chart.yaxis,
    },
    plotHeight: Math.max(chart.plotHeight, 44 * lanes.length),
    origins: originsOfRuns([run]),
    notes: [
      say(
        `全长 ${digits(endUs)} µs（虚线），${bars.length}个操作，${lanes.length}条流`,
        `${digits(endUs)} µs in all (dashed), ${bars.length} operations on ${lanes.length} streams`,
      ),
      ...(chart.merged > 0
        ? [say("不足一个像素的相邻操作画在一起", "neighbours within a pixel are drawn as one")]
        : []),
    ],
    summary: lanes.map((lane) => `${lane} busy ${digits(busyUs(bars, lane))} µs`).join("; "),
    style,
  });
}

interface ProgramFacts {
  /** Names of rows, in the order in which the program declares its streams. */
  readonly streams: readonly string[];
  /** Where each buffer lies, such as `GPU 0` or `host`. */
  readonly places: ReadonlyMap<string, string>;
  readonly copies: readonly { readonly name: string; readonly stream: string }[];
}

function programOf(run: Run): ProgramFacts {
  const { buffers, streams, operations } = run.program.data;
  const laneOf = new Map(streams.map(({ name, gpu }) => [name, `GPU ${gpu} · ${name}`]));
  return {
    streams: [...laneOf.values()],
    places: new Map(buffers.map(({ name, place }) => [name, "gpu" in place ? `GPU ${place.gpu}` : "host"])),
    copies: operations.flatMap((o) =>
      o.op === "copy" ? [{ name: `${o.src} → ${o.dst}`, stream: laneOf.get(o.stream) ?? o.stream }] : [],
    ),
  };
}

/** The stream of each copy, by its name and how often that name was seen; of other work, the row that the trace gives it. */
function streamsOf(program: ProgramFacts): (span: Span) => string {
  const byName = new Map<string, string[]>();
  for (const { name, stream } of program.copies) byName.set(name, [...(byName.get(name) ?? []), stream]);
  const seen = new Map<string, number>();
  return (span) => {
    const streams = byName.get(span.name);
    if (span.kind !== "copy" || !streams) return span.lane;
    const nth = seen.get(span.name) ?? 0;
    seen.set(span.name, nth + 1);
    return streams[Math.min(nth, streams.length - 1)] as string;
  };
}

function wayOf(span: Span, places: ReadonlyMap<string, string>): string {
  if (span.kind !== "copy") return span.kind;
  const [src, dst] = span.name.split(" → ").map((name) => places.get(name));
  return src && dst ? `${src} → ${dst}` : "copy";
}

/** Time in which a lane does anything: the union of its bars. */
function busyUs(bars: readonly Bar[], lane: string): number {
  let busy = 0;
  let until = Number.NEGATIVE_INFINITY;
  for (const bar of bars.filter((own) => own.lane === lane).sort((a, b) => a.startUs - b.startUs)) {
    busy += Math.max(0, bar.endUs - Math.max(bar.startUs, until));
    until = Math.max(until, bar.endUs);
  }
  return busy;
}

function naturally(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}
