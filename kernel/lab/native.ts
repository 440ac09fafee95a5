/**
 * Every export of the addon `p2p.node`, declared once, and the loader that explains a failure.
 * The addon offers mechanisms; choosing sizes, counts and when to stop is done above it.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { CompileError, CudaError, messageOf, P2pError } from "./errors.js";
import type { NativeBinding, NativeBuffer, NativeMemoryKind } from "./native-binding.js";
import type { NativeNvml, NvmlLibrary } from "./native-nvml.js";
import type { NativeProbes } from "./native-probe.js";
import type { NativeSetupExports } from "./native-setup.js";

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
  /** Whether network cards can be given its memory by the kernel's own interface (nvidia-peermem); null: an old driver. */
  readonly gpuDirectRdma: boolean | null;
  /** Whether its memory can be handed on as a DMA-BUF; null: an old driver. */
  readonly dmaBuf: boolean | null;
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
   * Rows of 3: place (0 device, 1 pinned, 2 pageable, 3 device from a pool, 4 device by virtual memory functions, 5 device,
   * memory of another process), GPU ordinal (-1 on the host), bytes.
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
  /** The 64 bytes by which each buffer of place 5 is opened, in their order; left out where there is none. */
  readonly handles?: Uint8Array;
}

/**
 * `copy`: a source, b destination buffer, x and y the offsets in them, flag 0 cuMemcpyAsync, 1 cuMemcpyPeerAsync,
 * 2 cuMemcpyBatchAsync, 3 a kernel, 4 cuMemcpy3DPeerAsync. `record`, `wait`: a event. `sync`: flag 0 spin (cuStreamQuery), 1 yield, 2 block
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
  /** Per record: 1 driver API call, 2 copy, 3 kernel, 4 memory set, 5 synchronisation that the host waits in. */
  readonly kind: Uint8Array;
  readonly startNs: Float64Array;
  readonly endNs: Float64Array;
  readonly bytes: Float64Array;
  readonly correlation: Float64Array;
  /** GPU ordinal of a copy, kernel or memory set; 0 for what the host does. */
  readonly device: Int32Array;
  /** CUPTI's stream id; 0 where a record is of no stream. */
  readonly stream: Float64Array;
  /** API function, copy direction (`HtoD`, `DtoH`, `DtoD`, `PtoP`), kernel, or what was synchronized; one a record. */
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

export interface NativeAddon extends NativeNvml, NativeSetupExports, NativeProbes, NativeBinding {
  availability(): NativeAvailability;
  devices(): NativeDevice[];
  peer(from: number, to: number): NativePeer;
  clock(): NativeClock;
  prepare(program: NativeProgram): Promise<NativeExecutor>;
  /** `gpu` is ignored for host memory. */
  alloc(kind: NativeMemoryKind, gpu: number, bytes: number): NativeBuffer;
  /** Synchronous copy by address, then complete. */
  copy(dst: NativeBuffer, dstOffset: number, src: NativeBuffer, srcOffset: number, bytes: number): void;
  /** Lets `from` access the memory of `to`; true when it was enabled now, false when it already was. */
  enablePeer(from: number, to: number): boolean;
  disablePeer(from: number, to: number): boolean;
  /** Retains the primary context of a device (a first call initialises it) and makes its kernels ready. */
  retainContext(gpu: number): void;
  /** Frees the page-locked memory that closed executors left for the next ones. */
  releaseKeptMemory(): Promise<void>;
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
