/**
 * Every export of the addon `p2p.node`, declared once, and the loader that explains a failure.
 * The addon offers mechanisms; choosing sizes, counts and when to stop is done above it.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { CompileError, CudaError, messageOf, P2pError } from "./errors.js";
import type { NativeBinding, NativeBuffer } from "./native-binding.js";

/** Whether a library can be used, and if not, why. */
export interface NativeLibrary {
  readonly available: boolean;
  /** Why not, one sentence; null when available. */
  readonly reason: string | null;
  /** Version as the library gives it (CUDA: 13000 = 13.0); null when unavailable. */
  readonly version: number | null;
  /** File that was opened; null when none was. */
  readonly path: string | null;
}

export interface NativeAvailability {
  /** libcuda.so.1: loaded, initialised, at least one device. */
  readonly cuda: NativeLibrary;
  readonly cupti: NativeLibrary;
  /** libnvrtc, which compiles the CUDA C++ of notebook cells. */
  readonly nvrtc: NativeLibrary;
  readonly nvml: NvmlLibrary;
  /** Devices the driver shows; 0 when it is unavailable. */
  readonly deviceCount: number;
  /** Version text of the kernel module, /proc/driver/nvidia/version; null where it cannot be read. */
  readonly kernelModule: string | null;
}

export interface NativeDevice {
  readonly index: number;
  readonly name: string;
  /** `GPU-xxxxxxxx-…` as NVML and nvidia-smi print it. */
  readonly uuid: string;
  /** `0000:0f:00.0`, lower case. */
  readonly pci: string;
  readonly memoryBytes: number;
  readonly computeMajor: number;
  readonly computeMinor: number;
  readonly multiprocessors: number;
  readonly copyEngines: number;
  readonly clockKhz: number;
  readonly memoryClockKhz: number;
  readonly l2Bytes: number;
  readonly unifiedAddressing: boolean;
  readonly canMapHostMemory: boolean;
  /** NUMA node of the host beside the device (sysfs); -1 where unknown. */
  readonly numaNode: number;
}

/** cuDeviceCanAccessPeer and cuDeviceGetP2PAttribute of an ordered pair. */
export interface NativePeer {
  readonly access: boolean;
  readonly nativeAtomics: boolean;
  readonly cudaArrayAccess: boolean;
  readonly performanceRank: number;
}

/** A program in the addon's form: rows in typed arrays, names resolved to indices. */
export interface NativeProgram {
  /**
   * Rows of 3: place (0 device, 1 pinned, 2 pageable, 3 device from a pool, 4 device by virtual memory functions), GPU
   * ordinal (-1 on the host), bytes.
   */
  readonly buffers: Float64Array;
  /** GPU ordinal of each stream. */
  readonly streams: Int32Array;
  readonly eventCount: number;
  /** Rows of 8: opcode, stream, a, b, bytes, x, y, flag. See {@link Opcode}. */
  readonly operations: Float64Array;
  /** Rows of 3: GPU that accesses, GPU that owns, 1 to enable peer access or 0 to disable it. */
  readonly peers: Int32Array;
  /** Rows of 2: buffer, seed. Filled with the position-dependent pattern of the seed before verification. */
  readonly sources: Float64Array;
  /** Rows of 5: buffer, offset, bytes, seed, offset within the pattern. What must have arrived after one iteration. */
  readonly checks: Float64Array;
  /** Whether the operations are captured into a graph that each iteration launches. */
  readonly graph: boolean;
}

/**
 * `copy`: a source, b destination buffer, x and y the offsets in them, flag 0 cuMemcpyAsync, 1 cuMemcpyPeerAsync,
 * 2 cuMemcpyBatchAsync, 3 a kernel. `record`, `wait`: a event. `sync`: flag 0 spin (cuStreamQuery), 1 yield, 2 block
 * (cuStreamSynchronize), 3 poll-event, 4 poll-flag. `signal`, `await`: a buffer, y offset of the word. `compute`: bytes is
 * nanoseconds. `launch`: flag 0 the empty kernel. `put`: a source, b window, x buffer of the flag or -1, flag the protocol
 * (0 flag, 1 ll, 2 ll128). `receive`: a window, b buffer to unpack into or -1, x and flag as for put.
 */
export const Opcode = {
  copy: 1,
  record: 2,
  wait: 3,
  sync: 4,
  signal: 5,
  await: 6,
  compute: 7,
  launch: 8,
  put: 9,
  receive: 10,
} as const;

export interface NativeTiming {
  /** Iterations completed and written into the arrays. */
  readonly done: number;
  readonly cancelled: boolean;
}

