import type { Table } from "../../measure/table.js";
import type { SpanKind } from "../../timeline.js";
import { entryOf } from "./spread.js";
import { type Submissions, submissionsOf, WORK } from "./submissions.js";
import { counted, resultOf, type TimelineSource, type View, viewOf, type WindowOptions } from "./view.js";

const COLUMNS = ["part", "name", "n", "total_us", "share_pct"] as const;
/** How far back a predecessor is looked for among its neighbours; nesting and parallel lanes are no deeper. */
const MOST_LOOKED_AT = 64;

/** One stretch of the path. The stretches lie end to end: together they are as long as the path. */
interface Step {
  readonly part: string;
  readonly name: string;
  readonly fromNs: number;
  readonly toNs: number;
}

/**
 * The chain of causes that ends with the last span: walked back in time, from each span to the one that it had to wait for. Work on a
 * GPU waits for the work before it in its stream or, when the stream was empty, for its call; a synchronising call waits for the last
 * work that ended in it; any other call waits for the one before it on its thread. Where the program lets streams wait for
 * events, work that began later than both waits for the last work that ended elsewhere: a file does not say for which, so
 * that this is a likely cause, not a certain one. What the GPUs wait for from other processes is not seen.
 * @returns a row a part and name, the longest first: `part` (`copy`, `kernel`, `memset`, `graph`: the GPU works; `launch`: from the call until the GPU
 * begins; `GPU idle`: between two pieces of work in a stream; `notice`: from the end of the work until the waiting call
 * returns; `call`: the host in a call; `host`: between two calls), `name`, `n`, `total_us`, `share_pct` of the path, `inputs`,
 * `reason` and the provenance columns. The parts add up to the path's length.
 * @throws P2pError `usage` when there is no timeline.
 */
export function criticalPath(of: TimelineSource, options?: WindowOptions): Table {
  const view = viewOf(of, options, "lab.timeline.criticalPath");
  const submissions = submissionsOf(view);
  const steps = submissions.calls === 0 ? [] : new Walk(view, submissions).steps();
  const lengthNs = steps.reduce((sum, { fromNs, toNs }) => sum + toNs - fromNs, 0);
  const groups = new Map<string, { part: string; name: string; n: number; totalNs: number }>();
  for (const { part, name, fromNs, toNs } of steps) {
    const group = entryOf(groups, `${part}\n${name}`, () => ({ part, name, n: 0, totalNs: 0 }));
    group.n++;
    group.totalNs += toNs - fromNs;
  }
  const rows = [...groups.values()]
    .sort((a, b) => b.totalNs - a.totalNs)
    .map(({ part, name, n, totalNs }) => ({
      part,
      name,
      n,
      total_us: totalNs / 1e3,
      share_pct: lengthNs > 0 ? (100 * totalNs) / lengthNs : null,
    }));
  const inputs = `${counted(steps.length, "step")} of ${(lengthNs / 1e3).toFixed(1)} µs; ${submissions.joined} of ${submissions.joined + submissions.unjoined} pieces of work joined to ${submissions.calls} calls`;
  return resultOf(
    view,
    COLUMNS,
    rows,
    inputs,
    "no calls were recorded: without them nothing says what the work waited for",
  );
}

class Walk {
  readonly #view: View;
  readonly #submissions: Submissions;
  /** Rows of each lane by their begin, and the place of each row in its lane. */
  readonly #lanes = new Map<string, number[]>();
  readonly #place: Int32Array;
  /** Work by its end. */
  readonly #byEnd: Uint32Array;
  readonly #streamsWait: boolean;

