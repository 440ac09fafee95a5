import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf, P2pError } from "./errors.js";

/** A path inside the installed package, such as `notebooks/recordings`. */
export function packagePath(relative: string): string {
  return fileURLToPath(new URL(`../../../${relative}`, import.meta.url));
}

/**
 * Makes a folder, and those above it, unless it is there. Not mkdir's `recursive`: that never returns where a file system
 * refuses a folder with "no such file", as /proc does.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Characters of a name; a file system takes 255 bytes for the whole of it, and a character may have three. */
const NAME_CHARACTERS = 60;

/** Another process has another one, and a name that only just fits leaves no room for more. */
function temporaryBeside(file: string): string {
  return join(dirname(file), `${basename(file).slice(0, NAME_CHARACTERS)}.${process.pid}.tmp`);
}

/**
 * Writes a file whole or not at all: to a temporary name beside it, then renamed. A link to a file goes on leading to it.
 * @throws P2pError `output` when the folder cannot be written.
 */
export function writeFileAtomic(named: string, content: string | Uint8Array): void {
  const file = existsSync(named) ? realpathSync(named) : named;
  const temporary = temporaryBeside(file);
  try {
    expectReplaceable(file);
    makeFolder(dirname(file));
    writeFileSync(temporary, content);
    renameSync(temporary, file);
  } catch (error) {
    removeIfThere(temporary);
    throw cannotWrite(file, error);
  }
}

/**
 * Finds out whether a file can be written, before the work that fills it; leaves nothing behind but its folder.
 * @throws P2pError `output` when it cannot: its folder is none or closed, or a folder has its name.
 */
export function requireWritable(file: string): void {
  const temporary = temporaryBeside(file);
  try {
    expectReplaceable(file);
    makeFolder(dirname(file));
    writeFileSync(temporary, "");
  } catch (error) {
    throw cannotWrite(file, error);
  } finally {
    removeIfThere(temporary);
  }
}

/**
 * Reads a file whole. A device, a pipe or a folder is refused: reading one may never end.
 * @throws Error saying what is wrong with the file; the caller knows what the file was wanted for.
 */
export function readRegularFile(file: string, mostBytes = Number.POSITIVE_INFINITY): Buffer {
  const facts = statSync(file);
  if (!facts.isFile()) throw new Error("it is not a regular file");
  if (facts.size > mostBytes) throw new Error(`it has ${facts.size} bytes, more than ${mostBytes}`);
  return readFileSync(file);
}

/** A folder, a device or a pipe is not replaced by a file: renaming onto /dev/null would take it away from everybody. */
function expectReplaceable(file: string): void {
  const facts = statSync(file, { throwIfNoEntry: false });
  if (facts?.isDirectory()) throw new Error("it is a folder");
  if (facts && !facts.isFile()) throw new Error("it is not a regular file");
}

function removeIfThere(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Nothing was written: what stands in the way of the file stands in the way of its removal too.
  }
}

function cannotWrite(file: string, error: unknown): P2pError {
  return new P2pError(
    "output",
    `cannot write ${file}: ${messageOf(error)}`,
    "Choose a folder that can be written, or free the disk.",
    { cause: error },
  );
}
