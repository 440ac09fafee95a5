import { type ExecutedNotebook, type RunNotebookOptions, runNotebook } from "../notebook/index.js";
import { progress } from "./command.js";

/** Runs a notebook and says on stderr how it goes: each cell, and which failed where. */
export async function execute(file: string, options: RunNotebookOptions): Promise<ExecutedNotebook> {
  progress(`${file}`);
  const executed = await runNotebook(file, { ...options, onProgress: (line) => progress(`  ${line}`) });
  for (const { cell, line, ename, evalue, hint } of executed.failures) {
    const where = line === null ? cell : `${cell}, line ${line}`;
    progress(`  FAILED ${where}: ${ename}: ${evalue}`);
    if (hint) progress(`    → ${hint}`);
  }
  return executed;
}