export interface NativeBatchTiming extends NativeTiming {
  /** The gate gave up before a batch was submitted: that batch is not among those done, and none came after it. */
  readonly gateGaveUp: boolean;
}

/** Nanoseconds of the host, one element a repetition. */
export interface NativeGraphCosts {
  readonly nodes: number;
  readonly captureNs: Float64Array;
  readonly instantiateNs: Float64Array;
  /** Empty where the driver cannot update a graph (before CUDA 12.0). */
  readonly updateNs: Float64Array;
}

/** The traced pass. Times in nanoseconds, one clock, from the first iteration's t0. */
export interface NativeTrace {
  /** Per iteration: first submit call entered. */
  readonly t0: Float64Array;
  /** Per iteration: last submit call returned. */
  readonly apiEnd: Float64Array;
  /** Per iteration: last sync returned. */
  readonly t4: Float64Array;
  /** Per record: 1 driver API call, 2 copy, 3 kernel. */
  readonly kind: Uint8Array;
  readonly startNs: Float64Array;
  readonly endNs: Float64Array;
  readonly bytes: Float64Array;
  readonly correlation: Float64Array;
  /** GPU ordinal of a copy or kernel; the issuing thread's 0 for an API call. */
  readonly device: Int32Array;
  /** CUPTI's stream id; 0 for an API call. */
  readonly stream: Float64Array;
  /** API function or copy direction (`HtoD`, `DtoH`, `DtoD`, `PtoP`), one a record. */
  readonly name: readonly string[];
  /** Records the tracer dropped; above 0 the pass is not usable for medians. */
  readonly dropped: number;
  readonly cancelled: boolean;
}

export interface NativeCheck {
  readonly buffer: number;
  readonly bytes: number;
  /** Bytes that differ, counted by a kernel on the owner GPU (by the host for host memory). */
  readonly wrongByOwner: number;
  /** Bytes that differ in a copy read back to the host through the owner. */
  readonly wrongByReadBack: number;
  /** Bytes that still hold the sentinel, in the read-back. */
  readonly sentinelBytes: number;
  /** Offset of the first wrong byte in the read-back; -1 when none. */
  readonly firstWrong: number;
}

/** A program made ready: contexts, buffers, streams and events exist, peer access is as it asks. */
export interface NativeExecutor {
  /** Runs `totalNs.length` iterations off the event loop and fills both arrays. Rejects past `deadlineMs` for one iteration. */
  time(totalNs: Float64Array, apiNs: Float64Array, deadlineMs: number): Promise<NativeTiming>;
  /** Streams that batches are timed on: those that work is submitted to, by their index. */
  readonly timedStreams: Int32Array;
  /**
   * Runs `totalNs.length` batches of `iterations` (0: the floor of the device's clock) and fills the arrays with the times
   * of whole batches; `streamNs` has a row a batch, a column for each of `timedStreams`. `gateMs` is how long the gate waits
   * for a batch to be submitted, 0 for no gate; `deadlineMs` bounds a batch.
   */
  throughput(
    totalNs: Float64Array,
    apiNs: Float64Array,
    streamNs: Float64Array,
    iterations: number,
    gateMs: number,
    deadlineMs: number,
  ): Promise<NativeBatchTiming>;
  /** Makes the program's graph again and again. Rejects with `usage` when it is not submitted as one. */
  graphCosts(repetitions: number, deadlineMs: number): Promise<NativeGraphCosts>;
  /** Runs iterations under CUPTI. Rejects with `not-available` when CUPTI cannot be used. */
  trace(iterations: number, full: boolean, deadlineMs: number): Promise<NativeTrace>;
  /** Fills sources and sentinels, runs one iteration, checks what arrived. */
  verify(deadlineMs: number): Promise<NativeCheck[]>;
  /** Ends the call in flight after its current iteration. */
  cancel(): void;
  /** Frees everything; safe to call twice; refused (throws) while a call is in flight. */
  close(): void;
}

/** The host clock that times iterations. */
export interface NativeClock {
  readonly name: string;
  /** Smallest step seen between two different readings. */
  readonly resolutionNs: number;
  /** Median cost of one reading. */
  readonly costNs: number;
}

/** libnvidia-ml.so.1: loaded and initialised. */
export interface NvmlLibrary {
  readonly available: boolean;
  /** Why not, one sentence; null when available. */
  readonly reason: string | null;
  /** As the library gives it, such as `13.580.95.05`; null where unknown. */
  readonly version: string | null;
  /** Such as `580.95.05`; null where unknown. */
  readonly driverVersion: string | null;
  readonly path: string | null;
}

/** What one object of NVML does not tell: name of the null field → the call and its error. */
type Missing = Readonly<Record<string, string>>;

