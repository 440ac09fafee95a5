/** What the ranks of a collective send, at the beginning and when a message has arrived. */
import type { Collective } from "../../model.js";

export interface Message {
  /** Rank that receives it. */
  readonly to: number;
  /** What it is: a step, or a piece and its direction. */
  readonly tag: number;
  readonly bytes: number;
}

export type Send = (from: number, message: Message) => void;

export interface Ranks {
  /** Every ordered pair of ranks that may send. */
  pairs(): Iterable<readonly [number, number]>;
  start(send: Send): void;
  received(rank: number, tag: number, send: Send): void;
}

/** Pieces in which a tree passes a buffer on, so that its levels work at once: NCCL's are of about this size. */
const PIECE_BYTES = 512 * 1024;
const MOST_PIECES = 64;

export function ranksOf({ operation, algorithm, gpus, bytes }: Collective): Ranks {
  const n = gpus.length;
  // An all-reduce scatters the sums, then gathers them: twice the steps of either.
  const phases = operation === "all-reduce" ? 2 : 1;
  if (algorithm === "ring") return ring(n, bytes / n, phases * (n - 1));
  if (algorithm === "tree") return tree(n, bytes);
  return direct(n, bytes / n, phases);
}

/** Each rank sends a part to its neighbour and passes on what arrives, `steps` times. */
function ring(n: number, partBytes: number, steps: number): Ranks {
  const right = (rank: number) => (rank + 1) % n;
  return {
    *pairs() {
      for (let rank = 0; rank < n; rank++) yield [rank, right(rank)];
    },
    start(send) {
      for (let rank = 0; rank < n; rank++) send(rank, { to: right(rank), tag: 1, bytes: partBytes });
    },
    received(rank, step, send) {
      if (step < steps) send(rank, { to: right(rank), tag: step + 1, bytes: partBytes });
    },
  };
}

/** A binary tree: sums go up piece by piece, results come down. Tags: pieces from 1 up, from -1 down. */
function tree(n: number, bytes: number): Ranks {
  const pieces = Math.min(MOST_PIECES, Math.max(1, Math.ceil(bytes / PIECE_BYTES)));
  const parentOf = (rank: number) => (rank - 1) >> 1;
  const childrenOf = (rank: number) => [2 * rank + 1, 2 * rank + 2].filter((child) => child < n);
  const arrived = Array.from({ length: n }, () => new Uint8Array(pieces + 1));
  const up = (rank: number, piece: number, send: Send) =>
    send(rank, { to: parentOf(rank), tag: piece, bytes: bytes / pieces });
  const down = (rank: number, piece: number, send: Send) => {
    for (const child of childrenOf(rank)) send(rank, { to: child, tag: -piece, bytes: bytes / pieces });
  };
  return {
    *pairs() {
      for (let rank = 1; rank < n; rank++) {
        yield [rank, parentOf(rank)];
        yield [parentOf(rank), rank];
      }
    },
    start(send) {
      for (let rank = 1; rank < n; rank++) {
        if (childrenOf(rank).length > 0) continue;
        for (let piece = 1; piece <= pieces; piece++) up(rank, piece, send);
      }
    },
    received(rank, tag, send) {
      if (tag < 0) {
        down(rank, -tag, send);
        return;
      }
      const seen = arrived[rank] as Uint8Array;
      seen[tag] = (seen[tag] as number) + 1;
      if (seen[tag] !== childrenOf(rank).length) return;
      if (rank === 0) down(rank, tag, send);
      else up(rank, tag, send);
    },
  };
}

/** Each rank sends every other one its part; in a second phase, when all has arrived, once more. */
function direct(n: number, partBytes: number, phases: number): Ranks {
  const arrived = new Int32Array(n);
  const sendAll = (rank: number, tag: number, send: Send) => {
    for (let other = 1; other < n; other++) send(rank, { to: (rank + other) % n, tag, bytes: partBytes });
  };
  return {
    *pairs() {
      for (let rank = 0; rank < n; rank++) for (let to = 0; to < n; to++) if (to !== rank) yield [rank, to];
    },
    start(send) {
      for (let rank = 0; rank < n; rank++) sendAll(rank, 1, send);
    },
    received(rank, tag, send) {
      if (tag === phases) return;
      arrived[rank] = (arrived[rank] as number) + 1;
      if (arrived[rank] === n - 1) sendAll(rank, tag + 1, send);
    },
  };
}
