import { createHash } from "node:crypto";
import { P2pError } from "./errors.js";
import { type Bytes, formatBytes, parseBytes } from "./units.js";

/** Where a buffer lives: on a GPU (CUDA ordinal), or on the host, page-locked or not. */
export type Place = { readonly gpu: number } | { readonly host: "pinned" | "pageable" };

export interface BufferSpec {
  readonly name: string;
  readonly place: Place;
  readonly bytes: number;
}

export interface StreamSpec {
  readonly name: string;
  readonly gpu: number;
}

/** How the host waits: busy query, busy query with sched_yield between, or a blocking driver call. */
export type SyncMethod = "spin" | "yield" | "block";

/** `default`: cuMemcpyAsync, the driver finds the direction by address (UVA). `peer`: cuMemcpyPeerAsync between contexts. */
export type CopyApi = "default" | "peer";

export type Operation =
  | {
      readonly op: "copy";
      readonly stream: string;
      readonly src: string;
      readonly dst: string;
      readonly bytes: number;
      readonly srcOffset: number;
      readonly dstOffset: number;
      readonly api: CopyApi;
    }
  | { readonly op: "record"; readonly stream: string; readonly event: string }
  | { readonly op: "wait"; readonly stream: string; readonly event: string }
  | { readonly op: "sync"; readonly stream: string; readonly method: SyncMethod };

/** A program as plain JSON: what is recorded, hashed, sent and compared. */
export interface ProgramData {
  readonly version: 1;
  /** Whether GPUs whose memory a copy joins map each other (`true`), or the driver must stage through the host (`false`). */
  readonly peerAccess: boolean;
  readonly buffers: readonly BufferSpec[];
  readonly streams: readonly StreamSpec[];
  readonly operations: readonly Operation[];
}

/**
 * An experiment: buffers in places, streams, and the operations that one iteration submits in order.
 * Every builder method returns a new Program, so that a shared beginning can be extended in several ways.
 */
export class Program {
  readonly data: ProgramData;

  constructor(data: ProgramData) {
    this.data = data;
  }

  /** Adds a buffer on a GPU (`{ gpu: 0, bytes: "1 MiB" }`) or the host (`{ host: "pinned", bytes: 8 }`). */
  buffer(
    name: string,
    spec: { gpu: number; bytes: Bytes } | { host: "pinned" | "pageable"; bytes: Bytes },
  ): Program {
    this.#mustBeNew("buffer", name, this.data.buffers);
    const place: Place = "gpu" in spec ? { gpu: ordinal(spec.gpu) } : { host: spec.host };
    return this.#with({ buffers: [...this.data.buffers, { name, place, bytes: parseBytes(spec.bytes) }] });
  }

  /** Adds a non-blocking stream on a GPU. */
  stream(name: string, spec: { gpu: number }): Program {
    this.#mustBeNew("stream", name, this.data.streams);
    return this.#with({ streams: [...this.data.streams, { name, gpu: ordinal(spec.gpu) }] });
  }

