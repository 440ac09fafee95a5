/** Checks of what a notebook hands to the ad hoc face, so that a wrong value is named before anything is submitted. */
import { P2pError, shown } from "../errors.js";
import { expectNames } from "../measure/expect.js";

/** @throws P2pError `usage` unless the value is of the class. @param how to get one. */
export function expectInstance<T>(
  value: unknown,
  type: abstract new (...args: never[]) => T,
  who: string,
  what: string,
  how: string,
): asserts value is T {
  if (value instanceof type) return;
  throw new P2pError("usage", `${who}: ${what} is ${shown(value)}`, how);
}

/** @throws P2pError `usage` unless options are an object that holds only these names. */
export function expectOptions(options: unknown, names: readonly string[], who: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new P2pError(
      "usage",
      `${who}: options are ${shown(options)}`,
      `Give an object with some of ${names.join(", ")}.`,
    );
  }
  expectNames(options, names, who);
}

/** @throws P2pError `usage` unless the value is true, false or left out. */
export function expectFlag(value: unknown, who: string, option: string): void {
  if (value === undefined || typeof value === "boolean") return;
  throw new P2pError("usage", `${who}: ${option} is ${shown(value)}`, "Give true or false.");
}

/** @throws P2pError `usage` unless the value is a number. Ranges are checked where the memory or the GPU is known. */
export function expectNumber(value: unknown, who: string, what: string): asserts value is number {
  if (typeof value === "number" && Number.isFinite(value)) return;
  throw new P2pError("usage", `${who}: ${what} is ${shown(value)}`, "Give a number.");
}

/** @throws P2pError `usage` unless the value is the index of a GPU; whether there is such a GPU, the driver knows. */
export function expectGpu(value: unknown, who: string): asserts value is number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return;
  throw new P2pError("usage", `${who}: the GPU is ${shown(value)}`, "Count GPUs from 0: cuda.devices().");
}

/** @throws P2pError `usage` unless the value is a text. */
export function expectText(value: unknown, who: string, what: string): asserts value is string {
  if (typeof value === "string") return;
  throw new P2pError("usage", `${who}: ${what} is ${shown(value)}`, "Give a text.");
}

/** @throws P2pError `usage` unless the value is an AbortSignal or left out. */
export function expectSignal(value: unknown, who: string): void {
  if (value === undefined || value instanceof AbortSignal) return;
  throw new P2pError(
    "usage",
    `${who}: signal is ${shown(value)}`,
    "Give the signal of an AbortController, or leave it out.",
  );
}
