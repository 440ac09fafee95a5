import { P2pError } from "../errors.js";
import type {
  Machine,
  MachineInfo,
  PairInfo,
  Provenance,
  Run,
  RunOptions,
  Samples,
  Trace,
} from "../machine.js";
import type { Program } from "../program.js";
import { Random, seedOf } from "../random.js";
import { type Sampling, samplingOf, stop } from "../sampling.js";
import { TOPOLOGIES } from "../topology/presets.js";
import { peerRefusal, type Topology } from "../topology/topology.js";
import { formatBytes } from "../units.js";
import { AMPERE, type Costs, HOPPER } from "./simulation/costs.js";
import { execute } from "./simulation/execute.js";
import { requireModelled } from "./simulation/modelled.js";
import { type Plan, planOf } from "./simulation/plan.js";
import { traceOf } from "./simulation/trace.js";

/** Machines that can be simulated. */
export const PRESETS: readonly { readonly name: string; readonly describes: string }[] = TOPOLOGIES.map(
  ({ name, describes }) => ({ name, describes }),
);

const TRACE_ITERATIONS = 200;
/** Computing time after which other work gets a turn, and a request to stop is heard. */
const TURN_MS = 20;

/**
 * A model of a machine: a discrete-event simulation of host thread, streams, copy engines and links (simulation/README.md).
 * Its numbers are simulated ones and say so; the same program, preset and seed give the same ones everywhere.
 * It has no caches to warm, so `warmup` has no effect; `budgetMs` counts simulated time; a trace has no observer effect.
 */
export class SimulatedMachine implements Machine {
  readonly info: MachineInfo;
  readonly #topology: Topology;
  readonly #costs: Costs;
  readonly #seed: number;
  #closed = false;

  private constructor(topology: Topology, seed: number) {
    this.#topology = topology;
    this.#costs = topology.generation === "hopper" ? HOPPER : AMPERE;
    this.#seed = seed;
    this.info = infoOf(topology, seed);
  }

  /**
   * @param name a preset's, see {@link PRESETS}.
   * @param options.seed another series of the same model; default 1.
   * @throws P2pError `machine-spec` for a name that is no preset; `usage` for a seed that is no whole number.
   */
  static open(name: string, options: { seed?: number } = {}): SimulatedMachine {
    const topology = TOPOLOGIES.find((preset) => preset.name === name);
    if (!topology) {
      throw new P2pError(
        "machine-spec",
        `no simulated machine "${name}"`,
        `Use one of: ${PRESETS.map((preset) => `sim:${preset.name}`).join(", ")}.`,
      );
    }
    return SimulatedMachine.of(topology, options);
  }

  /**
   * A model of any topology, such as one read from a file.
   * @throws P2pError `usage` for a seed that is no whole number.
   */
  static of(topology: Topology, options: { seed?: number } = {}): SimulatedMachine {
    const seed = options.seed ?? 1;
    if (!Number.isSafeInteger(seed)) {
      throw new P2pError("usage", `a seed of ${seed}`, "Give a whole number.");
    }
    return new SimulatedMachine(topology, seed);
  }

  get provenance(): Provenance {
    return {
      kind: "simulated",
      machine: this.info.name,
      date: new Date().toISOString(),
      source: `sim:${this.#topology.name}`,
    };
  }

