/**
 * TypeScript, and the files that it has parsed: out of the start-up snapshot that the process began from, if it did; or else
 * loaded, and nothing parsed yet.
 */
import type typescript from "typescript";
import { loadTypescript } from "./compiled-form.js";

/** What a snapshot of the process's memory holds ready. */
export interface Held {
  readonly tsc: typeof typescript;
  /** The library's and the kernel's packages' files, parsed; a file that has changed since is parsed anew. */
  readonly documents: typescript.DocumentRegistry;
}

/** Where a snapshot puts what it holds. */
export const HELD: symbol = Symbol.for("p2plab.held");

const held = (globalThis as { [HELD]?: Held })[HELD];

export const tsc: typeof typescript = held?.tsc ?? loadTypescript();

/** What cells may be written in beside types, and are emitted as. */
export const LANGUAGE_LEVEL: typescript.ScriptTarget = tsc.ScriptTarget.ES2024;

/** Parsed files, shared by all programs of this process. */
export const documents: typescript.DocumentRegistry = held?.documents ?? tsc.createDocumentRegistry(true);
