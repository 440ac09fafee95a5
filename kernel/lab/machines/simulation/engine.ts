import { P2pError } from "../../errors.js";

/** Events one iteration may take before it is held to be endless. */
const EVENT_LIMIT = 5_000_000;

interface Entry {
  readonly timeNs: number;
  readonly order: number;
  readonly action: () => void;
}

/**
 * Discrete-event core: actions at times, run in order of time and, at equal times, in the order they were entered, so that
 * the same program gives the same series on every machine.
 */
export class Simulation {
  readonly #heap: Entry[] = [];
  #nowNs = 0;
  #order = 0;

  get nowNs(): number {
    return this.#nowNs;
  }

  /** Enters an action; a time that has passed means now. */
  at(timeNs: number, action: () => void): void {
    if (!Number.isFinite(timeNs)) throw new Error(`an event at ${timeNs} ns`);
    const heap = this.#heap;
    const entry = { timeNs: Math.max(timeNs, this.#nowNs), order: this.#order++, action };
    let i = heap.length;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(entry, heap[parent] as Entry)) break;
      heap[i] = heap[parent] as Entry;
      i = parent;
    }
    heap[i] = entry;
  }

  /**
   * Runs until nothing is left to do.
   * @throws P2pError `program` when that takes more events than any sensible program.
   */
  run(): void {
    for (let count = 0; this.#heap.length > 0; count++) {
      if (count > EVENT_LIMIT) {
        throw new P2pError(
          "program",
          `one iteration takes more than ${EVENT_LIMIT} events to simulate`,
          "Copy fewer bytes, or use fewer operations.",
        );
      }
      const { timeNs, action } = this.#take();
      this.#nowNs = timeNs;
      action();
    }
  }

  #take(): Entry {
    const heap = this.#heap;
    const first = heap[0] as Entry;
    const last = heap.pop() as Entry;
    const n = heap.length;
    if (n > 0) {
      let i = 0;
      for (;;) {
        let child = 2 * i + 1;
        if (child >= n) break;
        if (child + 1 < n && before(heap[child + 1] as Entry, heap[child] as Entry)) child++;
        if (!before(heap[child] as Entry, last)) break;
        heap[i] = heap[child] as Entry;
        i = child;
      }
      heap[i] = last;
    }
    return first;
  }
}

function before(a: Entry, b: Entry): boolean {
  return a.timeNs < b.timeNs || (a.timeNs === b.timeNs && a.order < b.order);
}
