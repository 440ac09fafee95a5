import type { Table } from "../../measure/table.js";
import type { SpanKind } from "../../timeline.js";
import { submissionsOf } from "./submissions.js";
import { resultOf, type TimelineSource, type View, viewOf, type WindowOptions } from "./view.js";

const COLUMNS = ["check", "state", "value", "unit"] as const;

type Check = Record<(typeof COLUMNS)[number] | "reason", unknown>;

/** Below this share of joined work, gaps between calls and work are those of a part. */
const GOOD_JOIN_PCT = 95;
/** Above this share of the host's time in calls, the profiler itself shows. */
const MUCH_OVERHEAD_PCT = 5;

/**
 * What a timeline can answer, and what it cannot. Nothing here calls a machine healthy: an empty capture passes no check.
 * @returns a row a check: `check`, `state` (`ok`, `limited`: read the reason before the numbers, `missing`: what needs it abstains, `note`: said by
 * the import), `value`, `unit`, `inputs`, `reason` and the provenance columns.
 * @throws P2pError `usage` when there is no timeline.
 */
export function health(of: TimelineSource, options?: WindowOptions): Table {
  const view = viewOf(of, options, "lab.timeline.health");
  const counts = countsOf(view);
  const rows = [
    present("calls", counts.calls, "launches, waits, firsts and the critical path need them"),
    present("copies", counts.copies, "copies, gaps, overlaps, staging and bytes need them"),
    present("kernels", counts.kernels, "overlaps and communication need them"),
    present("ranges", counts.ranges, "attribution to ranges needs them"),
    joinCheck(view),
    ...copyChecks(view, counts.copies),
    graphCheck(view),
    overheadCheck(view, counts.callNs),
    ...view.notes.map(
      (note): Check => ({ check: "import", state: "note", value: null, unit: null, reason: note }),
    ),
  ];
  const inputs = `${view.order.length} spans over ${(view.lengthNs / 1e3).toFixed(1)} µs from ${view.timeline.source}`;
  return resultOf(view, COLUMNS, rows, inputs, "the timeline is empty");
}

function countsOf({ timeline, order }: View) {
  const counts = { calls: 0, copies: 0, kernels: 0, ranges: 0, callNs: 0 };
  for (const row of order) {
    const kind = timeline.kind[row] as SpanKind;
    if (kind === "api" || kind === "sync") {
      counts.calls++;
      counts.callNs += (timeline.endNs[row] as number) - (timeline.startNs[row] as number);
    } else if (kind === "copy") counts.copies++;
    else if (kind === "kernel") counts.kernels++;
    else if (kind === "range") counts.ranges++;
  }
  return counts;
}

function present(what: string, count: number, need: string): Check {
  const reason =
    count > 0 ? null : `none was recorded, or none happened: the file cannot tell which; ${need}`;
  return { check: `${what} recorded`, state: count > 0 ? "ok" : "missing", value: count, unit: what, reason };
}

function joinCheck(view: View): Check {
  const { joined, unjoined } = submissionsOf(view);
  const share = joined + unjoined === 0 ? null : (100 * joined) / (joined + unjoined);
  return {
    check: "work joined to its call",
    state: share === null ? "missing" : share >= GOOD_JOIN_PCT ? "ok" : "limited",
    value: share,
    unit: "%",
    reason:
      share === null
        ? "no work on a GPU was recorded"
        : share >= GOOD_JOIN_PCT
          ? null
          : `${unjoined} of ${joined + unjoined} pieces of work have no call: the capture began in between, or calls were left out of it`,
  };
}

function copyChecks({ timeline, details, order }: View, copies: number): Check[] {
  if (copies === 0) return [];
  const unknown = { direction: 0, bytes: 0, pair: 0, pageable: 0 };
  for (const row of order) {
    if (timeline.kind[row] !== "copy") continue;
    const kind = details.copyKind[row];
    if (kind === null) unknown.direction++;
    if (timeline.bytes[row] === 0) unknown.bytes++;
    const pairMissing = (details.from[row] as number) < 0 || (details.to[row] as number) < 0;
    if (kind === "PtoP" && pairMissing) unknown.pair++;
    if (details.memory[row]?.includes("Pageable")) unknown.pageable++;
  }
  const limited = (check: string, count: number, reason: string): Check => ({
    check,
    state: count === 0 ? "ok" : "limited",
    value: copies - count,
    unit: "copies",
    reason: count === 0 ? null : `${count} of ${copies} ${reason}`,
  });
  return [
    limited("direction of copies known", unknown.direction, "have a kind that is not known"),
    limited("bytes of copies known", unknown.bytes, "have none: their rate is not known"),
    limited("pair of peer copies known", unknown.pair, "peer copies do not say between which GPUs"),
    limited(
      "copies from page-locked memory",
      unknown.pageable,
      "are of pageable memory: the driver stages them, and they are not asynchronous",
    ),
  ];
}

function graphCheck(view: View): Check {
  const { laterNodes } = submissionsOf(view);
  const { kind } = view.timeline;
  let graphs = 0;
  for (const row of view.order) if (kind[row] === "graph") graphs++;
  const limits = [
    ...(laterNodes > 0
      ? [
          `${laterNodes} nodes of graphs share the call of their launch: only the first of a launch has a gap of its own`,
        ]
      : []),
    ...(graphs > 0 ? [`${graphs} graphs were recorded whole: what is in them is not known`] : []),
  ];
  return {
    check: "graphs",
    state: limits.length === 0 ? "ok" : "limited",
    value: graphs,
    unit: "whole graphs",
    reason: limits.length === 0 ? null : limits.join("; "),
  };
}

function overheadCheck({ timeline, order }: View, callNs: number): Check {
  let [count, overheadNs] = [0, 0];
  for (const row of order) {
    if (timeline.kind[row] !== "overhead" || !(timeline.name[row] as string).startsWith("profiler")) continue;
    count++;
    overheadNs += (timeline.endNs[row] as number) - (timeline.startNs[row] as number);
  }
  const share = callNs > 0 ? (100 * overheadNs) / callNs : null;
  const much = share !== null && share > MUCH_OVERHEAD_PCT;
  return {
    check: "overhead of the profiler",
    state: count === 0 ? "missing" : much ? "limited" : "ok",
    value: share,
    unit: "% of the time in calls",
    reason:
      count === 0
        ? "none was recorded, which does not say that there was none"
        : much
          ? "calls that meet it are left out of launches and waits"
          : null,
  };
}
