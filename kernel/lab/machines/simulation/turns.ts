import { P2pError } from "../../errors.js";

/** Computing time after which other work gets a turn, and a request to stop is heard. */
const TURN_MS = 20;

/** Gives other work a turn now and then, and hears the wish to stop. */
export class Turns {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** @throws P2pError `cancelled` */
  async next(): Promise<void> {
    if (performance.now() - this.#since > TURN_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#since = performance.now();
    }
    if (this.#signal?.aborted) {
      throw new P2pError(
        "cancelled",
        "the run was stopped on request",
        "Run it again when you want its numbers.",
      );
    }
  }
}
