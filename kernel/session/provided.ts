/**
 * Packages that are part of the running kernel's own code: where that is one file, cells have to get them out of it, since a
 * second copy would have variables of its own.
 */
type Exports = Readonly<Record<string, unknown>>;

let provided: ReadonlyMap<string, Exports> = new Map();

/** @param packages exports by the name under which cells import them. */
export function provide(packages: Readonly<Record<string, Exports>>): void {
  provided = new Map(Object.entries(packages));
}

export function providedExports(name: string): Exports | undefined {
  return provided.get(name);
}
