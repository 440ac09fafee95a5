/** What the comments before a cell's first line say about it, as tslab has it: `/** @module name *\/`, `@jsx`, `@browser`. */
import { tsc } from "./typescript.js";

export interface CellMetadata {
  /** Name under which other cells import this one. */
  readonly module: string | null;
  readonly isJsx: boolean;
  /** Meant for a browser: it is not run. */
  readonly isBrowser: boolean;
}

/** Anything else is a tag of documentation, such as `@module path/of/file`. */
const MODULE_NAME = /^\w[\w-]*$/;

export function metadataOf(source: string): CellMetadata {
  // Most cells begin with no such comment: they need no scan.
  const tags = /^\s*\//.test(source)
    ? (tsc.getLeadingCommentRanges(source, 0) ?? [])
        .map(({ pos, end }) => source.slice(pos, end))
        .filter((comment) => comment.startsWith("/**"))
        .flatMap((comment) => [...comment.matchAll(/@(module|jsx|browser|node)\b[ \t]*([^\s*@]*)/g)])
    : [];
  const mode = tags.findLast(([, tag]) => tag === "browser" || tag === "node")?.[1];
  const module = tags.find(([, tag, name]) => tag === "module" && MODULE_NAME.test(name as string))?.[2];
  return {
    module: module ?? null,
    isJsx: tags.some(([, tag]) => tag === "jsx"),
    isBrowser: mode === "browser",
  };
}
