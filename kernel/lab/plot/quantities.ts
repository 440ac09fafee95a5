/** What the columns of the library's tables are called on an axis. */
import type { Style } from "./style.js";

/** Columns with their quantity and unit. */
export const QUANTITIES: Readonly<Record<string, readonly [zh: string, en: string]>> = {
  total_us: ["延迟（µs）", "latency (µs)"],
  gbps: ["速率（GB/s）", "rate (GB/s)"],
  load_ns: ["加载延迟（ns）", "load latency (ns)"],
  one_way_ns: ["单程延迟（ns）", "one-way latency (ns)"],
  atomic_ns: ["原子操作的延迟（ns）", "latency of an atomic operation (ns)"],
  fence_ns: ["围栏的延迟（ns）", "latency of a fence (ns)"],
  api_us: ["提交调用的耗时（µs）", "time in submit calls (µs)"],
  median_us: ["耗时的中位数（µs）", "median time (µs)"],
  once_us: ["一次性的开销（µs）", "one-off cost (µs)"],
  per_use_us: ["摊到每次的开销（µs）", "cost a use (µs)"],
  first_us: ["第一次的耗时（µs）", "time of the first call (µs)"],
};

/** Units by the end of a column's name: as a prediction writes them, and as a figure shows them. */
const UNITS: readonly (readonly [end: RegExp, unit: string, shown: string])[] = [
  [/_ns$/, "ns", "ns"],
  [/_us$/, "us", "µs"],
  [/_ms$/, "ms", "ms"],
  [/(^|_)gbps$/, "GB/s", "GB/s"],
  [/_pct$/, "%", "%"],
];

/** Unit of a column; both empty where its name tells none. */
export function unitOf(column: string): { readonly unit: string; readonly shown: string } {
  const [, unit, shown] = UNITS.find(([end]) => end.test(column)) ?? [null, "", ""];
  return { unit, shown };
}

/**
 * The words on an axis: the quantity with its unit.
 * @param quantity what the values are, in words, where the caller says it; default by the column.
 */
export function quantityTitle(column: string, say: Style["say"], quantity?: string): string {
  const { shown } = unitOf(column);
  if (quantity === undefined && Object.hasOwn(QUANTITIES, column)) {
    return say(...(QUANTITIES[column] as readonly [string, string]));
  }
  const name = quantity ?? column.replace(/_(ns|us|ms|pct)$/, "");
  return shown === "" ? name : say(`${name}（${shown}）`, `${name} (${shown})`);
}
