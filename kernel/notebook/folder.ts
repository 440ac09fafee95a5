import { accessSync, constants, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/**
 * A new folder, which whoever asked takes away again.
 * @throws P2pError `output` when there is no place for one.
 */
export function temporaryFolder(prefix: string): string {
  try {
    return mkdtempSync(join(tmpdir(), prefix));
  } catch (error) {
    throw new P2pError(
      "output",
      `no temporary folder can be made: ${messageOf(error)}`,
      "Name one that can be written: TMPDIR=FOLDER.",
      { cause: error },
    );
  }
}
