/** `process.exit` in a cell is an error in the cell, not the end of the kernel. */
import { P2pError } from "../lab/index.js";
import { isCellFile } from "./sources.js";

/** Until the returned function is called, code of cells cannot end the process; the kernel's own code can. */
export function forbidExit(): () => void {
  const original = process.exit;
  process.exit = ((code?: number) => {
    if (!calledFromCell()) return original.call(process, code);
    throw new P2pError(
      "usage",
      `process.exit(${code ?? ""}) in a cell`,
      "Restart or shut down the kernel from the menu.",
    );
  }) as typeof process.exit;
  return () => {
    process.exit = original;
  };
}

function calledFromCell(): boolean {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = Number.POSITIVE_INFINITY;
  const { stack } = new Error();
  Error.stackTraceLimit = limit;
  return (stack ?? "").split("\n").some((line) => isCellFile(line));
}
