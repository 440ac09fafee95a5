/**
 * The variables of all cells. They live where they were declared, in the function that their cell became; the scope reads and
 * writes them there. So closures of one cell see what another cell assigns, and code within a cell is as fast as any.
 */
export type Binding = readonly [read: () => unknown, write: (value: never) => void];

export class Scope {
  /** What cells' code sees: a property for each name. */
  readonly names: Record<string, unknown> = {};
  /** The same as `exports` of a cell, as tslab has it: what is defined there can be defined again. */
  readonly exports: Record<string, unknown> = new Proxy(this.names, {
    defineProperty: (names, name, { get, value }) =>
      Reflect.defineProperty(names, name, {
        value: get ? get() : value,
        writable: true,
        enumerable: true,
        configurable: true,
      }),
  });

  /**
   * Makes a cell's names visible; those declared before under the same name are hidden.
   * @returns takes a name back, and shows what it hid.
   */
  declare(bindings: Readonly<Record<string, Binding>>): (name: string) => void {
    const hidden = new Map<string, PropertyDescriptor | undefined>();
    for (const [name, [get, set]] of Object.entries(bindings)) {
      hidden.set(name, Object.getOwnPropertyDescriptor(this.names, name));
      Object.defineProperty(this.names, name, { get, set, enumerable: true, configurable: true });
    }
    return (name) => {
      const before = hidden.get(name);
      if (before) Object.defineProperty(this.names, name, before);
      else Reflect.deleteProperty(this.names, name);
    };
  }

  /** Whether a name has come to be: what a cell was to declare after it failed has not. */
  isAlive(name: string): boolean {
    try {
      return this.names[name] !== undefined;
    } catch {
      return false;
    }
  }
}
