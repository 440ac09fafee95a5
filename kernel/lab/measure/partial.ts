/** What is left of a table whose measuring was stopped. */
import { P2pError } from "../errors.js";
import type { Table } from "./table.js";

let last: (() => Table) | null = null;

/** A table was stopped on request; `partial` holds the cells that were done. */
export class CancelledError extends P2pError {
  readonly #partial: () => Table;

  constructor(who: string, partial: () => Table, done: number, total: number, cause: unknown) {
    super(
      "cancelled",
      `${who} was stopped on request after ${done} of ${total} cells`,
      done > 0
        ? "lab.partial() gives the table of what was done."
        : "Run it again when you want its numbers.",
      { cause },
    );
    this.#partial = partial;
  }

  /** The finished cells, as rows of the same columns; without rows when none was. */
  get partial(): Table {
    return this.#partial();
  }
}

/**
 * The table of the measurement that was stopped last (by Stop, Ctrl-C, a signal, or an error in one of its cells), with the
 * cells that were done.
 * @throws P2pError `usage` when none was stopped in this process.
 */
export function partial(): Table {
  if (last) return last();
  throw new P2pError("usage", "no measurement was stopped", "lab.sweep and lab.matrix return their table.");
}

/**
 * What to throw instead of `cause`, which ended a table early.
 * @param table made when it is first asked for, where that takes long: whoever stops a measurement does not wait for it.
 */
export function stopped(
  who: string,
  table: Table | (() => Table),
  progress: { readonly done: number; readonly total: number },
  cause: unknown,
  cancelled: boolean,
): unknown {
  let made: Table | null = null;
  const given = (): Table => {
    made ??= typeof table === "function" ? table() : table;
    return made;
  };
  last = given;
  return cancelled ? new CancelledError(who, given, progress.done, progress.total, cause) : cause;
}
