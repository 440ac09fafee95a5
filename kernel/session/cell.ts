/**
 * Which cell the code that runs now belongs to: output of a timer that an earlier cell started goes to that cell, not to the
 * newest.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { FrontEnd, OutputSink } from "./outputs.js";

export interface Cell {
  readonly emit: OutputSink;
  /** Aborted when the reader stops the cell. */
  readonly abort: AbortController;
  /** Null where no front end can be asked, and once the cell has ended. */
  askReader: NonNullable<FrontEnd["askReader"]> | null;
  readonly sendComm: NonNullable<FrontEnd["onComm"]> | null;
  /** Null where no front end has a pager. */
  readonly showPage: NonNullable<FrontEnd["onPage"]> | null;
  /** Displays whose bundles are still being made, one after the other; null for none. */
  turn: Promise<void> | null;
  /** The first of them that failed. */
  failed: { readonly error: unknown } | null;
}

export function newCell(emit: OutputSink, { askReader, onComm, onPage }: FrontEnd = {}): Cell {
  return {
    emit,
    abort: new AbortController(),
    askReader: askReader ?? null,
    sendComm: onComm ?? null,
    showPage: onPage ?? null,
    turn: null,
    failed: null,
  };
}

const storage = new AsyncLocalStorage<Cell>();
let newest: Cell | null = null;

/** Runs work, and everything it starts, as the given cell. */
export function runAs<T>(cell: Cell, work: () => T): T {
  newest = cell;
  return storage.run(cell, work);
}

/** The cell of the code that runs now; the newest where Node.js cannot tell; null before the first and after the last. */
export function currentCell(): Cell | null {
  return newest ? (storage.getStore() ?? newest) : null;
}

/** Whether the code that runs now was begun by a cell, wherever it is called from. */
export function isCellCode(): boolean {
  return storage.getStore() !== undefined;
}

/** After this no cell takes output any more. */
export function forgetCells(): void {
  newest = null;
}

/** Does work at once, or after all displays of the cell that are still being made. */
export function inTurn(cell: Cell, work: () => void | Promise<void>): void {
  const result = cell.turn ? cell.turn.then(work) : work();
  if (!result) return;
  const turn: Promise<void> = result
    .catch((error: unknown) => {
      cell.failed ??= { error };
    })
    .then(() => {
      if (cell.turn === turn) cell.turn = null;
    });
  cell.turn = turn;
}

/** Resolves when all that the cell has displayed is sent; throws what its displays threw. */
export async function displayed(cell: Cell): Promise<void> {
  while (cell.turn) await cell.turn;
  if (cell.failed) throw cell.failed.error;
}
