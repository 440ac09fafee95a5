/** A cell of a table that could not be had, and what the table says of it. */
import { P2pError } from "../errors.js";

/** Errors that say that a cell could not be had; others are about the call itself and end the table. */
const CELL_ERRORS: readonly string[] = ["not-available", "not-recorded", "cuda", "verification"];
/** Of these the machine lacks something and nothing went wrong: a table of nothing else is still an answer. */
const LACKS: readonly string[] = ["not-available", "not-recorded"];

/** Whether an error is about one cell. */
export function isCellError(error: unknown): error is P2pError {
  return error instanceof P2pError && CELL_ERRORS.includes(error.code);
}

/** Whether a machine lacks what the cell wants, and no attempt failed. */
export function isLack(error: P2pError): boolean {
  return LACKS.includes(error.code);
}

/** Why there is no number, in one line: what is missing and what to do about it. */
export function reasonOf(error: P2pError): string {
  const first = (error.message.split("\n")[0] as string).replace(/:$/, "");
  return `${first} → ${error.hint}`;
}
