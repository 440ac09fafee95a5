/** Promises and timers carry what Node.js attaches to know their cell; a reader who prints one does not want to see it. */
import { type InspectOptions, inspect } from "node:util";

const ATTACHED = /^(async_id_symbol|trigger_async_id_symbol|kResourceStore|asyncId|triggerId)$/;

/** Until the returned function is called, `console.log(promise)` shows the promise alone. */
export function hideAttached(): () => void {
  const timer = setTimeout(() => undefined, 0);
  const immediate = setImmediate(() => undefined);
  clearTimeout(timer);
  clearImmediate(immediate);
  const prototypes: object[] = [
    Promise.prototype,
    Object.getPrototypeOf(timer),
    Object.getPrototypeOf(immediate),
  ];
  for (const prototype of prototypes) {
    Object.defineProperty(prototype, inspect.custom, {
      value: inspected,
      configurable: true,
      writable: true,
    });
  }
  return () => {
    for (const prototype of prototypes) Reflect.deleteProperty(prototype, inspect.custom);
  };
}

function inspected(this: object, _depth: number, options: InspectOptions, own: typeof inspect): string {
  for (const key of Object.getOwnPropertySymbols(this)) {
    if (ATTACHED.test(key.description ?? "")) Object.defineProperty(this, key, { enumerable: false });
  }
  return own(this, { ...options, customInspect: false });
}
