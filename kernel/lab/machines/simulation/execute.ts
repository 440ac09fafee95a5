import { P2pError } from "../../errors.js";
import type { Random } from "../../random.js";
import { Simulation } from "./engine.js";
import { Network } from "./links.js";
import type { CopyStep, Leg, Plan, Step } from "./plan.js";
import { Spread } from "./spread.js";

/** An engine at work, from its start to its last byte; times from the start of the iteration. */
export interface EngineSpan {
  readonly engine: number;
  /** Index of the copy in the plan's steps. */
  readonly step: number;
  /** Chunk of a copy that the driver stages, from 0; null for others. */
  readonly chunk: number | null;
  readonly startNs: number;
  readonly endNs: number;
  readonly bytes: number;
}

/** The submitting thread in a call. */
export interface CallSpan {
  readonly step: number;
  readonly startNs: number;
  readonly endNs: number;
}

/** One iteration, times in nanoseconds from the first submit call's entry. */
export interface Iteration {
  /** Last submit call returned. */
  readonly apiNs: number;
  /** Last sync returned. */
  readonly totalNs: number;
  /** The device is idle again; later than `totalNs` only where no sync waits for some stream. */
  readonly idleNs: number;
  readonly spans: readonly EngineSpan[];
  readonly calls: readonly CallSpan[];
}

/**
 * Simulates one iteration on an idle machine. The host thread goes through the steps; each submit call costs it time and
 * puts work into its stream, which starts no work before what stands ahead is complete; engines do one thing at a time;
 * bytes are flows that share links. All else (overlap, pipelining, contention, queueing) follows.
 */
export function execute(plan: Plan, random: Random): Iteration {
  return new Execution(plan, random).run();
}

/** Work in a stream. A record or wait has no step of its own to run. */
interface Work {
  readonly index: number;
  readonly step: Step;
  readonly arrivedNs: number;
  /** The record whose completion a wait is for; null when nothing was recorded before it. */
  readonly waitsFor: Work | null;
  done: boolean;
  readonly waiters: (() => void)[];
}

interface Stream {
  readonly queue: Work[];
  busy: boolean;
  submitted: number;
  completed: number;
  lastArrivalNs: number;
  /** End and engine of the last copy, for the hand-over to the next. */
  lastEndNs: number;
  lastEngine: number;
  /** Earliest start of the next copy after a wait that it had to wait for. */
  notBeforeNs: number;
  readonly idleWaiters: (() => void)[];
}

interface Engine {
  busy: boolean;
  freeAtNs: number;
  readonly queue: (() => void)[];
}

class Execution {
  readonly #plan: Plan;
  readonly #simulation = new Simulation();
  readonly #network: Network;
  readonly #spread: Spread;
  readonly #streams: Stream[];
  readonly #engines: Engine[];
  readonly #records = new Map<string, Work>();
  readonly #spans: EngineSpan[] = [];
  readonly #calls: CallSpan[] = [];
  #apiNs = 0;
  #totalNs = Number.NaN;

