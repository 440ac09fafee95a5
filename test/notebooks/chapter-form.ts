import type { Notebook, NotebookCell } from "../../kernel/notebook/index.js";

/**
 * A chapter as it is committed, from what a front end saved: without outputs, counts and metadata, each cell's id with the
 * chapter's number before it. A cell that calls `lab.check` becomes `NN-check-K`, the code cell before it `NN-exercise-K`.
 * @param metadata of the notebook, the same in all chapters.
 */
export function chapterForm(notebook: Notebook, number: string, metadata: Notebook["metadata"]): Notebook {
  const ids = idsOf(notebook.cells, number);
  const cells = notebook.cells.map((cell, index): NotebookCell => {
    const { cell_type, source, attachments } = cell;
    return {
      cell_type,
      id: ids[index] as string,
      metadata: {},
      source: source.trimEnd(),
      ...(attachments === undefined ? {} : { attachments }),
      ...(cell_type === "code" ? { execution_count: null, outputs: [] } : {}),
    };
  });
  return { cells, metadata, nbformat: 4, nbformat_minor: 5 };
}

function idsOf(cells: readonly NotebookCell[], number: string): string[] {
  const ids = cells.map(({ id = "" }, index) => {
    const own = id.toLowerCase().replace(/[^a-z0-9-]+/g, "-") || `cell-${index + 1}`;
    return own.startsWith(`${number}-`) ? own : `${number}-${own}`;
  });
  const code = [...cells.keys()].filter((index) => cells[index]?.cell_type === "code");
  const checks = code.filter((index) => /\blab\.check\(/.test(cells[index]?.source ?? ""));
  checks.forEach((check, index) => {
    const exercise = code[code.indexOf(check) - 1];
    ids[check] = `${number}-check-${index + 1}`;
    if (exercise !== undefined && !checks.includes(exercise))
      ids[exercise] = `${number}-exercise-${index + 1}`;
  });
  return ids;
}
