import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { messageOf, P2pError } from "./errors.js";
import { makeFolder } from "./files.js";

/** What is done under the lock takes milliseconds; who waits longer than this waits for something broken. */
const PATIENCE_MS = 10_000;
/** A lock that names no living process of this host is given up after this: its holder is elsewhere, or died writing it. */
const ABANDONED_MS = 30_000;
const RETRY_MS = 5;

/**
 * Does something while no other process does it to the same file: a lock file beside it, made exclusively, holds who has it.
 * The lock of a process that has died is removed.
 * @throws P2pError `output` when the lock cannot be made, or is held for ten seconds; and what `action` throws.
 */
export function withFileLock<T>(file: string, action: () => T): T {
  const lock = `${file}.lock`;
  const deadline = Date.now() + PATIENCE_MS;
  while (!take(lock)) {
    if (isAbandoned(lock)) removeAbandoned(lock);
    else if (Date.now() > deadline) {
      throw new P2pError(
        "output",
        `${file} is held by another process (${contentOf(lock) ?? "unknown"})`,
        `End that process, or remove ${lock} if there is none.`,
      );
    } else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS * (1 + Math.random()));
  }
  try {
    return action();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** False when someone else has it. */
function take(lock: string): boolean {
  try {
    makeFolder(dirname(lock));
    const handle = openSync(lock, "wx");
    try {
      writeSync(handle, `${hostname()} ${process.pid}`);
    } catch (error) {
      // The disk is full: a lock that names nobody would be waited for.
      rmSync(lock, { force: true });
      throw error;
    } finally {
      closeSync(handle);
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw new P2pError(
      "output",
      `cannot write ${lock}: ${messageOf(error)}`,
      "Choose a folder that can be written, or free the disk.",
      { cause: error },
    );
  }
}

function isAbandoned(lock: string): boolean {
  const [host, pid] = (contentOf(lock) ?? "").split(" ");
  if (host === hostname() && pid) return !isAlive(Number(pid));
  return ageMs(lock) > ABANDONED_MS;
}

/**
 * Only one process at a time removes locks, and only after looking again: otherwise the second of two would remove the lock
 * that a third has just made.
 */
function removeAbandoned(lock: string): void {
  const guard = `${lock}.remove`;
  if (ageMs(guard) > ABANDONED_MS) rmSync(guard, { force: true });
  if (!take(guard)) return;
  try {
    if (isAbandoned(lock)) rmSync(lock, { force: true });
  } finally {
    rmSync(guard, { force: true });
  }
}

function contentOf(lock: string): string | null {
  try {
    return readFileSync(lock, "utf8");
  } catch {
    return null;
  }
}

/** Zero when there is no such file. */
function ageMs(file: string): number {
  const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return made === undefined ? 0 : Date.now() - made;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
