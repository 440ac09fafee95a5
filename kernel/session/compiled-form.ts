/**
 * Loads TypeScript by its compiled form where set-up or an earlier session has left it: that takes a third of the time. An `import`
 * would read all nine megabytes once more, in search of names to export.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import vm from "node:vm";
import type typescript from "typescript";
import { packagePath } from "../lab/index.js";

const require = createRequire(import.meta.url);
const file = require.resolve("typescript");
const { version } = require("typescript/package.json") as { version: string };
/** The same code without what only people read, a byte a character, where set-up has made it. */
const shortFile = packagePath(`.p2plab/typescript-${version}.js`);
const compiledFile = packagePath(`.p2plab/typescript-${version}-${process.version}-${process.arch}.bin`);

/** Null when there is nothing to leave for later sessions. */
let toKeep: vm.Script | null = null;

export function loadTypescript(): typeof typescript {
  const cachedData = compiledForm();
  const code = existsSync(shortFile) ? readFileSync(shortFile, "latin1") : readFileSync(file, "utf8");
  const script = new vm.Script(`(function (exports, require, module, __filename, __dirname) { ${code}\n})`, {
    filename: file,
    ...(cachedData && { cachedData }),
  });
  // V8 refuses what another version, or other flags, have made.
  if (!cachedData || script.cachedDataRejected) toKeep = script;
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file));
  return module.exports as typeof typescript;
}

function compiledForm(): Buffer | null {
  try {
    return readFileSync(compiledFile);
  } catch {
    return null;
  }
}

/** Leaves the compiled form for later sessions; worth it once the functions that cells need have run. */
export function keepCompiledForm(): void {
  if (!toKeep) return;
  const data = toKeep.createCachedData();
  toKeep = null;
  const own = `${compiledFile}.${process.pid}`;
  try {
    mkdirSync(dirname(compiledFile), { recursive: true });
    writeFileSync(own, data);
    renameSync(own, compiledFile);
  } catch {
    // The package's folder cannot be written to: the next session compiles anew.
  }
}
