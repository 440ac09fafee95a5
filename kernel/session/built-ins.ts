/**
 * What a cell can take away from the kernel: the built-in functions of JavaScript, and what an object has and has not. A cell may
 * replace them and add to them, and what it made of them stays, as long as the kernel can go on with it; where it cannot, they are
 * put back.
 */

/** A property that held a function when the session was opened. */
interface Original {
  readonly name: string;
  readonly owner: object;
  readonly key: PropertyKey;
  readonly descriptor: PropertyDescriptor;
  /** What it gave, where it has a setter that changes what it gives; otherwise undefined. */
  readonly given: unknown;
}

/** Iterators have no global name. */
const iterators: readonly (readonly [string, object])[] = [
  ["ArrayIterator", Object.getPrototypeOf([][Symbol.iterator]())],
  ["MapIterator", Object.getPrototypeOf(new Map()[Symbol.iterator]())],
  ["SetIterator", Object.getPrototypeOf(new Set()[Symbol.iterator]())],
];
/** Node.js gives these by a getter, and takes another value for them by a setter. */
const SETTABLE = new Set(["process", "Buffer"]);

// A cell may replace these too.
const { apply, getOwnPropertyDescriptor, defineProperty, deleteProperty, ownKeys } = Reflect;
const world = globalThis;
const ofObjects = Object.prototype;
const ofArrays = Array.prototype;

/**
 * Looks at the built-in functions as they are now.
 * @returns puts back those that have changed since; takes away what was added to all objects, and what all arrays would have as
 * items or as their JSON; and says which. Whatever else cells have added stays.
 */
export function rememberBuiltIns(): () => readonly string[] {
  const originals: Original[] = [];
  const add = (name: string, owner: object, key: PropertyKey, descriptor: PropertyDescriptor) => {
    // Otherwise it would have what a cell adds to all objects.
    Object.setPrototypeOf(descriptor, null);
    const given = SETTABLE.has(name) ? descriptor.get?.call(owner) : undefined;
    originals.push({ name, owner, key, descriptor, given });
  };
  const remember = (name: string, owner: object) => {
    for (const key of Reflect.ownKeys(owner)) {
      const descriptor = Reflect.getOwnPropertyDescriptor(owner, key);
      if (!descriptor?.configurable || typeof (descriptor.value ?? descriptor.get) !== "function") continue;
      add(`${name}.${String(key)}`, owner, key, descriptor);
    }
  };
  for (const [name, descriptor] of globals()) {
    const { value } = descriptor;
    if (descriptor.configurable) add(name, globalThis, name, descriptor);
    // Of process and its like only that they are there.
    if (value === undefined || (typeof value !== "function" && !/^[A-Z]/.test(name))) continue;
    remember(name, value);
    if (typeof value === "function" && value.prototype) remember(`${name}.prototype`, value.prototype);
  }
  for (const [name, prototype] of iterators) remember(`${name}.prototype`, prototype);
  const everyObject = Reflect.ownKeys(ofObjects);
  const everyArray = Reflect.ownKeys(ofArrays);
  return () => {
    const changed: string[] = [];
    takeAway("Object.prototype", ofObjects, everyObject, () => true, changed);
    takeAway("Array.prototype", ofArrays, everyArray, isInTheWay, changed);
    putBack(originals, changed);
    return changed;
  };
}

/** Classes, namespaces and functions by their global names, and those that are made when they are first asked for. */
function* globals(): Generator<[string, PropertyDescriptor]> {
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    // A notebook's console is its own affair.
    if (name === "console") continue;
    const descriptor = Reflect.getOwnPropertyDescriptor(globalThis, name) as PropertyDescriptor;
    const { value, get } = descriptor;
    if (get || typeof value === "function" || (typeof value === "object" && value !== null))
      yield [name, descriptor];
  }
}

/** Items that every array would have, and what would be sent in an array's place. */
function isInTheWay(key: PropertyKey): boolean {
  return key === "toJSON" || (typeof key === "string" && key !== "" && +key >= 0);
}

// From here on nothing is used that a cell can have replaced: no iteration, no method of an array.

function takeAway(
  name: string,
  owner: object,
  originals: readonly PropertyKey[],
  isWanted: (key: PropertyKey) => boolean,
  changed: string[],
): void {
  const now = ownKeys(owner);
  for (let i = 0; i < now.length; i++) {
    const key = now[i] as PropertyKey;
    let isOriginal = false;
    for (let j = 0; j < originals.length; j++) if (originals[j] === key) isOriginal = true;
    if (isOriginal || !isWanted(key) || !deleteProperty(owner, key)) continue;
    noted(changed, typeof key === "symbol" ? `a symbol of ${name}` : `${name}.${key as string}`);
  }
}

function putBack(originals: readonly Original[], changed: string[]): void {
  for (let i = 0; i < originals.length; i++) {
    const original = originals[i] as Original;
    const { name, owner, key, descriptor, given } = original;
    if (isAsBefore(original) || !defineProperty(owner, key, descriptor)) continue;
    if (given !== undefined && descriptor.set) apply(descriptor.set, owner, [given]);
    noted(changed, name);
  }
}

function isAsBefore({ owner, key, descriptor, given }: Original): boolean {
  const now = getOwnPropertyDescriptor(owner, key);
  if (!now) return false;
  if (now.value === descriptor.value && now.get === descriptor.get)
    return given === undefined || now.get === undefined || apply(now.get, owner, []) === given;
  // Node.js puts what it was asked for in the place of the getter.
  if (descriptor.get === undefined || now.get !== undefined) return false;
  try {
    return apply(descriptor.get, world, []) === now.value;
  } catch {
    return false;
  }
}

/** Unlike an assignment, this asks nothing of what arrays inherit. */
function noted(changed: string[], name: string): void {
  const entry = { __proto__: null, value: name, writable: true, enumerable: true, configurable: true };
  defineProperty(changed, changed.length, entry as PropertyDescriptor);
}
