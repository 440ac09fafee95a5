/** One TypeScript session: cells in, outputs out. */
import type { EventEmitter } from "node:events";
// A cell may replace the globals.
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { type MimeBundle, onProgress, onVariables, P2pError, setInterruptSignal } from "../lab/index.js";
import { CELL_RECORD, type CellRecord, takeCellRecord } from "./activity.js";
import { type Completion, completionOf, type Inspection, inspectionOf } from "./assistance.js";
import { rememberBuiltIns } from "./built-ins.js";
import { bundleOf } from "./bundle.js";
import { captureStreams } from "./capture.js";
import { type Cell, currentCell, displayed, forgetCells, newCell, runAs } from "./cell.js";
import { type CellOutcome, Cells } from "./cells.js";
import { type CommMessage, forgetComms, openComms, receiveComm } from "./comm.js";
import { keepCompiledForm } from "./compiled-form.js";
import { type Completeness, completenessOf } from "./completeness.js";
import { isHandle } from "./display.js";
import { forbidExit } from "./exit.js";
import { hideAttached } from "./inspection.js";
import { keepListeners } from "./listeners.js";
import { collectGarbage } from "./memory.js";
import type { FrontEnd, OutputSink } from "./outputs.js";
import { PRELOAD } from "./preload.js";
import { showProgress } from "./progress.js";
import { tellStacksBySource } from "./stacks.js";
import { interruption, shareStopping, stopLater } from "./stopping.js";
import { type CellError, diagnosticsError, thrownError } from "./trace.js";
import { connectTslab } from "./tslab-display.js";

export interface SessionOptions {
  /** Working directory of the cells; default the process's. */
  cwd?: string;
  /** Machine that `lab.open()` opens; default the environment's `P2PLAB_MACHINE`. */
  machine?: string;
  /** One Int32: another thread sets it to 1 to stop a loop in a cell's code while this one is blocked. */
  stopping?: SharedArrayBuffer;
}

export interface ExecuteOptions extends FrontEnd {
  /** Called with each output, in order; also with what the cell's timers write after its end. */
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

/** A reader who sends no cell for so long does not wait for one: Node.js's types are read; then memory is given back. */
const REST_MS = { types: 500, memory: 1500 };

/** Runs cells one at a time; there is one in a process, since streams, exit and signals are the process's. */
export class Session {
  static #open = false;
  readonly #cells: Cells;
  readonly #release: (() => void)[];
  readonly #putBack: () => readonly string[];
  /** Sources of counted cells, by execution count. */
  readonly history = new Map<number, string>();
  #count = 0;
  #running: Cell | null = null;
  #closed = false;
  #resting: NodeJS.Timeout[] = [];
  #queue: Promise<unknown> = Promise.resolve();

