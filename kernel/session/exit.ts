/** What would end the process is an error in the cell, not the end of the kernel. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { P2pError } from "../lab/index.js";
import { isCellCode } from "./cell.js";
import { isCellFile } from "./sources.js";
import { rawStackOf } from "./stacks.js";

type Call = (...args: never[]) => unknown;

/** Until the returned function is called, code of cells can neither end the process nor close its streams; the kernel's own code can. */
export function forbidExit(): () => void {
  const own = process as unknown as Record<"exit" | "reallyExit" | "abort", Call>;
  const undo = [
    guarded(own, "exit", isCellCode),
    // Node.js itself calls the first of these at every end.
    guarded(own, "reallyExit", calledFromCell),
    guarded(own, "abort", calledFromCell),
    ...(["close", "closeSync"] as const).map((name) =>
      guarded(
        fs as unknown as Record<typeof name, Call>,
        name,
        (descriptor) => isStream(descriptor) && isCellCode(),
      ),
    ),
  ];
  syncBuiltinESMExports();
  return () => {
    for (const one of undo) one();
    syncBuiltinESMExports();
  };
}

function guarded<Name extends string>(
  owner: Record<Name, Call>,
  name: Name,
  forbidden: (argument: unknown) => boolean,
): () => void {
  const original = owner[name];
  const guard = function (this: unknown, ...args: never[]): unknown {
    if (!forbidden(args[0])) return original.apply(this, args);
    const where = owner === (process as unknown) ? "process" : "fs";
    throw new P2pError(
      "usage",
      `${where}.${name}(${args[0] ?? ""}) in a cell`,
      where === "fs"
        ? "Descriptors 0 to 2 are the kernel's own: leave them open."
        : "Restart or shut down the kernel from the menu.",
    );
  };
  owner[name] = guard as Call;
  return () => {
    owner[name] = original;
  };
}

function isStream(descriptor: unknown): boolean {
  return descriptor === 0 || descriptor === 1 || descriptor === 2;
}

function calledFromCell(): boolean {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = Number.POSITIVE_INFINITY;
  const error = new Error();
  const stack = rawStackOf(error, error.stack ?? "");
  Error.stackTraceLimit = limit;
  return stack.split("\n").some((line) => isCellFile(line));
}
