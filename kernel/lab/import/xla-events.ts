/** Events of XLA's profiler (TensorFlow, JAX) as Kineto writes them: its traces have the same shape, lanes instead of categories. */

/** What of an event is looked at. */
export interface TraceEvent {
  readonly ph?: unknown;
  readonly cat?: unknown;
  readonly name?: unknown;
  readonly pid?: unknown;
  readonly tid?: unknown;
  readonly ts?: unknown;
  readonly dur?: unknown;
  readonly args?: unknown;
}

/** More processes and threads than any trace names: those beyond are not told apart. */
const MOST_LANES = 100_000;

/** `P2P` of `MemcpyP2P` in CUPTI's words. */
const KINDS: Readonly<Record<string, string>> = {
  H2D: "HtoD",
  D2H: "DtoH",
  D2D: "DtoD",
  P2P: "PtoP",
  H2H: "HtoH",
};

/** Which lanes are streams of GPUs, and what lies on them. */
export class XlaLanes {
  /** Events that were taken for XLA's. */
  count = 0;
  readonly #gpus = new Map<unknown, number>();
  readonly #streams = new Map<string, number>();

  /** Takes down the name of a lane: `/device:GPU:0` of a process, `Stream #14(MemcpyP2P)` of a thread. */
  name({ name, pid, tid, args }: TraceEvent): void {
    const { name: text } = argsOf(args);
    if (typeof text !== "string" || this.#gpus.size + this.#streams.size >= MOST_LANES) return;
    const gpu = name === "process_name" ? /^\/device:GPU:(\d{1,4})\b/.exec(text) : null;
    if (gpu) this.#gpus.set(pid, Number(gpu[1]));
    const stream = name === "thread_name" ? /^Stream #(\d{1,6})\b/.exec(text) : null;
    if (stream) this.#streams.set(`${pid}\n${tid}`, Number(stream[1]));
  }

  /**
   * The event with a category, and the arguments that Kineto has. Lanes that XLA sums up from its streams (modules, operations,
   * steps) are none: the same work would count twice.
   * @returns null for what is not XLA's, or neither a call of CUDA nor work on a stream.
   */
  translated(event: TraceEvent): TraceEvent | null {
    if (event.cat !== undefined || typeof event.name !== "string" || this.#gpus.size === 0) return null;
    const args = argsOf(event.args);
    const correlation = args.correlation_id;
    const device = this.#gpus.get(event.pid);
    if (device === undefined) {
      if (correlation === undefined || !/^cu(?:da)?[A-Z]/.test(event.name)) return null;
      this.count++;
      return { ...event, cat: "cuda_driver", args: { correlation } };
    }
    const stream = this.#streams.get(`${event.pid}\n${event.tid}`);
    if (stream === undefined) return null;
    this.count++;
    const own = { device, stream, correlation };
    const copy = /^Memcpy(\w{0,10})/.exec(event.name);
    if (!copy) {
      const memset = /^Memset/i.test(event.name);
      return { ...event, cat: memset ? "gpu_memset" : "kernel", args: own };
    }
    const kind = Object.hasOwn(KINDS, copy[1] as string) ? KINDS[copy[1] as string] : "unknown";
    const details = typeof args.memcpy_details === "string" ? args.memcpy_details : "";
    const word = (key: string) => new RegExp(`\\b${key}:([\\w.]{1,20})`).exec(details)?.[1];
    const [from, to] = [word("kind_src"), word("kind_dst")];
    return {
      ...event,
      cat: "gpu_memcpy",
      name: `Memcpy ${kind}${from && to ? ` (${titled(from)} -> ${titled(to)})` : ""}`,
      args: {
        ...own,
        bytes: word("size"),
        // The source is the GPU that the copy lies on.
        ...(kind === "PtoP" && { fromDevice: device, toDevice: word("dest") }),
      },
    };
  }
}

function titled(word: string): string {
  return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
}

function argsOf(args: unknown): Readonly<Record<string, unknown>> {
  return typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
}
