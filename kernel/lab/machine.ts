import type { Change, Collective, CollectiveResult, RdmaCard } from "./model.js";
import type { Program } from "./program.js";
import type { Convergence, SamplingOptions } from "./sampling.js";
import type { Timeline } from "./timeline.js";
import type { Topology } from "./topology/topology.js";
import type { Verdict, VerdictOptions } from "./verdict.js";

/**
 * `measured` on this machine now, `recorded` on a real machine earlier, or `simulated` by a model. A run is of one kind; where
 * rows of a table differ, each says its own.
 */
export type ProvenanceKind = "measured" | "recorded" | "simulated";

/** Where numbers come from; travels with every run, table, figure and report. */
export interface Provenance {
  readonly kind: ProvenanceKind;
  /** What it is about, such as `2 × NVIDIA H200 (NV18)`. */
  readonly machine: string;
  /** When it was measured or recorded (ISO 8601); for a simulation the day it was run. */
  readonly date: string;
  /** The specification that opens the machine again, such as `cuda`, `recorded:h200x2`, `sim:hgx-h100-8`. */
  readonly source: string;
}

export interface GpuInfo {
  readonly index: number;
  readonly name: string;
  readonly memoryBytes: number;
  /** Compute capability, such as `9.0`; null where unknown. */
  readonly computeCapability: string | null;
  /** PCI address, such as `0000:0f:00.0`; null for a model. */
  readonly pci: string | null;
  /** Asynchronous copy engines the driver reports. */
  readonly copyEngines: number | null;
}

/** What is known of an ordered pair of GPUs before any measurement. */
export interface PairInfo {
  readonly from: number;
  readonly to: number;
  /** Whether the driver grants peer access. */
  readonly peerAccess: boolean;
  /** Native atomics over the link, as the driver says; null where unknown. */
  readonly nativeAtomics: boolean | null;
  /**
   * Class of the link, as `nvidia-smi topo -m` names it: `NV18` (18 NVLinks), or where the PCIe paths meet: `PIX` (one
   * switch), `PXB` (several), `PHB` (host bridge), `NODE` (NUMA node), `SYS` (between NUMA nodes); null where unknown.
   */
  readonly link: string | null;
  /**
   * Raw rate of the link in one direction, GB/s; null where unknown. NVLink: links × the signalling rate of one; PCIe: lanes ×
   * the rate of the generation less its line code, of the narrower end. No transfer reaches it.
   */
  readonly rawGbps: number | null;
  /** Why there is no peer access; null when there is. */
  readonly reason: string | null;
}

export interface MachineInfo {
  /** Such as `2 × NVIDIA H200 (NV18)`: the class of the link stands where all pairs share it. */
  readonly name: string;
  readonly gpus: readonly GpuInfo[];
  readonly pairs: readonly PairInfo[];
  /** Facts for the reader: driver, CUDA version, clock, operating system, model and its sources. */
  readonly facts: Readonly<Record<string, string | number | null>>;
}

/**
 * `latency`: one iteration at a time, timed by the host. `throughput`: a batch of iterations back to back behind a gate
 * kernel, timed by events on the device, so that what the host takes to submit does not count. Probes and set-up work have
 * a way of their own.
 */
export type RunMode = "latency" | "throughput" | "probe" | "setup";

export interface RunOptions {
  /** Default `latency`; a program of probes or set-up work runs in its own mode whatever is said here. */
  mode?: "latency" | "throughput";
  /** Throughput: iterations behind one gate; default chosen so that a batch is long against the clock's floor. */
  batch?: number;
  sampling?: SamplingOptions;
  /**
   * A second pass under the tracer (CUPTI on real GPUs). `copies` records only the engines' copies, which costs the least
   * and is what a breakdown needs; `full` adds driver API calls and kernels for a timeline.
   */
  trace?: "copies" | "full";
  /** Iterations of the traced pass; default 200. */
  traceIterations?: number;
  signal?: AbortSignal;
}

/** Samples of the timing pass, no tracer loaded; nanoseconds. One element is an iteration, or what the mode says. */
export interface Samples {
  /**
   * `latency`, host: first submit call entered → last sync returned (clock 3, host-observed completion). Where nothing lies between
   * two iterations, the end of one is the beginning of the next: a few nanoseconds of bookkeeping are in it.
   * `throughput`, device: first start event → last end event of a batch, divided by its iterations.
   * `probe`: mean of one repetition, an access or one way. `setup`, host: the named call.
   */
  readonly totalNs: Float64Array;
  /**
   * Host: first submit call entered → last submit call returned (clock 1, API return); in `throughput` the same for a batch,
   * divided by its iterations. Empty in the other modes.
   */
  readonly apiNs: Float64Array;
  readonly convergence: Convergence;
}

