/**
 * TypeScript's library in one file. In its own 62 files most interfaces are declared piece by piece, and every program merges the
 * pieces anew: a tenth of an ordinary cell's time. In one file they are merged when it is parsed.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tsc } from "./typescript.js";

/** What cells are written in. */
const PARTS = ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"];
const REFERENCE = /^\/\/\/\s*<reference\s+lib="([^"]+)"\s*\/>.*$/gm;

const folder = dirname(tsc.getDefaultLibFilePath({}));

/** The one file's name among a program's options. */
export const LIBRARY = "lib.p2plab.d.ts";
/** Its path: beside the files that it is made of, where it does not exist. */
export const libraryFile: string = join(folder, LIBRARY);

/** The paths of the files that the one is made of; null until somebody asks. */
let paths: ReadonlySet<string> | null = null;

/** The texts of the files that the one is made of, by path, in TypeScript's order. */
function parts(): Map<string, string> {
  const found = new Map<string, string>();
  const add = (name: string): void => {
    const path = join(folder, name);
    if (found.has(path)) return;
    const text = readFileSync(path, "utf8");
    found.set(path, text.replace(REFERENCE, ""));
    for (const [, referred] of text.matchAll(REFERENCE)) add(fileOfLib(referred as string));
  };
  for (const name of PARTS) add(name);
  return new Map([...found].sort(([a], [b]) => placeOf(a) - placeOf(b)));
}

/** TypeScript's own table, which its types leave out: names of the libraries and their files, in the order of their declarations. */
const table = (tsc as unknown as { libMap?: ReadonlyMap<string, string> }).libMap;
const files = [...(table?.values() ?? [])];

function fileOfLib(name: string): string {
  return table?.get(name) ?? `lib.${name}.d.ts`;
}

function placeOf(path: string): number {
  return files.indexOf(path.slice(folder.length + 1));
}

/** The text of the one file. */
export function libraryText(): string {
  return [...parts().values()].join("\n");
}

/** Whether a path is that of a file which is part of the one: what refers to it finds nothing more there. */
export function isLibraryPart(path: string): boolean {
  // Nothing is read before it has to be.
  if (path === libraryFile || !path.startsWith(`${folder}/lib.`)) return false;
  paths ??= new Set(parts().keys());
  return paths.has(path);
}
