/** Long work of the host in pieces: between two of them the event loop runs, for it is there that a request to stop arrives. */
import { P2pError } from "./errors.js";

/** Work after which other work gets its turn, and a request to stop is heard, though nothing was waited for. */
const TURN_MS = 20;

export class Turns {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  /** @param signal of the request to stop. */
  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** Lets the event loop run, if it has not for a while. @throws P2pError `cancelled` when it is asked to stop. */
  async next(): Promise<void> {
    if (performance.now() - this.#since > TURN_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#since = performance.now();
    }
    if (this.#signal?.aborted)
      throw new P2pError(
        "cancelled",
        "the run was stopped on request",
        "Run it again when you want its numbers.",
      );
  }
}
