import { P2pError, shown } from "./errors.js";
import {
  type Allocator,
  type BufferSpec,
  type CopyApi,
  type CopyEngine,
  type NamedKernel,
  type Operation,
  type ProbeOperation,
  type ProgramData,
  type ProgramKind,
  type PutProtocol,
  type SetupOperation,
  type SyncMethod,
  windowBytes,
} from "./operations.js";
import {
  ordinal,
  placeOf,
  probeBuffers,
  requireAligned,
  requireInside,
  requireName,
  requireOptions,
  requireWhole,
  requireWord,
  requireWords,
} from "./program-arguments.js";
import { validate } from "./program-checks.js";
import { hashOf } from "./program-hash.js";
import { textOf } from "./program-text.js";
import { type Bytes, parseBytes } from "./units.js";

export type {
  Allocator,
  BufferSpec,
  CopyApi,
  CopyEngine,
  Operation,
  Place,
  ProgramData,
  ProgramKind,
  StreamSpec,
  SyncMethod,
} from "./operations.js";

/** A probe without what the program fills in by itself. */
type Probe<K extends ProbeOperation["kind"]> = Omit<
  Extract<ProbeOperation, { kind: K }>,
  "op" | "kind" | "stream"
>;

/**
 * An experiment: buffers in places, streams, and the operations that one iteration submits in order.
 * Every builder method returns a new Program, so that a shared beginning can be extended in several ways.
 */
export class Program {
  readonly data: ProgramData;
  #hash: string | null = null;

  constructor(data: ProgramData) {
    this.data = data;
  }

