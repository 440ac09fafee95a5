import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { constants as system, tmpdir } from "node:os";
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

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Works in a new folder, which is taken away at the end, also when a signal ends this process meanwhile.
 * @throws P2pError `output` when there is no place for one.
 */
export async function inTemporaryFolder<T>(prefix: string, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = temporaryFolder(prefix);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const stop = (signal: NodeJS.Signals) => process.exit(128 + system.signals[signal]);
  process.once("exit", remove);
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await use(folder);
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
    process.off("exit", remove);
    remove();
  }
}