  /** Copies between two buffers on a stream; all of the smaller buffer unless `bytes` says less. */
  copy(
    stream: string,
    src: string,
    dst: string,
    options: { bytes?: Bytes; srcOffset?: number; dstOffset?: number; api?: CopyApi } = {},
  ): Program {
    this.#find("stream", stream, this.data.streams);
    const from = this.#find("buffer", src, this.data.buffers);
    const to = this.#find("buffer", dst, this.data.buffers);
    const srcOffset = options.srcOffset ?? 0;
    const dstOffset = options.dstOffset ?? 0;
    const bytes =
      options.bytes === undefined
        ? Math.min(from.bytes - srcOffset, to.bytes - dstOffset)
        : parseBytes(options.bytes);
    for (const [buffer, offset] of [
      [from, srcOffset],
      [to, dstOffset],
    ] as const) {
      if (!Number.isSafeInteger(offset) || offset < 0 || bytes <= 0 || offset + bytes > buffer.bytes) {
        throw new P2pError(
          "program",
          `a copy of ${bytes} bytes at offset ${offset} does not fit in buffer "${buffer.name}" of ${formatBytes(buffer.bytes)}`,
          "Make the buffer larger, or the copy smaller.",
        );
      }
    }
    if (src === dst) {
      throw new P2pError("program", `a copy of buffer "${src}" onto itself`, "Copy between two buffers.");
    }
    const api = options.api ?? "default";
    if (api === "peer" && !("gpu" in from.place && "gpu" in to.place)) {
      throw new P2pError(
        "program",
        `copy api "peer" joins two GPUs, but "${"gpu" in from.place ? dst : src}" is host memory`,
        'Use api "default" for copies from or to the host.',
      );
    }
    return this.#then({ op: "copy", stream, src, dst, bytes, srcOffset, dstOffset, api });
  }

  /** Records an event on a stream. */
  record(stream: string, event: string): Program {
    this.#find("stream", stream, this.data.streams);
    return this.#then({ op: "record", stream, event });
  }

  /** Makes a stream wait for an event that was recorded earlier in the program. */
  wait(stream: string, event: string): Program {
    this.#find("stream", stream, this.data.streams);
    if (!this.data.operations.some((operation) => operation.op === "record" && operation.event === event)) {
      throw new P2pError(
        "program",
        `no event "${event}" is recorded before this wait`,
        "Record the event first.",
      );
    }
    return this.#then({ op: "wait", stream, event });
  }

  /** Makes the host wait until all that was submitted to a stream is complete. */
  sync(stream: string, method: SyncMethod = "spin"): Program {
    this.#find("stream", stream, this.data.streams);
    return this.#then({ op: "sync", stream, method });
  }

  /** `false` runs the program with peer access off, so that the driver stages copies between GPUs through the host. */
  peerAccess(on: boolean): Program {
    return this.#with({ peerAccess: on });
  }

  /** GPUs the program touches, ascending. */
  get gpus(): number[] {
    const used = new Set(this.data.streams.map((stream) => stream.gpu));
    for (const buffer of this.data.buffers) if ("gpu" in buffer.place) used.add(buffer.place.gpu);
    return [...used].sort((a, b) => a - b);
  }

  /** Ordered pairs of GPUs between which a copy moves data. */
  get pairs(): { from: number; to: number }[] {
    const pairs = new Map<string, { from: number; to: number }>();
    for (const operation of this.data.operations) {
      if (operation.op !== "copy") continue;
      const from = this.bufferOf(operation.src).place;
      const to = this.bufferOf(operation.dst).place;
      if ("gpu" in from && "gpu" in to && from.gpu !== to.gpu) {
        pairs.set(`${from.gpu}>${to.gpu}`, { from: from.gpu, to: to.gpu });
      }
    }
    return [...pairs.values()];
  }

  bufferOf(name: string): BufferSpec {
    return this.#find("buffer", name, this.data.buffers);
  }

  /**
   * A stable name of what the program does: the same on every machine, whatever its buffers, streams and events are
   * called. Programs that declare or submit in another order are others.
   */
  get hash(): string {
    const text = JSON.stringify(canonical(unnamed(this.data)));
    return createHash("sha256").update(text).digest("hex").slice(0, 16);
  }

  toJSON(): ProgramData {
    return this.data;
  }

