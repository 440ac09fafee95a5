/**
 * Who listens to the process when the session opens: the kernel, and Node.js itself, which without its own listeners takes no signal.
 * `process.removeAllListeners()` in a cell takes away what cells have added, and not those.
 */
import type { EventEmitter } from "node:events";
import { isCellCode } from "./cell.js";

type Listener = (...args: unknown[]) => void;
type Removal = (...args: unknown[]) => unknown;

// A cell may replace the global.
const soon = queueMicrotask;
const REMOVALS = ["removeAllListeners", "removeListener", "off"] as const;
/** Adding a listener for a signal does nothing without them. */
const FIRST = ["newListener", "removeListener"];

/** Until the returned function is called, what code of cells removes of today's listeners comes back. */
export function keepListeners(): () => void {
  const emitter: EventEmitter = process;
  const events = [...FIRST, ...emitter.eventNames().filter((name) => !FIRST.includes(String(name)))];
  const kept = events.flatMap((event) =>
    (emitter.rawListeners(event) as Listener[])
      // Those that listen once go by themselves.
      .filter((listener) => !("listener" in listener))
      .map((listener) => ({ event, listener })),
  );
  const comeBack = (only?: readonly unknown[]) => {
    for (const { event, listener } of kept) {
      if (only && !only.includes(event)) continue;
      if (!emitter.rawListeners(event).includes(listener)) emitter.on(event, listener);
    }
  };
  const own = process as unknown as Record<(typeof REMOVALS)[number], Removal>;
  for (const name of REMOVALS) {
    const original = own[name];
    const value = function (this: unknown, ...args: unknown[]) {
      const result = original.apply(this, args);
      if (isCellCode()) {
        comeBack(FIRST);
        // Node.js takes the listeners of SIGINT away itself while a script runs, and brings them back at its end: none may come before.
        soon(() => comeBack());
      }
      return result;
    };
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
  }
  return () => {
    for (const name of REMOVALS) Reflect.deleteProperty(process, name);
  };
}
