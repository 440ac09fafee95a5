/**
 * The instruction set: what one iteration of a program can consist of, as plain JSON. {@link Program} builds and checks it;
 * machines run it. A field that has its usual value is left out, so that programs written before it existed keep their hash.
 */

/**
 * Where memory of a GPU comes from: cuMemAlloc, a stream-ordered pool (cuMemAllocAsync), the virtual memory functions
 * (cuMemCreate, cuMemMap), or another process, whose cuMemAlloc memory is opened by its IPC handle. Peer access is granted in
 * another way for each, and can fail for one and work for another.
 */
export type Allocator = "malloc" | "pool" | "vmm" | "ipc";

/** Where a buffer lives: on a GPU (CUDA ordinal), or on the host, page-locked or not. Allocator left out: `malloc`. */
export type Place =
  | { readonly gpu: number; readonly allocator?: Exclude<Allocator, "malloc"> }
  | { readonly host: "pinned" | "pageable" };

export interface BufferSpec {
  readonly name: string;
  readonly place: Place;
  readonly bytes: number;
}

export interface StreamSpec {
  readonly name: string;
  readonly gpu: number;
}

/**
 * How the host learns that a stream is complete: `spin` busy cuStreamQuery, `yield` the same with sched_yield between,
 * `block` cuStreamSynchronize, `poll-event` busy cuEventQuery of an event recorded at the end, `poll-flag` a word in pinned
 * memory that the stream writes at the end (cuStreamWriteValue32) and the host reads until it changes.
 */
export type SyncMethod = "spin" | "yield" | "block" | "poll-event" | "poll-flag";

/**
 * `default`: cuMemcpyAsync, the driver finds the direction by address (UVA). `peer`: cuMemcpyPeerAsync between contexts.
 * `peer-3d`: cuMemcpy3DPeerAsync between contexts, of a box of height and depth 1. `batch`: cuMemcpyBatchAsync (CUDA 12.8);
 * neighbouring batch copies of one stream are submitted by one call.
 */
export type CopyApi = "default" | "peer" | "peer-3d" | "batch";
export const COPY_APIS: readonly CopyApi[] = ["default", "peer", "peer-3d", "batch"];

/** What moves the bytes. A kernel runs on the GPU of its stream: it writes from there, or reads from elsewhere into there. */
export type CopyEngine = "copy-engine" | "kernel-write" | "kernel-read";

/**
 * How a put tells its receiver that the data is there.
 * `flag`: payload in place, a system-scope fence, then a flag word. `ll`: lines of 8 bytes, 4 of data and 4 of flag, no
 * fence. `ll128`: lines of 128 bytes, 120 of data and 8 of flag, stored by one warp (as NCCL's protocols of these names do).
 */
export type PutProtocol = "flag" | "ll" | "ll128";

/** Kernels that can be launched by name. `empty` does nothing: what is left is the cost of a launch. */
export type NamedKernel = "empty";

export interface CopyOperation {
  readonly op: "copy";
  readonly stream: string;
  readonly src: string;
  readonly dst: string;
  readonly bytes: number;
  readonly srcOffset: number;
  readonly dstOffset: number;
  readonly api: CopyApi;
  /** Left out: the copy engine. */
  readonly engine?: Exclude<CopyEngine, "copy-engine">;
}

/** Operations that one iteration submits in order. */
export type StepOperation =
  | CopyOperation
  | { readonly op: "record"; readonly stream: string; readonly event: string }
  | { readonly op: "wait"; readonly stream: string; readonly event: string }
  /** cuStreamWriteValue32 of the iteration's number into the word at `offset` of a buffer. */
  | { readonly op: "signal"; readonly stream: string; readonly buffer: string; readonly offset: number }
  /** cuStreamWaitValue32 until that word has reached the iteration's number. */
  | { readonly op: "await"; readonly stream: string; readonly buffer: string; readonly offset: number }
  /** A kernel of one block that keeps its stream busy for a time, by the GPU's global timer. */
  | { readonly op: "compute"; readonly stream: string; readonly ns: number }
  | { readonly op: "launch"; readonly stream: string; readonly kernel: NamedKernel }
  /**
   * A kernel that stores `bytes` of `src` into the window `dst` so that a {@link PutProtocol} receiver sees when they are
   * there. `flag` names the buffer of the flag word (protocol `flag` only), 8 bytes beside the window.
   */
  | {
      readonly op: "put";
      readonly stream: string;
      readonly src: string;
      readonly dst: string;
      readonly bytes: number;
      readonly protocol: PutProtocol;
      readonly flag?: string;
    }
  /** A resident kernel that waits for a put into `window`; `ll` and `ll128` unpack the payload into `dst`. */
  | {
      readonly op: "receive";
      readonly stream: string;
      readonly window: string;
      readonly bytes: number;
      readonly protocol: PutProtocol;
      readonly dst?: string;
      readonly flag?: string;
    }
  | { readonly op: "sync"; readonly stream: string; readonly method: SyncMethod };

/**
 * A kernel that times itself by the GPU's clocks; a program with a probe holds nothing else. One sample is the mean of one
 * repetition, in nanoseconds an access (load, atomic, fence) or one way (ping-pong: half of the round trip).
 */
