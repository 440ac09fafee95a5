/** Candidates and what was measured of them. */
import { P2pError } from "../../errors.js";
import { interruptSignal } from "../../interrupt.js";
import type { Machine, Run } from "../../machine.js";
import type { Program } from "../../program.js";
import { reportProgress } from "../../progress.js";
import type { Random } from "../../random.js";
import { median, medianInterval, quantileSorted, type SamplingOptions } from "../../sampling.js";
import { build } from "./build.js";
import { requireDelivery } from "./delivery.js";
import type { Estimate } from "./estimate.js";
import { keyOf, type Plan } from "./plan.js";
import type { Workload } from "./workload.js";

/** How far a candidate got. */
export type Stage = "screened" | "halving" | "neighbour" | "final";

export interface Candidate {
  readonly plan: Plan;
  readonly program: Program;
  /** What the fitted model says; null without one. */
  estimate: Estimate | null;
  /** Samples of every visit. */
  readonly visits: Float64Array[];
  run: Run | null;
  stage: Stage | null;
  /** Why it cannot be run here. */
  refused: P2pError | null;
}

export interface Measured {
  readonly medianNs: number;
  readonly ciLowNs: number;
  readonly ciHighNs: number;
  readonly n: number;
}

/** Errors that are about one candidate; others end the search. */
const REFUSALS: readonly string[] = ["not-available", "not-recorded", "cuda", "verification", "program"];

/** Runs candidates of a workload, each built and checked once. */
export class Trials {
  readonly workload: Workload;
  readonly #machine: Machine;
  readonly #signal: AbortSignal | undefined;
  readonly #candidates = new Map<string, Candidate>();
  #done = 0;
  #planned = 0;

  constructor(machine: Machine, workload: Workload, signal: AbortSignal | undefined) {
    this.#machine = machine;
    this.workload = workload;
    this.#signal = signal ?? interruptSignal() ?? undefined;
  }

  /** Those that were run or refused, in the order in which they were first tried; a recording's gaps apart. */
  get tried(): readonly Candidate[] {
    return [...this.#candidates.values()].filter(
      ({ stage, refused }) => stage !== null || (refused !== null && refused.code !== "not-recorded"),
    );
  }

  get runs(): number {
    return this.#done;
  }

  /** @throws P2pError `usage` where the plan cannot be built for the workload. */
  candidate(plan: Plan, estimateOf: (program: Program) => Estimate | null): Candidate {
    const known = this.#candidates.get(keyOf(plan));
    if (known) return known;
    const program = build(this.workload, plan);
    const made: Candidate = {
      plan,
      program,
      estimate: estimateOf(program),
      visits: [],
      run: null,
      stage: null,
      refused: null,
    };
    this.#candidates.set(keyOf(plan), made);
    return made;
  }

  /** Says how many more runs are to come. */
  plan(runs: number): void {
    this.#planned = this.#done + runs;
  }

  /** One program by itself, such as a probe. */
  async run(label: string, program: Program, sampling: SamplingOptions): Promise<Run | P2pError> {
    reportProgress({ label, done: this.#done, total: Math.max(this.#planned, this.#done + 1) });
    this.#done++;
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#signal?.aborted) throw new P2pError("cancelled", "stopped on request", "Run it again.");
    try {
      return await this.#machine.run(program, {
        mode: this.workload.mode,
        sampling,
        ...(this.#signal && { signal: this.#signal }),
      });
    } catch (error) {
      if (error instanceof P2pError && REFUSALS.includes(error.code)) return error;
      throw error;
    }
  }

  /** Visits each candidate once, in random order; what the machine refuses is marked so and visited no more. */
  async visit(
    candidates: readonly Candidate[],
    stage: Stage,
    sampling: SamplingOptions,
    random: Random,
  ): Promise<void> {
    for (const candidate of random.shuffle(candidates)) {
      if (candidate.refused) continue;
      const answer = await this.run(`${stage} ${this.#done + 1}`, candidate.program, sampling);
      candidate.refused = "code" in answer ? answer : candidate.run ? null : this.#undelivered(candidate);
      if ("code" in answer || candidate.refused) continue;
      // The same samples again say nothing new; a longer series of them does.
      if (this.repeats) candidate.visits.length = 0;
      candidate.visits.push(costsOf(answer));
      candidate.run = answer;
      candidate.stage = stage;
    }
  }

  /** What is wrong with where a candidate's bytes go; null when all arrive. */
  #undelivered({ program }: Candidate): P2pError | null {
    try {
      requireDelivery(program, this.workload);
      return null;
    } catch (error) {
      if (error instanceof P2pError) return error;
      throw error;
    }
  }

  /** The machine gives the same samples each time: a second visit is worth nothing. */
  get repeats(): boolean {
    return this.#machine.deterministic ?? false;
  }
}

/**
 * What an iteration costs, sample by sample. A steady stream is as slow as the slower of the two that keep it going: the
 * device behind a gate, and the host that submits.
 */
export function costsOf({ mode, samples }: Run): Float64Array {
  const { totalNs, apiNs } = samples;
  if (mode !== "throughput" || apiNs.length !== totalNs.length) return totalNs;
  return totalNs.map((ns, index) => Math.max(ns, apiNs[index] as number));
}

/** From so many visits on they are what is compared: runs of one program differ by more than their samples do. */
export const SEVERAL_VISITS = 5;

/**
 * Median and its 95 % interval, of all samples, or of the medians of {@link SEVERAL_VISITS} or more visits.
 * @returns null for a candidate that was never run.
 */
export function measuredOf({ visits }: Pick<Candidate, "visits">): Measured | null {
  if (visits.length === 0) return null;
  const values =
    visits.length >= SEVERAL_VISITS
      ? Float64Array.from(visits, (visit) => median(visit))
      : Float64Array.from(visits.flatMap((visit) => [...visit]));
  const sorted = values.sort();
  const { low, high } = medianInterval(sorted);
  return {
    medianNs: quantileSorted(sorted, 0.5),
    ciLowNs: low,
    ciHighNs: high,
    n: visits.reduce((sum, visit) => sum + visit.length, 0),
  };
}

export function medianOf(candidate: Pick<Candidate, "visits">): number {
  return measuredOf(candidate)?.medianNs ?? Number.POSITIVE_INFINITY;
}
