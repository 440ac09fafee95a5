import { type ExecutedNotebook, type RunNotebookOptions, runNotebook } from "../notebook/index.js";
import { progress } from "./command.js";

/** Runs a notebook and says on stderr how it went. */
export async function execute(file: string, options: RunNotebookOptions): Promise<ExecutedNotebook> {
  progress(`${file}`);
  const executed = await runNotebook(file, { ...options, onProgress: (line) => progress(`  ${line}`) });
  for (const { cell, ename, evalue } of executed.failures) progress(`  FAILED ${cell}: ${ename}: ${evalue}`);
  return executed;
}
