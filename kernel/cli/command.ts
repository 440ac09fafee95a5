import { P2pError } from "../lab/index.js";

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

/** The notebooks named on the command line. */
export function notebooksOf(positionals: readonly string[]): readonly string[] {
  if (positionals.length === 0) {
    throw new P2pError("usage", "no notebook is named", "Give one or more .ipynb files.");
  }
  return positionals;
}

/** The limit of a cell in seconds, as an option to spread; empty when it is not given. */
export function timeoutOf(text: string | undefined): { timeoutS?: number } {
  if (text === undefined) return {};
  const timeoutS = Number(text);
  if (!(timeoutS > 0) || !Number.isFinite(timeoutS))
    throw new P2pError("usage", `--timeout ${text} is not a number of seconds`, "Give a positive number.");
  return { timeoutS };
}

export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