  constructor(plan: Plan, random: Random) {
    this.#plan = plan;
    this.#network = new Network(this.#simulation, plan.capacities);
    this.#spread = new Spread(plan.costs.jitter, random);
    this.#streams = plan.streams.map(() => ({
      queue: [],
      busy: false,
      submitted: 0,
      completed: 0,
      lastArrivalNs: 0,
      lastEndNs: -Infinity,
      lastEngine: -1,
      notBeforeNs: 0,
      idleWaiters: [],
    }));
    this.#engines = plan.engines.map(() => ({ busy: false, freeAtNs: -Infinity, queue: [] }));
  }

  run(): Iteration {
    this.#simulation.at(0, () => this.#host(0));
    this.#simulation.run();
    if (Number.isNaN(this.#totalNs)) {
      throw new P2pError(
        "program",
        "the program never ends: a stream waits for work that waits for it",
        "Look at its wait() operations.",
      );
    }
    return {
      apiNs: this.#apiNs,
      totalNs: this.#totalNs,
      idleNs: this.#simulation.nowNs,
      spans: this.#spans,
      calls: this.#calls,
    };
  }

  /** The submitting thread at step `index`. */
  #host(index: number): void {
    const step = this.#plan.steps[index];
    if (!step) return;
    const enteredNs = this.#simulation.nowNs;
    const { costs } = this.#plan;
    const stream = this.#streams[step.stream] as Stream;
    const returned = () => {
      const nowNs = this.#simulation.nowNs;
      this.#calls.push({ step: index, startNs: enteredNs, endNs: nowNs });
      if (step.op === "sync") this.#totalNs = nowNs;
      else this.#apiNs = nowNs;
      this.#host(index + 1);
    };
    if (step.op === "sync") {
      const pollNs = enteredNs + this.#spread.host(costs.pollNs.value);
      const seenNs = this.#spread.receiver(costs.receiverNs[step.method].value);
      this.#whenIdle(stream, () =>
        this.#simulation.at(Math.max(pollNs, stream.lastEndNs + seenNs), returned),
      );
      return;
    }
    const submitNs =
      step.op === "copy" ? this.#spread.host(step.submitNs) : this.#spread.host(costs.eventNs.value);
    // A staged copy's first work goes out as early as any copy's: the rest of that long call overlaps with it.
    const outNs = step.op === "copy" ? Math.min(submitNs, this.#spread.host(costs.submitNs.value)) : submitNs;
    const work = this.#submit(index, step, enteredNs + outNs + this.#spread.host(costs.doorbellNs.value));
    if (step.op === "copy" && step.blocking) {
      const seenNs = this.#spread.receiver(costs.receiverNs.block.value);
      this.#whenDone(work, () => this.#simulation.at(this.#simulation.nowNs + seenNs, returned));
    } else {
      this.#simulation.at(enteredNs + submitNs, returned);
    }
  }

  #submit(index: number, step: Step, arrivesNs: number): Work {
    const stream = this.#streams[step.stream] as Stream;
    const work: Work = {
      index,
      step,
      // In order, whatever the spread of the two calls was.
      arrivedNs: Math.max(arrivesNs, stream.lastArrivalNs),
      waitsFor: step.op === "wait" ? (this.#records.get(step.event) ?? null) : null,
      done: false,
      waiters: [],
    };
    if (step.op === "record") this.#records.set(step.event, work);
    stream.submitted++;
    stream.lastArrivalNs = work.arrivedNs;
    this.#simulation.at(work.arrivedNs, () => {
      stream.queue.push(work);
      this.#pump(stream);
    });
    return work;
  }

  /** Starts the work at the head of a stream, if that is idle. */
  #pump(stream: Stream): void {
    const work = stream.queue[0];
    if (stream.busy || !work) return;
    stream.busy = true;
    stream.queue.shift();
    const { step } = work;
    if (step.op === "copy") {
      this.#copy(stream, work, step);
    } else if (step.op === "wait" && work.waitsFor && !work.waitsFor.done) {
      this.#whenDone(work.waitsFor, () => {
        stream.notBeforeNs = this.#simulation.nowNs + this.#spread.engine(this.#plan.costs.handoverNs.value);
        this.#complete(stream, work);
      });
    } else {
      this.#complete(stream, work);
    }
  }

  #copy(stream: Stream, work: Work, step: CopyStep): void {
    const first = step.legs[0];
    const last = step.legs.at(-1) as Leg;
    const handedOver =
      stream.lastEngine >= 0 && stream.lastEngine !== first.engine
        ? stream.lastEndNs + this.#spread.engine(this.#plan.costs.handoverNs.value)
        : 0;
    const extraNs = step.extraNs > 0 ? this.#spread.engine(step.extraNs) : 0;
    const startNs = Math.max(this.#simulation.nowNs, handedOver, stream.notBeforeNs) + extraNs;
    const finished = () => {
      stream.lastEndNs = this.#simulation.nowNs;
      stream.lastEngine = last.engine;
      this.#complete(stream, work);
    };
    this.#simulation.at(startNs, () => {
      if (step.legs.length === 2) this.#stage(work.index, step.bytes, step.legs, finished);
      else this.#use(first, work.index, null, step.bytes, finished);
    });
  }

  /** Chunk by chunk to the host and from it: a buffer is filled again when its last chunk has left it. */
  #stage(step: number, bytes: number, legs: readonly [Leg, Leg], finished: () => void): void {
    const { stagedChunkBytes, stagedBuffers, handoverNs } = this.#plan.costs;
    const chunks = Math.ceil(bytes / stagedChunkBytes.value);
    let left = chunks;
    const handOver = (action: () => void) =>
      this.#simulation.at(this.#simulation.nowNs + this.#spread.engine(handoverNs.value), action);
    const begin = (chunk: number): void => {
      const size = Math.min(stagedChunkBytes.value, bytes - chunk * stagedChunkBytes.value);
      this.#use(legs[0], step, chunk, size, () => {
        handOver(() =>
          this.#use(legs[1], step, chunk, size, () => {
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
  #use(leg: Leg, step: number, chunk: number | null, bytes: number, done: () => void): void {
    const engine = this.#engines[leg.engine] as Engine;
    const start = () => {
      const startNs = this.#simulation.nowNs;
      this.#simulation.at(startNs + this.#spread.engine(leg.fixedNs), () =>
        this.#network.start(leg, bytes * this.#spread.link(), () => {
          const endNs = this.#simulation.nowNs;
          this.#spans.push({ engine: leg.engine, step, chunk, startNs, endNs, bytes });
          engine.freeAtNs = endNs + this.#spread.engine(this.#plan.costs.gapNs.value);
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
    this.#simulation.at(Math.max(this.#simulation.nowNs, engine.freeAtNs), start);
  }

  #complete(stream: Stream, work: Work): void {
    work.done = true;
    for (const waiter of work.waiters.splice(0)) waiter();
    stream.busy = false;
    stream.completed++;
    stream.lastEndNs = Math.max(stream.lastEndNs, this.#simulation.nowNs);
    if (stream.completed === stream.submitted) for (const waiter of stream.idleWaiters.splice(0)) waiter();
    this.#pump(stream);
  }

  #whenDone(work: Work, action: () => void): void {
    if (work.done) action();
    else work.waiters.push(action);
  }

  #whenIdle(stream: Stream, action: () => void): void {
    if (stream.completed === stream.submitted) action();
    else stream.idleWaiters.push(action);
  }
}
