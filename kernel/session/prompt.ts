/** `prompt` of a notebook: a line of text from the reader, while the cell waits. */
import { P2pError } from "../lab/index.js";
import { currentCell } from "./cell.js";

/** What a notebook calls `prompt`. */
export interface Prompt {
  /**
   * Asks the reader for a line of text.
   * @param fallback what an empty answer stands for; default the empty text.
   * @throws P2pError `not-available` where no front end can be asked, as in a headless run.
   */
  (question?: string, fallback?: string): string;
  /** Asks for a line that is not shown while it is typed. */
  password(question?: string): string;
}

function ask(question: string, hidden: boolean): string {
  const reader = currentCell()?.askReader;
  if (reader) return reader(question, hidden);
  throw new P2pError(
    "not-available",
    "nobody can be asked here: no front end takes input for this cell",
    "Give the value in the notebook, or run it in JupyterLab.",
  );
}

export const prompt: Prompt = Object.assign(
  (question = "", fallback = "") => ask(String(question), false) || fallback,
  { password: (question = "") => ask(String(question), true) },
);
