import { P2pError } from "../../errors.js";
import type { Random } from "../../random.js";
import { Device, type DeviceSpan, type Item, Queue } from "./device.js";
import { Simulation } from "./engine.js";
import type { HostStep, Plan, Work } from "./plan.js";
import { Spread } from "./spread.js";

/** The submitting thread in a call. */
export interface CallSpan {
  /** Index in {@link Plan.host}. */
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
  readonly spans: readonly DeviceSpan[];
  readonly calls: readonly CallSpan[];
  readonly events: number;
  /** Highest use of each shared resource, as a share of its capacity, and the bytes that went through it. */
  readonly peakShare: Float64Array;
  readonly carriedBytes: Float64Array;
}

/** A batch of iterations behind a gate. */
export interface Batch {
  /** The gate opened → the last stream was done. */
  readonly totalNs: number;
  /** First submit call entered → last one returned. */
  readonly apiNs: number;
  /** Start → end of each stream that has work, by index of the stream. */
  readonly streamNs: ReadonlyMap<number, number>;
}

/**
 * Simulates one iteration on an idle machine. The host thread goes through its steps; each submit call costs it time and
 * puts work into a stream of the {@link Device}.
 * @throws P2pError `program` when it never ends.
 */
export function execute(plan: Plan, random: Random): Iteration {
  return scaledIteration(new Execution(plan, random).iteration(), plan.timeFactor);
}

/**
 * Simulates a batch of iterations submitted ahead of a gate, as throughput mode does: no sync between them, and no work
 * before all is submitted.
 * @param gated false where a submit call returns only when its work is done: the gate would never open.
 */
export function executeBatch(plan: Plan, random: Random, iterations: number, gated: boolean): Batch {
  const { totalNs, apiNs, streamNs } = new Execution(plan, random).batch(iterations, gated);
  const { timeFactor } = plan;
  return {
    totalNs: totalNs * timeFactor,
    apiNs: apiNs * timeFactor,
    streamNs: new Map([...streamNs].map(([stream, ns]) => [stream, ns * timeFactor])),
  };
}

class Execution {
  readonly #plan: Plan;
  readonly #simulation = new Simulation();
  readonly #spread: Spread;
  readonly #device: Device;
  readonly #queues: Queue[];
  /** When the last work of each stream reached the GPU: works arrive in order, whatever the spread of the calls was. */
  readonly #arrivedNs: Float64Array;
  readonly #calls: CallSpan[] = [];

  constructor(plan: Plan, random: Random) {
    this.#plan = plan;
    this.#spread = new Spread(plan.costs.jitter, random);
    this.#device = new Device(plan, this.#simulation, this.#spread);
    this.#queues = plan.streams.map(() => new Queue());
    this.#arrivedNs = new Float64Array(plan.streams.length);
  }

  iteration(): Iteration {
    let apiNs = 0;
    let totalNs: number | null = null;
    const items: (Item | undefined)[] = [];
    const { host } = this.#plan;
    const go = (index: number): void => {
      const step = host[index];
      if (!step) return;
      const enteredNs = this.#simulation.nowNs;
      const returned = () => {
        const nowNs = this.#simulation.nowNs;
        this.#calls.push({ step: index, startNs: enteredNs, endNs: nowNs });
        if (step.do === "sync") totalNs = nowNs;
        else apiNs = nowNs;
        go(index + 1);
      };
      if (step.do === "sync") this.#sync(step, items, returned);
      else this.#submit(step, items, 1, returned);
    };
    this.#simulation.at(0, () => go(0));
    this.#simulation.run();
    const { network, spans } = this.#device;
    return {
      apiNs,
      totalNs: ended(totalNs),
      idleNs: this.#simulation.nowNs,
      spans,
      calls: this.#calls,
      events: this.#simulation.events,
      peakShare: network.peakShare,
      carriedBytes: network.carriedBytes,
    };
  }

