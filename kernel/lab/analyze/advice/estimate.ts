/** What an iteration would take: its operations in order, with costs fitted to a few probes. */
import type { CopyOperation, StepOperation, SyncMethod } from "../../operations.js";
import type { Program } from "../../program.js";

/** Of a copy from one kind of place to another, by one engine; nanoseconds. */
export interface LegCosts {
  /** Host time of the call that submits it. */
  readonly callNs: number;
  /** What it keeps its engine busy for beside its bytes, in a stream and in a graph. */
  readonly engineNs: number;
  readonly graphEngineNs: number;
  /** GB/s; Infinity where its time does not grow with size. */
  readonly rateGbps: number;
  /** Once an iteration: until the engine starts, and from its end until the host knows (spinning). */
  readonly fixedNs: number;
}

export interface Costs {
  readonly legs: ReadonlyMap<string, LegCosts>;
  /** Host time of a graph launch, and what it adds to `fixedNs` of its first copy. */
  readonly graphCallNs: number;
  readonly graphFixedNs: number;
  /** Host time of each copy of a batch. */
  readonly batchCallNs: number;
  /** Host time of a record or a wait, and what passing on between streams adds. */
  readonly eventCallNs: number;
  readonly handOverNs: number;
  /** The same for a word in memory. */
  readonly flagCallNs: number;
  readonly flagHandOverNs: number;
  /** Between copies of one stream by different engines. */
  readonly hopNs: number;
  readonly kernelCallNs: number;
  readonly kernelNs: number;
  /** What a way to wait adds to spinning; negative where it is faster. */
  readonly syncNs: Readonly<Partial<Record<SyncMethod, number>>>;
}

/** Which costs a copy has. GPUs of pairs with the same link share them. */
export type LegOf = (program: Program, copy: CopyOperation) => string;

export interface Estimate {
  readonly totalNs: number;
  /** Host time in submit calls. */
  readonly submitNs: number;
  /** Bytes over the busiest way into or out of a GPU, by its fitted rate. */
  readonly linkNs: number;
}

/** Iterations by which a steady stream is told from its beginning. */
const STEADY = 4;

/** @returns null where some copy's costs are not known. */
export function estimate(
  program: Program,
  costs: Costs,
  legOf: LegOf,
  mode: "latency" | "throughput",
): Estimate | null {
  const operations = program.data.operations as readonly StepOperation[];
  const legs = operations.map((o) => (o.op === "copy" ? costs.legs.get(legOf(program, o)) : undefined));
  if (operations.some((o, index) => o.op === "copy" && !legs[index])) return null;
  const once = new Schedule(program, costs, legs, mode === "latency");
  const totalNs = once.iteration(operations);
  const { submitNs, linkNs } = once;
  if (mode === "latency") return { totalNs, submitNs, linkNs };
  let endNs = totalNs;
  for (let i = 0; i < STEADY; i++) endNs = once.iteration(operations);
  return { totalNs: Math.max((endNs - totalNs) / STEADY, submitNs), submitNs, linkNs };
}

interface StreamState {
  readyNs: number;
  engine: string | null;
  fixedNs: number;
}

/** A host thread, streams, engines that do one thing at a time, and ways whose bytes queue up. */
class Schedule {
  submitNs = 0;
  #hostNs = 0;
  readonly #program: Program;
  readonly #costs: Costs;
  readonly #legs: readonly (LegCosts | undefined)[];
  /** Whether the host's calls and waits take part: behind a gate they do not. */
  readonly #host: boolean;
  readonly #streams = new Map<string, StreamState>();
  readonly #freeNs = new Map<string, number>();
  readonly #busyNs = new Map<string, number>();
  readonly #events = new Map<string, number>();
  #began = false;

  constructor(program: Program, costs: Costs, legs: readonly (LegCosts | undefined)[], host: boolean) {
    this.#program = program;
    this.#costs = costs;
    this.#legs = legs;
    this.#host = host;
  }

