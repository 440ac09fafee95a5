/** What a run has so far, written while it goes on: a process that is killed leaves what its cells have shown. */
import { messageOf } from "../lab/index.js";
import type { Activity } from "../session/index.js";
import { writeNotebook } from "./canonical.js";
import type { Notebook } from "./nbformat.js";
import type { OutputCollector } from "./outputs.js";
import { runMetadata } from "./run-metadata.js";

const KEEP_EVERY_S = 10;

/** Writing takes at most one part in so many of the time, however long the notebook is. */
const TIMES_WRITING = 20;

export class Checkpoints {
  readonly #file: string;
  readonly #notebook: Notebook;
  readonly #collector: OutputCollector;
  readonly #asked: string | null;
  readonly #everyMs: number;
  #nextMs: number;

  /**
   * @param collector of the outputs, by cell.
   * @param asked the machine's specification, null for none.
   */
  constructor(
    file: string,
    notebook: Notebook,
    collector: OutputCollector,
    asked: string | null,
    everyS = KEEP_EVERY_S,
  ) {
    this.#file = file;
    this.#notebook = notebook;
    this.#collector = collector;
    this.#asked = asked;
    this.#everyMs = 1000 * everyS;
    this.#nextMs = performance.now() + this.#everyMs;
  }

  /**
   * Writes if it is time to.
   * @returns why it cannot be written, which may be better until the end; null when nothing is wrong.
   */
  keep(activity: Activity): string | null {
    const beganMs = performance.now();
    if (beganMs < this.#nextMs) return null;
    try {
      this.write(activity);
      return null;
    } catch (error) {
      return messageOf(error);
    } finally {
      const endedMs = performance.now();
      this.#nextMs = endedMs + Math.max(this.#everyMs, TIMES_WRITING * (endedMs - beganMs));
    }
  }

  /**
   * Writes the notebook with the outputs that there are.
   * @throws P2pError `output` when it cannot be written; then what was written before is still there.
   */
  write(activity: Activity): void {
    for (const cell of this.#notebook.cells) {
      if (cell.cell_type === "code") cell.outputs = this.#collector.outputsOf(cell);
    }
    const { metadata } = this.#notebook;
    this.#notebook.metadata = { ...metadata, p2plab: runMetadata(this.#notebook, activity, this.#asked) };
    writeNotebook(this.#file, this.#notebook);
  }
}
