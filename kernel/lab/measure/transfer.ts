import { P2pError } from "../errors.js";
import type { Run } from "../machine.js";
import { COPY_APIS, type CopyApi } from "../operations.js";
import { type Allocator, type CopyEngine, type Program, program, type SyncMethod } from "../program.js";
import { type Bytes, formatBytes, parseBytes } from "../units.js";
import { expectNames, expectOptions, expectWord } from "./expect.js";

/**
 * How bytes get from one GPU to the other:
 * - `peer`: straight over the link, peer access on.
 * - `staged`: by hand through page-locked host memory, device → host and host → device. In one piece both copies are in one
 *   stream; in several, a stream of each GPU takes one of the two, so that a piece leaves the host while the next arrives.
 * - `driver-staged`: a peer copy with peer access off; the driver stages it through its own host buffers.
 */
export type Path = "peer" | "staged" | "driver-staged";
/** Which GPU's streams carry the copies: `source` pushes, `destination` pulls. */
export type Initiator = "source" | "destination";
/** `both-ways`: a second message of the same size goes the other way at the same time; the host waits for both. */
export type Direction = "one-way" | "both-ways";
export type Submit = "stream" | "graph";

export const PATHS: readonly Path[] = ["peer", "staged", "driver-staged"];

/** Values of the options that are words; the first is the usual one. */
export const WORDS = {
  path: PATHS,
  engine: ["copy-engine", "kernel-write", "kernel-read"] as readonly CopyEngine[],
  sync: ["spin", "yield", "block", "poll-event", "poll-flag"] as readonly SyncMethod[],
  submit: ["stream", "graph"] as readonly Submit[],
  api: COPY_APIS,
  allocator: ["malloc", "pool", "vmm", "ipc"] as readonly Allocator[],
  initiator: ["source", "destination"] as readonly Initiator[],
  direction: ["one-way", "both-ways"] as readonly Direction[],
} as const;

export interface TransferOptions {
  from: number;
  to: number;
  bytes: Bytes;
  /** Default `peer`. */
  path?: Path;
  /** Default `copy-engine`; a kernel only on path `peer`. */
  engine?: CopyEngine;
  /**
   * The driver's function that submits a copy, see {@link CopyApi}; default `default`, on path `driver-staged` `peer`. Of the
   * copy engine only.
   */
  api?: CopyApi;
  /** How the host learns that all is complete; default `spin`. */
  sync?: SyncMethod;
  /** The message is split evenly over so many streams, which run side by side; default 1. */
  streams?: number;
  /** Each stream's part is cut into pieces of this size, the last one smaller; default `whole`: not cut. */
  chunk?: Bytes | "whole";
  /** Default `stream`: each operation by a call of its own; `graph`: all of them by one. */
  submit?: Submit;
  /**
   * Of the GPU memory; default `malloc`. `ipc`: the destination belongs to another process and is opened by its IPC handle; the
   * source is this process's own.
   */
  allocator?: Allocator;
  /** Default `source`; of a kernel-read `destination`. */
  initiator?: Initiator;
  /** Default `one-way`. */
  direction?: Direction;
}

export const OPTIONS: readonly (keyof TransferOptions)[] = [
  "from",
  "to",
  "bytes",
  "path",
  "engine",
  "api",
  "sync",
  "streams",
  "chunk",
  "submit",
  "allocator",
  "initiator",
  "direction",
];

/** More copies than a stream's queue holds would measure the queue. */
const MOST_COPIES = 1024;
/** Pieces begin on this boundary where the message is long enough, so that kernels move whole vectors. */
const UNIT_BYTES = 16;

/**
 * The program of one transfer from a GPU to another: submit, then wait on the host until it is complete.
 * @throws P2pError `usage` for an option that does not exist, or options that exclude each other.
 */
