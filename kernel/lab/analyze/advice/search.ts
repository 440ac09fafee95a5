/** Finds the best plan: probes, a model that leaves few candidates, halving, neighbours, and a last comparison. */
import type { Machine } from "../../machine.js";
import type { Program } from "../../program.js";
import { Random } from "../../random.js";
import type { SamplingOptions } from "../../sampling.js";
import { type Compared, compare } from "../compare.js";
import { type Costs, type Estimate, estimate } from "./estimate.js";
import {
  complexity,
  copiesOf,
  differences,
  type Excluded,
  keyOf,
  neighboursOf,
  type Plan,
  plansOf,
  type Space,
} from "./plan.js";
import { fitCosts, legOf } from "./probes.js";
import { type Candidate, medianOf, SEVERAL_VISITS, Trials } from "./trials.js";
import { messagesOf, type Workload } from "./workload.js";

export interface SearchOptions {
  /** Ratios of medians within 1 ± this are the same for the reader's purpose. */
  readonly tolerance: number;
  readonly sampling: SamplingOptions;
  readonly seed: number;
}

export interface Found {
  readonly best: Candidate;
  /** Finalists that measuring does not tell from the best; `best` is the simplest of all of them. */
  readonly ties: readonly Candidate[];
  readonly naive: Candidate;
  /** Naive against best. */
  readonly comparison: Compared;
  readonly costs: Costs | null;
  readonly excluded: readonly Excluded[];
  /** Plans of the space, and how many of them the model left to be measured. */
  readonly plans: number;
  readonly kept: number;
}

/** Candidates that the first round of measuring takes. */
const LEAST_KEPT = 12;
const MOST_KEPT = 40;
/** Estimates beyond this many times the best are not measured, the best of each way apart. */
const KEEP_WITHIN = 1.5;
const KEEP_WAY_WITHIN = 4;
/** Halving ends here. */
const FEW = 6;
const FINALISTS = 4;
/** Moves from the best candidate to a better neighbour, at the most. */
const MOST_MOVES = 5;
/** A neighbour that is better by less is no move. */
const WORTH_MOVING = 0.005;
const PROBE: SamplingOptions = { minSamples: 30, maxSamples: 60, budgetMs: 60, target: 0.02, warmup: 20 };

/** Samples of one visit in a round of halving. */
function roundSampling(round: number): SamplingOptions {
  const n = 15 * 2 ** round;
  return { minSamples: n, maxSamples: n, budgetMs: 30 * 2 ** round, warmup: 20 };
}

/** @throws P2pError what the machine says of the naive plan, when it cannot even be run. */
export class Search {
  readonly trials: Trials;
  /** How many plans there are, once they are counted. */
  plans = 0;
  readonly #machine: Machine;
  readonly #workload: Workload;
  readonly #space: Space;
  readonly #options: SearchOptions;
  readonly #random: Random;
  #costs: Costs | null = null;
  /** About how long an iteration takes: that of the naive plan, when it was first run. */
  #iterationNs = 0;

  constructor(
    machine: Machine,
    workload: Workload,
    space: Space,
    options: SearchOptions,
    signal: AbortSignal | undefined,
  ) {
    this.#machine = machine;
    this.#workload = workload;
    this.#space = space;
    this.#options = options;
    this.#random = new Random(options.seed);
    this.trials = new Trials(machine, workload, signal);
  }

