import { P2pError, shown } from "./errors.js";

/** A number of bytes, or a text such as `"64 KiB"`, `"1 MiB"`, `"8 B"`, `"1 MB"` (binary and decimal units are told apart). */
export type Bytes = number | string;

const BYTE_UNITS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/**
 * Reads a size in bytes.
 * @throws P2pError `usage` when it is not a positive whole number of bytes.
 */
export function parseBytes(size: Bytes): number {
  const bytes = typeof size === "number" ? size : typeof size === "string" ? bytesOfText(size) : Number.NaN;
  if (!Number.isSafeInteger(bytes) || bytes <= 0) {
    throw new P2pError(
      "usage",
      `not a size in bytes: ${shown(size)}`,
      'Give a positive whole number of bytes, or a text such as "8 B", "64 KiB", "1 MiB".',
    );
  }
  return bytes;
}

function bytesOfText(text: string): number {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([kKMG]i?B|B)?\s*$/.exec(text);
  const factor = BYTE_UNITS[match?.[2] ?? "B"];
  return match && factor ? Number(match[1]) * factor : Number.NaN;
}

/** A size as people write it: `8 B`, `64 KiB`, `1.5 MiB`. Binary units; at most three significant digits. */
export function formatBytes(bytes: number): string {
  requireNumber("a size", bytes);
  for (const unit of ["GiB", "MiB", "KiB"]) {
    const factor = BYTE_UNITS[unit] as number;
    if (bytes >= factor) return `${trim(bytes / factor)} ${unit}`;
  }
  return `${bytes} B`;
}

/** A duration in the unit that reads best: `830 ns`, `6.78 µs`, `1.25 ms`, `3.1 s`. */
export function formatNs(ns: number): string {
  requireNumber("a duration", ns);
  const size = Math.abs(ns);
  if (size < 1e3) return `${trim(ns)} ns`;
  if (size < 1e6) return `${trim(ns / 1e3)} µs`;
  if (size < 1e9) return `${trim(ns / 1e6)} ms`;
  return `${trim(ns / 1e9)} s`;
}

/** @throws P2pError `usage` unless it is a finite number. */
function requireNumber(what: string, value: number): void {
  if (typeof value === "number" && Number.isFinite(value)) return;
  throw new P2pError("usage", `${what} of ${shown(value)}`, "Give a finite number.");
}

function trim(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/**
 * Message sizes from one to the other, both included, each `factor` times the one before.
 * @param options.factor step between neighbours, above 1; default 2.
 * @returns whole bytes, ascending.
 */
export function sizes(from: Bytes, to: Bytes, options: { factor?: number } = {}): number[] {
  const first = parseBytes(from);
  const last = parseBytes(to);
  const factor = options.factor ?? 2;
  if (last < first || !(factor > 1)) {
    throw new P2pError(
      "usage",
      `no sizes from ${formatBytes(first)} to ${formatBytes(last)} by a factor of ${factor}`,
      "Give the smaller size first and a factor above 1.",
    );
  }
  const list: number[] = [];
  for (let size = first; size < last; size = Math.max(size + 1, Math.round(size * factor))) list.push(size);
  list.push(last);
  return list;
}

export function nsToUs(ns: number): number {
  return ns / 1e3;
}

/** Rate in GB/s (1e9 bytes a second) of so many bytes in so many nanoseconds. */
export function gbps(bytes: number, ns: number): number {
  return bytes / ns;
}
