import type { Position } from "./typescript.js";

/** A finding of TypeScript in a cell. */
export interface Diagnostic {
  readonly start: Position;
  readonly end: Position;
  readonly messageText: string;
  readonly code: number;
  /** Where it is not the cell itself: a file, relative to the working directory. */
  readonly fileName?: string;
}