  /**
   * Adds a buffer on a GPU (`{ gpu: 0, bytes: "1 MiB" }`, from another allocator with `allocator: "vmm"`) or on the host
   * (`{ host: "pinned", bytes: 8 }`).
   */
  buffer(
    name: string,
    spec:
      | { gpu: number; bytes: Bytes; allocator?: Allocator }
      | { host: "pinned" | "pageable"; bytes: Bytes },
  ): Program {
    this.#mustBeNew("buffer", name, this.data.buffers);
    requireOptions("buffer()", spec, ["gpu", "host", "bytes", "allocator", "name"]);
    return this.#with({
      buffers: [...this.data.buffers, { name, place: placeOf(spec), bytes: parseBytes(spec.bytes) }],
    });
  }

  /** Adds a non-blocking stream on a GPU. */
  stream(name: string, spec: { gpu: number }): Program {
    this.#mustBeNew("stream", name, this.data.streams);
    // What another program says of a stream of its own may be given as it is.
    requireOptions("stream()", spec, ["gpu", "name"]);
    return this.#with({ streams: [...this.data.streams, { name, gpu: ordinal(spec.gpu) }] });
  }

  /**
   * Copies between two buffers on a stream; all of the smaller buffer unless `bytes` says less. The copy engine moves them,
   * or with `engine` a kernel on the stream's GPU, which must own the source of a write and the destination of a read.
   */
  copy(
    stream: string,
    src: string,
    dst: string,
    options: {
      bytes?: Bytes;
      srcOffset?: number;
      dstOffset?: number;
      api?: CopyApi;
      engine?: CopyEngine;
    } = {},
  ): Program {
    requireOptions("copy()", options, ["bytes", "srcOffset", "dstOffset", "api", "engine"]);
    const { gpu } = this.#find("stream", stream, this.data.streams);
    const from = this.#find("buffer", src, this.data.buffers);
    const to = this.#find("buffer", dst, this.data.buffers);
    const { srcOffset = 0, dstOffset = 0, api = "default", engine = "copy-engine" } = options;
    const bytes =
      options.bytes === undefined
        ? Math.min(from.bytes - srcOffset, to.bytes - dstOffset)
        : parseBytes(options.bytes);
    requireInside(from, srcOffset, bytes);
    requireInside(to, dstOffset, bytes);
    if (src === dst) {
      throw new P2pError("program", `a copy of buffer "${src}" onto itself`, "Copy between two buffers.");
    }
    if ((api === "peer" || api === "peer-3d") && !("gpu" in from.place && "gpu" in to.place)) {
      throw new P2pError(
        "program",
        `copy api "${api}" joins two GPUs, but "${"gpu" in from.place ? dst : src}" is host memory`,
        'Use api "default" for copies from or to the host.',
      );
    }
    const copy = { op: "copy", stream, src, dst, bytes, srcOffset, dstOffset, api } as const;
    requireWords({ ...copy, engine } as Operation);
    if (engine === "copy-engine") return this.#then(copy);
    const own = engine === "kernel-write" ? from : to;
    if (!("gpu" in own.place) || own.place.gpu !== gpu) {
      throw new P2pError(
        "program",
        `${engine} on stream "${stream}" runs on GPU ${gpu}, but the ${engine === "kernel-write" ? "source" : "destination"} "${own.name}" is not there`,
        "A kernel-write runs where the source is, a kernel-read where the destination is: choose the stream so.",
      );
    }
    for (const { name, place } of [from, to]) {
      if ("host" in place && place.host === "pageable") {
        throw new P2pError(
          "program",
          `a kernel cannot reach the pageable host buffer "${name}"`,
          'Use { host: "pinned" }.',
        );
      }
    }
    if (api !== "default") {
      throw new P2pError(
        "program",
        `copy api "${api}" is the copy engine's, but engine is "${engine}"`,
        "Leave one out.",
      );
    }
    return this.#then({ ...copy, engine });
  }

  /** Records an event on a stream. */
  record(stream: string, event: string): Program {
    this.#find("stream", stream, this.data.streams);
    requireName("event", event);
    return this.#then({ op: "record", stream, event });
  }

  /** Makes a stream wait for an event that was recorded earlier in the program. */
  wait(stream: string, event: string): Program {
    this.#find("stream", stream, this.data.streams);
    if (!this.data.operations.some((operation) => operation.op === "record" && operation.event === event)) {
      throw new P2pError(
        "program",
        `no event ${shown(event)} is recorded before this wait`,
        "Record the event first.",
      );
    }
    return this.#then({ op: "wait", stream, event });
  }

  /** Writes the iteration's number into a word of a buffer when the stream gets there (cuStreamWriteValue32). */
  signal(stream: string, buffer: string, offset = 0): Program {
    this.#find("stream", stream, this.data.streams);
    requireInside(this.bufferOf(buffer), requireAligned("offset", offset, 4), 4);
    return this.#then({ op: "signal", stream, buffer, offset });
  }

  /** Makes a stream wait until that word has reached the iteration's number (cuStreamWaitValue32). */
  await(stream: string, buffer: string, offset = 0): Program {
    this.#find("stream", stream, this.data.streams);
    requireInside(this.bufferOf(buffer), requireAligned("offset", offset, 4), 4);
    return this.#then({ op: "await", stream, buffer, offset });
  }

  /** Keeps a stream busy for a time with a kernel of one block. */
  compute(stream: string, ns: number): Program {
    this.#find("stream", stream, this.data.streams);
    return this.#then({ op: "compute", stream, ns: requireWhole("ns", ns, 1, 1e9) });
  }

  /** Launches a named kernel; `empty` costs a launch and nothing else. */
  launch(stream: string, kernel: NamedKernel = "empty"): Program {
    this.#find("stream", stream, this.data.streams);
    return this.#then({ op: "launch", stream, kernel });
  }

  /** Stores a payload into a window so that {@link receive} sees when it is there; all of `src` unless `bytes` says less. */
  put(
    stream: string,
    src: string,
    window: string,
    options: { protocol?: PutProtocol; bytes?: Bytes; flag?: string } = {},
  ): Program {
    requireOptions("put()", options, ["protocol", "bytes", "flag"]);
    const { protocol = "flag" } = options;
    const from = this.#find("buffer", src, this.data.buffers);
    const bytes = options.bytes === undefined ? from.bytes : parseBytes(options.bytes);
    requireInside(from, 0, bytes);
    const flag = this.#putParts(stream, window, protocol, bytes, options.flag);
    return this.#then({ op: "put", stream, src, dst: window, bytes, protocol, ...flag });
  }

  /** Waits on the GPU for a put into `window`. `ll` and `ll128` unpack it into `dst`; with `flag` it is in place. */
  receive(
    stream: string,
    window: string,
    options: { protocol?: PutProtocol; bytes?: Bytes; dst?: string; flag?: string } = {},
  ): Program {
    requireOptions("receive()", options, ["protocol", "bytes", "dst", "flag"]);
    const { protocol = "flag", dst } = options;
    const out = dst === undefined ? this.bufferOf(window) : this.bufferOf(dst);
    const bytes = options.bytes === undefined ? out.bytes : parseBytes(options.bytes);
    requireInside(out, 0, bytes);
    if ((protocol === "flag") !== (dst === undefined)) {
      throw new P2pError(
        "program",
        dst === undefined
          ? `${protocol} needs a buffer to unpack into`
          : "with a flag the payload is in place",
        dst === undefined ? 'Give { dst: "…" }.' : "Leave dst out.",
      );
    }
    const flag = this.#putParts(stream, window, protocol, bytes, options.flag);
    return this.#then({
      op: "receive",
      stream,
      window,
      bytes,
      protocol,
      ...flag,
      ...(dst === undefined ? {} : { dst }),
    });
  }

  /** Makes the host wait until all that was submitted to a stream is complete. */
  sync(stream: string, method: SyncMethod = "spin"): Program {
    this.#find("stream", stream, this.data.streams);
    return this.#then({ op: "sync", stream, method });
  }

  /** Times dependent loads through a buffer from the stream's GPU: the load latency. Nothing else may be in the program. */
  probeLoad(stream: string, buffer: string, options: Partial<Omit<Probe<"load">, "buffer">> = {}): Program {
    this.#find("stream", stream, this.data.streams);
    requireOptions("probeLoad()", options, [
      "footprintBytes",
      "strideBytes",
      "order",
      "accesses",
      "cold",
      "sm",
    ]);
    const whole = this.bufferOf(buffer).bytes;
    const {
      footprintBytes = whole,
      strideBytes = 128,
      order = "random",
      accesses = 10_000,
      cold = false,
      sm,
    } = options;
    requireWhole("strideBytes", strideBytes, 8, 2 ** 31);
    requireAligned("strideBytes", strideBytes, 8);
    requireInside(
      this.bufferOf(buffer),
      0,
      requireWhole("footprintBytes", footprintBytes, 2 * strideBytes, whole),
    );
    requireWhole("accesses", accesses, 1, 1e8);
    return this.#then({
      op: "probe",
      kind: "load",
      stream,
      buffer,
      footprintBytes,
      strideBytes,
      order,
      accesses,
      cold,
      ...(sm === undefined ? {} : { sm }),
    });
  }

  /** Times flags that two resident kernels send each other; `flag` is polled by `stream`'s GPU, `otherFlag` by `other`'s. */
  probePingPong(
    stream: string,
    other: string,
    flags: { flag: string; otherFlag: string },
    options: { rounds?: number; store?: Probe<"ping-pong">["store"] } = {},
  ): Program {
    this.#twoStreams(stream, other);
    requireOptions("probePingPong()", flags, ["flag", "otherFlag"]);
    requireOptions("probePingPong()", options, ["rounds", "store"]);
    for (const name of [flags.flag, flags.otherFlag]) requireInside(this.bufferOf(name), 0, 8);
    const { rounds = 1000, store = "release" } = options;
    requireWhole("rounds", rounds, 1, 1e7);
    return this.#then({ op: "probe", kind: "ping-pong", stream, other, ...flags, rounds, store });
  }

  /** Times dependent atomics on a word of a buffer. */
  probeAtomic(
    stream: string,
    buffer: string,
    options: Partial<Omit<Probe<"atomic">, "buffer">> = {},
  ): Program {
    this.#find("stream", stream, this.data.streams);
    requireOptions("probeAtomic()", options, ["operation", "scope", "accesses"]);
    requireInside(this.bufferOf(buffer), 0, 8);
    const { operation = "add", scope = "system", accesses = 1000 } = options;
    requireWhole("accesses", accesses, 1, 1e8);
    return this.#then({ op: "probe", kind: "atomic", stream, buffer, operation, scope, accesses });
  }

  /** Times fences, each after `stores` stores into a buffer. */
  probeFence(stream: string, buffer: string, options: Partial<Omit<Probe<"fence">, "buffer">> = {}): Program {
    this.#find("stream", stream, this.data.streams);
    requireOptions("probeFence()", options, ["scope", "stores", "accesses"]);
    const { scope = "system", stores = 0, accesses = 1000 } = options;
    requireWhole("stores", stores, 0, 1024);
    requireInside(this.bufferOf(buffer), 0, Math.max(8, stores * 8));
    requireWhole("accesses", accesses, 1, 1e8);
    return this.#then({ op: "probe", kind: "fence", stream, buffer, scope, stores, accesses });
  }

  /** Counts how often data sent before a flag is seen after it: the message-passing litmus test. */
  probeMessagePassing(
    stream: string,
    other: string,
    buffers: { data: string; flag: string },
    options: { fence?: Probe<"message-passing">["fence"]; rounds?: number } = {},
  ): Program {
    this.#twoStreams(stream, other);
    requireOptions("probeMessagePassing()", buffers, ["data", "flag"]);
    requireOptions("probeMessagePassing()", options, ["fence", "rounds"]);
    for (const name of [buffers.data, buffers.flag]) requireInside(this.bufferOf(name), 0, 8);
    const { fence = "system", rounds = 100_000 } = options;
    requireWhole("rounds", rounds, 1, 1e8);
    return this.#then({ op: "probe", kind: "message-passing", stream, other, ...buffers, fence, rounds });
  }

  /** Times one kind of set-up work. Nothing else may be in the program. */
  setup(
    kind: SetupOperation["kind"],
    options: { gpu?: number; peer?: number; bytes?: Bytes; nodes?: number } = {},
  ): Program {
    requireOptions("setup()", options, ["gpu", "peer", "bytes", "nodes"]);
    const { gpu = 0, peer, bytes, nodes } = options;
    return this.#then({
      op: "setup",
      kind,
      gpu: ordinal(gpu),
      ...(peer === undefined ? {} : { peer: ordinal(peer) }),
      ...(bytes === undefined ? {} : { bytes: requireWhole("bytes", parseBytes(bytes), 1, 2 ** 46) }),
      ...(nodes === undefined ? {} : { nodes: requireWhole("nodes", nodes, 1, 100_000) }),
    });
  }

  /** `graph`: an iteration's operations become one CUDA graph that each iteration launches. */
  submitBy(way: "stream" | "graph"): Program {
    requireWord("submission", way, ["stream", "graph"]);
    const { submit: _, ...rest } = this.data;
    return new Program(way === "graph" ? { ...rest, submit: "graph" } : rest);
  }

  /** `false` runs the program with peer access off, so that the driver stages copies between GPUs through the host. */
  peerAccess(on: boolean): Program {
    return this.#with({ peerAccess: requireWord("peer access", on, [true, false]) });
  }

  /** What kind of program it is; a probe or a set-up operation stands alone. */
  get kind(): ProgramKind {
    if (this.data.operations.some((o) => o.op === "probe")) return "probe";
    return this.data.operations.some((o) => o.op === "setup") ? "setup" : "transfer";
  }

  /** GPUs the program touches, ascending. */
  get gpus(): number[] {
    const used = new Set(this.data.streams.map((stream) => stream.gpu));
    for (const buffer of this.data.buffers) if ("gpu" in buffer.place) used.add(buffer.place.gpu);
    for (const o of this.data.operations) {
      if (o.op !== "setup") continue;
      used.add(o.gpu);
      if (o.peer !== undefined) used.add(o.peer);
    }
    return [...used].sort((a, b) => a - b);
  }

  /** Ordered pairs of GPUs between which an operation moves data. */
  get pairs(): { from: number; to: number }[] {
    const pairs = new Map<string, { from: number; to: number }>();
    const add = (from: number | undefined, to: number | undefined) => {
      if (from === undefined || to === undefined || from === to) return;
      pairs.set(`${from}>${to}`, { from, to });
    };
    const owner = (name: string): number | undefined => {
      const { place } = this.bufferOf(name);
      return "gpu" in place ? place.gpu : undefined;
    };
    const runner = (name: string): number => this.#find("stream", name, this.data.streams).gpu;
    for (const o of this.data.operations) {
      if (o.op === "copy" || o.op === "put") add(owner(o.src), owner(o.dst));
      else if (o.op === "signal") add(runner(o.stream), owner(o.buffer));
      else if (o.op === "await") add(owner(o.buffer), runner(o.stream));
      else if (o.op === "probe") {
        for (const end of "other" in o ? [o.stream, o.other] : [o.stream]) {
          for (const name of probeBuffers(o)) add(runner(end), owner(name));
        }
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
    this.#hash ??= hashOf(this.data);
    return this.#hash;
  }

  toJSON(): ProgramData {
    return this.data;
  }

  /** One line a statement, in the order of one iteration. */
  toString(): string {
    return textOf(this.data);
  }

  /** Checks that it is complete enough to be run. */
  validate(): this {
    validate(this.data, this.kind);
    return this;
  }

  #then(operation: Operation): Program {
    return this.#with({ operations: [...this.data.operations, requireWords(operation)] });
  }

  #with(change: Partial<ProgramData>): Program {
    return new Program({ ...this.data, ...change });
  }

  #twoStreams(stream: string, other: string): void {
    for (const name of [stream, other]) this.#find("stream", name, this.data.streams);
    if (stream === other) {
      throw new P2pError(
        "program",
        `both kernels on stream "${stream}"`,
        "Use two streams: one would wait for the other.",
      );
    }
  }

  #putParts(
    stream: string,
    window: string,
    protocol: PutProtocol,
    bytes: number,
    flag: string | undefined,
  ): { flag?: string } {
    this.#find("stream", stream, this.data.streams);
    requireAligned("bytes", bytes, 8);
    requireInside(this.bufferOf(window), 0, windowBytes(protocol, bytes));
    if ((protocol === "flag") !== (flag !== undefined)) {
      throw new P2pError(
        "program",
        flag === undefined ? 'protocol "flag" needs a flag' : `${protocol} carries its flags in the window`,
        flag === undefined ? 'Give { flag: "…" }, a buffer of 8 bytes.' : "Leave flag out.",
      );
    }
    if (flag === undefined) return {};
    requireInside(this.bufferOf(flag), 0, 8);
    return { flag };
  }

  #mustBeNew(kind: string, name: string, list: readonly { name: string }[]): void {
    requireName(kind, name);
    if (list.some((item) => item.name === name)) {
      throw new P2pError("program", `there is already a ${kind} "${name}"`, "Give each one its own name.");
    }
  }

  #find<T extends { name: string }>(kind: string, name: string, list: readonly T[]): T {
    const found = list.find((item) => item.name === name);
    if (!found) {
      throw new P2pError(
        "program",
        `no ${kind} ${shown(name)} (there ${list.length === 1 ? "is" : "are"}: ${list.map((item) => item.name).join(", ") || "none"})`,
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
