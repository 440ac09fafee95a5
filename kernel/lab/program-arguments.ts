/** What the builder of programs checks of its arguments. */
import { P2pError, shown } from "./errors.js";
import {
  type Allocator,
  type BufferSpec,
  COPY_APIS,
  type Operation,
  type Place,
  type ProbeOperation,
} from "./operations.js";
import { formatBytes } from "./units.js";

/** Where a buffer lives, from what the builder was given; the usual allocator is left out. */
export function placeOf(
  spec: { gpu: number; allocator?: Allocator } | { host: "pinned" | "pageable" },
): Place {
  if (!("gpu" in spec)) return { host: requireWord("host", spec.host, ["pinned", "pageable"]) };
  const { gpu, allocator = "malloc" } = spec;
  requireWord("allocator", allocator, ["malloc", "pool", "vmm", "ipc"]);
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
    `${bytes} bytes at offset ${shown(offset)} do not fit in buffer "${buffer.name}" of ${formatBytes(buffer.bytes)}`,
    "Make the buffer larger, or what it is to hold smaller.",
  );
}

/** Words that fields of operations may hold, by operation or probe. A field that is left out has its usual value. */
const WORDS: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>> = {
  copy: { api: COPY_APIS, engine: ["copy-engine", "kernel-write", "kernel-read"] },
  launch: { kernel: ["empty"] },
  put: { protocol: ["flag", "ll", "ll128"] },
  receive: { protocol: ["flag", "ll", "ll128"] },
  sync: { method: ["spin", "yield", "block", "poll-event", "poll-flag"] },
  load: { order: ["sequential", "random"], cold: [true, false], sm: ["each"] },
  "ping-pong": { store: ["volatile", "release", "atomic"] },
  atomic: { operation: ["add", "exchange", "compare-and-swap"], scope: ["gpu", "system"] },
  fence: { scope: ["block", "gpu", "system"] },
  "message-passing": { fence: ["none", "gpu", "system"] },
};

/** @throws P2pError `program` for a field with a word that it does not have. */
export function requireWords(operation: Operation): Operation {
  const words = WORDS[operation.op === "probe" ? operation.kind : operation.op] ?? {};
  for (const [field, list] of Object.entries(words)) {
    const value: unknown = operation[field as keyof Operation];
    if (value !== undefined) requireWord(field, value, list);
  }
  return operation;
}

/** @throws P2pError `program` unless it is one of the words. */
export function requireWord<W>(name: string, value: W, words: readonly unknown[]): W {
  if (words.includes(value)) return value;
  throw new P2pError("program", `no ${name} ${shown(value)}`, `Use one of: ${words.map(String).join(", ")}.`);
}

/** @throws P2pError `program` unless it can name a buffer, a stream or an event. */
export function requireName(kind: string, name: unknown): asserts name is string {
  if (typeof name === "string" && name !== "") return;
  throw new P2pError(
    "program",
    `${shown(name)} is no name of ${kind === "event" ? "an" : "a"} ${kind}`,
    "Give each a text of its own.",
  );
}

/**
 * @throws P2pError `program` unless options are an object with no name but these: one that is misspelt must not be passed over.
 */
export function requireOptions(call: string, options: unknown, names: readonly string[]): void {
  const given = typeof options === "object" && options !== null ? Object.keys(options) : null;
  const unknown = given?.find((name) => !names.includes(name));
  if (given && unknown === undefined) return;
  throw new P2pError(
    "program",
    given ? `${call} has no option "${unknown}"` : `${call} was given ${shown(options)} as its options`,
    `It takes ${names.join(", ")}.`,
  );
}

/** @throws P2pError `program` unless it is a whole number of a range. */
export function requireWhole(name: string, value: number, least: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new P2pError(
    "program",
    `${name} is ${shown(value)}, not a whole number from ${least} to ${most}`,
    "Change it to lie in that range.",
  );
}

/** @throws P2pError `program` unless it is a multiple of a unit. */
export function requireAligned(name: string, value: number, unit: number): number {
  if (Number.isSafeInteger(value) && value >= 0 && value % unit === 0) return value;
  throw new P2pError(
    "program",
    `${name} is ${shown(value)}, not a multiple of ${unit}`,
    `Round it to a multiple of ${unit}.`,
  );
}

/** @throws P2pError `program` unless it can number a GPU. */
export function ordinal(gpu: number): number {
  if (!Number.isInteger(gpu) || gpu < 0) {
    throw new P2pError("program", `not a GPU number: ${shown(gpu)}`, "Count GPUs from 0, as CUDA does.");
  }
  return gpu;
}
