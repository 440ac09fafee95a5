/** What the functions of a notebook are given, read without trust: anything else is an error that says what to give. */
import { messageOf, P2pError, shown } from "../lab/index.js";

/** @throws P2pError `usage` for anything but a text. */
export function textOf(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw new P2pError("usage", `${what} is ${shown(value)}, not a text`, "Give a text: String(value).");
}

/** @throws P2pError `usage` for anything but an object with names. */
export function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new P2pError("usage", `${what} is ${shown(value)}, not an object`, "Give an object, such as {}.");
}

/** Bytes as front ends take them. */
export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Bytes as base64. @throws P2pError `usage` for anything but bytes. */
export function bytesOf(value: unknown, what: string): string {
  if (value instanceof Uint8Array) return base64(value);
  throw new P2pError(
    "usage",
    `${what} is ${shown(value)}, not bytes`,
    "Give a Uint8Array, such as fs.readFileSync(file), or new Uint8Array(buffer).",
  );
}

/** @throws P2pError `usage` for anything but a number that ends. */
export function stepsOf(value: unknown): number {
  if (Number.isFinite(value)) return value as number;
  throw new P2pError("usage", `a progress bar moves by ${shown(value)}`, "Give a number of steps.");
}

/** The error of a value that cannot be sent: `undefined`, a function, a BigInt, an object that holds itself. */
export function noJson(what: string, cause: unknown): P2pError {
  if (cause instanceof P2pError) return cause;
  const why = typeof cause === "string" ? cause : messageOf(cause).split("\n")[0];
  return new P2pError(
    "usage",
    `${what} cannot be sent as JSON: ${why}`,
    "Give what JSON can hold: objects, arrays, texts, numbers, true, false and null.",
    typeof cause === "string" ? {} : { cause },
  );
}
