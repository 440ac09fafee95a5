import { P2pError } from "../lab/index.js";

/** One subcommand. */
export interface Command {
  readonly name: string;
  readonly usage: string;
  readonly describes: string;
  /** @returns the exit code. */
  run(args: string[]): Promise<number>;
}

/** The notebooks named on the command line. */
export function notebooksOf(positionals: readonly string[]): readonly string[] {
  if (positionals.length === 0) {
    throw new P2pError("usage", "no notebook is named", "Give one or more .ipynb files.");
  }
  return positionals;
}

/** A positive number of seconds from an option. */
export function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (!(seconds > 0))
    throw new P2pError("usage", `--timeout ${text} is not a number of seconds`, "Give a positive number.");
  return seconds;
}

export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