/** Samples of the traced pass on one clock; one element an iteration, nanoseconds. */
export interface Trace {
  /** t0 → t1: API entry until the first engine starts. */
  readonly launchNs: Float64Array;
  /** t1 → t3: first engine start until last engine end (clock 2). */
  readonly engineNs: Float64Array;
  /** t3 → t4: last engine end until the host knows. */
  readonly receiverNs: Float64Array;
  /** t0 → t4 by the host's own stamps. */
  readonly totalNs: Float64Array;
  /** t0 → last submit call returned. */
  readonly apiNs: Float64Array;
  readonly timeline: Timeline;
}

/** What the throughput mode says beside the samples. */
export interface Throughput {
  /** Iterations behind one gate. */
  readonly batch: number;
  /** Per stream: its own first start → last end in a batch, divided by its iterations; nanoseconds. */
  readonly streams: readonly {
    readonly name: string;
    readonly gpu: number;
    readonly totalNs: Float64Array;
  }[];
  /** How often the gate gave up before the batch was submitted; each time the batch was halved and measured anew. */
  readonly gateTimeouts: number;
  /** What two events with nothing between them measure: the floor of this clock. */
  readonly floorNs: number;
}

/** What making a graph cost; one element a repetition, nanoseconds of the host. */
export interface GraphCosts {
  readonly nodes: number;
  readonly captureNs: Float64Array;
  readonly instantiateNs: Float64Array;
  /** Bringing an instantiated graph up to date with a freshly captured one. */
  readonly updateNs: Float64Array;
}

/** What a probe says beside its samples. */
export interface ProbeFacts {
  /** Accesses or rounds of one repetition: fewer than asked for where a cold chain has fewer nodes. */
  readonly accesses: number;
  /** Frequency of the SM's clock during the repetitions: its cycles over the time of the GPU's global timer. */
  readonly clockGhz: { readonly median: number; readonly low: number; readonly high: number };
  /**
   * `global-timer` where every repetition lasted at least 1000 of its steps, else `sm-clock`: cycles over the frequency
   * measured just before.
   */
  readonly timedBy: "global-timer" | "sm-clock";
  /** The empty loop, taken out of each sample; 0 where it hides behind the access. */
  readonly overheadNs: number;
  /** Smallest step of the global timer, and what a reading of it and of the SM's clock costs. */
  readonly timerStepNs: number;
  readonly timerCostNs: number;
  readonly clockCostNs: number;
  /** SM of each sample. */
  readonly sm: readonly number[];
  /** What the driver says of each buffer's address: the GPU that owns it, null for host memory. */
  readonly owners: readonly { readonly buffer: string; readonly gpu: number | null }[];
}

/** What the owner of a destination found after a copy. */
export interface Verification {
  /** `ok`: all bytes right, seen by the owner GPU (or host) and by a host read-back. `model`: nothing moved, simulated. */
  readonly state: "ok" | "failed" | "model";
  readonly checkedBytes: number;
  readonly wrongBytes: number;
  /** Bytes that still held the sentinel: never written. */
  readonly sentinelBytes: number;
  readonly detail: string;
}

/** What NVML said of one GPU at one moment; null where it said nothing, and why in `missing`. Counters run on; only differences mean something. */
export interface GpuState {
  readonly gpu: number;
  /** The GPU called itself idle: clocks and PCIe generation rest, and say nothing of its work. */
  readonly idle: boolean;
  readonly smClockMhz: number | null;
  readonly memoryClockMhz: number | null;
  /** 0 (fastest) to 15. */
  readonly performanceState: number | null;
  /** Active clocks events, also called throttle reasons, such as `sw_power_cap`. */
  readonly events: readonly string[] | null;
  readonly temperatureC: number | null;
  readonly powerW: number | null;
  readonly pcieGeneration: number | null;
  readonly pcieWidth: number | null;
  readonly pcieReplays: number | null;
  readonly pcieTxBytes: number | null;
  readonly pcieRxBytes: number | null;
  /** Uncorrected memory errors since the driver was loaded. */
  readonly eccUncorrected: number | null;
  /** Compute processes other than this one. */
  readonly foreignProcesses: number | null;
  /** Sums over all links; null for a GPU without NVLink. A part that no link tells is null. */
  readonly nvlink: {
    readonly activeLinks: number;
    readonly replayErrors: number | null;
    readonly recoveryErrors: number | null;
    readonly crcErrors: number | null;
    readonly receiveErrors: number | null;
    readonly txBytes: number | null;
    readonly rxBytes: number | null;
  } | null;
  readonly missing: Readonly<Record<string, string>>;
}

