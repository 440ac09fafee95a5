import { P2pError } from "../../errors.js";

/** Events one simulation may take before it is held to be endless. */
const EVENT_LIMIT = 50_000_000;

/**
 * Discrete-event core: actions at times, run in order of time and, at equal times, in the order they were entered, so that
 * the same program gives the same series on every machine.
 */
export class Simulation {
  // A binary heap in three columns: no object an event.
  readonly #times: number[] = [];
  readonly #orders: number[] = [];
  readonly #actions: (() => void)[] = [];
  #nowNs = 0;
  #entered = 0;
  #done = 0;

  get nowNs(): number {
    return this.#nowNs;
  }

  /** Events run so far. */
  get events(): number {
    return this.#done;
  }

  /** Enters an action; a time that has passed means now. */
  at(timeNs: number, action: () => void): void {
    if (!Number.isFinite(timeNs)) throw new Error(`an event at ${timeNs} ns`);
    const time = Math.max(timeNs, this.#nowNs);
    const order = this.#entered++;
    const times = this.#times;
    let i = times.length;
    times.push(time);
    this.#orders.push(order);
    this.#actions.push(action);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      // The new entry is the youngest: at equal times it stays behind.
      if ((times[parent] as number) <= time) break;
      this.#move(parent, i);
      i = parent;
    }
    this.#put(i, time, order, action);
  }

  /** An action a time from now. */
  after(delayNs: number, action: () => void): void {
    this.at(this.#nowNs + delayNs, action);
  }

  /**
   * Runs until nothing is left to do.
   * @throws P2pError `program` when that takes more events than any sensible program.
   */
  run(): void {
    while (this.#times.length > 0) {
      if (++this.#done > EVENT_LIMIT) {
        throw new P2pError(
          "program",
          `one iteration takes more than ${EVENT_LIMIT} events to simulate`,
          "Copy fewer bytes, or use fewer operations.",
        );
      }
      this.#nowNs = this.#times[0] as number;
      const action = this.#actions[0] as () => void;
      this.#dropFirst();
      action();
    }
  }

  #dropFirst(): void {
    const times = this.#times;
    const orders = this.#orders;
    const time = times.pop() as number;
    const order = orders.pop() as number;
    const action = this.#actions.pop() as () => void;
    const n = times.length;
    if (n === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= n) break;
      if (child + 1 < n && this.#before(child + 1, child)) child++;
      const childTime = times[child] as number;
      if (childTime > time || (childTime === time && (orders[child] as number) > order)) break;
      this.#move(child, i);
      i = child;
    }
    this.#put(i, time, order, action);
  }

  #before(a: number, b: number): boolean {
    const difference = (this.#times[a] as number) - (this.#times[b] as number);
    return difference < 0 || (difference === 0 && (this.#orders[a] as number) < (this.#orders[b] as number));
  }

  #move(from: number, to: number): void {
    this.#put(
      to,
      this.#times[from] as number,
      this.#orders[from] as number,
      this.#actions[from] as () => void,
    );
  }

  #put(i: number, time: number, order: number, action: () => void): void {
    this.#times[i] = time;
    this.#orders[i] = order;
    this.#actions[i] = action;
  }
}
