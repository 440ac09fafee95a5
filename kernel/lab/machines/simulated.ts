import { P2pError } from "../errors.js";
import type {
  Machine,
  MachineInfo,
  PairInfo,
  Provenance,
  Run,
  RunOptions,
  Trace,
  Verification,
} from "../machine.js";
import {
  type Change,
  type Collective,
  type CollectiveResult,
  describeChange,
  type RdmaCard,
} from "../model.js";
import type { Operation, ProbeOperation, SetupOperation } from "../operations.js";
import type { Program } from "../program.js";
import { Random, seedOf } from "../random.js";
import { samplingOf, THROUGHPUT_SAMPLING } from "../sampling.js";
import { TOPOLOGIES } from "../topology/presets.js";
import { peerRefusal, type Topology } from "../topology/topology.js";
import { Turns } from "../turns.js";
import { formatBytes } from "../units.js";
import { requireReach } from "./cuda-reach.js";
import { requireSyncsAtEnd } from "./cuda-throughput.js";
import { changed } from "./simulation/change.js";
import { collective, pairsOf } from "./simulation/collective.js";
import type { Costs } from "./simulation/constants.js";
import { borrowedCosts, COSTS } from "./simulation/costs.js";
import { execute } from "./simulation/execute.js";
import { type Plan, planOf } from "./simulation/plan.js";
import { probeFacts, probeOf, sampleAround, setupOf } from "./simulation/probes.js";
import { rdmaCards } from "./simulation/rdma.js";
import { graphCosts, mostOf, sampleLatency, sampleThroughput } from "./simulation/sample.js";
import { traceOf } from "./simulation/trace.js";

/** Machines that can be simulated. */
export const PRESETS: readonly { readonly name: string; readonly describes: string }[] = TOPOLOGIES.map(
  ({ name, describes, generation }) => ({
    name,
    describes: borrowedCosts(generation)
      ? `${describes}; costs of the nearest generation measured`
      : describes,
  }),
);

const MOST_GPUS = 1024;
const TRACE_ITERATIONS = 200;
/** A probe's sample is a mean of many accesses, a set-up call is seldom repeated: fewer are needed than of iterations. */
const ALONE_SAMPLING = { minSamples: 30 } as const;

const VERIFICATION: Verification = {
  state: "model",
  checkedBytes: 0,
  wrongBytes: 0,
  sentinelBytes: 0,
  detail: "nothing was moved: the numbers are those of a model",
};

/** What a twin is beside its constants. */
export interface TwinFacts {
  readonly title: string;
  readonly source: string;
  readonly facts: MachineInfo["facts"];
  /** Correction of the model for a program, and the standard deviation of the logarithm of its time. */
  expect(
    program: Program,
    mode: "latency" | "throughput",
  ): { readonly factor: number; readonly sigma: number; readonly known: boolean };
}

export interface SimulationOptions {
  /** Another series of the same model; default 1. */
  readonly seed?: number;
  /** Default those of the topology's generation. */
  readonly costs?: Costs;
  readonly twin?: TwinFacts;
  /** What was changed of the topology and costs, in words. */
  readonly changed?: string;
}

/**
 * A model of a machine: a discrete-event simulation of host thread, streams, copy engines and links (simulation/README.md).
 * Its numbers are simulated ones and say so; the same program, preset and seed give the same ones everywhere.
 * It has no caches to warm, so `warmup` has no effect; `budgetMs` counts simulated time; a trace has no observer effect.
 */
export class SimulatedMachine implements Machine {
  readonly info: MachineInfo;
  readonly deterministic = true;
  readonly #topology: Topology;
  readonly #costs: Costs;
  readonly #seed: number;
  readonly #twin: TwinFacts | null;
  readonly #changed: string;
  #closed = false;