  private constructor(cells: Cells) {
    this.#cells = cells;
    this.#release = [captureStreams(), forbidExit(), hideAttached(), () => onVariables(null)];
    this.#release.push(tellStacksBySource(cells.sources));
    this.#putBack = rememberBuiltIns();
    onVariables(() => cells.variables());
    process.on("uncaughtException", this.#stray);
    process.setUncaughtExceptionCaptureCallback(this.#uncaught);
    process.on("unhandledRejection", this.#stray);
    this.#release.push(keepListeners());
    this.#housekeep();
  }

  /**
   * Changes to the working directory, sets TypeScript up and preloads `lab`, `cuda`, `plot`, `aq`, `op`, `display`, `prompt`
   * and `comms`.
   * @throws P2pError `usage` when a session is already open in this process, `not-available` when the library is not built.
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
    if (options.stopping) shareStopping(options.stopping);
    Session.#open = true;
    const cells = new Cells(process.cwd());
    try {
      cells.preload(PRELOAD);
      // TypeScript reads its library now, not while the reader waits for a first cell with a limit of time.
      await cells.execute("0", null);
    } catch (error) {
      Session.#open = false;
      cells.close();
      const { traceback } = thrownError(error, cells.sources);
      throw new P2pError(
        "not-available",
        `the library could not be preloaded: ${traceback.join("\n")}`,
        "Build it: npm run setup.",
      );
    }
    return new Session(cells);
  }

  get executionCount(): number {
    return this.#count;
  }

  /** Runs a cell; cells sent while one runs wait their turn. Never throws for what the cell does. */
  execute(code: string, options: ExecuteOptions = {}): Promise<ExecuteResult> {
    const turn = this.#inTurn(this.#queue, code, options);
    this.#queue = turn;
    return turn;
  }

  // A cell may have replaced `then`, which waiting does not use.
  async #inTurn(before: Promise<unknown>, code: string, options: ExecuteOptions): Promise<ExecuteResult> {
    try {
      await before;
    } catch {
      // It was told where it was sent.
    }
    return await this.#execute(code, options);
  }

  /**
   * Puts back what cells have made of the built-in functions, where the kernel has failed at something: the reader is told.
   * @returns whether anything was put back.
   */
  repair(): boolean {
    const names = this.#putBack();
    if (names.length === 0) return false;
    const text = `put back as they were, since the kernel cannot go on without them: ${names.join(", ")}\n`;
    currentCell()?.emit({ type: "stream", name: "stderr", text });
    return true;
  }

  /** What the kernel fails at before the cell's own code has begun is none of the cell's: it is repaired, and tried once more. */
  async #outcomeOf(code: string, count: number | null): Promise<CellOutcome> {
    const { begun } = this.#cells;
    try {
      const outcome = await this.#cells.execute(code, count);
      if (!outcome.thrown || this.#cells.begun !== begun || !this.repair()) return outcome;
    } catch (error) {
      if (this.#cells.begun !== begun || !this.repair()) throw error;
    }
    return this.#cells.execute(code, count);
  }

  async #execute(code: string, options: ExecuteOptions): Promise<ExecuteResult> {
    const silent = options.silent ?? false;
    const counted = !silent && (options.storeHistory ?? true);
    if (counted) this.history.set(++this.#count, code);
    const count = counted ? this.#count : null;
    const emit: OutputSink = (output) => {
      options.onOutput?.(output);
    };
    const cell = newCell(emit, options);
    this.#running = cell;
    setInterruptSignal(cell.abort.signal);
    const endProgress = showProgress(emit, onProgress);
    let error: CellError | null = null;
    try {
      error = await runAs(cell, async () => {
        connectTslab(code);
        const outcome = await this.#outcomeOf(code, count);
        // One turn of the event loop, so that a rejection which nobody awaits is shown before the cell ends.
        await new Promise((resolve) => setImmediate(resolve));
        await displayed(cell);
        endProgress();
        const failure = this.#failureOf(outcome, code, count, cell);
        if (!failure && !silent && outcome.value != null && !isHandle(outcome.value)) {
          const data = await this.#resultOf(outcome.value);
          emit({ type: "execute_result", data, metadata: {}, executionCount: this.#count });
        }
        return failure;
      });
    } catch (thrown) {
      this.repair();
      error = thrownError(thrown, this.#cells.sources);
    } finally {
      endProgress();
      if (cell.abort.signal.aborted || error?.ename === "Interrupted") stopLater();
      setInterruptSignal(null);
      cell.askReader = null;
      this.#running = null;
    }
    this.#housekeep();
    if (error) emit({ type: "error", ename: error.ename, evalue: error.evalue, traceback: error.traceback });
    return { status: error ? "error" : "ok", executionCount: this.#count, error };
  }

  /** When nothing has run for a while: what later cells, the next session, and this one's memory gain from. */
  #housekeep(): void {
    this.#stopHousekeeping();
    const later = (ms: number, work: () => void) =>
      setTimeout(() => {
        if (!this.#running) work();
      }, ms).unref();
    // After the cell's reply has left.
    setImmediate(() => {
      if (!this.#running) collectGarbage("busy");
    });
    this.#resting = [
      later(REST_MS.types, () => this.#cells.completeTypes()),
      later(REST_MS.memory, () => {
        keepCompiledForm();
        collectGarbage("resting");
      }),
    ];
  }

  #stopHousekeeping(): void {
    for (const timer of this.#resting) clearTimeout(timer);
  }

  #resultOf(value: unknown): MimeBundle | Promise<MimeBundle> {
    if (!(value instanceof Error)) return bundleOf(value);
    return { "text/plain": thrownError(value, this.#cells.sources).traceback.join("\n") };
  }

  #failureOf(outcome: CellOutcome, code: string, count: number | null, cell: Cell): CellError | null {
    if (outcome.diagnostics.length > 0) return diagnosticsError(code, outcome.diagnostics, count);
    if (!outcome.thrown) return null;
    return thrownError(unmasked(outcome.thrown.error, cell), this.#cells.sources);
  }

  /** An output's metadata: what was done since the last call, for the cell of this code, which has ended; null when nothing was. */
  takeRecord(code: string): { [CELL_RECORD]: CellRecord } | null {
    const record = takeCellRecord(code);
    return record && { [CELL_RECORD]: record };
  }

  /** Stops the running cell: a pending await, and everything that listens to its abort signal. */
  interrupt(): void {
    if (this.#running) {
      this.#running.abort.abort();
      this.#cells.interrupt();
    }
    // A loop that began in a timer ends as well; the cell that runs, if any, clears the number at its end.
    else stopLater();
  }

  /** Candidates at a position counted in UTF-16 units. */
  complete(code: string, position: number): Completion {
    const { entries, signatureOf } = this.#cells.complete(code, position);
    return completionOf(code, position, entries, signatureOf);
  }

  /** What is known of the name at a position counted in UTF-16 units. */
  inspect(code: string, position: number): Inspection | null {
    const info = this.#cells.inspect(code, position);
    return info ? inspectionOf(info) : null;
  }

  isComplete(code: string): Completeness {
    return completenessOf(code);
  }

  /** Comms that are open, by id; `target` keeps those of one name. */
  openComms(target?: string): Record<string, { target_name: string }> {
    return openComms(target);
  }

  /**
   * Hands a front end's comm message to the cell code that takes it; what that code shows goes to `onOutput`.
   * @param type `comm_open`, `comm_msg` or `comm_close`.
   */
  receiveComm(
    type: string,
    content: Record<string, unknown>,
    extras: Omit<CommMessage, "data">,
    onOutput: OutputSink,
    frontEnd: FrontEnd,
  ): void {
    runAs(newCell(onOutput, frontEnd), () => {
      try {
        receiveComm(type, content, extras);
      } catch (error) {
        const { traceback } = thrownError(error, this.#cells.sources);
        onOutput({ type: "stream", name: "stderr", text: `${traceback.join("\n")}\n` });
      }
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopHousekeeping();
    forgetComms();
    Session.#open = false;
    for (const undo of this.#release) undo();
    forgetCells();
    process.setUncaughtExceptionCaptureCallback(null);
    process.off("uncaughtException", this.#stray);
    process.off("unhandledRejection", this.#stray);
    this.#cells.close();
  }

  /** What nobody awaited is shown in the cell it came from; the session lives on. */
  readonly #stray = (error: unknown): void => {
    try {
      this.#showStray(error);
    } catch {
      // Whatever is thrown here ends the process.
      this.repair();
      this.#showStray(error);
    }
  };

  /** Whatever listeners a cell has added or taken away, and whatever they throw, the process goes on. */
  readonly #uncaught = (error: unknown): void => {
    try {
      const emitter: EventEmitter = process;
      if (!emitter.emit("uncaughtException", error, "uncaughtException")) this.#stray(error);
    } catch (again) {
      this.#stray(again);
    }
  };

  #showStray(error: unknown): void {
    const { traceback } = thrownError(error, this.#cells.sources);
    currentCell()?.emit({ type: "stream", name: "stderr", text: `${traceback.join("\n")}\n` });
  }
}

/** An interrupt comes out of Node.js in several forms; the reader sees one. */
function unmasked(error: unknown, cell: Cell): unknown {
  const interrupted =
    cell.abort.signal.aborted ||
    (error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED");
  if (!interrupted) return error;
  return interruption();
}
