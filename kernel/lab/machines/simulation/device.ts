import type { Simulation } from "./engine.js";
import { Network } from "./links.js";
import type { CopyWork, KernelWork, Plan, Work } from "./plan.js";
import type { Spread } from "./spread.js";
import type { Leg } from "./ways.js";

/** An engine or a kernel at work, from its start to its end; times from the start of the simulation. */
export interface DeviceSpan {
  /** Index in {@link Plan.engines}; null for a kernel. */
  readonly engine: number | null;
  /** Index in {@link Plan.works}. */
  readonly work: number;
  /** Chunk of a copy that the driver stages, from 0; null for others. */
  readonly chunk: number | null;
  readonly startNs: number;
  readonly endNs: number;
  readonly bytes: number;
}

/** One work of one iteration. */
export interface Item {
  readonly index: number;
  readonly work: Work;
  /** From 1: what signals write and awaits wait for. */
  readonly number: number;
  /** Items of the same iteration, by index of their work. */
  readonly siblings: readonly (Item | undefined)[];
  readonly inGraph: boolean;
  done: boolean;
  readonly waiters: (() => void)[];
}

/** Where a stream's last work ran, for the hand-over to the next. */
const NOWHERE = -1;
const MULTIPROCESSORS = -2;

/** Items that start and end together. */
interface GraphItem {
  readonly graph: readonly Item[];
}

export class Queue {
  readonly items: (Item | GraphItem)[] = [];
  #taken = 0;
  busy = false;
  /** Works entered and works complete. */
  entered = 0;
  completed = 0;
  lastEndNs = -Infinity;
  lastRanOn = NOWHERE;
  /** Earliest start of the next work after a wait that it had to wait for. */
  notBeforeNs = 0;
  readonly idleWaiters: (() => void)[] = [];

  take(): Item | GraphItem | undefined {
    const item = this.items[this.#taken];
    if (item) this.#taken++;
    return item;
  }

  get idle(): boolean {
    return this.completed === this.entered;
  }
}

interface Engine {
  busy: boolean;
  freeAtNs: number;
  readonly queue: (() => void)[];
}

/**
 * The GPUs: streams that start no work before what stands ahead is complete, engines that do one thing at a time, kernels,
 * and bytes as flows that share links. All else (overlap, pipelining, contention, queueing) follows.
 */
export class Device {
  readonly spans: DeviceSpan[] = [];
  readonly network: Network;
  readonly #plan: Plan;
  readonly #simulation: Simulation;
  readonly #spread: Spread;
  readonly #engines: Engine[];
  readonly #words: Counter[];
  readonly #routes: Counter[];

  constructor(plan: Plan, simulation: Simulation, spread: Spread) {
    this.#plan = plan;
    this.#simulation = simulation;
    this.#spread = spread;
    this.network = new Network(simulation, plan.capacities);
    this.#engines = plan.engines.map(() => ({ busy: false, freeAtNs: 0, queue: [] }));
    this.#words = Array.from({ length: plan.words }, () => new Counter());
    this.#routes = plan.puts.map(() => new Counter());
  }

  /** Puts an item into a queue now. The queue must have counted it as entered. */
  push(queue: Queue, item: Item): void {
    queue.items.push(item);
    this.#pump(queue);
  }

  /** The same for items that are one graph. */
  pushGraph(queue: Queue, graph: readonly Item[]): void {
    queue.items.push({ graph });
    this.#pump(queue);
  }

  /** Lets a queue that was held as busy begin. */
  release(queue: Queue): void {
    queue.busy = false;
    this.#pump(queue);
  }

  whenIdle(queue: Queue, action: () => void): void {
    if (queue.idle) action();
    else queue.idleWaiters.push(action);
  }

  whenDone(item: Item, action: () => void): void {
    if (item.done) action();
    else item.waiters.push(action);
  }

