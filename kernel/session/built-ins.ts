/**
 * What a cell can take away from the kernel: the built-in functions of JavaScript. A cell may replace them, and what it made of them
 * stays, as long as the kernel can go on with it; where it cannot, they are put back.
 */

/** A property that held a function when the session was opened. */
interface Original {
  readonly name: string;
  readonly owner: object;
  readonly key: PropertyKey;
  readonly descriptor: PropertyDescriptor;
}

/** Iterators have no global name. */
const iterators: readonly (readonly [string, object])[] = [
  ["ArrayIterator", Object.getPrototypeOf([][Symbol.iterator]())],
  ["MapIterator", Object.getPrototypeOf(new Map()[Symbol.iterator]())],
  ["SetIterator", Object.getPrototypeOf(new Set()[Symbol.iterator]())],
];

// A cell may replace these too.
const { getOwnPropertyDescriptor, defineProperty } = Reflect;

/**
 * Looks at the built-in functions as they are now.
 * @returns puts back those that have changed since, and says which; what cells have added stays.
 */
export function rememberBuiltIns(): () => readonly string[] {
  const originals: Original[] = [];
  const remember = (name: string, owner: object) => {
    for (const key of Reflect.ownKeys(owner)) {
      const descriptor = Reflect.getOwnPropertyDescriptor(owner, key);
      if (!descriptor?.configurable || typeof (descriptor.value ?? descriptor.get) !== "function") continue;
      originals.push({ name: `${name}.${String(key)}`, owner, key, descriptor });
    }
  };
  for (const [name, descriptor] of globals()) {
    if (descriptor.configurable) originals.push({ name, owner: globalThis, key: name, descriptor });
    const { value } = descriptor;
    // Of process and its like only that they are there.
    if (value === undefined || (typeof value !== "function" && !/^[A-Z]/.test(name))) continue;
    remember(name, value);
    if (typeof value === "function" && value.prototype) remember(`${name}.prototype`, value.prototype);
  }
  for (const [name, prototype] of iterators) remember(`${name}.prototype`, prototype);
  return () => putBack(originals);
}

/** Classes, namespaces and functions by their global names, and those that are made when they are first asked for. */
function* globals(): Generator<[string, PropertyDescriptor]> {
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    // A notebook's console is its own affair.
    if (name === "globalThis" || name === "global" || name === "console") continue;
    const descriptor = Reflect.getOwnPropertyDescriptor(globalThis, name) as PropertyDescriptor;
    const { value, get } = descriptor;
    if (get || typeof value === "function" || (typeof value === "object" && value !== null))
      yield [name, descriptor];
  }
}

/** Uses nothing that a cell can have replaced: no iteration, no method of an array. */
function putBack(originals: readonly Original[]): readonly string[] {
  const changed: string[] = [];
  for (let i = 0; i < originals.length; i++) {
    const { name, owner, key, descriptor } = originals[i] as Original;
    const now = getOwnPropertyDescriptor(owner, key);
    if (now && now.value === descriptor.value && now.get === descriptor.get) continue;
    if (defineProperty(owner, key, descriptor)) changed[changed.length] = name;
  }
  return changed;
}