/** What does not change while programs run. Of a MIG slice, what NVML says of the GPU that it was cut from. */
export interface NvmlFacts {
  /** How the GPU was found among NVML's: by its UUID, as the parent of a MIG slice, or by its PCI address. */
  readonly joinedBy: "uuid" | "mig-parent" | "pci";
  readonly pci: string | null;
  readonly maxSmClockMhz: number | null;
  readonly maxMemoryClockMhz: number | null;
  readonly powerLimitW: number | null;
  /** The most that GPU and slot can do together. */
  readonly maxPcieGeneration: number | null;
  readonly maxPcieWidth: number | null;
  readonly persistence: boolean | null;
  /** `default`, `exclusive-process` or `prohibited`. */
  readonly computeMode: string | null;
  readonly mig: boolean | null;
  readonly ecc: boolean | null;
  readonly bar1Bytes: number | null;
  readonly displayActive: boolean | null;
  /** `none` (bare metal), `pass-through`, `vgpu`, `host-vgpu`, `host-vsga`. */
  readonly virtualization: string | null;
  /** Registration with the NVSwitch fabric: `not-supported`, `not-started`, `in-progress`, `completed`, `failed: NVML_ERROR_…`. */
  readonly fabric: string | null;
  /** NVLinks that the GPU has, active or not. */
  readonly linkCount: number | null;
  readonly links: readonly NvmlLink[];
  readonly missing: Missing;
}

export interface NvmlLink {
  readonly link: number;
  readonly active: boolean | null;
  /** NVLink version, such as 4. */
  readonly version: number | null;
  /** Raw signalling rate in one direction, 1e6 bytes/s. */
  readonly speedMBps: number | null;
  /** `gpu`, `switch`, `npu` or `unknown`. */
  readonly remoteType: string | null;
  readonly remotePci: string | null;
  readonly missing: Missing;
}

/** The few values that waking a GPU looks at again and again. */
export interface NvmlClocks {
  readonly smClockMhz: number | null;
  readonly memoryClockMhz: number | null;
  readonly pcieGeneration: number | null;
  readonly pcieWidth: number | null;
  /** 0 (fastest) to 15. */
  readonly performanceState: number | null;
  /** Clocks events, also called throttle reasons, that are active: `gpu_idle`, `sw_power_cap`, `hw_slowdown`, … */
  readonly events: readonly string[] | null;
  readonly missing: Missing;
}

/** What changes while programs run. Counters run on since the driver was loaded; only differences mean something. */
export interface NvmlState extends NvmlClocks {
  readonly temperatureC: number | null;
  readonly powerW: number | null;
  readonly pcieReplays: number | null;
  /** May wrap. */
  readonly pcieTxBytes: number | null;
  readonly pcieRxBytes: number | null;
  readonly eccUncorrected: number | null;
  /** Processes with a compute context on the GPU; `own` is this one. */
  readonly processes:
    | readonly { readonly pid: number; readonly memoryBytes: number | null; readonly own: boolean }[]
    | null;
  readonly links: readonly NvmlLinkCounters[];
}

export interface NvmlLinkCounters {
  readonly link: number;
  readonly active: boolean | null;
  readonly replayErrors: number | null;
  readonly recoveryErrors: number | null;
  readonly crcErrors: number | null;
  /** Packets received with errors; NVLink 5 counts these. */
  readonly receiveErrors: number | null;
  readonly txBytes: number | null;
  readonly rxBytes: number | null;
  readonly missing: Missing;
}

/**
 * An ordered pair of GPUs. Each status is what `nvidia-smi topo -p2p` prints: `OK`, `CNS` (chipset), `GNS` (GPU), `TNS`
 * (topology), `DR` (disabled by registry key), `NS` (not supported), `U` (unknown).
 */
export interface NvmlPair {
  readonly read: string | null;
  readonly write: string | null;
  readonly nvlink: string | null;
  readonly atomics: string | null;
  readonly pci: string | null;
  /** Where the PCIe paths of both meet: `internal`, `single`, `multiple`, `hostbridge`, `node` or `system`. */
  readonly commonAncestor: string | null;
  readonly missing: Missing;
}

/** NVML, all of it optional. Each throws `not-available` when there is no NVML or it does not know the GPU. */
export interface NativeNvml {
  /** Costly: read once. */
  nvmlFacts(gpu: number): NvmlFacts;
  /** For before and after each measurement. */
  nvmlState(gpu: number): NvmlState;
  /** The cheapest part of the state. */
  nvmlClocks(gpu: number): NvmlClocks;
  nvmlPair(from: number, to: number): NvmlPair;
}

