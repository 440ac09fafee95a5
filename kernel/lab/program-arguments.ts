/** What the builder of programs checks of its arguments. */
import { P2pError } from "./errors.js";
import type { Allocator, BufferSpec, Place, ProbeOperation } from "./operations.js";
import { formatBytes } from "./units.js";

/** Where a buffer lives, from what the builder was given; the usual allocator is left out. */
export function placeOf(
  spec: { gpu: number; allocator?: Allocator } | { host: "pinned" | "pageable" },
): Place {
  if (!("gpu" in spec)) return { host: spec.host };
  const { gpu, allocator = "malloc" } = spec;
  return allocator === "malloc" ? { gpu: ordinal(gpu) } : { gpu: ordinal(gpu), allocator };
}

/** Buffers that a probe reads or writes. */
export function probeBuffers(probe: ProbeOperation): string[] {
  if (probe.kind === "ping-pong") return [probe.flag, probe.otherFlag];
  return probe.kind === "message-passing" ? [probe.data, probe.flag] : [probe.buffer];
}

/** @throws P2pError `program` unless a stretch lies in a buffer. */
export function requireInside(buffer: BufferSpec, offset: number, bytes: number): void {
  if (Number.isSafeInteger(offset) && offset >= 0 && bytes > 0 && offset + bytes <= buffer.bytes) return;
  throw new P2pError(
    "program",
    `${bytes} bytes at offset ${offset} do not fit in buffer "${buffer.name}" of ${formatBytes(buffer.bytes)}`,
    "Make the buffer larger, or what it is to hold smaller.",
  );
}

/** @throws P2pError `program` unless it is a whole number of a range. */
export function requireWhole(name: string, value: number, least: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new P2pError(
    "program",
    `${name} is ${value}, not a whole number from ${least} to ${most}`,
    "Change it to lie in that range.",
  );
}

/** @throws P2pError `program` unless it is a multiple of a unit. */
export function requireAligned(name: string, value: number, unit: number): number {
  if (Number.isSafeInteger(value) && value >= 0 && value % unit === 0) return value;
  throw new P2pError(
    "program",
    `${name} is ${value}, not a multiple of ${unit}`,
    `Round it to a multiple of ${unit}.`,
  );
}

/** @throws P2pError `program` unless it can number a GPU. */
export function ordinal(gpu: number): number {
  if (!Number.isInteger(gpu) || gpu < 0) {
    throw new P2pError("program", `not a GPU number: ${gpu}`, "Count GPUs from 0, as CUDA does.");
  }
  return gpu;
}
