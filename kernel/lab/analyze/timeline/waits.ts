import type { Table } from "../../measure/table.js";
import { meets } from "./intervals.js";
import { profilerStretches } from "./overheads.js";
import { entryOf, spreadColumns, spreadOf } from "./spread.js";
import { submissionsOf } from "./submissions.js";
import { counted, resultOf, type TimelineSource, viewOf, type WindowOptions } from "./view.js";

const COLUMNS = [
  "call",
  "n",
  "total_us",
  "share_pct",
  ...spreadColumns("wait"),
  "after_copy",
  "left_out",
] as const;

/**
 * How long the host waits, by the call that it waits in. A wait that lies in another of the same thread counts in the outer one.
 * @returns a row a call: `call`, `n`, `total_us`, `share_pct` of the timeline's length (above 100 where threads wait side by side), `wait_*_us`,
 * `after_copy` (waits right behind a call of the same thread that submitted a copy: such copies are not asynchronous to it),
 * `left_out` (held up by the profiler), `inputs`, `reason` and the provenance columns.
 * @throws P2pError `usage` when there is no timeline.
 */
export function waits(of: TimelineSource, options?: WindowOptions): Table {
  const view = viewOf(of, options, "lab.timeline.waits");
  const { kind, name, lane, startNs, endNs } = view.timeline;
  const held = profilerStretches(view);
  const { callOf } = submissionsOf(view);
  const submitsCopy = new Uint8Array(kind.length);
  for (const row of view.order) {
    const call = callOf[row] as number;
    if (kind[row] === "copy" && call >= 0) submitsCopy[call] = 1;
  }
  const groups = new Map<string, { waits: number[]; afterCopy: number; leftOut: number }>();
  const lanes = new Map<string, { before: number; waitingUntilNs: number }>();
  let [waiting, calls] = [0, 0];
  for (const row of view.order) {
    if (kind[row] !== "sync" && kind[row] !== "api") continue;
    calls++;
    const own = entryOf(lanes, lane[row] as string, () => ({
      before: -1,
      waitingUntilNs: Number.NEGATIVE_INFINITY,
    }));
    const [begin, end] = [startNs[row] as number, endNs[row] as number];
    if (kind[row] === "sync" && !(begin < own.waitingUntilNs && end <= own.waitingUntilNs)) {
      waiting++;
      own.waitingUntilNs = end;
      const group = entryOf(groups, name[row] as string, () => ({ waits: [], afterCopy: 0, leftOut: 0 }));
      const stretches = held.get(lane[row] as string);
      if (stretches && meets(stretches, begin, end)) {
        group.leftOut++;
      } else {
        group.waits.push(end - begin);
        if (own.before >= 0 && submitsCopy[own.before] === 1) group.afterCopy++;
      }
    }
    own.before = row;
  }
  const rows = [...groups].map(([call, group]) => {
    const totalNs = group.waits.reduce((sum, ns) => sum + ns, 0);
    return {
      call,
      n: group.waits.length,
      total_us: totalNs / 1e3,
      share_pct: view.lengthNs > 0 ? (100 * totalNs) / view.lengthNs : null,
      ...spreadOf("wait", group.waits),
      after_copy: group.afterCopy,
      left_out: group.leftOut,
      reason: group.waits.length > 0 ? null : "the profiler held up every one of these calls",
    };
  });
  rows.sort((a, b) => b.total_us - a.total_us);
  const inputs = `${counted(waiting, "wait")} among ${counted(calls, "call")} of ${counted(lanes.size, "thread")}`;
  const none =
    calls === 0
      ? "no calls were recorded: trace the CUDA API too"
      : "no call waits for a GPU: the host may poll";
  return resultOf(view, COLUMNS, rows, inputs, none);
}
