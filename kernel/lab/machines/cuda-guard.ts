import { CudaError } from "../errors.js";
import type { NativeExecutor } from "../native.js";
import type { Program } from "../program.js";
import { DEADLINE_MS } from "./cuda-calls.js";

/** A call measures iterations for some tens of milliseconds; one that is not back after this long hangs. */
const WATCH_MS = 3 * DEADLINE_MS;

/**
 * Watches the calls of a program that syncs by blocking. The addon bounds every wait that it polls, but
 * cuStreamSynchronize cannot be given up: a link that dies in the middle of a run keeps its thread for ever. Such a call is
 * reported after {@link WATCH_MS} and then left alone: the thread, the memory and, until it is killed, the process stay.
 */
export class Guard {
  #hung = false;

  constructor(readonly watchMs: number = WATCH_MS) {}

  /** A call did not come back: its executor can be neither used nor closed. */
  get hung(): boolean {
    return this.#hung;
  }

  /** The executor with its timed calls watched where the program blocks; as it is otherwise. */
  watch(executor: NativeExecutor, program: Program): NativeExecutor {
    if (!program.data.operations.some((o) => o.op === "sync" && o.method === "block")) return executor;
    return {
      timedStreams: executor.timedStreams,
      time: (...given) => this.#bound(executor.time(...given)),
      trace: (...given) => this.#bound(executor.trace(...given)),
      throughput: (...given) => executor.throughput(...given),
      graphCosts: (...given) => executor.graphCosts(...given),
      verify: (...given) => executor.verify(...given),
      cancel: () => executor.cancel(),
      close: () => executor.close(),
    };
  }

  #bound<T>(call: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#hung = true;
        reject(
          new CudaError(
            600,
            "CUDA_ERROR_NOT_READY",
            "cuStreamSynchronize",
            `A blocking sync is not back after ${Math.round(this.watchMs / 1000)} s and cannot be given up: restart the kernel. ` +
              'The sync "yield" would have ended at its deadline.',
          ),
        );
      }, this.watchMs);
      call.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}
