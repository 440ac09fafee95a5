import { P2pError } from "../errors.js";
import type { Run } from "../machine.js";
import { type Span, type SpanKind, spanAt } from "../timeline.js";
import { formatBytes } from "../units.js";
import { Figure } from "./figure.js";

const KIND_COLOURS: Record<SpanKind, string> = {
  iteration: "#CBD2D9",
  api: "#56B4E9",
  copy: "#009E73",
  kernel: "#E69F00",
  sync: "#CC79A7",
};

/**
 * One iteration of a traced run as a Gantt chart, a row a lane.
 * @param run a run with a trace.
 * @param options.iteration which one, from 0; default the middle of those kept.
 * @throws P2pError `usage` when the run has no trace or the iteration no spans.
 */
export function timeline(run: Run, options: { title?: string; iteration?: number } = {}): Figure {
  if (!run.trace) {
    throw new P2pError(
      "usage",
      `this run has no timeline${run.traceReason ? `: ${run.traceReason}` : ""}`,
      'Run the program with { trace: "copies" } or { trace: "full" }.',
    );
  }
  const all = run.trace.timeline;
  const iterations = [...new Set(all.iteration)].filter((iteration) => iteration >= 0).sort((a, b) => a - b);
  const wanted = options.iteration ?? iterations[Math.floor(iterations.length / 2)];
  const spans = all.kind.map((_, index) => spanAt(all, index)).filter((span) => span.iteration === wanted);
  if (spans.length === 0) {
    throw new P2pError(
      "usage",
      `the timeline has no iteration ${wanted}`,
      `It keeps iterations ${iterations.join(", ")}.`,
    );
  }
  const zeroNs = Math.min(...spans.map((span) => span.startNs));
  const lanes = [...new Set(spans.map((span) => span.lane))];
  const kinds = [...new Set(spans.map((span) => span.kind))];
  const traces = kinds.map((kind) => {
    const own = spans.filter((span) => span.kind === kind);
    return {
      type: "bar",
      orientation: "h",
      name: kind,
      y: own.map((span) => span.lane),
      base: own.map((span) => (span.startNs - zeroNs) / 1e3),
      x: own.map((span) => (span.endNs - span.startNs) / 1e3),
      text: own.map(label),
      textposition: "none",
      hovertemplate: "%{text}<extra></extra>",
      marker: { color: KIND_COLOURS[kind], line: { color: "#FFFFFF", width: 1 } },
    };
  });
  const { kind, machine, date } = run.provenance;
  return new Figure(
    traces,
    {
      title: options.title ?? `时间线：第 ${wanted} 次迭代`,
      barmode: "overlay",
      height: 180 + 46 * lanes.length,
      xaxis: { title: { text: "时间（µs，从提交开始）" } },
      yaxis: { categoryorder: "array", categoryarray: [...lanes].reverse() },
    },
    [{ provenance: kind, machine, date: date.slice(0, 10) }],
    spans.map(label).join("; "),
  );
}

function label(span: Span): string {
  const size = span.bytes > 0 ? ` ${formatBytes(span.bytes)}` : "";
  return `${span.name}${size} ${((span.endNs - span.startNs) / 1e3).toFixed(2)} µs`;
}