export function transfer(options: TransferOptions): Program {
  const plan = planOf(options);
  const ways = [wayOf(plan, options.from, options.to, "")];
  if (plan.direction === "both-ways") ways.push(wayOf(plan, options.to, options.from, "-back"));
  let built = program();
  for (const way of ways) built = withBuffers(built, plan, way);
  for (const way of ways) {
    way.lanes.forEach((_, index) => {
      const pushed = plan.pipelined || plan.initiator === "source";
      built = built.stream(streamOf(way, index), { gpu: pushed ? way.from : way.to });
      if (plan.pipelined) built = built.stream(secondOf(way, index), { gpu: way.to });
    });
  }
  built = built.peerAccess(plan.path !== "driver-staged");
  const pieces = Math.max(...ways.flatMap((way) => way.lanes.map((lane) => lane.length)));
  for (let piece = 0; piece < pieces; piece++) {
    for (const way of ways) {
      way.lanes.forEach((lane, index) => {
        const stretch = lane[piece];
        if (stretch) built = withPiece(built, plan, way, index, piece, stretch);
      });
    }
  }
  for (const way of ways) {
    way.lanes.forEach((_, index) => {
      built = built.sync(plan.pipelined ? secondOf(way, index) : streamOf(way, index), plan.sync);
    });
  }
  return built.submitBy(plan.submit);
}

/**
 * What a table calls the path of a run: the one that was asked for, or `host-staged` where the machine turned peer access off
 * for it (P2PLAB_P2P=off). Numbers of a staged copy must not stand under `peer`.
 */
export function pathOf(run: Run, asked: Path): Path | "host-staged" {
  return asked === "peer" && !run.program.data.peerAccess ? "host-staged" : asked;
}

interface Plan {
  readonly bytes: number;
  readonly path: Path;
  readonly engine: CopyEngine;
  readonly api: CopyApi;
  readonly sync: SyncMethod;
  /** What each stream moves. */
  readonly parts: readonly Stretch[];
  readonly chunkBytes: number;
  readonly submit: Submit;
  readonly allocator: Allocator;
  readonly initiator: Initiator;
  readonly direction: Direction;
  /** Staged in several pieces: the two copies of a piece are in streams of their own. */
  readonly pipelined: boolean;
}

interface Stretch {
  readonly offset: number;
  readonly bytes: number;
}

/** One of the directions: the pieces of each stream, in order. */
interface Way {
  readonly from: number;
  readonly to: number;
  readonly suffix: string;
  readonly lanes: readonly (readonly Stretch[])[];
}

function planOf(options: TransferOptions): Plan {
  expectOptions(options, "lab.transfer");
  expectNames(options, OPTIONS, "lab.transfer");
  const { from, to } = options;
  if (from === to) {
    throw new P2pError("usage", `a transfer from GPU ${from} to itself`, "Name two different GPUs.");
  }
  const bytes = parseBytes(options.bytes);
  const path = wordOf("path", options.path);
  const engine = wordOf("engine", options.engine);
  const { streams = 1, chunk = "whole" } = options;
  if (!Number.isInteger(streams) || streams < 1 || streams > bytes) {
    throw new P2pError(
      "usage",
      `${formatBytes(bytes)} cannot be split over ${String(streams)} streams`,
      "Give a whole number of streams from 1, and each of them at least one byte.",
    );
  }
  const parts = partsOf(bytes, streams);
  const partBytes = Math.max(...parts.map((part) => part.bytes));
  const chunkBytes = chunk === "whole" ? partBytes : Math.min(parseBytes(chunk), partBytes);
  const copies = streams * Math.ceil(partBytes / chunkBytes);
  if (copies > MOST_COPIES) {
    throw new P2pError(
      "usage",
      `${formatBytes(bytes)} over ${streams} streams in pieces of ${formatBytes(chunkBytes)} are ${copies} copies`,
      `Keep to ${MOST_COPIES}, which a stream's queue surely holds: give a larger chunk.`,
    );
  }
  if (engine !== "copy-engine" && path !== "peer") {
    throw new P2pError(
      "usage",
      `engine "${engine}" on path "${path}"`,
      'A kernel reaches the other GPU on path "peer" only; leave engine out.',
    );
  }
  const api = wordOf("api", options.api ?? (path === "driver-staged" ? "peer" : "default"));
  if (engine !== "copy-engine" && api !== "default") {
    throw new P2pError("usage", `api "${api}" by a ${engine}`, "A kernel is launched: leave api out.");
  }
  if (path === "staged" && (api === "peer" || api === "peer-3d")) {
    throw new P2pError("usage", `api "${api}" on path "staged"`, "It joins two GPUs: leave api out.");
  }
  const pipelined = path === "staged" && chunkBytes < partBytes;
  const initiator = initiatorOf(engine, options.initiator);
  if (pipelined && initiator === "destination") {
    throw new P2pError(
      "usage",
      "a staged transfer in pieces is started by both GPUs, each for its own copy",
      "Leave initiator out.",
    );
  }
  return {
    bytes,
    parts,
    path,
    engine,
    api,
    sync: wordOf("sync", options.sync),
    chunkBytes,
    submit: wordOf("submit", options.submit),
    allocator: wordOf("allocator", options.allocator),
    direction: wordOf("direction", options.direction),
    pipelined,
    initiator,
  };
}

