import { accessSync, constants } from "node:fs";
import { makeFolder, messageOf, P2pError } from "../lab/index.js";

/**
 * Makes a folder, and those above it, unless it is there.
 * @throws P2pError `output` when it cannot be made or written into.
 */
export function makeWritableFolder(folder: string): void {
  try {
    makeFolder(folder);
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
