import { P2pError } from "../../errors.js";
import { routeOf } from "../../execution-order.js";
import {
  type CopyOperation,
  type Place,
  type StepOperation,
  type SyncMethod,
  windowBytes,
} from "../../operations.js";
import type { Program } from "../../program.js";
import type { Topology } from "../../topology/topology.js";
import type { Costs } from "./constants.js";
import type { FlowPath } from "./links.js";
import { type Leg, Ways } from "./ways.js";

interface OfStream {
  /** Index in {@link Plan.streams}. */
  readonly stream: number;
}

/** A copy by copy engine. */
export interface CopyWork extends OfStream {
  readonly op: "copy";
  readonly name: string;
  readonly bytes: number;
  /** One leg, or two (to the host and from it) where the driver stages. */
  readonly legs: readonly [Leg] | readonly [Leg, Leg];
  /** The driver's own work before the first byte of a copy that it stages. */
  readonly extraNs: number;
}

/** Whatever a kernel does, in this order: start, wait for a put, move bytes, stay busy, end. */
export interface KernelWork extends OfStream {
  readonly op: "kernel";
  readonly name: string;
  /** Bytes that the operation names. */
  readonly bytes: number;
  readonly startNs: number;
  /** Route that a receive waits on, and how long after the arrival it knows. */
  readonly receives: { readonly route: number; readonly seenNs: number } | null;
  readonly path: FlowPath | null;
  /** Bytes over `path`, flags among them. */
  readonly wireBytes: number;
  readonly busyNs: number;
  /** Route of a put, and when the receiver can see it after the last byte. */
  readonly puts: { readonly route: number; readonly arrivesNs: number } | null;
  readonly endNs: number;
}

/** What a stream holds. */
export type Work =
  | CopyWork
  | KernelWork
  | (OfStream & { readonly op: "record" })
  /** `recorded`: index of the record that it waits for. */
  | (OfStream & { readonly op: "wait"; readonly recorded: number })
  | (OfStream & { readonly op: "signal"; readonly word: number; readonly arrivesNs: number })
  | (OfStream & { readonly op: "await"; readonly word: number });

/** What the submitting thread does. */
export type HostStep =
  | {
      readonly do: "submit";
      readonly name: string;
      /** Indices of {@link Plan.works} that the call submits. */
      readonly works: readonly number[];
      readonly callNs: number;
      /** When the work goes out; the rest of a longer call overlaps with it. */
      readonly outNs: number;
      /** The call returns only when its work is done. */
      readonly blocking: boolean;
      /** All works start together and end together, as a graph. */
      readonly graph: boolean;
    }
  | {
      readonly do: "sync";
      readonly stream: number;
      readonly method: SyncMethod;
      /** Work by which `poll-event` and `poll-flag` learn that the stream is complete. */
      readonly by: number | null;
    };

/** A program on a machine: names resolved, ways found, costs looked up. Made once a run. */
export interface Plan {
  readonly works: readonly Work[];
  readonly host: readonly HostStep[];
  readonly streams: readonly { readonly name: string; readonly gpu: number }[];
  /** Lane of each engine. */
  readonly engines: readonly string[];
  /** GB/s of each resource that flows share. */
  readonly capacities: Float64Array;
  /** Words that signals write, and how many signals of an iteration write each. */
  readonly words: number;
  /** Puts of one iteration by route. */
  readonly puts: readonly number[];
  readonly costs: Costs;
  /** What a twin corrects its model by: all times are multiplied by it. */
  readonly timeFactor: number;
}

/**
 * @param slowMode whether copies that the driver stages between an ordered pair are in the slower of its two modes.
 * @param program a valid one, of transfers.
 * @returns what {@link Execution} runs; GPU numbers must be known to exist, peer access to be granted.
 */
export function planOf(
  program: Program,
  topology: Topology,
  costs: Costs,
  slowMode: (from: number, to: number) => boolean,
): Plan {
  return new Planner(program, topology, costs, slowMode).plan();
}

const NO_WORK = { receives: null, path: null, wireBytes: 0, busyNs: 0, puts: null, endNs: 0 } as const;