  batch(iterations: number, gated: boolean): Batch {
    const submits = this.#plan.host.flatMap((step) =>
      step.do === "submit" && !this.#marksSync(step) ? [step] : [],
    );
    const streams = [
      ...new Set(
        submits.flatMap((step) =>
          step.works
            .slice(0, step.graph ? 1 : undefined)
            .map((index) => (this.#plan.works[index] as Work).stream),
        ),
      ),
    ];
    let apiNs = 0;
    const startNs = new Map<number, number>();
    // Held until the gate opens; then the first stream starts, and the others, which wait for its start, a hand-over later.
    for (const stream of streams) (this.#queues[stream] as Queue).busy = gated;
    const open = () => {
      for (const [i, stream] of streams.entries()) {
        const delayNs = i === 0 ? 0 : this.#spread.engine(this.#plan.costs.handoverNs.value);
        this.#simulation.after(delayNs, () => {
          const queue = this.#queues[stream] as Queue;
          startNs.set(stream, this.#simulation.nowNs);
          if (gated) this.#device.release(queue);
        });
      }
    };
    const go = (iteration: number, index: number, items: (Item | undefined)[]): void => {
      if (index === submits.length) {
        if (iteration < iterations) {
          go(iteration + 1, 0, []);
          return;
        }
        apiNs = this.#simulation.nowNs;
        if (gated) this.#simulation.at(Math.max(...streams.map((s) => this.#arrivedNs[s] as number)), open);
        return;
      }
      this.#submit(submits[index] as (typeof submits)[number], items, iteration, () =>
        go(iteration, index + 1, items),
      );
    };
    this.#simulation.at(0, () => go(1, 0, []));
    if (!gated) this.#simulation.at(this.#plan.costs.doorbellNs.value, open);
    this.#simulation.run();
    const start = (stream: number) => startNs.get(stream) as number;
    const end = (stream: number) => (this.#queues[stream] as Queue).lastEndNs;
    const done = streams.every((stream) => (this.#queues[stream] as Queue).idle);
    return {
      totalNs: ended(done ? Math.max(...streams.map(end)) : null) - start(streams[0] as number),
      apiNs,
      streamNs: new Map(streams.map((stream) => [stream, end(stream) - start(stream)])),
    };
  }

  /** A submit call that only serves a sync, which throughput mode leaves out. */
  #marksSync(step: Extract<HostStep, { do: "submit" }>): boolean {
    return this.#plan.host.some(
      (other) => other.do === "sync" && other.by !== null && step.works.includes(other.by),
    );
  }

  #sync(
    { stream, method, by }: Extract<HostStep, { do: "sync" }>,
    items: readonly (Item | undefined)[],
    returned: () => void,
  ): void {
    const { costs } = this.#plan;
    const queue = this.#queues[stream] as Queue;
    const pollNs = this.#simulation.nowNs + this.#spread.host(costs.pollNs.value);
    const seenNs = this.#spread.receiver(costs.receiverNs[method].value);
    const seen = (sinceNs: number) => this.#simulation.at(Math.max(pollNs, sinceNs + seenNs), returned);
    const mark = by === null ? null : (this.#plan.works[by] as Work);
    if (mark?.op === "signal")
      this.#device.whenWord(mark.word, 1, () => this.#simulation.after(seenNs, returned));
    else if (by !== null) this.#device.whenDone(items[by] as Item, () => seen(this.#simulation.nowNs));
    else this.#device.whenIdle(queue, () => seen(queue.lastEndNs));
  }

  #submit(
    step: Extract<HostStep, { do: "submit" }>,
    items: (Item | undefined)[],
    number: number,
    returned: () => void,
  ): void {
    const enteredNs = this.#simulation.nowNs;
    const { costs } = this.#plan;
    const callNs = this.#spread.host(step.callNs);
    const outNs = step.outNs < step.callNs ? Math.min(callNs, this.#spread.host(step.outNs)) : callNs;
    const arrivesNs = enteredNs + outNs + this.#spread.host(costs.doorbellNs.value);
    const entered = step.works.map((index) => this.#itemOf(index, items, number, step.graph));
    const stream = (entered[0] as Item).work.stream;
    if (step.graph) {
      this.#enter(stream, arrivesNs, (queue) => {
        this.#device.pushGraph(queue, entered);
      });
    } else {
      for (const item of entered)
        this.#enter(item.work.stream, arrivesNs, (queue) => this.#device.push(queue, item));
    }
    if (step.blocking) {
      const seenNs = this.#spread.receiver(costs.receiverNs.block.value);
      this.#device.whenDone(entered.at(-1) as Item, () => this.#simulation.after(seenNs, returned));
    } else {
      this.#simulation.at(enteredNs + callNs, returned);
    }
  }

  #enter(stream: number, arrivesNs: number, push: (queue: Queue) => void): void {
    const queue = this.#queues[stream] as Queue;
    queue.entered++;
    const atNs = Math.max(arrivesNs, this.#arrivedNs[stream] as number);
    this.#arrivedNs[stream] = atNs;
    this.#simulation.at(atNs, () => push(queue));
  }

  #itemOf(index: number, items: (Item | undefined)[], number: number, inGraph: boolean): Item {
    const work = this.#plan.works[index] as Work;
    const item: Item = { index, work, number, siblings: items, inGraph, done: false, waiters: [] };
    items[index] = item;
    return item;
  }
}

function scaledIteration(iteration: Iteration, factor: number): Iteration {
  if (factor === 1) return iteration;
  const scaled = <T extends { startNs: number; endNs: number }>(span: T): T => ({
    ...span,
    startNs: span.startNs * factor,
    endNs: span.endNs * factor,
  });
  return {
    ...iteration,
    apiNs: iteration.apiNs * factor,
    totalNs: iteration.totalNs * factor,
    idleNs: iteration.idleNs * factor,
    spans: iteration.spans.map(scaled),
    calls: iteration.calls.map(scaled),
  };
}

function ended(totalNs: number | null): number {
  if (totalNs !== null) return totalNs;
  throw new P2pError(
    "program",
    "the program never ends: a stream waits for work that waits for it",
    "Look at its wait() operations.",
  );
}