  /** When the word has reached a number. */
  whenWord(word: number, number: number, action: () => void): void {
    (this.#words[word] as Counter).when(number, action);
  }

  /** Starts the work at the head of a queue, if that is idle. */
  #pump(queue: Queue): void {
    if (queue.busy) return;
    const item = queue.take();
    if (!item) return;
    queue.busy = true;
    if ("graph" in item) {
      this.#graph(item.graph, () => this.#completeOne(queue));
      return;
    }
    const { work } = item;
    switch (work.op) {
      case "copy":
        this.#copy(queue, item, work);
        return;
      case "kernel":
        this.#kernel(queue, item, work);
        return;
      case "wait": {
        const recorded = item.siblings[work.recorded] as Item;
        if (recorded.done) this.#complete(queue, item);
        else this.whenDone(recorded, () => this.#completeAfterWait(queue, item));
        return;
      }
      case "signal":
        this.#simulation.after(this.#spread.engine(work.arrivesNs), () => {
          (this.#words[work.word] as Counter).reach(item.number);
          this.#complete(queue, item);
        });
        return;
      case "await": {
        const word = this.#words[work.word] as Counter;
        if (word.value >= item.number) this.#complete(queue, item);
        else word.when(item.number, () => this.#completeAfterWait(queue, item));
        return;
      }
      case "record":
        this.#complete(queue, item);
    }
  }

  /** In a graph the streams that were captured run beside each other, as they do without one. */
  #graph(items: readonly Item[], done: () => void): void {
    const queues = new Map<number, Queue>();
    for (const item of items) {
      const queue = queues.get(item.work.stream) ?? new Queue();
      queues.set(item.work.stream, queue);
      queue.entered++;
      queue.items.push(item);
    }
    let left = queues.size;
    for (const queue of queues.values()) {
      queue.idleWaiters.push(() => {
        if (--left === 0) done();
      });
    }
    for (const queue of queues.values()) this.#pump(queue);
  }

  #completeAfterWait(queue: Queue, item: Item): void {
    queue.notBeforeNs = this.#simulation.nowNs + this.#handoverNs();
    this.#complete(queue, item);
  }

