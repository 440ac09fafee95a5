import { createHash } from "node:crypto";
import type { Operation, ProgramData } from "./operations.js";

/** Sixteen hexadecimal digits of what the program does, whatever its buffers, streams and events are called. */
export function hashOf(data: ProgramData): string {
  const text = JSON.stringify(canonical(unnamed(data)));
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** Fields of an operation that hold a name, by what they name. */
const NAMES = {
  stream: "stream",
  other: "stream",
  src: "buffer",
  dst: "buffer",
  buffer: "buffer",
  window: "buffer",
  data: "buffer",
  flag: "buffer",
  otherFlag: "buffer",
  event: "event",
} as const;

/** The same program with buffers, streams and events called by their number. */
function unnamed(data: ProgramData): ProgramData {
  const numbers = (prefix: string, names: readonly string[]) => {
    const list = [...new Set(names)];
    return (name: string) => `${prefix}${list.indexOf(name)}`;
  };
  const numbered = {
    buffer: numbers(
      "b",
      data.buffers.map((item) => item.name),
    ),
    stream: numbers(
      "s",
      data.streams.map((item) => item.name),
    ),
    event: numbers(
      "e",
      data.operations.flatMap((o) => (o.op === "record" ? [o.event] : [])),
    ),
  };
  return {
    ...data,
    buffers: data.buffers.map((item) => ({ ...item, name: numbered.buffer(item.name) })),
    streams: data.streams.map((item) => ({ ...item, name: numbered.stream(item.name) })),
    operations: data.operations.map((operation): Operation => {
      const fields = Object.entries(operation).map(([field, value]) => [
        field,
        field in NAMES ? numbered[NAMES[field as keyof typeof NAMES]](value as string) : value,
      ]);
      return Object.fromEntries(fields) as Operation;
    }),
  };
}

/** The same value with object keys in order, so that its JSON is the same text however it was built. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, canonical(item)]),
  );
}
