import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf, P2pError } from "../lab/index.js";

/**
 * Makes a folder, and those above it, unless it is there.
 * @throws P2pError `output` when it cannot be made or written into.
 */
export function makeWritableFolder(folder: string): void {
  try {
    make(folder);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new P2pError(
      "output",
      `cannot write into ${folder}: ${messageOf(error)}`,
      "Choose a folder that can be written.",
      { cause: error },
    );
  }
}

/** Not mkdir's `recursive`: it never returns where a file system refuses a folder with "no such file", as /proc does. */
function make(folder: string): void {
  if (existsSync(folder)) return;
  make(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
