/** The runner's side of a cell process: starts it, asks it one thing at a time, and ends it whatever happens. */
import { type ChildProcess, fork } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { P2pError } from "../lab/index.js";
import type { CellOutput } from "../session/index.js";
import type { Reply, Request } from "./cell-session.js";

/** A cell that took its process down, or was stopped with it: there is no session to go on with. */
export class CellProcessEnded extends Error {
  override readonly name: "CellTimeoutError" | "DeadKernelError";

  constructor(name: "CellTimeoutError" | "DeadKernelError", message: string) {
    super(message);
    this.name = name;
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export class CellProcess {
  readonly #child: ChildProcess;
  #ended = false;
  readonly #onSignal: (signal: NodeJS.Signals) => void;
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
    });
    child.on("message", (reply: Reply) => {
      if (reply.type === "output") onOutput(reply.output);
    });
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (text: string) => onOutput({ type: "stream", name, text }));
    }
    // A cell may be stuck in native code, where no message reaches it.
    this.#onSignal = (signal) => {
      this.#kill();
      process.exit(128 + constants.signals[signal]);
    };
    for (const signal of SIGNALS) process.once(signal, this.#onSignal);
    process.once("exit", this.#kill);
  }

  get ended(): boolean {
    return this.#ended;
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
        action();
      };
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

  /** Ends the process: at once, since timers or a native call of a cell could keep it. */
  close(): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
    process.off("exit", this.#kill);
    this.#kill();
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