  private constructor(topology: Topology, options: SimulationOptions) {
    const { seed = 1, costs, twin, changed: what } = options;
    if (!Number.isSafeInteger(seed)) {
      throw new P2pError("usage", `a seed of ${seed}`, "Give a whole number.");
    }
    if (topology.gpuCount > MOST_GPUS) {
      throw new P2pError(
        "usage",
        `a simulated machine of ${topology.gpuCount} GPUs`,
        `Keep to ${MOST_GPUS}: what is known of each pair would fill the memory.`,
      );
    }
    this.#topology = topology;
    this.#costs = costs ?? COSTS[topology.generation];
    this.#seed = seed;
    this.#twin = twin ?? null;
    this.#changed = what ? `, changed: ${what}` : "";
    const info = infoOf(topology, seed);
    const name = `${twin?.title ?? info.name}${this.#changed}`;
    this.info = { ...info, name, facts: { ...info.facts, ...twin?.facts } };
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
   * A model of any topology of up to 1,024 GPUs, such as one read from a file.
   * @throws P2pError `usage` for more, or a seed that is no whole number.
   */
  static of(topology: Topology, options: SimulationOptions = {}): SimulatedMachine {
    return new SimulatedMachine(topology, options);
  }

  get topology(): Topology {
    return this.#topology;
  }

  get provenance(): Provenance {
    return {
      kind: "simulated",
      machine: this.info.name,
      date: new Date().toISOString(),
      source: `${this.#twin?.source ?? `sim:${this.#topology.name}`}${this.#changed}`,
    };
  }

  async run(program: Program, options: RunOptions = {}): Promise<Run> {
    if (this.#closed) throw new P2pError("usage", "the machine is closed", "Open it again with lab.open().");
    program.validate();
    this.#requireGpus(program);
    this.#requireMemory(program);
    const random = new Random(seedOf(`${program.hash}${this.#topology.name}${this.#seed}`));
    const turns = new Turns(options.signal);
    if (program.kind === "transfer") return await this.#transfer(program, options, random, turns);
    return await this.#alone(program, options, random, turns);
  }

  async #transfer(program: Program, options: RunOptions, random: Random, turns: Turns): Promise<Run> {
    requireReach(program, (from, to) => peerRefusal(this.#topology, from, to) === null);
    const mode = options.mode ?? "latency";
    const expected = this.#twin?.expect(program, mode);
    const model = planOf(program, this.#topology, this.#costs, (from, to) => this.#slowMode(from, to));
    const plan = expected ? { ...model, timeFactor: expected.factor } : model;
    const measured =
      mode === "throughput"
        ? await this.#throughput(plan, program, random, turns, options)
        : { samples: await sampleLatency(plan, random, samplingOf(options.sampling), turns), warnings: [] };
    const traced = options.trace ? await trace(plan, random, options, turns) : null;
    return {
      program,
      mode,
      provenance: this.provenance,
      ...measured,
      trace: traced,
      traceReason: options.trace && !traced ? "the host waits for no work of the program" : null,
      verification: VERIFICATION,
      ...(program.data.submit === "graph" && { graph: graphCosts(plan, random) }),
      ...(expected && uncertainty(expected, measured.warnings)),
    };
  }

  async #throughput(plan: Plan, program: Program, random: Random, turns: Turns, options: RunOptions) {
    requireSyncsAtEnd(program);
    const batch = batchOf(options.batch, program);
    const sampling = samplingOf({ ...THROUGHPUT_SAMPLING, ...options.sampling });
    return await sampleThroughput(plan, program, random, sampling, turns, batch);
  }

  /** A program of one probe or one kind of set-up work. */
  async #alone(program: Program, options: RunOptions, random: Random, turns: Turns): Promise<Run> {
    const operation = program.data.operations[0] as ProbeOperation | SetupOperation;
    const probe = operation.op === "probe";
    if (probe) requireReachOfProbe(program);
    const result = probe
      ? probeOf(program, operation, this.#topology, this.#costs)
      : setupOf(operation, this.#costs);
    if ("lacks" in result) {
      throw new P2pError(
        "not-available",
        `${this.info.name} knows no ${result.lacks}`,
        "Use real GPUs or a recording for it.",
      );
    }
    const sampling = samplingOf({ ...ALONE_SAMPLING, ...options.sampling });
    const { engineSigma, hostSigma } = this.#costs.jitter;
    const sigma = (probe ? engineSigma : hostSigma).value;
    const samples = await sampleAround(result.ns, sigma, random, sampling, turns);
    return {
      program,
      mode: probe ? "probe" : "setup",
      provenance: this.provenance,
      samples,
      trace: null,
      traceReason: options.trace ? "the model gives no timeline of probes and set-up work" : null,
      verification: VERIFICATION,
      ...(probe && {
        probe: probeFacts(
          program,
          operation,
          (result as { accesses: number }).accesses,
          samples.totalNs.length,
          this.#costs,
        ),
      }),
      ...("firstNs" in result && { firstNs: result.firstNs }),
      warnings: [],
    };
  }

  /**
   * The same machine with something else: what if it had fewer NVLinks, another hop, a slower host?
   * @throws P2pError `usage` for a change that makes no sense.
   */
  with(change: Change): SimulatedMachine {
    const before = this.#changed ? `${this.#changed.slice(", changed: ".length)}, ` : "";
    const what = `${before}${describeChange(change)}`;
    const { topology, costs } = changed({ topology: this.#topology, costs: this.#costs }, change);
    const options = { seed: this.#seed, costs, changed: what };
    return new SimulatedMachine(topology, this.#twin ? { ...options, twin: this.#twin } : options);
  }

  /**
   * How long a collective takes whose kernels are resident, without any spread.
   * @throws P2pError `usage` for a collective that there is not, `not-available` for GPUs that do not reach each other.
   */
  collective(wanted: Collective): CollectiveResult {
    const pairs = pairsOf(wanted);
    this.#requireGpuNumbers(wanted.gpus);
    const { graph } = this.#topology;
    const computerOf = (gpu: number) => graph.hostOf(`gpu${gpu}`);
    this.#requirePeers(pairs.filter(({ from, to }) => computerOf(from) === computerOf(to)));
    const away = pairs.find(({ from, to }) => graph.way(`gpu${from}`, `gpu${to}`) === null);
    if (away) {
      throw new P2pError(
        "not-available",
        `nothing joins GPU ${away.from} and GPU ${away.to} of ${this.info.name}`,
        "Name GPUs of one computer.",
      );
    }
    return collective(this.#topology, this.#costs, wanted);
  }

  /** See {@link Machine.rdma}. */
  rdma(gpu: number): readonly RdmaCard[] {
    this.#requireGpuNumbers([gpu]);
    return rdmaCards(this.#topology, gpu);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #requireGpus(program: Program): void {
    this.#requireGpuNumbers(program.gpus);
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
    this.#requirePeers([...program.pairs, ...program.data.operations.flatMap(pairOf)]);
  }

  #requireGpuNumbers(gpus: readonly number[]): void {
    const { gpuCount } = this.#topology;
    const missing = gpus.find((gpu) => gpu >= gpuCount);
    if (missing === undefined) return;
    throw new P2pError(
      "not-available",
      `GPU ${missing} is wanted, but this machine has ${gpuCount} (${this.info.name})`,
      `Use GPU numbers from 0 to ${gpuCount - 1}, or open a machine with more GPUs.`,
    );
  }

  #requirePeers(pairs: readonly { from: number; to: number }[]): void {
    for (const { from, to } of pairs) {
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

/** What a twin's run says of how far off it may be. */
function uncertainty(
  { sigma, known }: ReturnType<TwinFacts["expect"]>,
  warnings: readonly string[],
): Pick<Run, "uncertainty" | "warnings"> {
  const reason = known
    ? "programs that differ in their sizes only were recorded"
    : "no program of this kind was recorded: the fitted model alone";
  return {
    uncertainty: { relative: sigma, reason },
    warnings: [...warnings, `twin: ±${(100 * sigma).toFixed(0)} % (one standard deviation): ${reason}`],
  };
}

/** The GPUs that set-up work joins. */
function pairOf(operation: Operation): { from: number; to: number }[] {
  if (operation.op !== "setup" || operation.peer === undefined) return [];
  return [{ from: operation.gpu, to: operation.peer }];
}

/** @throws P2pError `usage` for a batch that is no whole number, or does not fit into the queue of a stream. */
function batchOf(wanted: number | undefined, program: Program): number | undefined {
  const most = mostOf(program);
  if (wanted === undefined || (Number.isSafeInteger(wanted) && wanted >= 1 && wanted <= most)) return wanted;
  throw new P2pError(
    "usage",
    `a batch of ${wanted} iterations`,
    `Give a whole number from 1 to ${most}: more iterations of this program do not fit into the queue of a stream.`,
  );
}

/** @throws P2pError `program` for a probe of another GPU's memory with peer access off. */
function requireReachOfProbe(program: Program): void {
  if (program.data.peerAccess || program.pairs.length === 0) return;
  throw new P2pError(
    "program",
    "a probe of another GPU's memory with peer access off: nothing stages what a kernel loads and stores",
    "Leave .peerAccess(false) out.",
  );
}

async function trace(plan: Plan, random: Random, options: RunOptions, turns: Turns): Promise<Trace | null> {
  const iterations = [];
  for (let i = 0; i < (options.traceIterations ?? TRACE_ITERATIONS); i++) {
    await turns.next();
    iterations.push(execute(plan, random));
  }
  return traceOf(plan, iterations, options.trace === "full");
}

function infoOf(topology: Topology, seed: number): MachineInfo {
  const { graph, gpu, gpuCount, peerRefused } = topology;
  const borrowed = borrowedCosts(topology.generation);
  const unknown = [...topology.unknown, ...(borrowed ? [borrowed] : [])];
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