  /** One line a statement, in the order of one iteration. */
  toString(): string {
    const lines = this.data.buffers.map(
      (buffer) =>
        `buffer ${buffer.name}: ${formatBytes(buffer.bytes)} on ${"gpu" in buffer.place ? `GPU ${buffer.place.gpu}` : `host (${buffer.place.host})`}`,
    );
    lines.push(...this.data.streams.map((stream) => `stream ${stream.name}: GPU ${stream.gpu}`));
    if (!this.data.peerAccess) lines.push("peer access: off");
    for (const o of this.data.operations) {
      if (o.op === "copy")
        lines.push(`${o.stream}: copy ${o.src} → ${o.dst}, ${formatBytes(o.bytes)} (${o.api})`);
      else if (o.op === "sync") lines.push(`host: sync ${o.stream} by ${o.method}`);
      else lines.push(`${o.stream}: ${o.op} ${o.event}`);
    }
    return lines.join("\n");
  }

  /** Checks that it is complete enough to be run. */
  validate(): this {
    const operations = this.data.operations;
    if (!operations.some((operation) => operation.op === "copy")) {
      throw new P2pError("program", "the program copies nothing", "Add at least one copy().");
    }
    const last = new Map<string, string>();
    for (const operation of operations) last.set(operation.stream, operation.op);
    for (const [stream, op] of last) {
      if (op !== "sync" && ![...operations].some((o) => o.op === "wait" && o.stream !== stream)) {
        throw new P2pError(
          "program",
          `nothing waits for stream "${stream}" at the end of an iteration`,
          `End with .sync("${stream}"), or let another stream wait for its event.`,
        );
      }
    }
    if (operations.at(-1)?.op !== "sync") {
      throw new P2pError("program", "the program does not end with a sync", 'End with .sync("…", "spin").');
    }
    return this;
  }

  #then(operation: Operation): Program {
    return this.#with({ operations: [...this.data.operations, operation] });
  }

  #with(change: Partial<ProgramData>): Program {
    return new Program({ ...this.data, ...change });
  }

  #mustBeNew(kind: string, name: string, list: readonly { name: string }[]): void {
    if (list.some((item) => item.name === name)) {
      throw new P2pError("program", `there is already a ${kind} "${name}"`, "Give each one its own name.");
    }
  }

  #find<T extends { name: string }>(kind: string, name: string, list: readonly T[]): T {
    const found = list.find((item) => item.name === name);
    if (!found) {
      throw new P2pError(
        "program",
        `no ${kind} "${name}" (there ${list.length === 1 ? "is" : "are"}: ${list.map((item) => item.name).join(", ") || "none"})`,
        `Declare it first with .${kind}("${name}", …).`,
      );
    }
    return found;
  }
}

/** An empty program to build on. */
export function program(): Program {
  return new Program({ version: 1, peerAccess: true, buffers: [], streams: [], operations: [] });
}

function ordinal(gpu: number): number {
  if (!Number.isInteger(gpu) || gpu < 0) {
    throw new P2pError("program", `not a GPU number: ${gpu}`, "Count GPUs from 0, as CUDA does.");
  }
  return gpu;
}

/** The same program with buffers, streams and events called by their number. */
function unnamed(data: ProgramData): ProgramData {
  const numbers = (prefix: string, names: readonly string[]) => {
    const list = [...new Set(names)];
    return (name: string) => `${prefix}${list.indexOf(name)}`;
  };
  const buffer = numbers(
    "b",
    data.buffers.map((item) => item.name),
  );
  const stream = numbers(
    "s",
    data.streams.map((item) => item.name),
  );
  const event = numbers(
    "e",
    data.operations.flatMap((o) => (o.op === "record" ? [o.event] : [])),
  );
  return {
    ...data,
    buffers: data.buffers.map((item) => ({ ...item, name: buffer(item.name) })),
    streams: data.streams.map((item) => ({ ...item, name: stream(item.name) })),
    operations: data.operations.map((o): Operation => {
      const on = { ...o, stream: stream(o.stream) };
      if (on.op === "copy") return { ...on, src: buffer(on.src), dst: buffer(on.dst) };
      if (on.op === "sync") return on;
      return { ...on, event: event(on.event) };
    }),
  };
}

/** The same value with object keys in order, so that its JSON is the same text however it was built. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, canonical(item)]),
  );
}