  get linkNs(): number {
    return Math.max(0, ...this.#busyNs.values());
  }

  /** @returns when the host knows that all is complete; behind a gate, when the last stream is. */
  iteration(operations: readonly StepOperation[]): number {
    const first = !this.#began;
    this.#began = true;
    if (this.#graph) this.#call(this.#costs.graphCallNs, first);
    for (const [index, o] of operations.entries()) this.#operation(o, index, first);
    if (this.#host) return this.#hostNs;
    return Math.max(...[...this.#streams.values()].map(({ readyNs }) => readyNs));
  }

  get #graph(): boolean {
    return this.#program.data.submit === "graph";
  }

  #call(ns: number, counts: boolean): void {
    if (counts) this.submitNs += ns;
    if (this.#host) this.#hostNs += ns;
  }

  #submit(ns: number, counts: boolean): void {
    if (!this.#graph) this.#call(ns, counts);
  }

  #operation(o: StepOperation, index: number, counts: boolean): void {
    const costs = this.#costs;
    const stream = this.#stream(o.stream);
    switch (o.op) {
      case "copy":
        this.#copy(o, this.#legs[index] as LegCosts, stream, counts);
        return;
      case "compute":
      case "launch":
        this.#submit(costs.kernelCallNs, counts);
        stream.readyNs =
          Math.max(this.#hostNs, stream.readyNs) + costs.kernelNs + (o.op === "compute" ? o.ns : 0);
        stream.fixedNs = Math.max(stream.fixedNs, this.#usualFixedNs);
        return;
      case "record":
        this.#submit(costs.eventCallNs, counts);
        this.#events.set(o.event, stream.readyNs);
        return;
      case "signal":
        this.#submit(costs.flagCallNs, counts);
        this.#events.set(`${o.buffer}+${o.offset}`, stream.readyNs);
        return;
      case "wait":
        this.#submit(costs.eventCallNs, counts);
        this.#pass(stream, o.event, costs.handOverNs);
        return;
      case "await":
        this.#submit(costs.flagCallNs, counts);
        this.#pass(stream, `${o.buffer}+${o.offset}`, costs.flagHandOverNs);
        return;
      case "sync":
        this.#sync(stream, o.method);
    }
  }

  #pass(stream: StreamState, event: string, ns: number): void {
    const atNs = this.#events.get(event) ?? 0;
    if (atNs + ns > stream.readyNs) stream.readyNs = atNs + ns;
    stream.fixedNs = Math.max(stream.fixedNs, this.#usualFixedNs);
  }

  #copy(o: CopyOperation, leg: LegCosts, stream: StreamState, counts: boolean): void {
    this.#submit(o.api === "batch" ? this.#costs.batchCallNs : leg.callNs, counts);
    const from = this.#placeOf(o.src);
    const to = this.#placeOf(o.dst);
    const kernel = o.engine !== undefined;
    const engine = kernel ? `kernel ${o.stream}` : `${this.#gpuOf(o.stream)} ${from} ${to}`;
    const hop = stream.engine !== null && stream.engine !== engine ? this.#costs.hopNs : 0;
    const engineNs = this.#graph ? leg.graphEngineNs : leg.engineNs;
    const startNs = Math.max(this.#hostNs, stream.readyNs + hop, this.#freeNs.get(engine) ?? 0);
    // Host and peer links are others; each is a way out of one end and into the other.
    const kind = from === "host" || to === "host" ? "host" : "peer";
    const ways = from === to ? [`in ${from}`] : [`out ${from} ${kind}`, `in ${to} ${kind}`];
    const bytesNs = o.bytes / leg.rateGbps;
    const endNs = Math.max(startNs + engineNs, ...ways.map((way) => this.#freeNs.get(way) ?? 0)) + bytesNs;
    for (const way of ways) {
      this.#freeNs.set(way, endNs);
      if (counts) this.#busyNs.set(way, (this.#busyNs.get(way) ?? 0) + bytesNs);
    }
    this.#freeNs.set(engine, endNs);
    stream.readyNs = endNs;
    stream.engine = engine;
    stream.fixedNs = Math.max(stream.fixedNs, leg.fixedNs + (this.#graph ? this.#costs.graphFixedNs : 0));
  }

  /** Syncs that follow each other cost what the last to complete does. */
  #sync(stream: StreamState, method: SyncMethod): void {
    if (!this.#host) return;
    const seenNs = stream.readyNs + stream.fixedNs + (this.#costs.syncNs[method] ?? 0);
    this.#hostNs = Math.max(this.#hostNs, seenNs);
  }

  get #usualFixedNs(): number {
    const [first] = this.#costs.legs.values();
    return first?.fixedNs ?? 0;
  }

  #stream(name: string): StreamState {
    const known = this.#streams.get(name);
    if (known) return known;
    const state: StreamState = { readyNs: 0, engine: null, fixedNs: 0 };
    this.#streams.set(name, state);
    return state;
  }

  #gpuOf(stream: string): number | undefined {
    return this.#program.data.streams.find(({ name }) => name === stream)?.gpu;
  }

  #placeOf(buffer: string): string {
    const { place } = this.#program.bufferOf(buffer);
    return "gpu" in place ? `${place.gpu}` : "host";
  }
}
