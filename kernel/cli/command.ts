import { P2pError } from "../lab/index.js";
import { nameOfNotebook, readNotebook } from "../notebook/index.js";

/** What a shell calls a process that ended by Ctrl-C. */
export const INTERRUPTED = 130;

/** One subcommand. */
export interface Command {
  readonly name: string;
  readonly usage: string;
  readonly describes: string;
  /**
   * @returns the exit code.
   * @throws P2pError for a stated failure; `usage` when the arguments are not understood.
   */
  run(args: string[]): Promise<number>;
}

/**
 * The notebooks named on the command line, each of which can be read: what is wrong with the last is told before the first takes
 * its minutes.
 * @throws P2pError `usage` for none, and for two whose results would have one name; `notebook` for one that cannot be read.
 */
export function notebooksOf(positionals: readonly string[]): readonly string[] {
  if (positionals.length === 0) {
    throw new P2pError("usage", "no notebook is named", "Give one or more .ipynb files.");
  }
  const byName = new Map<string, string>();
  for (const file of positionals) {
    const name = nameOfNotebook(file);
    const other = byName.get(name);
    if (other !== undefined) {
      throw new P2pError(
        "usage",
        `${other} and ${file} would both be written as ${name}`,
        "Name each notebook once, and those of one name in two commands with two --out.",
      );
    }
    byName.set(name, file);
  }
  if (positionals.length > 1) for (const file of positionals) readNotebook(file);
  return positionals;
}

/** A day. */
const MAX_TIMEOUT_S = 86_400;

/** The limit of a cell in seconds, as an option to spread; empty when it is not given. */
export function timeoutOf(text: string | undefined): { timeoutS?: number } {
  if (text === undefined) return {};
  const timeoutS = Number(text);
  // A timer of Node.js holds 2^31 ms, a little under 25 days, and fires at once beyond.
  if (!(timeoutS > 0 && timeoutS <= MAX_TIMEOUT_S)) {
    throw new P2pError(
      "usage",
      `--timeout ${text} is not a number of seconds above 0 and up to ${MAX_TIMEOUT_S}`,
      "Give one in that range.",
    );
  }
  return { timeoutS };
}

export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Ctrl-C ends the measurement that listens to the signal; a second one ends the process, as ever. */
export async function interruptible<T>(measure: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  process.once("SIGINT", abort);
  try {
    return await measure(controller.signal);
  } finally {
    process.off("SIGINT", abort);
  }
}
