/** Collects what cells show, as a notebook stores it. */
import type { CellOutput } from "../session/index.js";
import type { NotebookOutput } from "./nbformat.js";

interface Entry {
  output: NotebookOutput;
  readonly displayId: string | null;
}

/** The outputs of one cell. */
interface CellState {
  entries: Entry[];
  /** `clear_output(wait)` was asked for: the next output replaces what is there. */
  clearNext: boolean;
}

/** Applies outputs in order: streams are merged, clearing is done, and displays change in place, in whichever cell they are. */
export class OutputCollector {
  readonly #cells = new Map<unknown, CellState>();

  /** @param cell any value that stands for the cell which shows it. */
  add(cell: unknown, output: CellOutput): void {
    const state = this.#stateOf(cell);
    if (output.type === "update_display_data") return this.#update(output);
    if (output.type === "clear_output") {
      state.clearNext = output.wait;
      if (!output.wait) state.entries = [];
      return;
    }
    if (state.clearNext) {
      state.entries = [];
      state.clearNext = false;
    }
    const last = state.entries.at(-1)?.output;
    if (output.type === "stream" && last?.output_type === "stream" && last.name === output.name) {
      last.text += output.text;
      return;
    }
    state.entries.push({
      output: stored(output),
      displayId: output.type === "display_data" ? (output.displayId ?? null) : null,
    });
  }

  /** What is left to store. Displays that were emptied at the end, such as progress lines, are dropped. */
  outputsOf(cell: unknown): NotebookOutput[] {
    const entries = this.#cells.get(cell)?.entries ?? [];
    return entries.map((entry) => entry.output).filter((output) => !isEmptied(output));
  }

  #stateOf(cell: unknown): CellState {
    const state = this.#cells.get(cell) ?? { entries: [], clearNext: false };
    this.#cells.set(cell, state);
    return state;
  }

  #update({ displayId, data, metadata }: Extract<CellOutput, { type: "update_display_data" }>): void {
    for (const { entries } of this.#cells.values()) {
      for (const entry of entries) {
        if (entry.displayId === displayId && entry.output.output_type === "display_data")
          entry.output = { ...entry.output, data, metadata };
      }
    }
  }
}

function isEmptied(output: NotebookOutput): boolean {
  return output.output_type === "display_data" && Object.values(output.data).every((value) => value === "");
}

function stored(
  output: Exclude<CellOutput, { type: "clear_output" | "update_display_data" }>,
): NotebookOutput {
  switch (output.type) {
    case "stream":
      return { output_type: "stream", name: output.name, text: output.text };
    case "display_data":
      return { output_type: "display_data", data: output.data, metadata: output.metadata };
    case "execute_result":
      return {
        output_type: "execute_result",
        data: output.data,
        metadata: output.metadata,
        execution_count: output.executionCount,
      };
    case "error":
      return {
        output_type: "error",
        ename: output.ename,
        evalue: output.evalue,
        traceback: output.traceback,
      };
  }
}
