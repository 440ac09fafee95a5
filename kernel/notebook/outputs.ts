/** Collects a cell's outputs as a notebook stores them. */
import type { CellOutput } from "../session/index.js";
import type { NotebookOutput } from "./nbformat.js";

/** Applies outputs in order: streams are merged, displays updated in place, clearing done. */
export class OutputCollector {
  #outputs: { output: NotebookOutput; displayId: string | null }[] = [];
  #clearNext = false;

  add(output: CellOutput): void {
    if (output.type === "clear_output") {
      this.#clearNext = output.wait;
      if (!output.wait) this.#outputs = [];
      return;
    }
    if (output.type === "update_display_data") {
      for (const entry of this.#outputs) {
        if (entry.displayId === output.displayId && "data" in entry.output) {
          entry.output = { ...entry.output, data: output.data, metadata: output.metadata };
        }
      }
      return;
    }
    if (this.#clearNext) {
      this.#outputs = [];
      this.#clearNext = false;
    }
    const last = this.#outputs.at(-1)?.output;
    if (output.type === "stream" && last?.output_type === "stream" && last.name === output.name) {
      last.text += output.text;
      return;
    }
    this.#outputs.push({
      output: stored(output),
      displayId: output.type === "display_data" ? (output.displayId ?? null) : null,
    });
  }

  /** What is left to store: progress lines that were emptied at the end are dropped. */
  get outputs(): NotebookOutput[] {
    return this.#outputs.map((entry) => entry.output).filter((output) => !isEmptied(output));
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
