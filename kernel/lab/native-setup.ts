/** The addon's set-up work, and memory that another process opens; part of native.ts. */

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
  /** 64 bytes, good for as long as this process holds the memory; of no use where it was exported as a file. */
  readonly handle: Uint8Array;
  /** File descriptor that names the memory, closed with it; -1 where it was exported for IPC. */
  readonly file: number;
  /** How many bytes differ from the pattern that the memory was filled with: what others have written. */
  changedBytes(): Promise<number>;
  /** Frees the memory; nobody may have it open any more. Safe to call twice. */
  close(): void;
}

/** Exports for set-up costs. */
export interface NativeSetupExports {
  /**
   * Makes set-up work ready; `kind` is a word of SETUP_KINDS. `gpu` is where it is done. `peer` owns the memory that
   * `gpu` gets access to or imports (-1 where the kind has none), `bytes` and `nodes` are 0 where the kind has none, and `handle`
   * is what another process exported: 64 bytes (`ipc-open`, `ipc-open-again`, `ipc-close`), a file descriptor (`vmm-import`), or
   * null. All of these check the memory first.
   */
  setup(
    kind: string,
    gpu: number,
    peer: number,
    bytes: number,
    nodes: number,
    handle: Uint8Array | number | null,
  ): Promise<NativeSetup>;
  exportMemory(gpu: number, bytes: number, kind: "ipc" | "file"): Promise<NativeExport>;
}
