/** Series of simulated samples, by the one stopping rule; simulated time is what counts against the budget. */
import type { GraphCosts, Samples, Throughput } from "../../machine.js";
import type { StepOperation } from "../../operations.js";
import type { Program } from "../../program.js";
import type { Random } from "../../random.js";
import { type Sampling, stop } from "../../sampling.js";
import type { Turns } from "../../turns.js";
import type { PerNode } from "./constants.js";
import { type Batch, execute, executeBatch } from "./execute.js";
import type { Plan } from "./plan.js";

/** Entries that the queue of a stream takes, and how long a batch should be: as for real GPUs. */
const QUEUE_ENTRIES = 512;
const BATCH_MS = 2;
const LEAST_BATCH = 2;
/** A simulated batch costs as many events as its operations: more of them make a mean no better. */
const MOST_OPERATIONS = 1024;
const GRAPH_REPETITIONS = 20;

/** Asks the stopping rule seldom enough to cost nothing. */
class Series {
  readonly totalNs: number[] = [];
  readonly apiNs: number[] = [];
  readonly #sampling: Sampling;
  #elapsedNs = 0;
  #askAt: number;

  constructor(sampling: Sampling) {
    this.#sampling = sampling;
    this.#askAt = Math.min(sampling.minSamples, sampling.maxSamples);
  }

  /** @returns the samples when the series has ended. */
  add(totalNs: number, apiNs: number, tookNs: number): Samples | null {
    this.totalNs.push(totalNs);
    this.apiNs.push(apiNs);
    this.#elapsedNs += tookNs;
    const elapsedMs = this.#elapsedNs / 1e6;
    if (this.totalNs.length < this.#askAt && elapsedMs < this.#sampling.budgetMs) return null;
    const totals = Float64Array.from(this.totalNs);
    const convergence = stop(totals, elapsedMs, this.#sampling);
    if (convergence) return { totalNs: totals, apiNs: Float64Array.from(this.apiNs), convergence };
    this.#askAt = Math.min(this.#sampling.maxSamples, Math.ceil(this.totalNs.length * 1.5));
    return null;
  }
}

/** Iterations one at a time. */
export async function sampleLatency(
  plan: Plan,
  random: Random,
  sampling: Sampling,
  turns: Turns,
): Promise<Samples> {
  const series = new Series(sampling);
  for (;;) {
    await turns.next();
    const { totalNs, apiNs, idleNs } = execute(plan, random);
    const samples = series.add(totalNs, apiNs, Math.max(totalNs, idleNs));
    if (samples) return samples;
  }
}

/**
 * Batches of iterations behind a gate. Two events with nothing between them measure nothing here: `floorNs` is 0.
 * @param wanted iterations of a batch; undefined for about 2 ms of them.
 */
export async function sampleThroughput(
  plan: Plan,
  program: Program,
  random: Random,
  sampling: Sampling,
  turns: Turns,
  wanted: number | undefined,
): Promise<{ samples: Samples; throughput: Throughput; warnings: readonly string[] }> {
  const gated = !plan.host.some((step) => step.do === "submit" && step.blocking);
  const pilotNs = executeBatch(plan, random, 1, gated).totalNs;
  const most = mostOf(program);
  const fitting = Math.max(
    LEAST_BATCH,
    Math.min(Math.ceil((BATCH_MS * 1e6) / Math.max(1, pilotNs)), MOST_OPERATIONS / plan.works.length),
  );
  const batch = wanted ?? Math.min(most, Math.floor(fitting));
  const series = new Series(sampling);
  const batches: Batch[] = [];
  for (;;) {
    await turns.next();
    const one = executeBatch(plan, random, batch, gated);
    batches.push(one);
    const samples = series.add(one.totalNs / batch, one.apiNs / batch, one.totalNs + one.apiNs);
    if (!samples) continue;
    const streams = [...(one.streamNs.keys() as Iterable<number>)].map((stream) => {
      const { name, gpu } = plan.streams[stream] as Plan["streams"][number];
      const totalNs = Float64Array.from(batches, (each) => (each.streamNs.get(stream) as number) / batch);
      return { name, gpu, totalNs };
    });
    return {
      samples,
      throughput: { batch, streams, gateTimeouts: 0, floorNs: 0 },
      warnings: gated
        ? []
        : ["gate: the host takes part in the copies, so no gate holds them; its own time is in the times"],
    };
  }
}

/** Iterations that fit into the queue of a stream. */
export function mostOf(program: Program): number {
  if (program.data.submit === "graph") return QUEUE_ENTRIES;
  const entries = new Map<string, number>();
  for (const o of program.data.operations as readonly StepOperation[]) {
    if (o.op !== "sync") entries.set(o.stream, (entries.get(o.stream) ?? 0) + 1);
  }
  return Math.max(1, Math.floor(QUEUE_ENTRIES / Math.max(1, ...entries.values())));
}

/** What making the program's graph takes. */
export function graphCosts(plan: Plan, random: Random): GraphCosts {
  const { graphCapture, graphInstantiate, graphUpdate, jitter } = plan.costs;
  // Events order the nodes of a graph and are none themselves.
  const nodes = plan.works.filter((work) => work.op === "copy" || work.op === "kernel").length;
  const series = ({ fixedNs, nodeNs }: PerNode) =>
    Float64Array.from(
      { length: GRAPH_REPETITIONS },
      () => (fixedNs.value + nodes * nodeNs.value) * random.logNormal(jitter.hostSigma.value),
    );
  return {
    nodes,
    captureNs: series(graphCapture),
    instantiateNs: series(graphInstantiate),
    updateNs: series(graphUpdate),
  };
}