/** @throws P2pError `usage` for a word that the option does not have. */
function wordOf<K extends keyof typeof WORDS>(
  option: K,
  value: (typeof WORDS)[K][number] | undefined,
): (typeof WORDS)[K][number] {
  const words: readonly (typeof WORDS)[K][number][] = WORDS[option];
  return expectWord(option, value === undefined ? (words[0] as (typeof WORDS)[K][number]) : value, words);
}

function initiatorOf(engine: CopyEngine, asked: Initiator | undefined): Initiator {
  const only = { "copy-engine": null, "kernel-write": "source", "kernel-read": "destination" } as const;
  const initiator = wordOf("initiator", asked ?? only[engine] ?? undefined);
  if (only[engine] === null || only[engine] === initiator) return initiator;
  throw new P2pError(
    "usage",
    `a ${engine} started by the ${initiator}`,
    "A kernel-write runs on the source, a kernel-read on the destination: leave initiator out.",
  );
}

/** The message split evenly. */
function partsOf(bytes: number, streams: number): Stretch[] {
  const unit = bytes >= streams * UNIT_BYTES ? UNIT_BYTES : 1;
  const units = Math.ceil(bytes / unit);
  const edge = (index: number) => Math.min(bytes, Math.floor((index * units) / streams) * unit);
  return Array.from({ length: streams }, (_, index) => ({
    offset: edge(index),
    bytes: edge(index + 1) - edge(index),
  }));
}

function wayOf({ parts, chunkBytes }: Plan, from: number, to: number, suffix: string): Way {
  const lanes = parts.map((part) =>
    Array.from({ length: Math.ceil(part.bytes / chunkBytes) }, (_, piece): Stretch => {
      const done = piece * chunkBytes;
      return { offset: part.offset + done, bytes: Math.min(chunkBytes, part.bytes - done) };
    }),
  );
  return { from, to, suffix, lanes };
}

function withBuffers(base: Program, plan: Plan, way: Way): Program {
  const { bytes, allocator, path } = plan;
  const built = base
    .buffer(`src${way.suffix}`, {
      gpu: way.from,
      bytes,
      allocator: allocator === "ipc" ? "malloc" : allocator,
    })
    .buffer(`dst${way.suffix}`, { gpu: way.to, bytes, allocator });
  return path === "staged" ? built.buffer(`stage${way.suffix}`, { host: "pinned", bytes }) : built;
}

function withPiece(
  base: Program,
  plan: Plan,
  way: Way,
  index: number,
  piece: number,
  { offset, bytes }: Stretch,
): Program {
  const [src, dst, stage] = ["src", "dst", "stage"].map((name) => name + way.suffix) as [
    string,
    string,
    string,
  ];
  const stream = streamOf(way, index);
  const where = { bytes, srcOffset: offset, dstOffset: offset, api: plan.api };
  if (plan.path !== "staged") return base.copy(stream, src, dst, { ...where, engine: plan.engine });
  const arrived = base.copy(stream, src, stage, where);
  if (!plan.pipelined) return arrived.copy(stream, stage, dst, where);
  const second = secondOf(way, index);
  const event = `${stream}-${piece}`;
  return arrived.record(stream, event).wait(second, event).copy(second, stage, dst, where);
}

function streamOf(way: Way, index: number): string {
  return `s${index === 0 ? "" : index}${way.suffix}`;
}

/** The stream of the destination's GPU that takes pieces on from host memory. */
function secondOf(way: Way, index: number): string {
  return `t${index === 0 ? "" : index}${way.suffix}`;
}
