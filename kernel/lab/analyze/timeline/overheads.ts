import type { Table } from "../../measure/table.js";
import { type Intervals, meets, unionOf } from "./intervals.js";
import { entryOf, spreadColumns, spreadOf } from "./spread.js";
import { counted, resultOf, type TimelineSource, type View, viewOf, type WindowOptions } from "./view.js";

/** Importers begin the names of what only the profiler causes with this word. */
const PROFILER = "profiler";

/** With more names than this, the calls that each touched are not counted. */
const MOST_COUNTED = 32;

const COLUMNS = [
  "overhead",
  "by",
  "n",
  "total_us",
  "share_pct",
  ...spreadColumns("duration"),
  "calls_touched",
] as const;

/**
 * What the profiler and the driver did on their own behalf. Calls that meet a stretch of the profiler are slower than they would be
 * without it: `launches` and `waits` leave them out and count them. What the driver does (lazy loading, just-in-time
 * compilation) happens without a profiler too, and is left in.
 * @returns a row a name: `overhead`, `by` (`profiler` or `driver`), `n`, `total_us`, `share_pct` of the timeline's length,
 * `duration_*_us`, `calls_touched` (calls of the same thread that meet it), `inputs`, `reason` and the provenance columns.
 * @throws P2pError `usage` when there is no timeline.
 */
export function overheads(of: TimelineSource, options?: WindowOptions): Table {
  const view = viewOf(of, options, "lab.timeline.overheads");
  const { kind, name, lane, startNs, endNs } = view.timeline;
  const groups = new Map<string, { rows: number[]; calls: number }>();
  for (const row of view.order) {
    if (kind[row] === "overhead") {
      entryOf(groups, name[row] as string, () => ({ rows: [], calls: 0 })).rows.push(row);
    }
  }
  let calls = 0;
  for (const group of groups.size > MOST_COUNTED ? [] : groups.values()) {
    const byLane = unionsByLane(view, group.rows);
    for (const row of view.order) {
      if (kind[row] !== "api" && kind[row] !== "sync") continue;
      const own = byLane.get(lane[row] as string);
      if (own && meets(own, startNs[row] as number, endNs[row] as number)) group.calls++;
    }
  }
  for (const row of view.order) if (kind[row] === "api" || kind[row] === "sync") calls++;
  const rows = [...groups].map(([overhead, { rows: own, calls: touched }]) => {
    const durations = own.map((row) => (endNs[row] as number) - (startNs[row] as number));
    const totalNs = durations.reduce((sum, ns) => sum + ns, 0);
    return {
      overhead,
      by: overhead.startsWith(PROFILER) ? PROFILER : "driver",
      n: own.length,
      total_us: totalNs / 1e3,
      share_pct: view.lengthNs > 0 ? (100 * totalNs) / view.lengthNs : null,
      ...spreadOf("duration", durations),
      calls_touched: groups.size > MOST_COUNTED ? null : touched,
    };
  });
  rows.sort((a, b) => b.total_us - a.total_us);
  const inputs = `${counted(
    rows.reduce((sum, { n }) => sum + n, 0),
    "overhead",
  )}, ${counted(calls, "call")}`;
  return resultOf(
    view,
    COLUMNS,
    rows,
    inputs,
    "no overhead was recorded: not every profiler does, and none happened otherwise",
  );
}

/** The stretches in which the profiler held up a host thread, by lane. */
export function profilerStretches(view: View): ReadonlyMap<string, Intervals> {
  const { kind, name } = view.timeline;
  const rows: number[] = [];
  for (const row of view.order) {
    if (kind[row] === "overhead" && (name[row] as string).startsWith(PROFILER)) rows.push(row);
  }
  return unionsByLane(view, rows);
}

function unionsByLane({ timeline }: View, rows: readonly number[]): Map<string, Intervals> {
  const lanes = new Map<string, number[]>();
  for (const row of rows) entryOf(lanes, timeline.lane[row] as string, () => []).push(row);
  return new Map(
    [...lanes].map(([lane, own]) => [lane, unionOf(own, timeline.startNs, timeline.endNs)] as const),
  );
}
