/** What was found out about a pair of GPUs before anything between them is timed. */
import { P2pError } from "./errors.js";
import type { Allocator } from "./operations.js";

/**
 * `ok`: every byte and flag arrived, seen by its owner. `no-p2p`: the GPUs cannot reach each other's memory, by what the
 * driver says. `broken`: bytes or flags are lost or damaged though every call succeeds, or access ends in an error.
 * `mirror`: the writer reads back what it wrote, while the owner of the memory never sees it. `hang`: something never
 * completes. `inconclusive`: nothing was found out (no memory, the probe's process ended, no addon).
 */
export type Outcome = "ok" | "no-p2p" | "broken" | "mirror" | "hang" | "inconclusive";

/**
 * The rungs, in order: the driver's own word; memory, contexts and peer access; bytes by copy engine and by kernel, written
 * by the source GPU and read by the destination GPU; a flag behind each payload; flags sent to and fro.
 */
export type Stage =
  | "start"
  | "capability"
  | "mapping"
  | "copy-engine write"
  | "copy-engine read"
  | "kernel write"
  | "kernel read"
  | "put"
  | "ping-pong";

/** The verdict of an ordered pair (data flows from → to) for memory of one allocator. */
export interface Verdict {
  readonly from: number;
  readonly to: number;
  readonly allocator: Allocator;
  readonly outcome: Outcome;
  /** Where the ladder ended: the last rung when `ok`. */
  readonly stage: Stage;
  /** What was seen, in words. */
  readonly reason: string;
  /** What to look at next; empty when `ok`. */
  readonly next: string;
}

export const ALLOCATORS: readonly Allocator[] = ["malloc", "pool", "vmm"];

export interface VerdictOptions {
  /** Ordered pairs; default all. */
  readonly pairs?: readonly { readonly from: number; readonly to: number }[];
  /** Default all three. */
  readonly allocators?: readonly Allocator[];
  readonly signal?: AbortSignal;
}

/** A program was refused because a pair that it uses is not `ok`. */
export class VerdictError extends P2pError {
  readonly verdict: Verdict;

  constructor(verdict: Verdict) {
    const { from, to, allocator, outcome, stage, reason, next } = verdict;
    const seen = outcome === "broken" || outcome === "mirror" || outcome === "hang";
    super(
      seen ? "verification" : "not-available",
      `GPU ${from} → GPU ${to} (${allocator} memory) is ${outcome} at ${stage}: ${reason}. No numbers are given`,
      `${next} Meanwhile run the staged path, or let the driver stage the copy with .peerAccess(false).`,
    );
    this.name = "VerdictError";
    this.verdict = verdict;
  }
}
