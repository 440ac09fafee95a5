/**
 * Fits the constants of the model to medians that were recorded: least squares of the logarithms, held to the published
 * constants by how far a machine can plausibly be from them (a Gaussian prior on the logarithm of each factor), and to what
 * physics allows (no link above its line rate). Gauss–Newton with differences.
 */
import { P2pError } from "../../errors.js";
import type { Program } from "../../program.js";
import { Random } from "../../random.js";
import type { LinkKind } from "../../topology/layout.js";
import type { Topology } from "../../topology/topology.js";
import type { Costs, Jitter } from "./constants.js";
import { execute, executeBatch } from "./execute.js";
import { inverse } from "./matrix.js";
import { planOf } from "./plan.js";
import { scaledFigure, scaledHost, scaledPeerCopy, scaledRate, withLinks } from "./scale.js";

/** A machine to simulate. */
export interface Constants {
  readonly topology: Topology;
  readonly costs: Costs;
}

/** A median that was recorded: of the whole program, or of its engines' time in a traced pass. */
export interface Observation {
  readonly program: Program;
  readonly mode: "latency" | "throughput";
  readonly part: "total" | "engine";
  readonly medianNs: number;
}

interface Parameter {
  readonly name: string;
  /** Standard deviation of the logarithm of the factor before anything is recorded. */
  readonly prior: number;
  apply(constants: Constants, factor: number): Constants;
}

const WHY = "fitted to the recording";
const PEER_LINKS: readonly LinkKind[] = ["nvlink", "xgmi"];
const HOST_LINKS: readonly LinkKind[] = ["pcie", "host", "c2c"];

/** A parameter of costs alone. */
function cost(
  name: string,
  prior: number,
  of: readonly (keyof Costs & `${string}${"Ns" | "Bytes"}`)[],
): Parameter {
  return {
    name,
    prior,
    apply: ({ topology, costs }, factor) => {
      const changed = Object.fromEntries(
        of.map((key) => [key, scaledFigure(costs[key] as Costs["engineNs"], factor, WHY)]),
      );
      return { topology, costs: { ...costs, ...changed } };
    },
  };
}

export const PARAMETERS: readonly Parameter[] = [
  {
    name: "host",
    prior: 0.3,
    apply: ({ topology, costs }, factor) => ({ topology, costs: scaledHost(costs, factor, WHY) }),
  },
  cost("engine", 0.5, ["engineNs", "gapNs", "graphGapNs"]),
  cost("handover", 0.5, ["handoverNs"]),
  cost("staged extra", 0.7, ["stagedExtraNs"]),
  cost("staged handover", 0.5, ["stagedHandoverNs"]),
  cost("staged chunk", 0.3, ["stagedChunkBytes"]),
  cost("kernel", 0.5, ["kernelNs", "graphKernelNs"]),
  cost("flag", 0.5, ["flagSeenNs", "ownFlagSeenNs"]),
  {
    name: "peer rate",
    prior: 0.1,
    apply: ({ topology, costs }, factor) => {
      const links = scaledRate(topology.graph.links, PEER_LINKS, factor, false);
      return { topology: scaledPeerCopy(withLinks(topology, links), factor, WHY), costs };
    },
  },
  {
    name: "host rate",
    prior: 0.1,
    apply: ({ topology, costs }, factor) => ({
      topology: withLinks(topology, scaledRate(topology.graph.links, HOST_LINKS, factor, false)),
      costs,
    }),
  },
];

/** No payload rate exceeds the line rate. */
function mostOf(parameter: Parameter, { topology }: Constants): number {
  const kinds =
    parameter.name === "peer rate" ? PEER_LINKS : parameter.name === "host rate" ? HOST_LINKS : [];
  return topology.graph.links
    .filter((link) => kinds.includes(link.kind))
    .reduce(
      (most, link) => Math.min(most, link.rawGbps / Math.max(link.forwardGbps, link.backwardGbps)),
      Infinity,
    );
}

/** How far a median of one program is from the model where all constants are right: hosts have modes of their own. */
const MODEL_SIGMA = 0.06;
/** Medians that are farther off than this count for less and less: the model lacks something there (Cauchy's weights). */
const OUTLIER_SIGMA = 0.12;
const STEP = 0.02;
const ROUNDS = 6;
const CONVERGED = 1e-3;
/** Iterations of a simulated batch in throughput mode: enough to be past its start. */
const BATCH = 8;