class Planner {
  readonly #program: Program;
  readonly #costs: Costs;
  readonly #slowMode: (from: number, to: number) => boolean;
  readonly #ways: Ways;
  readonly #places: ReadonlyMap<string, Place>;
  readonly #streams: ReadonlyMap<string, number>;
  readonly #works: Work[] = [];
  readonly #host: HostStep[] = [];
  readonly #words = new Map<string, number>();
  readonly #routes = new Map<string, number>();
  readonly #puts: number[] = [];
  readonly #records = new Map<string, number>();
  /** Of syncs that learn by an event or a word: index of the work that sets it. */
  readonly #marks = new Map<number, number>();

  constructor(
    program: Program,
    topology: Topology,
    costs: Costs,
    slowMode: (from: number, to: number) => boolean,
  ) {
    this.#program = program;
    this.#costs = costs;
    this.#slowMode = slowMode;
    this.#ways = new Ways(topology, costs);
    const { buffers, streams } = program.data;
    this.#places = new Map(buffers.map(({ name, place }) => [name, place]));
    this.#streams = new Map(streams.map(({ name }, index) => [name, index]));
  }

  plan(): Plan {
    const operations = this.#program.data.operations as readonly StepOperation[];
    if (this.#program.data.submit === "graph") {
      for (const o of operations) if (o.op !== "sync") this.#add(o);
      const { graphSubmitNs, submitNs } = this.#costs;
      const works = this.#works.map((_, index) => index);
      this.#call("cuGraphLaunch", works, { callNs: graphSubmitNs.value, outNs: submitNs.value, graph: true });
    }
    for (const [index, o] of operations.entries()) {
      if (o.op === "sync") this.#sync(operations, index);
      else if (this.#program.data.submit !== "graph") this.#submit(o);
    }
    return {
      works: this.#works,
      host: this.#host,
      streams: this.#program.data.streams,
      engines: this.#ways.engines,
      capacities: this.#ways.capacities,
      words: this.#words.size,
      puts: this.#puts,
      costs: this.#costs,
      timeFactor: 1,
    };
  }

  #call(
    name: string,
    works: readonly number[],
    how: { callNs: number; outNs?: number; blocking?: boolean; graph?: boolean },
  ): void {
    const { callNs, outNs = callNs, blocking = false, graph = false } = how;
    this.#host.push({ do: "submit", name, works, callNs, outNs: Math.min(outNs, callNs), blocking, graph });
  }

