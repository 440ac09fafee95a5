import { P2pError } from "../../errors.js";
import type { RunOptions } from "../../machine.js";
import type { CopyOperation } from "../../operations.js";
import type { Operation, Program, SyncMethod } from "../../program.js";

/** Ways of waiting that the model has costs for. */
export type ModelledSync = Extract<SyncMethod, "spin" | "yield" | "block">;

/** Operations that the model knows. */
export type ModelledOperation =
  | CopyOperation
  | Extract<Operation, { op: "record" | "wait" }>
  | { readonly op: "sync"; readonly stream: string; readonly method: ModelledSync };

/**
 * The model answers with what it knows; anything else is refused by name, never guessed.
 * @throws P2pError `not-available` naming the first thing that it lacks.
 */
export function requireModelled(program: Program, options: RunOptions, machine: string): void {
  const { operations, buffers, submit } = program.data;
  const unknown =
    operations.map((o) => unmodelled(o)).find((name) => name !== null) ??
    (submit ? `submission as a ${submit}` : null) ??
    (options.mode === "throughput" ? "throughput mode" : null) ??
    buffers.flatMap(({ place }) =>
      "gpu" in place && place.allocator ? [`allocator ${place.allocator}`] : [],
    )[0];
  if (!unknown) return;
  throw new P2pError(
    "not-available",
    `the model of ${machine} knows no ${unknown}`,
    "It models copies by the copy engine, events and syncs by spin, yield and block; for the rest use real GPUs or a recording.",
  );
}

/** What of an operation the model lacks; null when nothing. */
function unmodelled(o: Operation): string | null {
  if (o.op === "copy") return o.engine ?? (o.api === "batch" ? "batch copies" : null);
  if (o.op === "sync") return ["spin", "yield", "block"].includes(o.method) ? null : `sync by ${o.method}`;
  return ["record", "wait"].includes(o.op) ? null : o.op;
}