export interface Fit {
  readonly constants: Constants;
  /** Logarithms of the factors on the published constants, in the order of PARAMETERS. */
  readonly logFactors: readonly number[];
  /** Their covariance. */
  readonly covariance: readonly (readonly number[])[];
  /** The constants from which the factors count. */
  readonly base: Constants;
}

/** Whether the model knows what every operation of a program costs. */
export function isModelled(program: Program, { topology, costs }: Constants): boolean {
  try {
    planOf(program, topology, { ...costs, jitter: QUIET }, () => false);
    return true;
  } catch (error) {
    if (error instanceof P2pError && error.code === "not-available") return false;
    throw error;
  }
}

/** Median time of a program, or of its engines, on constants without any spread, ns. */
export function predictNs(
  { program, mode, part }: Omit<Observation, "medianNs">,
  { topology, costs }: Constants,
): number {
  const plan = planOf(program, topology, { ...costs, jitter: QUIET }, () => false);
  const random = new Random(1);
  if (mode === "latency") {
    const { totalNs, spans } = execute(plan, random);
    if (part === "total") return totalNs;
    const startNs = spans.reduce((least, span) => Math.min(least, span.startNs), Infinity);
    return spans.reduce((most, span) => Math.max(most, span.endNs), 0) - startNs;
  }
  const gated = !plan.host.some((step) => step.do === "submit" && step.blocking);
  return executeBatch(plan, random, BATCH, gated).totalNs / BATCH;
}

export function fit(observations: readonly Observation[], base: Constants): Fit {
  const precision = PARAMETERS.map(({ prior }) => prior ** -2);
  const most = PARAMETERS.map((parameter) => Math.log(mostOf(parameter, base)));
  const predict = (logs: readonly number[]) => {
    const constants = withFactors(base, logs);
    return observations.map((observation) => Math.log(predictNs(observation, constants)));
  };
  const wanted = observations.map(({ medianNs }) => Math.log(medianNs));
  let logs = PARAMETERS.map(() => 0);
  let covariance: number[][] = [];
  let slopes: number[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const now = predict(logs);
    // The model bends little: the slopes of two rounds serve all.
    if (round < 2) {
      slopes = PARAMETERS.map((_, p) => {
        const beside = predict(logs.map((log, q) => (q === p ? log + STEP : log)));
        return beside.map((value, i) => (value - (now[i] as number)) / STEP);
      });
    }
    const missing = now.map((value, i) => (wanted[i] as number) - value);
    const weights = missing.map((value) => MODEL_SIGMA ** -2 / (1 + (value / OUTLIER_SIGMA) ** 2));
    const weighted = slopes.map((slope) => slope.map((value, i) => value * (weights[i] as number)));
    covariance = inverse(
      slopes.map((a, p) => weighted.map((b, q) => dot(a, b) + (p === q ? (precision[p] as number) : 0))),
    );
    const gradient = weighted.map(
      (slope, p) => dot(slope, missing) - (precision[p] as number) * (logs[p] as number),
    );
    const step = covariance.map((row) => dot(row, gradient));
    const next = logs.map((log, p) =>
      Math.min(most[p] as number, log + Math.max(-0.5, Math.min(0.5, step[p] as number))),
    );
    const moved = Math.max(...next.map((log, p) => Math.abs(log - (logs[p] as number))));
    logs = next;
    if (moved < CONVERGED) break;
  }
  return { constants: withFactors(base, logs), logFactors: logs, covariance, base };
}

/** Standard deviation of a prediction's logarithm that comes from not knowing the constants better. */
export function fitSigma(program: Program, mode: Observation["mode"], result: Fit): number {
  const wanted = { program, mode, part: "total" } as const;
  const now = Math.log(predictNs(wanted, result.constants));
  const slopes = PARAMETERS.map((_, p) => {
    const logs = result.logFactors.map((log, q) => (q === p ? log + STEP : log));
    return (Math.log(predictNs(wanted, withFactors(result.base, logs))) - now) / STEP;
  });
  const variance = dot(
    slopes,
    result.covariance.map((row) => dot(row, slopes)),
  );
  return Math.sqrt(Math.max(0, variance));
}

function withFactors(base: Constants, logs: readonly number[]): Constants {
  return PARAMETERS.reduce(
    (constants, parameter, p) => parameter.apply(constants, Math.exp(logs[p] as number)),
    base,
  );
}

function dot(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

const NONE = { value: 0, source: "a median has no spread" };
const QUIET: Jitter = {
  hostSigma: NONE,
  engineSigma: NONE,
  linkSigma: NONE,
  tailShare: NONE,
  tailNs: NONE,
  tailSigma: NONE,
};
