import type { Random } from "../../random.js";
import type { Jitter } from "./constants.js";

/** How costs differ from one iteration to the next. One a iteration, since an interruption strikes once. */
export class Spread {
  readonly #jitter: Jitter;
  readonly #random: Random;
  /** Of this iteration's interruption, until it has struck; 0 for none. */
  #interruptionNs: number;

  constructor(jitter: Jitter, random: Random) {
    this.#jitter = jitter;
    this.#random = random;
    this.#interruptionNs =
      random.uniform() < jitter.tailShare.value
        ? jitter.tailNs.value * random.logNormal(jitter.tailSigma.value)
        : 0;
  }

  host(ns: number): number {
    return ns * this.#random.logNormal(this.#jitter.hostSigma.value);
  }

  /** The host waits for most of an iteration's time, so that is where an interruption is seen. */
  receiver(ns: number): number {
    const interruptionNs = this.#interruptionNs;
    this.#interruptionNs = 0;
    return this.host(ns) + interruptionNs;
  }

  engine(ns: number): number {
    return ns * this.#random.logNormal(this.#jitter.engineSigma.value);
  }

  /** Factor on the time of a flow. */
  link(): number {
    return this.#random.logNormal(this.#jitter.linkSigma.value);
  }
}
