import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Why a child gave no answer: it ended by itself, or it was ended because its deadline had passed. */
export class ChildGone extends Error {
  readonly why: "ended" | "deadline";

  constructor(why: "ended" | "deadline", message: string) {
    super(message);
    this.name = "ChildGone";
    this.why = why;
  }
}

/** What a child answers. An error crosses by its fields: {@link errorOf} makes it one again. */
export type Answer =
  | { readonly id: number; readonly note: unknown }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: Readonly<Record<string, unknown>> };

/** What a child calls the descriptor that it inherits. */
export const INHERITED_FILE = 4;

interface Pending {
  readonly id: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly onNote: (note: unknown) => void;
}

/** How much of what a child writes to stderr is kept, to say why it ended. */
const STDERR_KEPT = 2000;
/** How long a killed process may take to go; one that waits inside the kernel may never. */
const REAP_MS = 2000;

/**
 * A Node.js process that does what could hang or break a process: work on GPUs whose link may be broken. It answers one
 * request at a time, and whatever happens inside it, the caller gets an answer by the deadline.
 */
export class KillableChild {
  readonly #process: ChildProcess;
  readonly #exited: Promise<void>;
  #stderr = "";
  #pending: Pending | null = null;
  #gone: string | null = null;
  #ids = 0;

  /**
   * @param script the module that it runs, which calls `serve` of ./serve.ts.
   * @param file descriptor that it inherits as {@link INHERITED_FILE}; null for none.
   */
  constructor(script: URL, file: number | null = null) {
    this.#process = fork(fileURLToPath(script), [], {
      execArgv: [],
      env: quietEnvironment(),
      serialization: "advanced",
      stdio: ["ignore", "ignore", "pipe", "ipc", ...(file === null ? [] : [file])],
    });
    this.#process.stderr?.on("data", (text: Buffer) => {
      this.#stderr = (this.#stderr + text.toString()).slice(-STDERR_KEPT);
    });
    this.#process.on("message", (answer: Answer) => this.#take(answer));
    this.#process.on("error", (error) => this.#end(`it could not be started: ${error.message}`));
    this.#exited = new Promise((resolve) => {
      // Not "exit": the last of stderr may still be on its way then.
      this.#process.on("close", (code, signal) => {
        const said = this.#stderr.trim();
        this.#end(`${signal ? `ended by ${signal}` : `exit status ${code}`}${said ? `: ${said}` : ""}`);
        resolve();
      });
    });
    // An idle child keeps no process alive; a request does, by its timer.
    this.#process.unref();
    this.#process.channel?.unref();
    (this.#process.stderr as unknown as { unref?: () => void } | null)?.unref?.();
  }

  /** Why it can take no more requests; null while it can. */
  get gone(): string | null {
    return this.#gone;
  }

  /**
   * Asks for something and waits for the answer. `onNote` hears what the child says on the way, and answers how long the
   * child may take from then on.
   * @param deadlineMs the child is killed when neither an answer nor a note has come for so long.
   * @throws ChildGone when it ended or was killed; the error of the child otherwise.
   */
  request(message: object, deadlineMs: number, onNote?: (note: unknown) => number): Promise<unknown> {
    if (this.#gone !== null) return Promise.reject(new ChildGone("ended", this.#gone));
    const id = ++this.#ids;
    return new Promise((resolve, reject) => {
      const settle =
        <T>(how: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer);
          this.#pending = null;
          how(value);
        };
      const arm = (withinMs: number) =>
        setTimeout(() => {
          settle(reject)(new ChildGone("deadline", `no answer within ${withinMs} ms`));
          void this.kill();
        }, withinMs);
      let timer = arm(deadlineMs);
      this.#pending = {
        id,
        resolve: settle(resolve),
        reject: settle(reject),
        onNote: (note) => {
          clearTimeout(timer);
          timer = arm(onNote?.(note) ?? deadlineMs);
        },
      };
      this.#process.send({ ...message, id }, (error) => {
        if (error) this.#end(`it could not be reached: ${error.message}`);
      });
    });
  }

  /** Ends it at once, whatever it does; resolves when it is gone, or does not go. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    this.#end("it was ended");
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, REAP_MS);
    });
    await Promise.race([this.#exited, late]);
    clearTimeout(timer);
  }

  /** Lets it release what it holds and end by itself; killed when it does not within `deadlineMs`. */
  async finish(deadlineMs: number): Promise<void> {
    if (this.#gone === null) {
      // Its answer is that it ends.
      await this.request({ do: "end" }, deadlineMs).catch(() => undefined);
    }
    await this.kill();
  }

  #take(answer: Answer): void {
    const pending = this.#pending;
    if (!pending || answer.id !== pending.id) return;
    if ("note" in answer) pending.onNote(answer.note);
    else if ("error" in answer) pending.reject(errorOf(answer.error));
    else pending.resolve(answer.result);
  }

  #end(why: string): void {
    this.#gone ??= why;
    this.#pending?.reject(new ChildGone("ended", why));
  }
}

/** What would attach a profiler to the child or make its launches wait for each other stays out of it. */
function quietEnvironment(): NodeJS.ProcessEnv {
  const loud = /^(CUDA_LAUNCH_BLOCKING$|(CUDA|NVTX)_INJECTION(32|64)_PATH$|NODE_OPTIONS$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !loud.test(name)));
}

/** An error of a child, with the fields that the addon gives its errors, for `translate` of native.ts. */
function errorOf(fields: Readonly<Record<string, unknown>>): Error {
  const { message, ...others } = fields;
  return Object.assign(new Error(String(message)), others);
}
