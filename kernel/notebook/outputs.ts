/** Collects what cells show, as a notebook stores it. */
import type { CellOutput } from "../session/index.js";
import type { NotebookOutput } from "./nbformat.js";

/**
 * Characters of all outputs of a notebook. Written, with its marks and indentation, each may take eight of them, and Node.js holds
 * no text of more than 2^29.
 */
const MAX_CHARACTERS = 2 ** 26;

/** Of a number in JSON, with what stands between it and the next. */
const NUMBER_CHARACTERS = 24;

/** Of each part, and lines, of an error for which there is no room. */
const ERROR_CHARACTERS = 1000;
const ERROR_LINES = 20;

interface Entry {
  output: NotebookOutput;
  readonly displayId: string | null;
  characters: number;
}

/** The outputs of one cell. */
interface CellState {
  entries: Entry[];
  /** `clear_output(wait)` was asked for: the next output replaces what is there. */
  clearNext: boolean;
  /** Characters for which there was no room; 0 when all is there. */
  leftOut: number;
}

type ErrorOutput = Extract<CellOutput, { type: "error" }>;
type UpdateOutput = Extract<CellOutput, { type: "update_display_data" }>;

/**
 * Applies outputs in order: streams are merged, clearing is done, and displays change in place, in whichever cell they are. What
 * would make the notebook too long to be written is left out, and its cell says so.
 */
export class OutputCollector {
  readonly #cells = new Map<unknown, CellState>();
  readonly #most: number;
  #characters = 0;

  constructor(mostCharacters = MAX_CHARACTERS) {
    this.#most = mostCharacters;
  }

  /** @param cell any value that stands for the cell which shows it. */
  add(cell: unknown, output: CellOutput): void {
    const state = this.#stateOf(cell);
    if (output.type === "update_display_data") return this.#update(state, output);
    if (output.type === "clear_output") {
      state.clearNext = output.wait;
      if (!output.wait) this.#clear(state);
      return;
    }
    if (state.clearNext) {
      this.#clear(state);
      state.clearNext = false;
    }
    if (output.type === "stream") return this.#addStream(state, output.name, output.text);
    if (output.type === "error") return this.#addError(state, output);
    const characters = charactersOf([output.data, output.metadata]);
    if (!this.#hasRoom(state, characters)) return;
    state.entries.push({
      output: stored(output),
      displayId: output.type === "display_data" ? (output.displayId ?? null) : null,
      characters,
    });
  }

  /** What is left to store. Displays that were emptied at the end, such as progress lines, are dropped. */
  outputsOf(cell: unknown): NotebookOutput[] {
    const { entries = [], leftOut = 0 } = this.#cells.get(cell) ?? {};
    const outputs = entries.map((entry) => entry.output).filter((output) => !isEmptied(output));
    if (leftOut === 0) return outputs;
    const text = `[p2plab: ${leftOut} characters of output are left out: a notebook's may have ${this.#most} in all]\n`;
    return [...outputs, { output_type: "stream", name: "stderr", text }];
  }

  #stateOf(cell: unknown): CellState {
    const state = this.#cells.get(cell) ?? { entries: [], clearNext: false, leftOut: 0 };
    this.#cells.set(cell, state);
    return state;
  }

  /** Takes the room; what finds none is counted as left out. */
  #hasRoom(state: CellState, characters: number): boolean {
    if (this.#characters + characters > this.#most) {
      state.leftOut += characters;
      return false;
    }
    this.#characters += characters;
    return true;
  }

  /** As much of the text as there is room for. */
  #addStream(state: CellState, name: "stdout" | "stderr", whole: string): void {
    const text = whole.slice(0, this.#most - this.#characters);
    this.#characters += text.length;
    state.leftOut += whole.length - text.length;
    if (text === "") return;
    const last = state.entries.at(-1);
    if (last?.output.output_type === "stream" && last.output.name === name) {
      last.output.text += text;
      last.characters += text.length;
      return;
    }
    const output = { output_type: "stream" as const, name, text };
    state.entries.push({ output, displayId: null, characters: text.length });
  }

  /** Never left out, for it tells why the rest is missing; but then no longer than it takes for that. */
  #addError(state: CellState, output: ErrorOutput): void {
    const { ename, evalue, traceback } = output;
    const whole = charactersOf([ename, evalue, traceback]);
    const fits = this.#hasRoom(state, whole);
    const short = (text: string) => text.slice(0, ERROR_CHARACTERS);
    const kept = fits
      ? { ename, evalue, traceback }
      : { ename: short(ename), evalue: short(evalue), traceback: traceback.slice(0, ERROR_LINES).map(short) };
    const characters = fits ? whole : charactersOf([kept.ename, kept.evalue, kept.traceback]);
    if (!fits) {
      this.#characters += characters;
      state.leftOut -= characters;
    }
    state.entries.push({ output: { output_type: "error", ...kept }, displayId: null, characters });
  }

  #clear(state: CellState): void {
    for (const { characters } of state.entries) this.#characters -= characters;
    state.entries = [];
    state.leftOut = 0;
  }

  #update(state: CellState, { displayId, data, metadata }: UpdateOutput): void {
    const characters = charactersOf([data, metadata]);
    for (const { entries } of this.#cells.values()) {
      for (const entry of entries) {
        if (entry.displayId !== displayId || entry.output.output_type !== "display_data") continue;
        this.#characters -= entry.characters;
        entry.characters = this.#hasRoom(state, characters) ? characters : 0;
        // Without room, what it showed before would pass for its last state.
        const shown = entry.characters === characters ? data : {};
        entry.output = { ...entry.output, data: shown, metadata };
      }
    }
  }
}

/** About as many as the value's JSON has; numbers count as long ones. */
function charactersOf(value: unknown): number {
  if (typeof value === "string") return value.length + 4;
  if (ArrayBuffer.isView(value) && "length" in value) return Number(value.length) * NUMBER_CHARACTERS;
  if (typeof value !== "object" || value === null) return NUMBER_CHARACTERS;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + charactersOf(item), 2);
  return Object.entries(value).reduce((sum, [key, item]) => sum + key.length + 6 + charactersOf(item), 2);
}

function isEmptied(output: NotebookOutput): boolean {
  return output.output_type === "display_data" && Object.values(output.data).every((value) => value === "");
}

function stored(output: Extract<CellOutput, { type: "display_data" | "execute_result" }>): NotebookOutput {
  switch (output.type) {
    case "display_data":
      return { output_type: "display_data", data: output.data, metadata: output.metadata };
    case "execute_result":
      return {
        output_type: "execute_result",
        data: output.data,
        metadata: output.metadata,
        execution_count: output.executionCount,
      };
  }
}
