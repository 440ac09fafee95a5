/**
 * The code of the command and of the kernel in one file, and what V8 has compiled of it. Set-up makes both, so that a start need
 * not read five hundred modules: `p2plab version` took 0.16 s instead of 0.41 s on a quiet machine. Whatever does not fit is
 * left, for the modules themselves.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import vm from "node:vm";

// The library, which has the same, is not loaded for it.
const packagePath = (relative: string) => fileURLToPath(new URL(`../../../${relative}`, import.meta.url));

/** What of the package holds the code, and what V8 made of it. */
export const PACKED_PROGRAM = { code: ".p2plab/program.cjs", compiled: ".p2plab/program.compiled" } as const;

export type PackedPart = "command" | "session" | "cells";

/** First line of the code: a package that was moved since is not where its code believes. */
export function packedHeader(): string {
  // As an address it is Latin, whatever the folder's name.
  return `// ${pathToFileURL(packagePath(""))}\n`;
}

/** The code as a function, compiled as far as `compiled` goes. */
export function packedScript(code: string, compiled?: Buffer): vm.Script {
  return new vm.Script(`(function (exports, require, module) {${code}\n})`, {
    filename: packagePath(PACKED_PROGRAM.code),
    ...(compiled && { cachedData: compiled }),
  });
}

/** Runs the code, which is done once in a process, and gives what it exports: ways to load its parts. */
export function runPacked(script: vm.Script): { load: Record<PackedPart, () => Promise<unknown>> } {
  const module = { exports: {} as ReturnType<typeof runPacked> };
  script.runInThisContext()(module.exports, createRequire(packagePath(PACKED_PROGRAM.code)), module);
  return module.exports;
}

/**
 * A part of the program out of the one file; null where there is none that fits, or where `P2PLAB_MODULES=1` asks for the modules.
 */
export function packedPart<Part>(name: PackedPart): Promise<Part> | null {
  if (process.env.P2PLAB_MODULES === "1") return null;
  let script: vm.Script;
  try {
    const file = packagePath(PACKED_PROGRAM.code);
    if (!isNewest(statSync(file).mtimeMs)) return null;
    // Its characters are Latin, so that V8 holds a byte of each.
    const code = readFileSync(file, "latin1");
    if (!code.startsWith(packedHeader())) return null;
    script = packedScript(code, readFileSync(packagePath(PACKED_PROGRAM.compiled)));
  } catch {
    return null;
  }
  return runPacked(script).load[name]() as Promise<Part>;
}

function isNewest(made: number): boolean {
  const packages = packagePath("node_modules/.package-lock.json");
  if (changed(packages) > made) return false;
  return allOlder(packagePath("dist/kernel"), made);
}

function allOlder(folder: string, made: number): boolean {
  return readdirSync(folder, { withFileTypes: true }).every((entry) => {
    if (entry.isDirectory()) return allOlder(join(folder, entry.name), made);
    return !entry.name.endsWith(".js") || changed(join(folder, entry.name)) <= made;
  });
}

/** 0 for no file. */
function changed(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
