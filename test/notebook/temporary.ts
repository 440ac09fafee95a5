import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Notebook, NotebookCell } from "../../kernel/notebook/index.js";

/** Calls `use` with a new folder and removes it afterwards. */
export async function inFolder<T>(use: (folder: string) => T | Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-test-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A notebook of this kernel with code cells `cell-1`, `cell-2`, … */
export function notebookOf(...sources: string[]): Notebook {
  return {
    cells: sources.map((source, index) => codeCell(source, `cell-${index + 1}`)),
    metadata: {
      kernelspec: { display_name: "P2P Lab (TypeScript)", language: "typescript", name: "p2plab" },
    },
    nbformat: 4,
    nbformat_minor: 5,
  };
}

export function codeCell(source: string, id: string): NotebookCell {
  return { cell_type: "code", id, metadata: {}, source, outputs: [], execution_count: null };
}

export function markdownCell(source: string, id: string): NotebookCell {
  return { cell_type: "markdown", id, metadata: {}, source };
}

/** Writes a notebook as an editor would, not in the canonical form; returns its path. */
export function write(folder: string, name: string, notebook: Notebook): string {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(notebook));
  return file;
}