  async run(program: Program, options: RunOptions = {}): Promise<Run> {
    if (this.#closed) throw new P2pError("usage", "the machine is closed", "Open it again with lab.open().");
    program.validate();
    requireModelled(program, options, this.info.name);
    const sampling = samplingOf(options.sampling);
    this.#requireGpus(program);
    this.#requireMemory(program);
    const plan = planOf(program, this.#topology, this.#costs, (from, to) => this.#slowMode(from, to));
    const random = new Random(seedOf(`${program.hash}${this.#topology.name}${this.#seed}`));
    const turns = new Turns(options.signal);
    const samples = await sample(plan, random, sampling, turns);
    const traced = options.trace ? await trace(plan, random, options, turns) : null;
    return {
      program,
      mode: "latency",
      provenance: this.provenance,
      samples,
      trace: traced,
      traceReason: options.trace && !traced ? "the host waits for no copy of the program" : null,
      verification: {
        state: "model",
        checkedBytes: 0,
        wrongBytes: 0,
        sentinelBytes: 0,
        detail: "nothing was moved: the numbers are those of a model",
      },
      warnings: [],
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #requireGpus(program: Program): void {
    const { gpuCount } = this.#topology;
    const missing = program.gpus.find((gpu) => gpu >= gpuCount);
    if (missing !== undefined) {
      throw new P2pError(
        "not-available",
        `the program uses GPU ${missing}, but this machine has ${gpuCount} (${this.info.name})`,
        `Use GPU numbers from 0 to ${gpuCount - 1}, or open a machine with more GPUs.`,
      );
    }
    const hosts = new Set(program.gpus.map((gpu) => this.#topology.graph.hostOf(`gpu${gpu}`)));
    const usesHosts = !program.data.peerAccess || program.data.buffers.some(({ place }) => "host" in place);
    if (hosts.size > 1 && usesHosts) {
      throw new P2pError(
        "not-available",
        `the program moves bytes through host memory, but its GPUs are in ${hosts.size} computers (${this.info.name})`,
        "Use GPUs of one computer, or only peer copies where NVLink joins the computers.",
      );
    }
    if (!program.data.peerAccess) return;
    for (const { from, to } of program.pairs) {
      const refused = peerRefusal(this.#topology, from, to);
      if (!refused) continue;
      throw new P2pError(
        "not-available",
        `no peer access from GPU ${from} to GPU ${to}: ${refused.reason}`,
        'Use path "staged" to go through host memory by hand, or let the driver stage the copy with .peerAccess(false).',
      );
    }
  }

  #requireMemory(program: Program): void {
    const { memoryBytes } = this.#topology.gpu;
    for (const gpu of program.gpus) {
      const own = program.data.buffers.filter(({ place }) => "gpu" in place && place.gpu === gpu);
      const bytes = own.reduce((sum, buffer) => sum + buffer.bytes, 0);
      if (bytes <= memoryBytes) continue;
      throw new P2pError(
        "not-available",
        `the buffers on GPU ${gpu} need ${formatBytes(bytes)}, but it has ${formatBytes(memoryBytes)} (${this.info.name})`,
        "Make the buffers smaller, or open a machine whose GPUs have more memory.",
      );
    }
  }

  /**
   * Which mode of driver staging an ordered pair is in: a property of the pair and the seed, since each cell of the
   * published matrices is the mean of many copies and still lies in one of two clusters.
   */
  #slowMode(from: number, to: number): boolean {
    const random = new Random(seedOf(`mode ${from}>${to} ${this.#topology.name}${this.#seed}`));
    return random.uniform() < this.#costs.stagedSlowShare.value;
  }
}

async function sample(plan: Plan, random: Random, sampling: Sampling, turns: Turns): Promise<Samples> {
  const total: number[] = [];
  const api: number[] = [];
  let elapsedNs = 0;
  let askAt = Math.min(sampling.minSamples, sampling.maxSamples);
  for (;;) {
    await turns.next();
    const { totalNs, apiNs, idleNs } = execute(plan, random);
    total.push(totalNs);
    api.push(apiNs);
    elapsedNs += Math.max(totalNs, idleNs);
    const overBudget = elapsedNs / 1e6 >= sampling.budgetMs;
    if (total.length < askAt && !overBudget) continue;
    const samplesNs = Float64Array.from(total);
    const convergence = stop(samplesNs, elapsedNs / 1e6, sampling);
    if (convergence) return { totalNs: samplesNs, apiNs: Float64Array.from(api), convergence };
    askAt = Math.min(sampling.maxSamples, Math.ceil(total.length * 1.5));
  }
}

async function trace(plan: Plan, random: Random, options: RunOptions, turns: Turns): Promise<Trace | null> {
  const iterations = [];
  for (let i = 0; i < (options.traceIterations ?? TRACE_ITERATIONS); i++) {
    await turns.next();
    iterations.push(execute(plan, random));
  }
  return traceOf(plan, iterations, options.trace === "full");
}

/** Gives other work a turn now and then, and hears the wish to stop. */
class Turns {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** @throws P2pError `cancelled` */
  async next(): Promise<void> {
    if (performance.now() - this.#since > TURN_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#since = performance.now();
    }
    if (this.#signal?.aborted) {
      throw new P2pError(
        "cancelled",
        "the run was stopped on request",
        "Run it again when you want its numbers.",
      );
    }
  }
}

function infoOf(topology: Topology, seed: number): MachineInfo {
  const { graph, gpu, gpuCount, peerRefused, unknown } = topology;
  const gpus = [...Array(gpuCount).keys()];
  const pairs = gpus.flatMap((from) =>
    gpus
      .filter((to) => to !== from)
      .map((to): PairInfo => {
        const refused = peerRefusal(topology, from, to);
        return {
          from,
          to,
          peerAccess: refused === null,
          nativeAtomics: null,
          link: graph.pairClass(from, to),
          rawGbps: graph.route(`gpu${from}`, `gpu${to}`).rawGbps,
          reason: refused?.reason ?? null,
        };
      }),
  );
  return {
    name: `model of ${topology.title}`,
    gpus: gpus.map((index) => ({
      index,
      name: `${gpu.name} (model)`,
      memoryBytes: gpu.memoryBytes,
      computeCapability: gpu.computeCapability,
      pci: null,
      copyEngines: gpu.copyEngines,
    })),
    pairs,
    facts: {
      model: topology.describes,
      simulation: "discrete events: one host thread, streams, copy engines, max-min fair links",
      sources: sourcesOf(topology),
      peer_access: peerRefused ? `refused: ${peerRefused.reason} (${peerRefused.source})` : "granted",
      ...(unknown.length > 0 ? { unknown: unknown.join(" ") } : {}),
      seed,
    },
  };
}

/** Sources of the link rates, each once. */
function sourcesOf(topology: Topology): string {
  const kinds = new Map(topology.graph.links.map((link) => [link.kind, link.source]));
  return [...kinds].map(([kind, source]) => `${kind}: ${source}`).join(" | ");
}