  async find(naivePlan: Plan): Promise<Found> {
    const { trials } = this;
    trials.plan(120);
    const naive = trials.candidate(naivePlan, () => null);
    await trials.visit([naive], "screened", roundSampling(0), this.#random);
    if (naive.refused) throw naive.refused;
    this.#iterationNs = medianOf(naive);
    const fitted = await fitCosts(
      this.#workload,
      this.#space,
      this.#machine.info,
      this.#pieceSizes(),
      (label, program) => this.#probe(label, program),
    );
    this.#costs = fitted.costs;
    naive.estimate = this.#estimate(naive.program);
    const plans = plansOf(this.#workload, this.#space);
    this.plans = plans.length;
    const all = plans.map((plan) => this.#candidate(plan)).filter((candidate) => candidate !== naive);
    const kept = this.#screen(all);
    await this.#halve(naive, kept);
    await this.#climb();
    const finalists = await this.#final(naive);
    if (naive.refused) throw naive.refused;
    const found = await this.#simplify(finalists, naive);
    return {
      ...found,
      naive,
      comparison: this.#compare(naive, found.best),
      costs: this.#costs,
      excluded: fitted.refused,
      plans: plans.length,
      kept: kept.length,
    };
  }

  /** What the model says of a program; null without a model. */
  #estimate(program: Program): Estimate | null {
    if (!this.#costs) return null;
    return estimate(program, this.#costs, legOf(this.#machine.info), this.#workload.mode);
  }

  #probe(label: string, program: Program): ReturnType<Trials["run"]> {
    return this.trials.run(label, program, PROBE);
  }

  #candidate(plan: Plan): Candidate {
    return this.trials.candidate(plan, (program) => this.#estimate(program));
  }

  /** Sizes of the copies that plans are made of: the smallest and the largest. */
  #pieceSizes(): number[] {
    const sizes = messagesOf(this.#workload).map(({ bytes }) => bytes);
    const chunks = this.#space.chunk.filter((chunk) => chunk !== "whole");
    const whole = this.#space.messages.includes("fused")
      ? this.#workload.routes.map(({ bytes }) => bytes)
      : [];
    const all = [...sizes, ...chunks, ...whole];
    return [...new Set([Math.min(...all), Math.max(...all)])];
  }

  /**
   * The candidates worth measuring. Ways to wait are left for later: what they add does not hang on the rest. Of each path
   * and engine the best stays, so that a way that the model gets wrong is not lost. Without a model all stay.
   */
  #screen(all: readonly Candidate[]): Candidate[] {
    if (!this.#costs) return [...all];
    const known = all.filter((candidate) => candidate.estimate !== null);
    const totalOf = (candidate: Candidate) => candidate.estimate?.totalNs ?? Number.POSITIVE_INFINITY;
    known.sort(
      (a, b) =>
        totalOf(a) - totalOf(b) || copiesOf(this.#workload, a.plan) - copiesOf(this.#workload, b.plan),
    );
    const bestNs = known[0] ? totalOf(known[0]) : 0;
    const kept = new Map<string, Candidate>();
    const ways = new Set<string>();
    for (const candidate of known) {
      const { plan } = candidate;
      const structure = keyOf({ ...plan, sync: "spin" });
      const way = `${plan.path} ${plan.engine} ${plan.submit} ${plan.kernel} ${plan.notify}`;
      const newWay = !ways.has(way) && totalOf(candidate) <= KEEP_WAY_WITHIN * bestNs;
      const near = totalOf(candidate) <= KEEP_WITHIN * bestNs;
      const good = kept.size < LEAST_KEPT || (kept.size < MOST_KEPT && near);
      if (kept.has(structure) || !(newWay || good)) continue;
      ways.add(way);
      kept.set(structure, candidate);
    }
    return [...kept.values()];
  }

  /** Successive halving: each round measures the better half of the one before with twice the samples. */
  async #halve(naive: Candidate, kept: readonly Candidate[]): Promise<void> {
    let left = [...kept];
    for (let round = 0; ; round++) {
      this.trials.plan(2 * left.length + 60);
      await this.trials.visit(left, round === 0 ? "screened" : "halving", roundSampling(round), this.#random);
      left = left.filter(({ refused }) => !refused).sort((a, b) => medianOf(a) - medianOf(b));
      if (left.length <= FEW) break;
      left = left.slice(0, Math.max(FEW, Math.ceil(left.length / 2)));
      if (this.trials.repeats && round > 1) break;
    }
    await this.trials.visit([naive], "halving", roundSampling(2), this.#random);
  }

  /** Measures what differs from the best on one axis alone, and goes on from there while that is better. */
  async #climb(): Promise<void> {
    for (let move = 0; move < MOST_MOVES; move++) {
      const [best] = this.#ranked();
      if (!best) return;
      const around = neighboursOf(this.#workload, this.#space, best.plan).map((plan) =>
        this.#candidate(plan),
      );
      const fresh = around.filter(({ stage, refused }) => stage === null && !refused);
      this.trials.plan(fresh.length + FINALISTS * SEVERAL_VISITS);
      await this.trials.visit(fresh, "neighbour", roundSampling(1), this.#random);
      const [next] = this.#ranked();
      if (!next || next === best) return;
      if (medianOf(next) > medianOf(best) * (1 - WORTH_MOVING) && move > 0) return;
    }
  }

  /**
   * The best few, the simplest of those that are as good within the tolerance, and the naive plan, visited in turn; once more
   * where the visits leave it open whether a difference is one.
   */
  async #final(naive: Candidate): Promise<Candidate[]> {
    const ranked = this.#ranked();
    const bestNs = medianOf(ranked[0] as Candidate);
    const close = ranked.filter((candidate) => medianOf(candidate) <= bestNs * (1 + this.#options.tolerance));
    const simple = [...close].sort((a, b) => this.#complexity(a, naive) - this.#complexity(b, naive));
    const few = [...new Set([...ranked.slice(0, FINALISTS), ...simple.slice(0, 2), naive])];
    for (const candidate of few) candidate.visits.length = 0;
    await this.#visitInTurn(few);
    const finalists = few.filter(({ refused }) => !refused);
    const fastest = fastestOf(finalists);
    const doubtful = finalists.filter(
      (candidate) =>
        medianOf(candidate) / medianOf(fastest) - 1 > this.#options.tolerance &&
        this.#indistinguishable(fastest, candidate),
    );
    if (doubtful.length > 0) await this.#visitInTurn([...doubtful, fastest]);
    return finalists;
  }

  /** Several visits to each in rounds, so that what drifts meets all of them. */
  async #visitInTurn(few: readonly Candidate[]): Promise<void> {
    const rounds = this.trials.repeats ? 1 : SEVERAL_VISITS;
    const sampling = share(this.#options.sampling, rounds, this.#iterationNs);
    for (let round = 0; round < rounds; round++) {
      this.trials.plan((rounds - round) * few.length);
      await this.trials.visit(few, "final", sampling, this.#random);
    }
  }

  /**
   * Takes the best plan's departures from the naive one back, one by one, as long as that costs nothing; what each of those
   * that stay brings is measured on the way.
   */
  async #simplify(finalists: readonly Candidate[], naive: Candidate): Promise<Pick<Found, "best" | "ties">> {
    const known = [...finalists];
    for (;;) {
      const decided = this.#decide(known, naive);
      const { best } = decided;
      const simpler = neighboursOf(this.#workload, this.#space, best.plan)
        .filter((plan) => differences(plan, naive.plan).length < differences(best.plan, naive.plan).length)
        .map((plan) => this.#candidate(plan));
      const fresh = simpler.filter(({ stage, refused }) => stage === null && !refused);
      await this.trials.visit(fresh, "neighbour", roundSampling(2), this.#random);
      const close = simpler.filter(
        (candidate) =>
          !known.includes(candidate) && medianOf(candidate) <= medianOf(best) * (1 + this.#options.tolerance),
      );
      if (close.length === 0) return decided;
      for (const candidate of close) candidate.visits.length = 0;
      await this.#visitInTurn([...close, best]);
      known.push(...close.filter(({ refused }) => !refused));
    }
  }

  /** Simplest first: the best of those that cannot be told from the fastest, and the others. */
  #decide(finalists: readonly Candidate[], naive: Candidate): Pick<Found, "best" | "ties"> {
    const fastest = fastestOf(finalists);
    const same = finalists.filter(
      (candidate) => candidate === fastest || this.#indistinguishable(fastest, candidate),
    );
    const [best, ...ties] = same.sort(
      (a, b) => this.#complexity(a, naive) - this.#complexity(b, naive) || medianOf(a) - medianOf(b),
    );
    return { best: best as Candidate, ties };
  }

  /** Not slower by more than the tolerance, or not for sure slower at all. */
  #indistinguishable(fastest: Candidate, other: Candidate): boolean {
    const { ratio, ratioLow } = this.#compare(fastest, other).values;
    return ratio <= 1 + this.#options.tolerance || ratioLow <= 1;
  }

  #compare(a: Candidate, b: Candidate): Compared {
    const several = a.visits.length >= SEVERAL_VISITS && b.visits.length >= SEVERAL_VISITS;
    const side = ({ visits }: Candidate) =>
      several ? visits : Float64Array.from(visits.flatMap((visit) => [...visit]));
    return compare(side(a), side(b), { tolerance: this.#options.tolerance });
  }

  #complexity(candidate: Candidate, naive: Candidate): number {
    return complexity(candidate.plan, naive.plan) + copiesOf(this.#workload, candidate.plan) / 1e6;
  }

  #ranked(): Candidate[] {
    return this.trials.tried
      .filter(({ stage, refused }) => stage !== null && !refused)
      .sort((a, b) => medianOf(a) - medianOf(b));
  }
}

function fastestOf(candidates: readonly Candidate[]): Candidate {
  return candidates.reduce((a, b) => (medianOf(b) < medianOf(a) ? b : a));
}

/** Of a visit: what a comparison needs, and two more. */
const LEAST_SAMPLES = 12;

/** A share of the sampling for each of several visits, of iterations that last about so long. */
function share(sampling: SamplingOptions, visits: number, iterationNs: number): SamplingOptions {
  const { minSamples = 100, maxSamples = 800, budgetMs = 400 } = sampling;
  const each = (n: number) => Math.max(LEAST_SAMPLES, Math.ceil(n / visits));
  return {
    warmup: 50,
    ...sampling,
    minSamples: each(minSamples),
    maxSamples: each(Math.max(minSamples, maxSamples)),
    budgetMs: Math.max(budgetMs / visits, (2 * LEAST_SAMPLES * iterationNs) / 1e6),
  };
}