  #handoverNs(): number {
    return this.#spread.engine(this.#plan.costs.handoverNs.value);
  }

  /** When the next work of a queue can start on an engine, or on the multiprocessors. */
  #startNs(queue: Queue, on: number): number {
    const handedOver =
      queue.lastRanOn !== NOWHERE && queue.lastRanOn !== on ? queue.lastEndNs + this.#handoverNs() : 0;
    return Math.max(this.#simulation.nowNs, handedOver, queue.notBeforeNs);
  }

  /**
   * The same for a copy that the driver stages. Its chunks run on channels of the driver's own: the stream learns that what
   * stood ahead is complete, and passes the turn on to the first of them. Behind nothing, or long after, both have passed.
   */
  #startOfStagingNs(queue: Queue): number {
    const turnNs =
      queue.lastRanOn === NOWHERE ? 0 : queue.lastEndNs + this.#handoverNs() + this.#handoverNs();
    return Math.max(this.#simulation.nowNs, turnNs, queue.notBeforeNs);
  }

  #copy(queue: Queue, item: Item, work: CopyWork): void {
    const first = work.legs[0];
    const last = work.legs.at(-1) as Leg;
    const extraNs = work.extraNs > 0 ? this.#spread.engine(work.extraNs) : 0;
    const finished = () => {
      queue.lastEndNs = this.#simulation.nowNs;
      queue.lastRanOn = last.engine;
      this.#complete(queue, item);
    };
    const staged = work.legs.length === 2;
    const startNs = staged ? this.#startOfStagingNs(queue) : this.#startNs(queue, first.engine);
    this.#simulation.at(startNs + extraNs, () => {
      if (staged) this.#stage(item, work.bytes, work.legs, finished);
      else this.#use(first, item, null, work.bytes, finished);
    });
  }

  /** Chunk by chunk to the host and from it: a buffer is filled again when its last chunk has left it. */
  #stage(item: Item, bytes: number, legs: readonly [Leg, Leg], finished: () => void): void {
    const { stagedChunkBytes, stagedBuffers, stagedHandoverNs } = this.#plan.costs;
    const chunkBytes = Math.max(1, Math.round(stagedChunkBytes.value));
    const chunks = Math.ceil(bytes / chunkBytes);
    let left = chunks;
    const handOver = (action: () => void) =>
      this.#simulation.after(this.#spread.engine(stagedHandoverNs.value), action);
    const begin = (chunk: number): void => {
      const size = Math.min(chunkBytes, bytes - chunk * chunkBytes);
      this.#use(legs[0], item, chunk, size, () => {
        handOver(() =>
          this.#use(legs[1], item, chunk, size, () => {
            const next = chunk + stagedBuffers.value;
            if (next < chunks) handOver(() => begin(next));
            if (--left === 0) finished();
          }),
        );
      });
    };
    for (let buffer = 0; buffer < Math.min(stagedBuffers.value, chunks); buffer++) begin(buffer);
  }

  /** One passage on an engine, as soon as that is free; first come, first served. */
  #use(leg: Leg, item: Item, chunk: number | null, bytes: number, done: () => void): void {
    const engine = this.#engines[leg.engine] as Engine;
    const { gapNs, graphGapNs } = this.#plan.costs;
    const start = () => {
      const startNs = this.#simulation.nowNs;
      this.#simulation.after(this.#spread.engine(leg.fixedNs), () =>
        this.network.start(leg, bytes * this.#spread.link(), () => {
          const endNs = this.#simulation.nowNs;
          this.spans.push({ engine: leg.engine, work: item.index, chunk, startNs, endNs, bytes });
          engine.freeAtNs = endNs + this.#spread.engine((item.inGraph ? graphGapNs : gapNs).value);
          engine.busy = false;
          this.#next(engine);
          done();
        }),
      );
    };
    engine.queue.push(start);
    this.#next(engine);
  }

  #next(engine: Engine): void {
    if (engine.busy) return;
    const start = engine.queue.shift();
    if (!start) return;
    engine.busy = true;
    this.#simulation.at(engine.freeAtNs, start);
  }

  /** Kernels of different streams run beside each other: the multiprocessors are many. */
  #kernel(queue: Queue, item: Item, work: KernelWork): void {
    this.#simulation.at(this.#startNs(queue, MULTIPROCESSORS), () => {
      const startNs = this.#simulation.nowNs;
      const finished = () => {
        const endNs = this.#simulation.nowNs;
        this.spans.push({ engine: null, work: item.index, chunk: null, startNs, endNs, bytes: work.bytes });
        queue.lastEndNs = endNs;
        queue.lastRanOn = MULTIPROCESSORS;
        this.#complete(queue, item);
      };
      const moved = () => {
        if (work.puts) {
          const route = this.#routes[work.puts.route] as Counter;
          this.#simulation.after(this.#spread.engine(work.puts.arrivesNs), () =>
            route.reach(route.value + 1),
          );
        }
        // A time that was asked for is kept by the GPU's own timer: only the rest varies.
        this.#simulation.after(this.#spread.engine(work.endNs) + work.busyNs, finished);
      };
      const move = () => {
        if (!work.path) moved();
        else this.network.start(work.path, work.wireBytes * this.#spread.link(), moved);
      };
      this.#simulation.after(this.#spread.engine(work.startNs), () => {
        if (work.receives) this.#receive(item, work.receives, move);
        else move();
      });
    });
  }

  /** The n-th receive of a route takes its n-th put. */
  #receive(item: Item, { route, seenNs }: NonNullable<KernelWork["receives"]>, then: () => void): void {
    const perIteration = this.#plan.puts[route] as number;
    const before = this.#plan.works
      .slice(0, item.index)
      .filter((work) => work.op === "kernel" && work.receives?.route === route).length;
    const wanted = (item.number - 1) * perIteration + before + 1;
    (this.#routes[route] as Counter).when(wanted, () =>
      this.#simulation.after(this.#spread.engine(seenNs), then),
    );
  }

  #complete(queue: Queue, item: Item): void {
    item.done = true;
    for (const waiter of item.waiters.splice(0)) waiter();
    this.#completeOne(queue);
  }

  #completeOne(queue: Queue): void {
    queue.busy = false;
    queue.completed++;
    queue.lastEndNs = Math.max(queue.lastEndNs, this.#simulation.nowNs);
    if (queue.idle) for (const waiter of queue.idleWaiters.splice(0)) waiter();
    this.#pump(queue);
  }
}

/** A number that only grows, and who waits for it. */
class Counter {
  value = 0;
  #waiters: { readonly number: number; readonly action: () => void }[] = [];

  reach(number: number): void {
    this.value = Math.max(this.value, number);
    const met = this.#waiters.filter((waiter) => waiter.number <= this.value);
    if (met.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => waiter.number > this.value);
    for (const { action } of met) action();
  }

  when(number: number, action: () => void): void {
    if (this.value >= number) action();
    else this.#waiters.push({ number, action });
  }
}
