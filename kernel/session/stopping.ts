/**
 * Stops loops. Every loop of a cell's code asks a number in shared memory, so that a thread that is not blocked can stop one that
 * is; what then is stopped is decided here.
 */
// A cell may replace the globals.
import { clearTimeout, setTimeout } from "node:timers";
import { currentCell } from "./cell.js";

const { load, store } = Atomics;

/** Bits of the number: stop whatever loops now, as another thread sets it; look whether the cell that loops was stopped. */
const NOW = 1;
const LOOK = 2;
/** So long after an interrupt, code that a stopped cell left behind is looked for. */
const LOOK_MS = 30_000;

let shared = new Int32Array(new SharedArrayBuffer(4));
let forgetting: NodeJS.Timeout | null = null;

/** Shares the number with another thread, which sets it to 1 to stop what loops. */
export function shareStopping(memory: SharedArrayBuffer): void {
  shared = new Int32Array(memory);
}

/** For the code of cells. */
export function stoppingNumber(): Int32Array {
  return shared;
}

export function interruption(text = "the cell was interrupted; variables are kept"): Error {
  return Object.assign(new Error(text), { name: "Interrupted", stack: "" });
}

/** Called by a loop that found the number set; throws where the loop has to end. */
export function stopHere(): void {
  if ((load(shared, 0) & NOW) !== 0 || currentCell()?.abort.signal.aborted) throw interruption();
}

/** The cell that ran has ended: from now on only what it left behind is stopped. */
export function stopLater(): void {
  if (forgetting) clearTimeout(forgetting);
  store(shared, 0, LOOK);
  forgetting = setTimeout(() => store(shared, 0, 0), LOOK_MS).unref();
}