/**
 * Every GPU that a program touches, right before and right after its timing pass. Counters, temperature and power of `before`
 * are read while the program is prepared, or are those that a run before it ended with less than 0.1 s ago: what verifying it
 * moves is in the difference.
 */
export interface RunState {
  readonly before: readonly GpuState[];
  readonly after: readonly GpuState[];
}

/** The result of a program on a machine. */
export interface Run {
  readonly program: Program;
  readonly mode: RunMode;
  readonly provenance: Provenance;
  readonly samples: Samples;
  readonly trace: Trace | null;
  /** Why there is no trace though one was asked for. */
  readonly traceReason: string | null;
  readonly verification: Verification;
  /** In `throughput` mode only. */
  readonly throughput?: Throughput;
  /** Of a program that is submitted as a graph. */
  readonly graph?: GraphCosts;
  /** Set-up work: the very first repetition, which is not among the samples; a first call often costs far more. */
  readonly firstNs?: number;
  /** How often each outcome was seen, for probes that count. */
  readonly counts?: Readonly<Record<string, number>>;
  /** Of a probe. */
  readonly probe?: ProbeFacts;
  /** Of the GPUs, around the timing pass; null when they could not be asked. Absent where there is nothing to ask. */
  readonly state?: RunState | null;
  /** Why there is no state though there are GPUs. */
  readonly stateReason?: string | null;
  /** Of a twin: how far its median may be from the machine's, as one standard deviation, and why. */
  readonly uncertainty?: { readonly relative: number; readonly reason: string };
  /**
   * What a reader must know beside the numbers. Each begins with its kind: `profiled`, `throttled`, `clock`, `pcie`, `nvlink`,
   * `ecc`, `shared` (other processes on the GPU), …
   */
  readonly warnings: readonly string[];
}

/** The two that a machine with a model behind it consists of. */
export interface BackedBy {
  /** Answers only what it holds. */
  readonly alone: Machine;
  /** Answers everything else; made when it is first asked for. @throws P2pError `machine-spec` where it cannot be. */
  readonly model: () => Machine;
}

/** Anything that runs programs. What stands above asks no machine which kind it is. */
export interface Machine {
  readonly provenance: Provenance;
  readonly info: MachineInfo;
  /** The same program gives the same samples each time (a recording, a model): to run it again adds nothing. */
  readonly deterministic?: boolean;
  /** What a model of a machine runs on; missing where bytes are really moved. */
  readonly topology?: Topology | undefined;
  /**
   * Of a machine whose runs come from a recording or from the model behind it, as each run says: where figures are held against
   * each other, one of the two answers all. Missing where there is one source.
   */
  readonly backedBy?: BackedBy | undefined;
  /**
   * Runs a program in latency mode: one iteration at a time until the stopping rule ends it.
   * @throws P2pError `program`, `not-available`, `not-recorded`, `verification`, `cuda` or `cancelled`.
   */
  run(program: Program, options?: RunOptions): Promise<Run>;
  /**
   * Climbs the verdict ladder for pairs of GPUs; each verdict is kept. Missing where there is no link to probe.
   * @throws P2pError `cancelled`.
   */
  verdicts?(options?: VerdictOptions): Promise<readonly Verdict[]>;
  /** The same machine with something else, which only a model can be. @throws P2pError `usage`. */
  with?(change: Change): Machine;
  /** How long a collective takes; of models. @throws P2pError `usage`, `not-available`. */
  collective?(wanted: Collective): CollectiveResult;
  /**
   * Network cards that a GPU can use, the nearest first; of models. Empty where the machine has none.
   * @throws P2pError `not-available` for a GPU that there is not.
   */
  rdma?(gpu: number): readonly RdmaCard[];
  /** Frees what it holds; safe to call twice. */
  close(): Promise<void>;
}
