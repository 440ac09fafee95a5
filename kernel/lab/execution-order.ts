import { P2pError } from "./errors.js";
import type { StepOperation } from "./operations.js";
import type { Program } from "./program.js";

/**
 * The operations of one iteration in an order in which they could take place: each stream in the order submitted, what
 * waits after what it waits for, nothing before the host syncs that come before it. Of what could go next, what was
 * submitted first does.
 * @throws P2pError `program` when something waits for what can only come after it.
 */
export function executionOrder(program: Program): StepOperation[] {
  const operations = program.data.operations as readonly StepOperation[];
  const done = new Array<boolean>(operations.length).fill(false);
  const conditions = conditionsOf(operations);
  const ready = (i: number) =>
    !done[i] && (conditions[i] as Condition[]).every((before) => before.some((j) => done[j]));
  const order: StepOperation[] = [];
  let first = 0;
  while (order.length < operations.length) {
    while (done[first]) first++;
    let next = first;
    while (next < operations.length && !ready(next)) next++;
    if (next === operations.length) throw stuck(operations, done);
    done[next] = true;
    order.push(operations[next] as StepOperation);
  }
  return order;
}

/** Puts and receives with the same route belong together. */
export function routeOf(o: Extract<StepOperation, { op: "put" | "receive" }>): string {
  return JSON.stringify([o.op === "put" ? o.dst : o.window, o.protocol, o.flag ?? null]);
}

/** Operations of which one must be done. */
type Condition = readonly number[];

function conditionsOf(operations: readonly StepOperation[]): Condition[][] {
  const signals = grouped(operations, (o) => (o.op === "signal" ? wordOf(o) : null));
  const puts = grouped(operations, (o) => (o.op === "put" ? routeOf(o) : null));
  const lastOfStream = new Map<string, number>();
  const recorded = new Map<string, number>();
  const received = new Map<string, number>();
  let lastSync: number | undefined;
  return operations.map((o, i) => {
    const before = [lastOfStream.get(o.stream), lastSync];
    const conditions: Condition[] = before.flatMap((j) => (j === undefined ? [] : [[j]]));
    if (o.op === "wait") conditions.push([recorded.get(o.event) ?? -1]);
    if (o.op === "await") conditions.push(signals.get(wordOf(o)) ?? []);
    if (o.op === "receive") {
      const route = routeOf(o);
      const index = received.get(route) ?? 0;
      received.set(route, index + 1);
      conditions.push((puts.get(route) ?? []).slice(index));
    }
    if (o.op === "record") recorded.set(o.event, i);
    if (o.op === "sync") lastSync = i;
    lastOfStream.set(o.stream, i);
    return conditions;
  });
}

function wordOf(o: Extract<StepOperation, { op: "signal" | "await" }>): string {
  return JSON.stringify([o.buffer, o.offset]);
}

/** Indices of the operations that have a key, by it. */
function grouped(
  operations: readonly StepOperation[],
  keyOf: (o: StepOperation) => string | null,
): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (const [i, o] of operations.entries()) {
    const key = keyOf(o);
    if (key !== null) groups.set(key, [...(groups.get(key) ?? []), i]);
  }
  return groups;
}

function stuck(operations: readonly StepOperation[], done: readonly boolean[]): P2pError {
  const waiting = operations.find(
    (o, i) => !done[i] && (o.op === "wait" || o.op === "await" || o.op === "receive"),
  ) as Extract<StepOperation, { op: "wait" | "await" | "receive" }>;
  const what =
    waiting.op === "receive"
      ? `a put into "${waiting.window}"`
      : waiting.op === "await"
        ? `a signal to ${waiting.buffer}+${waiting.offset}`
        : `event "${waiting.event}"`;
  return new P2pError(
    "program",
    `stream "${waiting.stream}" waits for ${what} that comes only after it, so that an iteration would never end`,
    "Let another stream send, and sync only after it was submitted.",
  );
}
