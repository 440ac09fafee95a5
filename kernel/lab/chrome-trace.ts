import { P2pError, shown } from "./errors.js";
import { writeFileAtomic } from "./files.js";
import type { Provenance, Run } from "./machine.js";
import { type Span, spanAt, type Timeline } from "./timeline.js";

/** One event of the Chrome trace event format; times in microseconds. */
export interface ChromeEvent {
  /** `M` names a process or thread, `X` is a span, `s` and `f` are the ends of an arrow. */
  readonly ph: "M" | "X" | "s" | "f";
  readonly pid: number;
  readonly tid: number;
  readonly name: string;
  readonly cat?: string;
  readonly ts?: number;
  readonly dur?: number;
  /** Joins the two ends of an arrow. */
  readonly id?: number;
  /** `e`: the arrow ends in the span that encloses its time. */
  readonly bp?: "e";
  readonly args?: Readonly<Record<string, string | number>>;
}

/** What chrome://tracing, Perfetto and Nsight-style viewers open. */
export interface ChromeTrace {
  readonly traceEvents: readonly ChromeEvent[];
  readonly displayTimeUnit: "ns";
  /** Where the trace comes from. */
  readonly otherData: Readonly<Record<string, string | number | readonly string[]>>;
}

/**
 * The timeline of a traced run as a Chrome trace: open the file in https://ui.perfetto.dev or chrome://tracing.
 * Processes are the host and each GPU, and say by name whether they were measured, recorded or simulated; threads are the
 * lanes of the timeline. Every span is a complete event with bytes, correlation and iteration in its arguments; where
 * the tracer recorded the driver's calls, an arrow leads from a call to each piece of work that it submitted. Times are microseconds from the first iteration's t0.
 * @throws P2pError `usage` when the run has no trace.
 */
export function chromeTrace(run: Run): ChromeTrace {
  if (!run?.trace?.timeline || !run.provenance) {
    throw new P2pError(
      "usage",
      run?.provenance
        ? `this run has no timeline${run.traceReason ? `: ${run.traceReason}` : ""}`
        : `lab.chromeTrace was given ${shown(run)}, which is no run`,
      'Run the program with { trace: "full" }.',
    );
  }
  const { kind, machine, date, source } = run.provenance;
  return {
    traceEvents: eventsOf(run.trace.timeline, run.provenance),
    displayTimeUnit: "ns",
    otherData: {
      schema: "p2plab-chrome-trace/1",
      provenance: kind,
      machine,
      date,
      source,
      tracer: run.trace.timeline.source,
      program: run.program.hash,
      warnings: run.warnings,
    },
  };
}

/**
 * Writes {@link chromeTrace} as JSON, whole or not at all.
 * @throws P2pError `usage` when the run has no trace, `output` when the file cannot be written.
 */
export function writeTrace(run: Run, file: string): void {
  writeFileAtomic(file, JSON.stringify(chromeTrace(run)));
}

interface Track {
  readonly pid: number;
  readonly tid: number;
  readonly name: string;
}

function eventsOf(timeline: Timeline, provenance: Provenance): ChromeEvent[] {
  const spans = timeline.kind.map((_, index) => wholeNs(spanAt(timeline, index)));
  spans.sort((a, b) => a.startNs - b.startNs || b.endNs - a.endNs);
  const placed = tracksOf(spans);
  const events = spans.map((span, index) => completeEvent(span, placed[index] as Track));
  for (const arrow of arrowsOf(spans, placed)) events.push(arrow);
  // Stable: an arrow stays behind the span that it starts or ends in.
  events.sort((a, b) => (a.ts as number) - (b.ts as number));
  return [...namesOf(placed, provenance), ...events];
}

/** Whole nanoseconds: neighbours that touch still touch after rounding. */
function wholeNs(span: Span): Span {
  return { ...span, startNs: Math.round(span.startNs), endNs: Math.round(span.endNs) };
}

function completeEvent(span: Span, { pid, tid }: Track): ChromeEvent {
  const args: Record<string, string | number> = {};
  if (span.bytes > 0) args.bytes = span.bytes;
  if (span.correlation > 0) args.correlation = span.correlation;
  if (span.iteration >= 0) args.iteration = span.iteration;
  const dur = (span.endNs - span.startNs) / 1e3;
  return { ph: "X", name: span.name, cat: span.kind, ts: span.startNs / 1e3, dur, pid, tid, args };
}

/** The host is process 1, GPU g process g + 2. */
function pidOf(lane: string): number {
  const gpu = /^GPU (\d+)\b/.exec(lane);
  return gpu ? Number(gpu[1]) + 2 : 1;
}

/**
 * A thread for each span: one a lane. The format lets spans of a thread nest but not overlap in part; what would, goes to a
 * further thread of the same lane.
 */
function tracksOf(spans: readonly Span[]): Track[] {
  const lanes = new Map<string, { track: Track; open: number[] }[]>();
  let tid = 0;
  return spans.map((span) => {
    const threads = lanes.get(span.lane) ?? [];
    lanes.set(span.lane, threads);
    let thread = threads.find(({ open }) => fits(span, open));
    if (!thread) {
      const name = threads.length === 0 ? span.lane : `${span.lane} (${threads.length + 1})`;
      thread = { track: { pid: pidOf(span.lane), tid: ++tid, name }, open: [] };
      threads.push(thread);
    }
    thread.open.push(span.endNs);
    return thread.track;
  });
}

/** Whether a span lies behind or inside what is open on a thread; closes what has ended. */
function fits(span: Span, open: number[]): boolean {
  while (open.length > 0 && (open.at(-1) as number) <= span.startNs) open.pop();
  return open.length === 0 || span.endNs <= (open.at(-1) as number);
}

/** An arrow from each driver call to each piece of work with its correlation number. */
function arrowsOf(spans: readonly Span[], placed: readonly Track[]): ChromeEvent[] {
  const calls = new Map<number, number>();
  for (const [index, span] of spans.entries()) {
    if (span.kind === "api" && span.correlation > 0) calls.set(span.correlation, index);
  }
  const arrows: ChromeEvent[] = [];
  let id = 0;
  for (const [index, work] of spans.entries()) {
    const from = calls.get(work.correlation);
    if (from === undefined || pidOf(work.lane) === 1) continue;
    const call = spans[from] as Span;
    id++;
    const ends = { name: "submits", cat: "flow", id };
    const [start, end] = [placed[from] as Track, placed[index] as Track];
    arrows.push({ ph: "s", ...ends, ts: call.startNs / 1e3, pid: start.pid, tid: start.tid });
    arrows.push({ ph: "f", bp: "e", ...ends, ts: work.startNs / 1e3, pid: end.pid, tid: end.tid });
  }
  return arrows;
}

function namesOf(placed: readonly Track[], { kind, machine }: Provenance): ChromeEvent[] {
  const tracks = [...new Map(placed.map((track) => [track.tid, track])).values()];
  const pids = [...new Set(tracks.map((track) => track.pid))].sort((a, b) => a - b);
  const word = kind === "simulated" ? "SIMULATED, not a measurement" : kind;
  return [
    ...pids.flatMap((pid): ChromeEvent[] => {
      const name = `${pid === 1 ? "host" : `GPU ${pid - 2}`} (${word}: ${machine})`;
      return [
        { ph: "M", pid, tid: 0, name: "process_name", args: { name } },
        { ph: "M", pid, tid: 0, name: "process_sort_index", args: { sort_index: pid } },
      ];
    }),
    ...tracks.map(
      ({ pid, tid, name }): ChromeEvent => ({ ph: "M", pid, tid, name: "thread_name", args: { name } }),
    ),
  ];
}
