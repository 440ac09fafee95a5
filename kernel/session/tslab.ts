/** tslab's converter and executor, created for one working directory, with what they tell made visible. */

import { createRequire } from "node:module";
import { type Completeness, completenessOf } from "./completeness.js";
import type { Diagnostic } from "./diagnostic.js";
import { forwardRequire, forwardTypeScriptLookups, silenceModuleWarning } from "./packages.js";
import { expandShorthand } from "./shorthand.js";
import { type Position, PreparedTypeScript } from "./typescript.js";

interface ConvertResult {
  output?: string;
  diagnostics: Diagnostic[];
  hasToplevelAwait?: boolean;
}

interface Converter {
  convert(previousDeclarations: string, source: string): ConvertResult;
  addModule(name: string, content: string, meta?: unknown): Diagnostic[];
  close(): void;
}

/** What TypeScript knows of a name. */
export interface QuickInfo {
  readonly kind: string;
  readonly textSpan?: { start: number; length: number };
  readonly displayParts?: readonly { text: string }[];
  readonly documentation?: readonly { text: string }[];
  readonly tags?: readonly { name: string; text?: readonly { text: string }[] }[];
}

export interface Completion {
  readonly start: number;
  readonly end: number;
  readonly candidates: readonly string[];
  readonly original?: { readonly entries: readonly { name: string; kind: string }[] };
}

interface Executor {
  execute(source: string): Promise<boolean>;
  inspect(source: string, position: number): QuickInfo | undefined;
  complete(source: string, position: number): Completion;
  interrupt(): void;
  close(): void;
}

/** What tslab's `display` of `import … from "tslab"` hands over. */
export interface TslabDisplay {
  readonly data: Record<string, unknown>;
  readonly metadata: Record<string, unknown>;
  readonly transient: { readonly display_id?: string };
}

/** What running one cell came to. */
export interface CellOutcome {
  readonly ok: boolean;
  /** Value of the last expression; `undefined` where the cell ends in none. */
  readonly value: unknown;
  /** What was thrown, if anything was. */
  readonly thrown: { readonly error: unknown } | null;
  readonly diagnostics: readonly Diagnostic[];
}

/** A cell that has run, or runs. */
export interface CellSource {
  readonly source: string;
  /** Its execution count; null for one that is not counted. */
  readonly count: number | null;
  /** Where in the source a place of a stack frame is, both counted from 0; null for what stands in no cell. */
  origin(frame: Position): Position | null;
}

/** Cells by the file name that V8 gives their frames. */
export type CellSources = ReadonlyMap<string, CellSource>;

const fileOf = (serial: number) => `p2plab-cell-${serial}.ts`;

/** True for a line of a stack trace that stands in a cell. */
export function isCellFile(frame: string): boolean {
  return /\bp2plab-cell-\d+\.ts:/.test(frame);
}

/** TypeScript's codes for a module, and for the types of a module, that cannot be found. */
const MISSING_MODULE = new Set([2307, 7016]);

// What tslab's executor puts before a cell's first line.
const PREFIX = "(function(exports, require) { ".length;
const ASYNC_PREFIX = "(async function(exports, require) { ".length;

export class Tslab {
  readonly sources = new Map<string, CellSource>();
  readonly #typescript = new PreparedTypeScript();
  readonly #executor: Executor;
  readonly #isComplete: (source: string) => { indent?: string };
  readonly #require = createRequire(import.meta.url);
  readonly #onDisplay: (shown: TslabDisplay, update: boolean) => void;
  #serial = 0;
  #count: number | null = null;
  #diagnostics: readonly Diagnostic[] = [];
  #value: unknown;
  #thrown: { error: unknown } | null = null;

  /**
   * Creates the TypeScript program: one to two seconds. The working directory must not change afterwards.
   * @param onDisplay takes what cells show with tslab's own `display`.
   */
  constructor(cwd: string, onDisplay: (shown: TslabDisplay, update: boolean) => void) {
    this.#onDisplay = onDisplay;
    silenceModuleWarning();
    forwardTypeScriptLookups(this.#typescript.ts.sys, cwd);
    forwardRequire();
    const { createConverter, isCompleteCode } = this.#require("tslab/dist/converter.js");
    const { createExecutor } = this.#require("tslab/dist/executor.js");
    this.#isComplete = isCompleteCode;
    const node: Converter = createConverter();
    const convs = { node: this.#observed(node), browser: null, close: () => node.close() };
    // tslab hands its findings to a console: a value of the last expression to log, what was thrown to error.
    this.#executor = createExecutor(cwd, convs, {
      log: (value: unknown) => {
        this.#value = value;
      },
      error: (first: unknown, ...rest: unknown[]) => {
        if (rest.length === 0) this.#thrown = { error: first };
      },
    });
  }

  /** The converter, noting diagnostics with their codes, and naming each cell's code so that stack frames tell cells apart. */
  #observed(node: Converter): Converter {
    return {
      ...node,
      convert: (previous, source) => {
        const expanded = expandShorthand(this.#typescript.ts, source);
        const result = node.convert(previous, expanded.source);
        this.#typescript.checkRebuild();
        this.#diagnostics = result.diagnostics.map(expanded.mapBack);
        if (this.#diagnostics.some(({ code }) => MISSING_MODULE.has(code))) this.#typescript.forgetMissing();
        if (result.output === undefined) return result;
        const mapping = this.#typescript.takeMapping();
        const prefix = result.hasToplevelAwait ? ASYNC_PREFIX : PREFIX;
        const name = fileOf(++this.#serial);
        this.sources.set(name, {
          source,
          count: this.#count,
          origin: ({ line, character }) => {
            const found = mapping({ line, character: line === 0 ? character - prefix : character });
            // tslab's own first line stands before the cell's.
            return found && found.line > 0
              ? expanded.positionBack({ line: found.line - 1, character: found.character })
              : null;
          },
        });
        return { ...result, output: `${result.output}\n//# sourceURL=${name}` };
      },
      addModule: (name, content, meta) => {
        this.#diagnostics = node.addModule(name, content, meta);
        return [...this.#diagnostics];
      },
    };
  }

  /** @param count the cell's execution count; null when it is not counted. */
  async execute(source: string, count: number | null): Promise<CellOutcome> {
    this.#count = count;
    this.#diagnostics = [];
    this.#value = undefined;
    this.#thrown = null;
    if (/["']tslab["']/.test(source)) this.#connectDisplay();
    let ok = false;
    try {
      ok = await this.#executor.execute(source);
    } catch (error) {
      // tslab itself failed, for example on a syntax that its emitter does not survive.
      this.#thrown = { error };
    }
    return {
      // A module with type errors counts as run for tslab, but nothing can be imported from it.
      ok: ok && this.#diagnostics.length === 0,
      value: this.#value,
      thrown: this.#thrown,
      diagnostics: this.#diagnostics,
    };
  }

  /** Where tslab's own `display` writes to. Loaded when asked for: it brings tslab's server along. */
  #connectDisplay(): void {
    this.#require("tslab/dist/jupyter.js").lastWriteDisplayData = this.#onDisplay;
  }

  complete(source: string, position: number): Completion {
    return this.#executor.complete(source, position);
  }

  inspect(source: string, position: number): QuickInfo | undefined {
    return this.#executor.inspect(source, position);
  }

  isComplete(source: string): Completeness {
    return completenessOf(this.#typescript.ts, source, (text) => this.#isComplete(text).indent);
  }

  /** Rejects the pending top-level await, if there is one. */
  interrupt(): void {
    this.#executor.interrupt();
  }

  close(): void {
    this.#executor.close();
  }
}
