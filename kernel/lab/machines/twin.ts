import { P2pError } from "../errors.js";
import type { MachineInfo } from "../machine.js";
import type { Program } from "../program.js";
import { median } from "../sampling.js";
import { TOPOLOGIES } from "../topology/presets.js";
import type { Topology } from "../topology/topology.js";
import { RecordedMachine } from "./recorded.js";
import { SimulatedMachine } from "./simulated.js";
import { COSTS } from "./simulation/costs.js";
import {
  type Constants,
  type Fit,
  fit,
  fitSigma,
  isModelled,
  type Observation,
  PARAMETERS,
  predictNs,
} from "./simulation/fit.js";
import { Residuals } from "./simulation/residuals.js";

/** What a twin expects of a program. */
export interface Expectation {
  /** Median, ns. */
  readonly ns: number;
  /** Standard deviation of its logarithm: about the relative error to expect. */
  readonly sigma: number;
  /** Whether programs that differ in their sizes only were recorded. */
  readonly known: boolean;
  /** What the fitted model alone is corrected by. */
  readonly factor: number;
}

/**
 * A model fitted to measurements of one machine: the published constants moved to where they explain the medians, and what
 * they then still miss, by size. It answers what was not recorded, and says how far off it may be.
 */
export class Twin {
  readonly constants: Constants;
  readonly #fit: Fit;
  readonly #residuals: Residuals;

  /** @param info of the machine that was measured. */
  constructor(observations: readonly Observation[], info: MachineInfo) {
    this.#fit = fit(observations, baseOf(info));
    this.constants = this.#fit.constants;
    this.#residuals = new Residuals(
      observations
        .filter(({ part }) => part === "total")
        .map((observation) => ({
          program: observation.program,
          mode: observation.mode,
          log: Math.log(observation.medianNs / predictNs(observation, this.constants)),
        })),
    );
  }

  expect(program: Program, mode: Observation["mode"]): Expectation {
    const { log, sigma, known } = this.#residuals.of(program, mode);
    const factor = Math.exp(log);
    return {
      ns: predictNs({ program, mode, part: "total" }, this.constants) * factor,
      sigma: Math.hypot(sigma, fitSigma(program, mode, this.#fit)),
      known,
      factor,
    };
  }

  /** The factors on the published constants, such as `host × 1.12`. */
  get factors(): string {
    return PARAMETERS.map(
      ({ name }, p) => `${name} × ${Math.exp(this.#fit.logFactors[p] as number).toFixed(2)}`,
    ).join(", ");
  }
}

/** Medians of a recording that the model can be fitted to: of programs that it knows the costs of. */
export function observationsOf(recorded: RecordedMachine): Observation[] {
  const known = new Set<string>();
  const base = baseOf(recorded.info);
  return recorded.runs.flatMap(({ program, mode, totalNs, trace }) => {
    if ((mode !== "latency" && mode !== "throughput") || totalNs.length === 0) return [];
    if (!isModelled(program, base)) return [];
    const parts = [
      { part: "total", ns: totalNs },
      ...(trace && mode === "latency" ? [{ part: "engine", ns: trace.engineNs } as const] : []),
    ] as const;
    return parts.flatMap(({ part, ns }) => {
      const key = `${program.hash} ${mode} ${part}`;
      if (known.has(key)) return [];
      known.add(key);
      return [{ program, mode, part, medianNs: median(ns) }];
    });
  });
}

/**
 * The twin of a recording, as a machine that runs any program.
 * @throws P2pError `machine-spec` where there is no such recording, or no preset is near its machine; `recording`.
 */
export function openTwin(nameOrFile: string): SimulatedMachine {
  const recorded = RecordedMachine.open(nameOrFile);
  if (recorded.provenance.kind !== "recorded") {
    throw new P2pError(
      "machine-spec",
      `"${nameOrFile}" was made on a model: a twin is of a real machine`,
      "Give the recording of a real machine, such as twin:h200x2.",
    );
  }
  const observations = observationsOf(recorded);
  if (observations.length === 0) {
    throw new P2pError(
      "machine-spec",
      `the recording "${nameOrFile}" holds no transfers to fit a twin to`,
      "Record a sweep first, or open a preset: sim:hgx-h200-8.",
    );
  }
  const twin = new Twin(observations, recorded.info);
  // A preset may have more GPUs than the machine: the twin has as many as that.
  const topology = { ...twin.constants.topology, gpuCount: recorded.info.gpus.length };
  return SimulatedMachine.of(topology, {
    costs: twin.constants.costs,
    twin: {
      title: `twin of ${recorded.provenance.machine}, recorded ${recorded.provenance.date.slice(0, 10)}`,
      source: `twin:${nameOrFile}`,
      facts: {
        fitted_to: `${observations.length} medians of ${recorded.provenance.source}`,
        fitted: twin.factors,
      },
      expect: (program, mode) => twin.expect(program, mode),
    },
  });
}

/** Topology and costs of the preset that is nearest to a machine, with as many GPUs. */
function baseOf(info: MachineInfo): Constants {
  const [gpu] = info.gpus;
  const fitting = TOPOLOGIES.filter(({ gpuCount }) => gpuCount >= info.gpus.length);
  const peers = info.pairs.some((pair) => pair.peerAccess);
  const linkOf = (topology: Topology) => (info.gpus.length > 1 ? topology.graph.pairClass(0, 1) : null);
  const link = info.pairs[0]?.link ?? null;
  const distance = (topology: Topology) =>
    (topology.gpu.name === gpu?.name ? 0 : 4) +
    (topology.gpu.computeCapability === gpu?.computeCapability ? 0 : 8) +
    (link === null || linkOf(topology) === link ? 0 : 2) +
    ((topology.peerRefused === null) === peers ? 0 : 2) +
    (topology.gpuCount - info.gpus.length) / 100;
  const nearest = fitting.sort((a, b) => distance(a) - distance(b))[0];
  if (!nearest || !gpu) {
    throw new P2pError(
      "machine-spec",
      `no preset has the ${info.gpus.length} GPUs of ${info.name}`,
      "Open the recording itself: recorded:<name>.",
    );
  }
  const { stagedSlowShare, ...costs } = COSTS[nearest.generation];
  return {
    topology: nearest,
    // In which mode the driver's staging was is in the medians.
    costs: { ...costs, stagedSlowShare: { ...stagedSlowShare, value: 0 } },
  };
}
