/** The addon's kernels that time themselves; part of native.ts. */

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
