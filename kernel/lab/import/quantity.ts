/** Units as tools print them, and the library's own: µs, bytes, GB/s (1e9 bytes a second). */

/** What a printed unit comes to. */
export interface Quantity {
  /** End of a column's name, such as `us`, `bytes`, `gbps`, `percent`. */
  readonly suffix: string;
  /** Printed number × factor = the library's. */
  readonly factor: number;
}

const TIME_US: Readonly<Record<string, number>> = {
  s: 1e6,
  sec: 1e6,
  second: 1e6,
  seconds: 1e6,
  ms: 1e3,
  msec: 1e3,
  msecond: 1e3,
  us: 1,
  µs: 1,
  μs: 1,
  usec: 1,
  usecond: 1,
  ns: 1e-3,
  nsec: 1e-3,
  nsecond: 1e-3,
};

const PREFIXES = ["", "k", "m", "g", "t", "p"];

/**
 * Reads a unit.
 * @param text such as `ns`, `MB`, `GB/s`, `Gbyte/second`, `%`.
 * @param step what `K`, `M`, `G` stand for: 1000, or 1024 where the tool means KiB by KB. `KiB` and the like are always 1024.
 * @returns null for a unit that is not known.
 */
export function quantityOf(text: string, step: 1000 | 1024): Quantity | null {
  const unit = text.trim().toLowerCase();
  if (unit === "%") return { suffix: "percent", factor: 1 };
  const time = Object.hasOwn(TIME_US, unit) ? TIME_US[unit] : undefined;
  if (time !== undefined) return { suffix: "us", factor: time };
  const bytes = /^([kmgtp]?)(i?)b(?:yte)?(s?)(?:(\/s|\/sec|\/second|ps))?$/.exec(unit);
  if (bytes) {
    const [, prefix = "", binary, , rate] = bytes;
    const factor = (binary ? 1024 : step) ** PREFIXES.indexOf(prefix);
    return rate ? { suffix: "gbps", factor: factor / 1e9 } : { suffix: "bytes", factor };
  }
  return null;
}
