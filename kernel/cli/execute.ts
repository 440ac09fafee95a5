import { constants } from "node:os";
import { type ExecutedNotebook, type RunNotebookOptions, runNotebook } from "../notebook/index.js";
import { progress } from "./command.js";

/** Longer ones are whole in the notebook. */
const SHOWN_CHARACTERS = 500;

/** Runs a notebook and says on stderr how it goes: each cell, which failed where, and what is kept of a run that was stopped. */
export async function execute(file: string, options: RunNotebookOptions): Promise<ExecutedNotebook> {
  progress(`${file}`);
  const executed = await runNotebook(file, { ...options, onProgress: (line) => progress(`  ${line}`) });
  for (const { cell, line, ename, evalue, hint } of executed.failures) {
    const where = line === null ? cell : `${cell}, line ${line}`;
    const what = `${ename}: ${evalue}`;
    progress(
      `  FAILED ${where}: ${what.length > SHOWN_CHARACTERS ? `${what.slice(0, SHOWN_CHARACTERS)}…` : what}`,
    );
    if (hint) progress(`    → ${hint}`);
  }
  if (executed.stoppedBy)
    progress(`  ${executed.stoppedBy}: what ran until then is kept in ${executed.file}`);
  return executed;
}

/** What a shell calls a process that the signal ended. */
export function statusOf(stoppedBy: NonNullable<ExecutedNotebook["stoppedBy"]>): number {
  return 128 + constants.signals[stoppedBy];
}