/** Set-up work made ready: one kind, done and undone again and again. */
export interface NativeSetup {
  /**
   * Repeats the work off the event loop until `repetitions` are done or `budgetMs` have passed, at least once. `ns`: what
   * the named driver calls took, one a repetition.
   */
  time(repetitions: number, budgetMs: number): Promise<NativeSetupTiming>;
  /** What is known beside the results of the calls; may be empty. */
  checked(): string;
  /** Ends the call in flight after its current repetition. */
  cancel(): void;
  /** Frees what it holds; safe to call twice; refused (throws) while a call is in flight. */
  close(): void;
}

export interface NativeSetupTiming {
  readonly ns: Float64Array;
  readonly cancelled: boolean;
}

/** GPU memory with a known pattern that another process can open. */
export interface NativeExport {
  /** 64 bytes, good for as long as this process holds the memory. */
  readonly handle: Uint8Array;
  /** Frees the memory; nobody may have it open any more. Safe to call twice. */
  close(): void;
}

/** Exports for set-up costs. */
export interface NativeSetupExports {
  /**
   * Makes set-up work ready; `kind` is a word of SETUP_KINDS. `gpu` is where it is done. `peer` owns the memory that
   * `gpu` gets access to (-1 where the kind has none), `bytes` and `nodes` are 0 where the kind has none, and `handle`
   * is what another process exported (`ipc-open`, `ipc-close`; null otherwise). Both of these check the memory first.
   */
  setup(
    kind: string,
    gpu: number,
    peer: number,
    bytes: number,
    nodes: number,
    handle: Uint8Array | null,
  ): Promise<NativeSetup>;
  exportMemory(gpu: number, bytes: number): Promise<NativeExport>;
}

/** A probe in the addon's form: one or two kernels that time themselves. */
export interface NativeProbeRows {
  /** See {@link ProbeCode}. */
  readonly kind: number;
  /**
   * Rows of 3: place (0 device, 1 pinned, 3 pool, 4 vmm), GPU ordinal (-1 on the host), bytes. Ping-pong: the flags that the first and the
   * second kernel poll; message passing: data and flag; else one buffer.
   */
  readonly buffers: Float64Array;
  /** GPU of each kernel: two for ping-pong and message passing (the sender first), else one. */
  readonly gpus: Int32Array;
  /** Rows of 3: GPU that accesses, GPU that owns, 1 to enable peer access or 0 to disable it. */
  readonly peers: Int32Array;
  /**
   * By kind. `load`: accesses, footprint, stride, 1 random, 1 cold, 1 every SM in turn. `pingPong`: rounds, store (0 volatile,
   * 1 release, 2 atomic). `atomic`: accesses, operation (0 add, 1 exchange, 2 compare-and-swap), 1 system scope. `fence`:
   * accesses, scope (1 block, 2 GPU, 3 system), stores. `messages`: rounds, scope (0 none, 2 GPU, 3 system).
   */
  readonly parameters: Float64Array;
}

export const ProbeCode = { load: 0, pingPong: 1, atomic: 2, fence: 3, messages: 4 } as const;

/**
 * How a kernel of a probe ended. `done`; `alone`: the other kernel did not start within the deadline; `expired`: the
 * deadline passed while it waited for the other's flag, or amid its accesses; `stopped`: the other gave up first; `wrong`: it
 * ended, but with a value that cannot be; `never-ran`.
 */
export interface NativeProbeSide {
  readonly state: "done" | "alone" | "expired" | "stopped" | "wrong" | "never-ran";
  /** Accesses or rounds completed, those of the warm-up (16 of a ping-pong) among them. */
  readonly done: number;
  /** Address, flag or word that it last saw, and what it should have been. */
  readonly value: bigint;
  readonly expected: bigint;
}

export interface NativeProbeRun {
  /** Nanoseconds an access, a round of message passing, or one way of a ping-pong; one a repetition. */
  readonly ns: Float64Array;
  readonly cancelled: boolean;
  /** One a kernel, of the last repetition. One that is not `done` ended the call early. */
  readonly sides: readonly NativeProbeSide[];
  /** Message passing: flag old and data old, flag old and data new, flag new and data old, both new, neither of both. */
  readonly counts: Float64Array;
  /** Accesses or rounds of a repetition: fewer than asked for where a cold chain has fewer nodes. */
  readonly accesses: number;
  /** Per repetition: frequency of the SM's clock, and the SM. */
  readonly clockGhz: Float64Array;
  readonly sm: Int32Array;
  /** Repetitions timed by the global timer; the others were too short for its step and are timed by the SM's clock. */
  readonly byTimer: number;
  /** The empty loop, already taken out of `ns`; 0 where it hides behind the access. */
  readonly overheadNs: number;
  /** Smallest step of the global timer, and what a reading of it and of the SM's clock costs. */
  readonly timerStepNs: number;
  readonly timerCostNs: number;
  readonly clockCostNs: number;
}

