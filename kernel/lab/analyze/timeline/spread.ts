import { quantileSorted } from "../../sampling.js";

/** Columns of a series of durations. */
export type Spread<Prefix extends string> = Record<
  `${Prefix}_${"min" | "median" | "p95" | "p99" | "max"}_us`,
  number | null
>;

/** How a series of durations is spread, microseconds; null for an empty one. */
export function spreadOf<Prefix extends string>(prefix: Prefix, valuesNs: readonly number[]): Spread<Prefix> {
  const sorted = Float64Array.from(valuesNs).sort();
  const at = (q: number) => (sorted.length === 0 ? null : quantileSorted(sorted, q) / 1e3);
  return {
    [`${prefix}_min_us`]: at(0),
    [`${prefix}_median_us`]: at(0.5),
    [`${prefix}_p95_us`]: at(0.95),
    [`${prefix}_p99_us`]: at(0.99),
    [`${prefix}_max_us`]: at(1),
  } as Spread<Prefix>;
}

export function spreadColumns<Prefix extends string>(prefix: Prefix): (keyof Spread<Prefix>)[] {
  return ["min", "median", "p95", "p99", "max"].map((name) => `${prefix}_${name}_us` as keyof Spread<Prefix>);
}

/** Null for an empty series. */
export function medianOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : quantileSorted(Float64Array.from(values).sort(), 0.5);
}

/** The value of a key, made where it is not there. */
export function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
