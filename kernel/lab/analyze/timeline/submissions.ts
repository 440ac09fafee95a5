import type { SpanKind, Timeline } from "../../timeline.js";
import type { View } from "./view.js";

/** Kinds of spans that a GPU works on. */
export const WORK: ReadonlySet<SpanKind> = new Set(["copy", "kernel", "memset", "graph"]);

/** Which call submitted which work. */
export interface Submissions {
  /** Row of the call of each row, -1 where it is none or not on the timeline. */
  readonly callOf: Int32Array;
  /** Rows of work whose call is known, and that is the first of its call: the others of a graph only follow it. */
  readonly first: Uint32Array;
  /** Work of graph nodes behind the first of a launch. */
  readonly laterNodes: number;
  /** Work with a call, and without one (a capture that began later, migrations of unified memory). */
  readonly joined: number;
  readonly unjoined: number;
  /** Calls on the timeline. */
  readonly calls: number;
}

/**
 * Joins work to calls by correlation, which importers make unique over processes. Where a runtime call and the driver call
 * inside it share a number, the outer one submitted. Spans outside the window take part too: a call may lie before it.
 */
export function submissionsOf(view: View): Submissions {
  let known = KNOWN.get(view.order);
  if (!known) {
    known = joinedOf(view);
    KNOWN.set(view.order, known);
  }
  return known;
}

/** By the order of a view, which is kept for whole timelines. */
const KNOWN = new WeakMap<Uint32Array, Submissions>();

function joinedOf({ timeline, order }: View): Submissions {
  const { kind, startNs, correlation } = timeline;
  const rows = startNs.length;
  const calls = callsOf(timeline);
  const callOf = new Int32Array(rows).fill(-1);
  const first = new Uint32Array(order.length);
  const seen = new Uint8Array(rows);
  let [firsts, joined, unjoined, laterNodes] = [0, 0, 0, 0];
  for (const row of order) {
    if (!WORK.has(kind[row] as SpanKind)) continue;
    const call = calls.get(correlation[row] as number) ?? -1;
    callOf[row] = call;
    if (call < 0) {
      unjoined++;
      continue;
    }
    joined++;
    if (seen[call] === 1) laterNodes++;
    else first[firsts++] = row;
    seen[call] = 1;
  }
  return { callOf, first: first.subarray(0, firsts), laterNodes, joined, unjoined, calls: calls.size };
}

/** Row of the call of each correlation number. */
function callsOf({ kind, correlation, startNs }: Timeline): {
  get(id: number): number | undefined;
  readonly size: number;
} {
  let [least, most, size] = [Number.POSITIVE_INFINITY, 0, 0];
  const isCall = (row: number) =>
    (kind[row] === "api" || kind[row] === "sync") && (correlation[row] as number) > 0;
  for (let row = 0; row < startNs.length; row++) {
    if (!isCall(row)) continue;
    size++;
    least = Math.min(least, correlation[row] as number);
    most = Math.max(most, correlation[row] as number);
  }
  // Numbers of one process are dense: a list of them takes a tenth of the memory and time of a map.
  const table = most - least < DENSE * size + 1024 ? new Dense(least, most) : new Map<number, number>();
  for (let row = 0; row < startNs.length; row++) {
    if (!isCall(row)) continue;
    const id = correlation[row] as number;
    const known = table.get(id);
    if (known === undefined || (startNs[row] as number) < (startNs[known] as number)) table.set(id, row);
  }
  return table;
}

const DENSE = 8;

class Dense {
  readonly #least: number;
  readonly #rows: Int32Array;
  size = 0;

  constructor(least: number, most: number) {
    this.#least = least;
    this.#rows = new Int32Array(Math.max(0, most - least + 1)).fill(-1);
  }

  get(id: number): number | undefined {
    const row = this.#rows[id - this.#least];
    return row === undefined || row < 0 ? undefined : row;
  }

  set(id: number, row: number): void {
    if ((this.#rows[id - this.#least] as number) < 0) this.size++;
    this.#rows[id - this.#least] = row;
  }
}

/** For the `inputs` column. */
export function submissionInputs({ joined, unjoined, calls }: Submissions): string {
  return `${joined} of ${joined + unjoined} pieces of work joined to ${calls} calls`;
}
