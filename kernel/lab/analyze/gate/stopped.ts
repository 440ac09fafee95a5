/** What is left of rounds that were stopped on request. */
import { P2pError } from "../../errors.js";

/** A baseline or check was stopped; `partial` is what it had by then, null where that says nothing. */
export class StoppedError<T> extends P2pError {
  readonly partial: T | null;

  /** @param kept what `partial` is, in words; null where nothing is left. */
  constructor(who: string, where: string, partial: T | null, kept: string, cause: unknown) {
    super(
      "cancelled",
      `${who} was stopped on request ${where}`,
      partial === null ? `${kept} Run it again.` : kept,
      { cause },
    );
    this.partial = partial;
  }
}