export type ProbeOperation =
  /**
   * Dependent loads along a chain through `footprintBytes` of a buffer, one thread. `stride` apart, in order or in a random
   * cycle of a fixed seed; `cold` flushes the caches of owner and reader before each repetition, else one lap warms them.
   */
  | {
      readonly op: "probe";
      readonly kind: "load";
      readonly stream: string;
      readonly buffer: string;
      readonly footprintBytes: number;
      readonly strideBytes: number;
      readonly order: "sequential" | "random";
      readonly accesses: number;
      readonly cold: boolean;
      /**
       * `each`: every repetition runs on the next SM, since SMs lie at different distances from a memory. Left out: on the SM
       * where the driver puts a kernel of one block.
       */
      readonly sm?: "each";
    }
  /** Two resident kernels that answer each other's flag; each flag lies in the memory of the GPU that polls it. */
  | {
      readonly op: "probe";
      readonly kind: "ping-pong";
      readonly stream: string;
      readonly other: string;
      readonly flag: string;
      readonly otherFlag: string;
      readonly rounds: number;
      readonly store: "volatile" | "release" | "atomic";
    }
  /** Dependent atomics of one thread on a word of a buffer. */
  | {
      readonly op: "probe";
      readonly kind: "atomic";
      readonly stream: string;
      readonly buffer: string;
      readonly operation: "add" | "exchange" | "compare-and-swap";
      readonly scope: "gpu" | "system";
      readonly accesses: number;
    }
  /** Fences of one thread, each after `stores` stores into a buffer (0: nothing outstanding). */
  | {
      readonly op: "probe";
      readonly kind: "fence";
      readonly stream: string;
      readonly buffer: string;
      readonly scope: "block" | "gpu" | "system";
      readonly stores: number;
      readonly accesses: number;
    }
  /**
   * Message passing: one kernel stores data, then flag; the other reads flag, then data, both buffers on either GPU. Counts
   * how often the flag was new and the data old (forbidden with fences, allowed without).
   */
  | {
      readonly op: "probe";
      readonly kind: "message-passing";
      readonly stream: string;
      readonly other: string;
      readonly data: string;
      readonly flag: string;
      readonly fence: "none" | "gpu" | "system";
      readonly rounds: number;
    };

/** Set-up work whose cost is measured by itself; see {@link SetupOperation}. */
export const SETUP_KINDS = [
  "malloc",
  "free",
  "pool-malloc",
  "pool-free",
  "pool-access",
  "vmm-create",
  "vmm-map",
  "vmm-access",
  "vmm-unmap",
  "vmm-export",
  "vmm-import",
  "host-malloc",
  "host-free",
  "host-register",
  "host-unregister",
  "peer-enable",
  "peer-enable-again",
  "peer-disable",
  "peer-query",
  "peer-attribute",
  "pointer-query",
  "ipc-export",
  "ipc-open",
  "ipc-open-again",
  "ipc-close",
  "event-create",
  "event-destroy",
  "stream-create",
  "stream-destroy",
  "graph-capture",
  "graph-instantiate",
  "graph-update",
  "module-load",
  "module-unload",
] as const;
export type SetupKind = (typeof SETUP_KINDS)[number];

/**
 * One kind of set-up work, done and undone again and again; a sample is the host's time in the named call alone. A program
 * with a set-up operation holds nothing else.
 */
export interface SetupOperation {
  readonly op: "setup";
  readonly kind: SetupKind;
  readonly gpu: number;
  /**
   * The GPU whose memory is made accessible to `gpu` (peer-…, pool-access, vmm-access) or that is asked about (peer-query,
   * peer-attribute); or the GPU on which another process opens the memory of `gpu` (ipc-open, ipc-open-again, ipc-close,
   * vmm-import; may be the same GPU).
   */
  readonly peer?: number;
  /** Size of the memory concerned. */
  readonly bytes?: number;
  /** Number of empty kernel nodes of a graph. */
  readonly nodes?: number;
}

export type Operation = StepOperation | ProbeOperation | SetupOperation;

/** A program as plain JSON: what is recorded, hashed, sent and compared. */
export interface ProgramData {
  readonly version: 1;
  /** Whether GPUs whose memory a copy joins map each other (`true`), or the driver must stage through the host (`false`). */
  readonly peerAccess: boolean;
  readonly buffers: readonly BufferSpec[];
  readonly streams: readonly StreamSpec[];
  readonly operations: readonly Operation[];
  /**
   * `graph`: the operations of an iteration are captured once into a CUDA graph, and each iteration launches it. Left out:
   * each is submitted by a call of its own.
   */
  readonly submit?: "graph";
}

/** `latency` of single iterations by the host, `probe` by the GPU's own clock, `setup` of one call. */
export type ProgramKind = "transfer" | "probe" | "setup";

/** Bytes that a receiver's window needs for a payload. */
export function windowBytes(protocol: PutProtocol, bytes: number): number {
  if (protocol === "ll") return Math.ceil(bytes / 4) * 8;
  if (protocol === "ll128") return Math.ceil(bytes / 120) * 128;
  return bytes;
}