export interface NativeProbeCheck {
  readonly buffer: number;
  readonly bytes: number;
  readonly wrongByOwner: number;
  /** As the GPU of the probe's kernel sees it, where that is asked (load). */
  readonly wrongByReader: number;
  readonly wrongByReadBack: number;
  /** GPU that the driver says owns the address (cuPointerGetAttribute); -1 for host memory. */
  readonly ownerGpu: number;
  /** First word, read back through the owner; of a chain, the node where the chase stands. */
  readonly value: bigint;
}

export interface NativeProbe {
  /** Runs repetitions off the event loop. `deadlineMs` bounds each; a flag that does not come resolves, see `sides`. */
  measure(repetitions: number, deadlineMs: number): Promise<NativeProbeRun>;
  /** Looks whether memory holds what it must: of a chain before it is followed, else after a repetition. */
  check(deadlineMs: number): Promise<NativeProbeCheck[]>;
  cancel(): void;
  close(): void;
}

export interface NativeProbes {
  prepareProbe(probe: NativeProbeRows): Promise<NativeProbe>;
}

export interface NativeAddon extends NativeNvml, NativeSetupExports, NativeProbes, NativeBinding {
  availability(): NativeAvailability;
  devices(): NativeDevice[];
  peer(from: number, to: number): NativePeer;
  clock(): NativeClock;
  prepare(program: NativeProgram): Promise<NativeExecutor>;
  /** `gpu` is ignored for host memory. */
  alloc(kind: "device" | "pinned" | "pageable", gpu: number, bytes: number): NativeBuffer;
  /** Synchronous copy by address, then complete. */
  copy(dst: NativeBuffer, dstOffset: number, src: NativeBuffer, srcOffset: number, bytes: number): void;
  /** Lets `from` access the memory of `to`; true when it was enabled now, false when it already was. */
  enablePeer(from: number, to: number): boolean;
  disablePeer(from: number, to: number): boolean;
  /** Retains the primary context of a device (a first call initialises it) and makes its kernels ready. */
  retainContext(gpu: number): void;
}

/** What the addon throws: a plain error with these fields, made a {@link CudaError}, {@link CompileError} or {@link P2pError} by {@link translate}. */
interface NativeFailure extends Error {
  code?: "cuda" | "not-available" | "usage" | "cancelled" | "compile";
  result?: number;
  resultName?: string;
  call?: string;
  hint?: string;
  log?: string;
}

/**
 * Turns what the addon threw into the project's typed errors, with the stack of the call; anything else, an error that is
 * already typed among it, comes back as it was.
 */
export function translate(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof P2pError) return error;
  const failure = error as NativeFailure;
  if (failure.code === undefined) return error;
  const { result = -1, resultName = "?", call = "?", hint = "", log = "" } = failure;
  const typed =
    failure.code === "cuda"
      ? new CudaError(result, resultName, call, hint)
      : failure.code === "compile"
        ? new CompileError(failure.message, hint, log)
        : new P2pError(failure.code, failure.message, hint);
  const frames = failure.stack?.indexOf("\n    at ") ?? -1;
  if (frames >= 0) typed.stack = `${typed.name}: ${typed.message}${failure.stack?.slice(frames)}`;
  return typed;
}

let loaded: NativeAddon | null = null;

/**
 * Loads the addon.
 * @throws P2pError `not-available` naming every place that was tried and what each answered.
 */
export function loadAddon(): NativeAddon {
  if (loaded) return loaded;
  const require = createRequire(import.meta.url);
  const override = process.env.P2PLAB_ADDON;
  const candidates = override
    ? [override]
    : ["Release", "Debug"].map((build) =>
        fileURLToPath(new URL(`../../../build/${build}/p2p.node`, import.meta.url)),
      );
  const failures: string[] = [];
  for (const file of candidates) {
    if (!existsSync(file)) {
      failures.push(`${file}: not built`);
      continue;
    }
    try {
      loaded = require(file) as NativeAddon;
      return loaded;
    } catch (error) {
      failures.push(`${file}: ${messageOf(error)}`);
    }
  }
  throw new P2pError(
    "not-available",
    `the native addon cannot be loaded (${failures.join("; ")})`,
    'Build it with "npm run build:addon" (needs a C++20 compiler); recordings and simulations work without it.',
  );
}
