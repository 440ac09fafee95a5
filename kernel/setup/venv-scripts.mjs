// The commands of a virtual environment hold its path: in a clone that was moved or copied they start another Python, or none.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What pip writes before a command's Python code; the second form where the path is long or holds spaces. */
const INTERPRETER =
  /^#!(?:(\/[^\n]*)\/bin\/python[\d.]*|\/bin\/sh\n'''exec' "?([^"\n]+)\/bin\/python[^\n]*\n' ''')\n/;

/**
 * Makes the commands of a virtual environment start the Python beside them.
 * @returns how many began with another environment's.
 */
export function ownScripts(prefix) {
  const bin = join(prefix, "bin");
  let others = 0;
  for (const { name } of readdirSync(bin, { withFileTypes: true }).filter((entry) => entry.isFile())) {
    const file = join(bin, name);
    const text = readFileSync(file, "latin1"); // byte for byte, whatever it is
    const found = INTERPRETER.exec(text);
    const at = Buffer.from(found?.[1] ?? found?.[2] ?? "", "latin1").toString();
    if (!found || at === prefix) continue;
    const begin = Buffer.from(`#!/bin/sh\n'''exec' "${join(bin, "python")}" "$0" "$@"\n' '''\n`).toString(
      "latin1",
    );
    writeFileSync(file, begin + text.slice(found[0].length), "latin1");
    others++;
  }
  return others;
}
