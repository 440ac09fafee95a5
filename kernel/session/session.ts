/** One TypeScript session: cells in, outputs out. */
import { onProgress, P2pError, setInterruptSignal } from "../lab/index.js";
import { bundleOf } from "./bundle.js";
import { captureStreams } from "./capture.js";
import { displayed, setDisplaySink } from "./display.js";
import type { CellOutput, OutputSink } from "./outputs.js";
import { showProgress } from "./progress.js";
import { type CellError, diagnosticsError, thrownError } from "./trace.js";
import { type Completion, type QuickInfo, Tslab } from "./tslab.js";

export interface SessionOptions {
  /** Working directory of the cells; default the process's. */
  cwd?: string;
  /** Machine that `lab.open()` opens; default the environment's `P2PLAB_MACHINE`. */
  machine?: string;
}

export interface ExecuteOptions {
  /** Called with each output, in order. */
  onOutput?: OutputSink;
  /** Neither counts nor shows a result. */
  silent?: boolean;
  /** False: runs without being counted. Default true. */
  storeHistory?: boolean;
}

export interface ExecuteResult {
  readonly status: "ok" | "error";
  readonly executionCount: number;
  readonly error: CellError | null;
}

// Arquero is imported by its own name, so that TypeScript can name its types in what cells declare.
const PRELOAD = `import * as aq from "arquero";
import { op } from "arquero";
import { lab, cuda, plot } from "p2plab";
import { display } from "p2plab/dist/kernel/session/display.js";`;

/** Runs cells one at a time; there is one in a process, since tslab keeps its state in global variables. */
export class Session {
  static #open = false;
  readonly #tslab: Tslab;
  readonly #release: () => void;
  /** Sources of counted cells, by execution count. */
  readonly history = new Map<number, string>();
  #count = 0;
  #sink: OutputSink | null = null;
  #abort: AbortController | null = null;
  #closed = false;
  #queue: Promise<unknown> = Promise.resolve();

  private constructor(tslab: Tslab) {
    this.#tslab = tslab;
    this.#release = captureStreams(() => this.#sink);
    process.on("uncaughtException", this.#stray);
    process.on("unhandledRejection", this.#stray);
  }

  /**
   * Changes to the working directory, sets TypeScript up and preloads `lab`, `cuda`, `plot`, `aq`, `op` and `display`.
   * @throws P2pError `usage` when a session is already open in this process.
   */
  static async create(options: SessionOptions = {}): Promise<Session> {
    if (Session.#open) {
      throw new P2pError(
        "usage",
        "a session is already open in this process",
        "Use one process for each session.",
      );
    }
    if (options.cwd) process.chdir(options.cwd);
    if (options.machine) process.env.P2PLAB_MACHINE = options.machine;
    Session.#open = true;
    const tslab = new Tslab(process.cwd());
    const outcome = await tslab.execute(PRELOAD, 0);
    if (!outcome.ok) {
      Session.#open = false;
      tslab.close();
      const why = outcome.thrown
        ? thrownError(outcome.thrown.error, tslab.sources)
        : diagnosticsError(PRELOAD, outcome.diagnostics, 0);
      throw new P2pError(
        "not-available",
        `the library could not be preloaded: ${why.traceback.join("\n")}`,
        "Build it: npm run setup.",
      );
    }
    return new Session(tslab);
  }

  get executionCount(): number {
    return this.#count;
  }

  /** Runs a cell; cells sent while one runs wait their turn. Never throws for what the cell does. */
  execute(code: string, options: ExecuteOptions = {}): Promise<ExecuteResult> {
    const turn = this.#queue.then(() => this.#execute(code, options));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  async #execute(code: string, options: ExecuteOptions): Promise<ExecuteResult> {
    const silent = options.silent ?? false;
    const counted = !silent && (options.storeHistory ?? true);
    if (counted) this.history.set(++this.#count, code);
    const emit: OutputSink = (output) => options.onOutput?.(output);
    this.#sink = emit;
    this.#abort = new AbortController();
    setDisplaySink(emit);
    setInterruptSignal(this.#abort.signal);
    const endProgress = showProgress(emit, onProgress);
    const guard = forbidExit();
    let error: CellError | null = null;
    try {
      const outcome = await this.#tslab.execute(code, this.#count);
      // One turn of the event loop, so that a rejection which nobody awaits is shown in its own cell.
      await new Promise((resolve) => setImmediate(resolve));
      await displayed();
      endProgress();
      if (outcome.diagnostics.length > 0) error = diagnosticsError(code, outcome.diagnostics, this.#count);
      else if (outcome.thrown) error = thrownError(this.#unmasked(outcome.thrown.error), this.#tslab.sources);
      else if (!silent && outcome.value !== undefined && outcome.value !== null) {
        const data = await bundleOf(outcome.value);
        emit({ type: "execute_result", data, metadata: {}, executionCount: this.#count });
      }
    } catch (thrown) {
      error = thrownError(thrown, this.#tslab.sources);
    } finally {
      guard();
      endProgress();
      setInterruptSignal(null);
      this.#abort = null;
    }
    if (error) emit({ type: "error", ...error });
    return { status: error ? "error" : "ok", executionCount: this.#count, error };
  }

  /** An interrupt comes out of tslab or Node in several forms; the reader sees one. */
  #unmasked(error: unknown): unknown {
    const interrupted =
      this.#abort?.signal.aborted ||
      (error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED");
    if (!interrupted) return error;
    const interruption = new Error("the cell was interrupted; variables set so far are kept");
    interruption.name = "Interrupted";
    interruption.stack = "";
    return interruption;
  }

  /** Stops the running cell: a pending await, and measurements that listen to the interrupt signal. */
  interrupt(): void {
    this.#abort?.abort();
    this.#tslab.interrupt();
  }

  /** Candidates at a position counted in UTF-16 units. */
  complete(code: string, position: number): Completion {
    return this.#tslab.complete(code, position);
  }

  /** What is known of the name at a position counted in UTF-16 units. */
  inspect(code: string, position: number): QuickInfo | undefined {
    return this.#tslab.inspect(code, position);
  }

  isComplete(code: string): { completed: boolean; indent?: string } {
    return this.#tslab.isComplete(code);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    Session.#open = false;
    this.#release();
    setDisplaySink(null);
    process.off("uncaughtException", this.#stray);
    process.off("unhandledRejection", this.#stray);
    this.#tslab.close();
  }

  /** What nobody awaited is shown in the newest cell; the session lives on. */
  readonly #stray = (error: unknown): void => {
    const { traceback } = thrownError(error, this.#tslab.sources);
    const output: CellOutput = { type: "stream", name: "stderr", text: `${traceback.join("\n")}\n` };
    this.#sink?.(output);
  };
}

/** While a cell runs, process.exit is an error in the cell, not the end of the kernel. */
function forbidExit(): () => void {
  const original = process.exit;
  process.exit = ((code?: number) => {
    throw new P2pError(
      "usage",
      `process.exit(${code ?? ""}) in a cell`,
      "Restart or shut down the kernel from the menu.",
    );
  }) as typeof process.exit;
  return () => {
    process.exit = original;
  };
}
