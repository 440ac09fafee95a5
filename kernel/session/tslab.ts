/** tslab's converter and executor, created for one working directory, with what they tell made visible. */
import { createRequire } from "node:module";
import { forwardRequire, forwardTypeScriptLookups } from "./packages.js";
import { expandShorthand, type TypeScriptParser } from "./shorthand.js";

/** A finding of TypeScript in a cell. Lines and characters count from 0. */
export interface Diagnostic {
  readonly start: { readonly line: number; readonly character: number };
  readonly end: { readonly line: number; readonly character: number };
  readonly messageText: string;
  readonly code: number;
  readonly fileName?: string;
}

interface ConvertResult {
  output?: string;
  diagnostics: Diagnostic[];
}

interface Converter {
  convert(previousDeclarations: string, source: string): ConvertResult;
  close(): void;
}

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

/** What running one cell came to. */
export interface CellOutcome {
  readonly ok: boolean;
  /** Value of the last expression; `undefined` where the cell ends in none. */
  readonly value: unknown;
  /** What was thrown, if anything was. */
  readonly thrown: { readonly error: unknown } | null;
  readonly diagnostics: readonly Diagnostic[];
}

/** The JavaScript that a cell became, by the file name that V8 gives its frames. */
export type CellSources = ReadonlyMap<
  string,
  { readonly source: string; readonly output: string; readonly cell: number }
>;

export class Tslab {
  readonly sources = new Map<string, { source: string; output: string; cell: number }>();
  readonly #executor: Executor;
  readonly #isComplete: (source: string) => { completed: boolean; indent?: string };
  #cell = 0;
  #diagnostics: readonly Diagnostic[] = [];
  #value: unknown;
  #thrown: { error: unknown } | null = null;

  /** Creates the TypeScript program: one to two seconds. The working directory must not change afterwards. */
  constructor(cwd: string) {
    const require = createRequire(import.meta.url);
    const ts = createRequire(require.resolve("tslab/package.json"))("@tslab/typescript-for-tslab");
    forwardTypeScriptLookups(ts.sys, cwd);
    forwardRequire();
    const { createConverter, isCompleteCode } = require("tslab/dist/converter.js");
    const { createExecutor } = require("tslab/dist/executor.js");
    this.#isComplete = isCompleteCode;
    const node: Converter = createConverter();
    const convs = { node: this.#observed(node, ts), browser: null, close: () => node.close() };
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
  #observed(node: Converter, ts: TypeScriptParser): Converter {
    return {
      ...node,
      convert: (previous, source) => {
        const expanded = expandShorthand(ts, source);
        const result = node.convert(previous, expanded.source);
        this.#diagnostics = result.diagnostics.map(expanded.mapBack);
        if (result.output) {
          const name = `p2plab-cell-${this.#cell}.ts`;
          this.sources.set(name, { source, output: result.output, cell: this.#cell });
          result.output += `\n//# sourceURL=${name}`;
        }
        return result;
      },
    };
  }

  async execute(source: string, cell: number): Promise<CellOutcome> {
    this.#cell = cell;
    this.#diagnostics = [];
    this.#value = undefined;
    this.#thrown = null;
    let ok = false;
    try {
      ok = await this.#executor.execute(source);
    } catch (error) {
      // tslab itself failed, for example on a syntax that its emitter does not survive.
      this.#thrown = { error };
    }
    return { ok, value: this.#value, thrown: this.#thrown, diagnostics: ok ? [] : this.#diagnostics };
  }

  complete(source: string, position: number): Completion {
    return this.#executor.complete(source, position);
  }

  inspect(source: string, position: number): QuickInfo | undefined {
    return this.#executor.inspect(source, position);
  }

  isComplete(source: string): { completed: boolean; indent?: string } {
    return this.#isComplete(source);
  }

  /** Rejects the pending top-level await, if there is one. */
  interrupt(): void {
    this.#executor.interrupt();
  }

  close(): void {
    this.#executor.close();
  }
}
