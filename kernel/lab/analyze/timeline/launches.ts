import type { Table } from "../../measure/table.js";
import { meets } from "./intervals.js";
import { profilerStretches } from "./overheads.js";
import { entryOf, spreadColumns, spreadOf } from "./spread.js";
import { submissionInputs, submissionsOf } from "./submissions.js";
import { resultOf, type TimelineSource, viewOf, type WindowOptions } from "./view.js";

const COLUMNS = [
  "call",
  "work",
  "n",
  ...spreadColumns("start"),
  ...spreadColumns("queue"),
  "began_in_call",
  "call_median_us",
  "left_out",
] as const;

/**
 * From the submitting call to the begin of the work on the GPU. `start_*`: from the call's begin (clock: the profiler's, host and
 * GPU brought together by it, so that gaps below a few microseconds carry its error). `queue_*`: from the call's return;
 * 0 where the work began before the call returned, which `began_in_call` counts (all copies that return only when done).
 * Of a graph, only the first node counts: the others wait for it, not for the call.
 * @returns a row a call and kind of work: `call`, `work` (a direction of copies, `kernel`, `memset` or `graph`), `n`, `start_*_us`, `queue_*_us`,
 * `began_in_call`, `call_median_us` (the call itself), `left_out` (calls held up by the profiler), `inputs`, `reason` and the
 * provenance columns.
 * @throws P2pError `usage` when there is no timeline.
 */
export function launches(of: TimelineSource, options?: WindowOptions): Table {
  const view = viewOf(of, options, "lab.timeline.launches");
  const { kind, name, lane, startNs, endNs } = view.timeline;
  const submissions = submissionsOf(view);
  const held = profilerStretches(view);
  const calls = new Map<string, Map<string, Group>>();
  for (const row of submissions.first) {
    const call = submissions.callOf[row] as number;
    const work = kind[row] === "copy" ? (view.details.copyKind[row] ?? "copy") : (kind[row] as string);
    const groups = entryOf(calls, name[call] as string, () => new Map<string, Group>());
    const group = entryOf(groups, work, () => ({
      call: name[call] as string,
      work,
      start: [],
      queue: [],
      took: [],
      beganInCall: 0,
      leftOut: 0,
    }));
    const [begin, back] = [startNs[call] as number, endNs[call] as number];
    const stretches = held.get(lane[call] as string);
    if (stretches && meets(stretches, begin, back)) {
      group.leftOut++;
      continue;
    }
    const start = startNs[row] as number;
    group.start.push(start - begin);
    group.queue.push(Math.max(0, start - back));
    group.took.push(back - begin);
    if (start < back) group.beganInCall++;
  }
  const found = [...calls.values()].flatMap((groups) => [...groups.values()]);
  const rows = found.map((group) => ({
    call: group.call,
    work: group.work,
    n: group.start.length,
    ...spreadOf("start", group.start),
    ...spreadOf("queue", group.queue),
    began_in_call: group.beganInCall,
    call_median_us: spreadOf("call", group.took).call_median_us,
    left_out: group.leftOut,
    reason: group.start.length > 0 ? null : "the profiler held up every one of these calls",
  }));
  rows.sort((a, b) => b.n - a.n);
  const nodes =
    submissions.laterNodes > 0 ? `, ${submissions.laterNodes} later nodes of graphs left out` : "";
  const none =
    submissions.calls === 0
      ? "no calls were recorded: trace the CUDA API too"
      : submissions.joined + submissions.unjoined === 0
        ? "no work on a GPU was recorded"
        : "no work has the correlation number of a recorded call: the capture may have begun in between";
  return resultOf(view, COLUMNS, rows, submissionInputs(submissions) + nodes, none);
}

interface Group {
  readonly call: string;
  readonly work: string;
  readonly start: number[];
  readonly queue: number[];
  readonly took: number[];
  beganInCall: number;
  leftOut: number;
}
