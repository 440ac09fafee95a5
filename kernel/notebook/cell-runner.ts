/** The runner's side of a cell process: starts it, asks it one thing at a time, and ends it whatever happens. */
import { type ChildProcess, fork } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { P2pError } from "../lab/index.js";
import type { CellOutput } from "../session/index.js";
import type { Reply, Request } from "./cell-session.js";

/** A cell that took its process down, or was stopped with it: there is no session to go on with. */
export class CellProcessEnded extends Error {
  override readonly name: EndName;

  constructor(name: EndName, message: string) {
    super(message);
    this.name = name;
  }
}

type EndName = "CellTimeoutError" | "DeadKernelError" | "StoppedError";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
export type StopSignal = (typeof SIGNALS)[number];

/** Time for reading what a process that is gone had written; what it started may hold its streams open for ever. */
const LAST_OUTPUT_MS = 1000;

export class CellProcess {
  readonly #child: ChildProcess;
  #ended = false;
  #stoppedBy: StopSignal | null = null;
  /** Settles what is being asked, if anything is. */
  #onStop: (() => void) | null = null;
  /** Ends the process and whatever its cells have started: it leads a group of its own. */
  readonly #kill = (): void => {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
    } catch (error) {
      // Nobody is left in the group.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  };

  /**
   * Ends the process, in whatever native code a cell may be stuck, and leaves the runner to keep what ran until then. Whoever
   * asks a second time does not wait for that.
   */
  readonly #onSignal = (signal: NodeJS.Signals): void => {
    this.#kill();
    if (this.#stoppedBy !== null) process.exit(128 + constants.signals[signal]);
    this.#stoppedBy = signal as StopSignal;
    this.#ended = true;
    this.#onStop?.();
  };

  /**
   * @param onOutput told of all output, also of what native code writes to the process's own streams.
   */
  constructor(cwd: string, environment: NodeJS.ProcessEnv, onOutput: (output: CellOutput) => void) {
    const child = fork(fileURLToPath(new URL("./cell-process.js", import.meta.url)), [], {
      cwd,
      execArgv: nodeFlags(),
      env: environment,
      serialization: "advanced",
      detached: process.platform !== "win32",
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child = child;
    child.once("exit", () => {
      this.#ended = true;
      setTimeout(() => this.#closeStreams(), LAST_OUTPUT_MS).unref();
    });
    // One that cannot be started, or written to any more, has ended: whoever asks it is told so.
    child.on("error", () => undefined);
    child.on("message", (reply: Reply) => {
      if (reply.type === "output") onOutput(reply.output);
    });
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (text: string) => onOutput({ type: "stream", name, text }));
    }
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
    process.once("exit", this.#kill);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The signal by which the run was asked to stop; null while it was not. */
  get stoppedBy(): StopSignal | null {
    return this.#stoppedBy;
  }

  /**
   * @throws P2pError with the code that the other side gave; {@link CellProcessEnded} when it ends or takes too long.
   */
  ask<T extends Reply["type"]>(
    request: Request,
    wanted: T,
    timeoutS: number,
  ): Promise<Extract<Reply, { type: T }>> {
    return new Promise((resolve, reject) => {
      const child = this.#child;
      const settle = (action: () => void) => {
        clearTimeout(timer);
        child.off("message", onMessage);
        child.off("close", onClose);
        this.#onStop = null;
        action();
      };
      const stopped = () =>
        settle(() => reject(new CellProcessEnded("StoppedError", `stopped by ${this.#stoppedBy}`)));
      const onMessage = (reply: Reply) => {
        if (reply.type === "failed") settle(() => reject(failure(reply)));
        else if (reply.type === wanted) settle(() => resolve(reply as Extract<Reply, { type: T }>));
      };
      // After its streams have been read to their ends: the last words of a crash are in them.
      const onClose = (code: number | null, signal: string | null) => {
        const how = signal ?? `exit code ${code}`;
        settle(() =>
          reject(
            new CellProcessEnded(
              "DeadKernelError",
              `the cell's process ended (${how}); later cells cannot run`,
            ),
          ),
        );
      };
      const timer = setTimeout(() => {
        this.#ended = true;
        this.#kill();
        settle(() =>
          reject(
            new CellProcessEnded(
              "CellTimeoutError",
              `the cell did not end within ${timeoutS} s and was stopped`,
            ),
          ),
        );
      }, timeoutS * 1000);
      if (this.#stoppedBy !== null) return stopped();
      this.#onStop = stopped;
      child.on("message", onMessage);
      child.on("close", onClose);
      child.send(request, (error) => {
        if (error)
          settle(() =>
            reject(new CellProcessEnded("DeadKernelError", "the cell's process has already ended")),
          );
      });
    });
  }

  #closeStreams(): void {
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  /** Ends the process: at once, since timers or a native call of a cell could keep it. Signals end this process again, as ever. */
  close(): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
    process.off("exit", this.#kill);
    this.#kill();
    this.#closeStreams();
    this.#ended = true;
  }
}

function failure({ message, code, hint }: Extract<Reply, { type: "failed" }>): Error {
  return code ? new P2pError(code, message, hint ?? "") : new Error(message);
}

/** Flags for processes that load ES modules through require, which some versions of Node.js warn of. */
export function nodeFlags(): string[] {
  return process.allowedNodeEnvironmentFlags.has("--disable-warning")
    ? ["--disable-warning=ExperimentalWarning"]
    : [];
}
