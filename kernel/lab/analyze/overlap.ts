import { P2pError } from "../errors.js";
import type { Run } from "../machine.js";
import { provenanceFields, type Table, tableOf } from "../measure/table.js";
import { type SpanKind, spanAt, type Timeline } from "../timeline.js";
import { nsToUs } from "../units.js";

interface Interval {
  readonly startNs: number;
  readonly endNs: number;
}

/**
 * How much of the copying on a timeline is hidden behind kernels: times are of the union of all spans of a kind, so that two
 * copies side by side count once.
 * @param of a run that was traced (`trace: "full"` records kernels on real GPUs), an import, or a timeline.
 * @returns a row an iteration (one row where spans name none): `iteration`, `copy_us`, `kernel_us`, `both_us` (while copies and
 * kernels run), `overlap` (both over the shorter of the two: 1 is all that can be had), `hidden` (both over copy), `reason` (why
 * they are null), and, of a run or an import, the provenance columns.
 * @throws P2pError `usage` when there is no timeline.
 */
export function overlap(of: Run | Timeline | { readonly timeline: Timeline | null }): Table {
  const timeline = timelineOf(of);
  const origin =
    "provenance" in of
      ? provenanceFields(of.provenance)
      : timeline.origin
        ? { ...timeline.origin, date: timeline.origin.date?.slice(0, 10) ?? null }
        : {};
  const iterations = [...new Set(timeline.iteration)].sort((a, b) => a - b);
  const rows = iterations.flatMap((iteration) => {
    const copies = unionOf(timeline, iteration, "copy");
    const kernels = unionOf(timeline, iteration, "kernel");
    if (copies.length === 0 && kernels.length === 0) return [];
    const [copyNs, kernelNs] = [lengthOf(copies), lengthOf(kernels)];
    const bothNs = lengthOf(common(copies, kernels));
    const known = copyNs > 0 && kernelNs > 0;
    return [
      {
        iteration,
        copy_us: nsToUs(copyNs),
        kernel_us: nsToUs(kernelNs),
        both_us: nsToUs(bothNs),
        overlap: known ? bothNs / Math.min(copyNs, kernelNs) : null,
        hidden: known ? bothNs / copyNs : null,
        reason: known ? null : `the timeline shows no ${copyNs > 0 ? "kernel" : "copy"}`,
        ...origin,
      },
    ];
  });
  if (rows.length > 0) return tableOf(rows);
  throw new P2pError(
    "usage",
    "lab.overlap was given a timeline without copies and kernels",
    'Run a program that copies and computes, with { trace: "full" }.',
  );
}

function timelineOf(of: unknown): Timeline {
  const given = (typeof of === "object" ? of : null) as
    | (Partial<Run & Timeline> & { timeline?: Timeline | null })
    | null;
  const timeline =
    given?.trace?.timeline ?? given?.timeline ?? (given?.startNs instanceof Float64Array ? of : null);
  if (timeline) return timeline as Timeline;
  const why =
    given && "trace" in given
      ? `a run without a trace (${given.traceReason ?? "none was asked for"})`
      : "no run";
  throw new P2pError(
    "usage",
    `lab.overlap was given ${why}`,
    'Trace it: machine.run(program, { trace: "full" }).',
  );
}

/** Disjoint intervals, ascending. */
function unionOf(timeline: Timeline, iteration: number, kind: SpanKind): Interval[] {
  const spans = timeline.kind
    .flatMap((own, i) => (own === kind && timeline.iteration[i] === iteration ? [spanAt(timeline, i)] : []))
    .sort((a, b) => a.startNs - b.startNs);
  const union: { startNs: number; endNs: number }[] = [];
  for (const { startNs, endNs } of spans) {
    const last = union.at(-1);
    if (last && startNs <= last.endNs) last.endNs = Math.max(last.endNs, endNs);
    else union.push({ startNs, endNs });
  }
  return union;
}

/** What two unions share. */
function common(a: readonly Interval[], b: readonly Interval[]): Interval[] {
  const shared: Interval[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [x, y] = [a[i] as Interval, b[j] as Interval];
    const startNs = Math.max(x.startNs, y.startNs);
    const endNs = Math.min(x.endNs, y.endNs);
    if (endNs > startNs) shared.push({ startNs, endNs });
    if (x.endNs < y.endNs) i++;
    else j++;
  }
  return shared;
}

function lengthOf(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, { startNs, endNs }) => sum + endNs - startNs, 0);
}