  #submit(o: Exclude<StepOperation, { op: "sync" }>): void {
    const { submitNs, stagedSubmitNs, eventNs, wordSubmitNs, kernelSubmitNs, batchSubmitNs, batchEntryNs } =
      this.#costs;
    const last = this.#host.at(-1);
    const index = this.#add(o);
    const work = this.#works[index] as Work;
    if (o.op === "copy" && o.api === "batch") {
      const before = last?.do === "submit" && last.name === BATCH ? last : null;
      if (before && this.#works[before.works[0] as number]?.stream === work.stream) {
        const callNs = before.callNs + batchEntryNs.value;
        this.#host[this.#host.length - 1] = {
          ...before,
          works: [...before.works, index],
          callNs,
          outNs: callNs,
        };
      } else {
        this.#call(BATCH, [index], { callNs: batchSubmitNs.value });
      }
    } else if (work.op === "copy") {
      const staged = work.legs.length === 2;
      const name = (o as CopyOperation).api === "peer" ? "cuMemcpyPeerAsync" : "cuMemcpyAsync";
      const callNs = (staged ? stagedSubmitNs : submitNs).value;
      // A staged copy's first work goes out as early as any copy's.
      this.#call(name, [index], {
        callNs,
        outNs: submitNs.value,
        blocking: this.#blocking(o as CopyOperation),
      });
    } else if (work.op === "kernel") {
      this.#call("cuLaunchKernel", [index], { callNs: kernelSubmitNs.value, outNs: submitNs.value });
    } else {
      const word = work.op === "signal" || work.op === "await";
      this.#call(CALLS[work.op], [index], { callNs: (word ? wordSubmitNs : eventNs).value });
    }
  }

  /** The first of a run of syncs also submits what the others of the run learn by. */
  #sync(operations: readonly StepOperation[], index: number): void {
    const o = operations[index] as Extract<StepOperation, { op: "sync" }>;
    if (operations[index - 1]?.op !== "sync") {
      for (let i = index; operations[i]?.op === "sync"; i++) {
        const sync = operations[i] as typeof o;
        if (sync.method !== "poll-event" && sync.method !== "poll-flag") continue;
        const stream = this.#awaited(sync.stream);
        const work: Work =
          sync.method === "poll-event"
            ? { op: "record", stream }
            : {
                op: "signal",
                stream,
                word: this.#word(`sync ${i}`),
                arrivesNs: this.#costs.wordNs.value + this.#toHostNs(stream),
              };
        this.#marks.set(i, this.#works.push(work) - 1);
        const { eventNs, wordSubmitNs } = this.#costs;
        const callNs = (work.op === "signal" ? wordSubmitNs : eventNs).value;
        this.#call(CALLS[work.op], [this.#works.length - 1], { callNs });
      }
    }
    this.#host.push({
      do: "sync",
      stream: this.#awaited(o.stream),
      method: o.method,
      by: this.#marks.get(index) ?? null,
    });
  }

  #add(o: Exclude<StepOperation, { op: "sync" }>): number {
    const work = this.#workOf(o);
    const index = this.#works.push(work) - 1;
    if (o.op === "record") this.#records.set(o.event, index);
    return index;
  }

  #workOf(o: Exclude<StepOperation, { op: "sync" }>): Work {
    const stream = this.#streamOf(o.stream);
    const gpu = this.#gpuOf(stream);
    const startNs = this.#kernelNs();
    switch (o.op) {
      case "copy":
        return o.engine === undefined ? this.#copy(o, stream) : this.#kernelCopy(o, stream, gpu);
      case "record":
        return { op: "record", stream };
      case "wait":
        return { op: "wait", stream, recorded: this.#records.get(o.event) as number };
      case "signal": {
        const arrivesNs = this.#costs.wordNs.value + this.#ways.latencyNs(gpu, this.#place(o.buffer));
        return { op: "signal", stream, word: this.#word(`${o.buffer}+${o.offset}`), arrivesNs };
      }
      case "await":
        return { op: "await", stream, word: this.#word(`${o.buffer}+${o.offset}`) };
      case "compute":
        return { op: "kernel", stream, name: "compute", bytes: 0, ...NO_WORK, startNs, busyNs: o.ns };
      case "launch":
        return { op: "kernel", stream, name: o.kernel, bytes: 0, ...NO_WORK, startNs };
      case "put":
        return this.#put(o, stream, gpu);
      case "receive":
        return this.#receive(o, stream, gpu);
    }
  }

  #copy(o: CopyOperation, stream: number): CopyWork {
    if (o.api === "peer-3d") {
      throw new P2pError(
        "not-available",
        "the model knows no cost of cuMemcpy3DPeerAsync: no figure of it is published",
        'Use api "peer" or "default", real GPUs, or a recording that holds it.',
      );
    }
    const from = this.#place(o.src);
    const to = this.#place(o.dst);
    const legs = this.#ways.copy(from, to, o.bytes, this.#gpuOf(stream), this.#program.data.peerAccess);
    const { stagedExtraNs, stagedSlowNs, pageableNs } = this.#costs;
    const slow = "gpu" in from && "gpu" in to && this.#slowMode(from.gpu, to.gpu);
    const stagedNs = legs.length === 2 ? stagedExtraNs.value + (slow ? stagedSlowNs.value : 0) : 0;
    const withoutGpu = "host" in from && "host" in to;
    const pageable = this.#blocking(o) && !withoutGpu;
    return {
      op: "copy",
      stream,
      name: `${o.src} → ${o.dst}`,
      bytes: o.bytes,
      legs,
      extraNs: stagedNs + (pageable ? pageableNs.value : 0),
    };
  }

  /** Copies from or to pageable memory, or within the host. */
  #blocking(o: CopyOperation): boolean {
    const places = [this.#place(o.src), this.#place(o.dst)];
    return (
      places.some((place) => "host" in place && place.host === "pageable") ||
      places.every((place) => "host" in place)
    );
  }

  #kernelCopy(o: CopyOperation, stream: number, gpu: number): KernelWork {
    const [from, to] = [this.#place(o.src), this.#place(o.dst)];
    const reads = o.engine === "kernel-read";
    const roundTripNs = 2 * this.#ways.latencyNs(gpu, reads ? from : to);
    return {
      ...NO_WORK,
      op: "kernel",
      stream,
      name: `${o.src} → ${o.dst}`,
      bytes: o.bytes,
      // Loads wait for the first answer; stores are posted, and the kernel ends when the last is acknowledged.
      startNs: this.#kernelNs() + (reads ? roundTripNs : 0),
      path: this.#ways.kernel(gpu, from, to),
      wireBytes: o.bytes,
      endNs: reads ? 0 : roundTripNs,
    };
  }

  #put(o: Extract<StepOperation, { op: "put" }>, stream: number, gpu: number): KernelWork {
    const window = this.#place(o.dst);
    const oneWayNs = this.#ways.latencyNs(gpu, window);
    const path = this.#ways.kernel(gpu, this.#place(o.src), window);
    const route = this.#route(routeOf(o));
    this.#puts[route] = (this.#puts[route] ?? 0) + 1;
    const wireBytes = windowBytes(o.protocol, o.bytes);
    const llWireGbps = (this.#costs.llGbps.value * wireBytes) / o.bytes;
    // A fence waits until all stores are acknowledged, then the flag goes its way; lines carry their flags with them.
    const fenceNs = o.protocol === "flag" ? 2 * oneWayNs : 0;
    return {
      ...NO_WORK,
      op: "kernel",
      stream,
      name: `put ${o.src} → ${o.dst}`,
      bytes: o.bytes,
      startNs: this.#kernelNs(),
      path: o.protocol === "ll" ? { ...path, capGbps: Math.min(path.capGbps, llWireGbps) } : path,
      wireBytes,
      puts: { route, arrivesNs: fenceNs + oneWayNs },
      endNs: fenceNs + 2 * oneWayNs,
    };
  }

  #receive(o: Extract<StepOperation, { op: "receive" }>, stream: number, gpu: number): KernelWork {
    const window = this.#place(o.window);
    const { flagSeenNs, ownFlagSeenNs } = this.#costs;
    const own = this.#routeIsOwn(o);
    return {
      ...NO_WORK,
      op: "kernel",
      stream,
      name: `receive ${o.window}`,
      bytes: o.bytes,
      startNs: this.#kernelNs(),
      receives: { route: this.#route(routeOf(o)), seenNs: (own ? ownFlagSeenNs : flagSeenNs).value },
      path: o.dst === undefined ? null : this.#ways.kernel(gpu, window, this.#place(o.dst)),
      wireBytes: o.dst === undefined ? 0 : windowBytes(o.protocol, o.bytes),
    };
  }

  #kernelNs(): number {
    const { kernelNs, graphKernelNs } = this.#costs;
    return (this.#program.data.submit === "graph" ? graphKernelNs : kernelNs).value;
  }

  /** Whether what a receive waits for is put by a kernel of its own GPU. */
  #routeIsOwn(o: Extract<StepOperation, { op: "receive" }>): boolean {
    const gpu = this.#gpuOf(this.#streamOf(o.stream));
    const puts = this.#program.data.operations.filter((p) => p.op === "put" && p.dst === o.window);
    return puts.every((p) => p.op === "put" && this.#gpuOf(this.#streamOf(p.stream)) === gpu);
  }

  #toHostNs(stream: number): number {
    return this.#ways.latencyNs(this.#gpuOf(stream), { host: "pinned" });
  }

  #place(buffer: string): Place {
    return this.#places.get(buffer) as Place;
  }

  #streamOf(name: string): number {
    return this.#streams.get(name) as number;
  }

  /** The stream that a sync waits for: a graph is launched into that of its first operation, and ends there. */
  #awaited(name: string): number {
    const { submit, operations } = this.#program.data;
    return this.#streamOf(submit === "graph" ? (operations[0] as StepOperation).stream : name);
  }

  #gpuOf(stream: number): number {
    return (this.#program.data.streams[stream] as { gpu: number }).gpu;
  }

  #word(name: string): number {
    return numberOf(this.#words, name);
  }

  #route(name: string): number {
    const route = numberOf(this.#routes, name);
    this.#puts[route] ??= 0;
    return route;
  }
}

/** The number of a name, in the order in which names are first met. */
function numberOf(numbers: Map<string, number>, name: string): number {
  const known = numbers.get(name);
  if (known !== undefined) return known;
  numbers.set(name, numbers.size);
  return numbers.size - 1;
}

const BATCH = "cuMemcpyBatchAsync";
const CALLS = {
  record: "cuEventRecord",
  wait: "cuStreamWaitEvent",
  signal: "cuStreamWriteValue32",
  await: "cuStreamWaitValue32",
} as const;