  constructor(view: View, submissions: Submissions) {
    this.#view = view;
    this.#submissions = submissions;
    const { kind, lane, name, endNs } = view.timeline;
    this.#place = new Int32Array(kind.length).fill(-1);
    const work: number[] = [];
    let streamsWait = false;
    for (const row of view.order) {
      const own = kind[row] as SpanKind;
      if (!WORK.has(own) && own !== "api" && own !== "sync") continue;
      const rows = entryOf(this.#lanes, lane[row] as string, () => []);
      this.#place[row] = rows.push(row) - 1;
      if (WORK.has(own)) work.push(row);
      else streamsWait ||= (name[row] as string).includes("StreamWaitEvent");
    }
    this.#byEnd = Uint32Array.from(work).sort((a, b) => (endNs[a] as number) - (endNs[b] as number));
    this.#streamsWait = streamsWait;
  }

  /** From the last step to the first. */
  steps(): Step[] {
    const { name, kind, startNs, endNs } = this.#view.timeline;
    const steps: Step[] = [];
    const visited = new Uint8Array(kind.length);
    let row = this.#last();
    let atNs = row < 0 ? 0 : (endNs[row] as number);
    const step = (part: string, of: number, fromNs: number) => {
      if (fromNs < atNs) steps.push({ part, name: name[of] as string, fromNs, toNs: atNs });
      atNs = Math.min(atNs, fromNs);
    };
    /** From the begin of a call to the one before it on its thread. */
    const back = (call: number) => {
      const before = this.#before(call);
      if (before >= 0) step("host", call, endNs[before] as number);
      return before;
    };
    while (row >= 0 && visited[row] === 0) {
      visited[row] = 1;
      if (WORK.has(kind[row] as SpanKind)) {
        step(kind[row] as string, row, startNs[row] as number);
        const { cause, part } = this.#causeOfWork(row);
        if (cause < 0) break;
        if (part === "launch") {
          // A submission lies somewhere in its call: all of the call counts as launch.
          step(part, cause, startNs[cause] as number);
          row = back(cause);
        } else {
          step(part, row, endNs[cause] as number);
          row = cause;
        }
        continue;
      }
      const waited = this.#waitedFor(row, atNs);
      if (waited >= 0 && visited[waited] === 0) {
        step("notice", row, endNs[waited] as number);
        row = waited;
      } else {
        step("call", row, startNs[row] as number);
        row = back(row);
      }
    }
    return steps;
  }

  /** The end of all. A thread that submits nothing takes no part: one that only looks after others goes on for ever. */
  #last(): number {
    const { lane, endNs } = this.#view.timeline;
    const submitting = new Set<string>();
    for (const row of this.#byEnd) {
      submitting.add(lane[row] as string);
      const call = this.#submissions.callOf[row] as number;
      if (call >= 0) submitting.add(lane[call] as string);
    }
    let last = -1;
    for (const [own, rows] of this.#lanes) {
      if (!submitting.has(own)) continue;
      for (const row of rows) if (last < 0 || (endNs[row] as number) > (endNs[last] as number)) last = row;
    }
    return last;
  }

  #causeOfWork(row: number): { cause: number; part: string } {
    const { startNs, endNs } = this.#view.timeline;
    const call = this.#submissions.callOf[row] as number;
    const inWindow = call >= 0 && (this.#place[call] as number) >= 0 ? call : -1;
    const before = this.#before(row);
    const beforeEnd = before >= 0 ? (endNs[before] as number) : Number.NEGATIVE_INFINITY;
    const callEnd =
      inWindow >= 0 ? Math.min(endNs[inWindow] as number, startNs[row] as number) : Number.NEGATIVE_INFINITY;
    if (this.#streamsWait) {
      const other = this.#endedLast(startNs[row] as number, Math.max(beforeEnd, callEnd), row);
      if (other >= 0) return { cause: other, part: "GPU idle" };
    }
    if (inWindow >= 0 && callEnd > beforeEnd) return { cause: inWindow, part: "launch" };
    return { cause: before >= 0 ? before : inWindow, part: before >= 0 ? "GPU idle" : "launch" };
  }

  /** The work whose end a call made the host wait for: a synchronising one any of its process, another the copy that it submitted. */
  #waitedFor(row: number, atNs: number): number {
    const { kind, startNs, endNs } = this.#view.timeline;
    const last = this.#endedLast(Math.min(endNs[row] as number, atNs), startNs[row] as number, row);
    if (last < 0 || kind[row] === "sync") return last;
    return this.#submissions.callOf[last] === row ? last : -1;
  }

  /** The work of the same process that ended last, by `untilNs` but behind `afterNs`; not `except` itself. */
  #endedLast(untilNs: number, afterNs: number, except: number): number {
    const { endNs } = this.#view.timeline;
    const { process } = this.#view.details;
    let [low, high] = [0, this.#byEnd.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((endNs[this.#byEnd[middle] as number] as number) <= untilNs) low = middle + 1;
      else high = middle;
    }
    for (let i = low - 1; i >= Math.max(0, low - MOST_LOOKED_AT); i--) {
      const row = this.#byEnd[i] as number;
      if ((endNs[row] as number) <= afterNs) return -1;
      if (row !== except && process[row] === process[except]) return row;
    }
    return -1;
  }

  /** The span before it in its lane that had ended when it began. */
  #before(row: number): number {
    const { lane, startNs, endNs } = this.#view.timeline;
    const rows = this.#lanes.get(lane[row] as string) ?? [];
    const place = this.#place[row] as number;
    for (let i = place - 1; i >= Math.max(0, place - MOST_LOOKED_AT); i--) {
      if ((endNs[rows[i] as number] as number) <= (startNs[row] as number)) return rows[i] as number;
    }
    return -1;
  }
}
