import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf, P2pError } from "./errors.js";

/** A path inside the installed package, such as `notebooks/recordings`. */
export function packagePath(relative: string): string {
  return fileURLToPath(new URL(`../../../${relative}`, import.meta.url));
}

/**
 * Writes a file whole or not at all: to a temporary name beside it, then renamed.
 * @throws P2pError `output` when the folder cannot be written.
 */
export function writeFileAtomic(file: string, content: string | Uint8Array): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(temporary, content);
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new P2pError(
      "output",
      `cannot write ${file}: ${messageOf(error)}`,
      "Choose a folder that can be written, or free the disk.",
      { cause: error },
    );
  }
}
