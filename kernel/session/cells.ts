/** Cells of TypeScript: converted by the compiler, run in one scope, and what they declare kept for the next. */
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";
import type ts from "typescript";
import { type Candidates, Compiler } from "./compiler.js";
import { converted } from "./conversion.js";
import { type Declaration, declarationsOf, merged, textOf } from "./declarations.js";
import { type Diagnostic, diagnosticOf } from "./diagnostic.js";
import { type CellMetadata, metadataOf } from "./metadata.js";
import { CellModules } from "./modules.js";
import { forwardRequire, silenceModuleWarning } from "./packages.js";
import { importsText, type PRELOAD } from "./preload.js";
import { CELL, LOAD, SCOPE, STOP } from "./rewrite.js";
import { type Binding, Scope } from "./scope.js";
import { type CellSource, cellName, fileOf, mappingOf } from "./sources.js";
import { interruption, stopHere, stoppingNumber } from "./stopping.js";

/** What running one cell came to. */
export interface CellOutcome {
  readonly ok: boolean;
  /** Value of the last expression; `undefined` where the cell ends in none. */
  readonly value: unknown;
  /** What was thrown, if anything was. */
  readonly thrown: { readonly error: unknown } | null;
  readonly diagnostics: readonly Diagnostic[];
}

/** What the code of a cell reaches under its parameters' names. */
interface CellObject {
  value: unknown;
  readonly load: CellModules["load"];
  readonly later: CellModules["later"];
  readonly import: CellModules["import"];
  readonly meta: object;
  readonly stop: () => void;
  readonly declare: (bindings: Readonly<Record<string, Binding>>) => void;
}

const PARAMETERS = [SCOPE, CELL, STOP, LOAD, "exports", "module", "require", "__filename", "__dirname"].join(
  ", ",
);
/** A global of the process for good, whatever cells do to what is global: what a cell's parameters are, while it begins. */
const HANDOVER = "__p2plab_cell__";
const handover: { arguments: readonly unknown[] } = { arguments: [] };
// Cells may replace the globals, and freeze the process: Node.js then cannot take the listeners of SIGINT away and bring them back.
const { load } = Atomics;
const { isExtensible } = Object;
const self = process;

export class Cells {
  readonly sources = new Map<string, CellSource>();
  readonly scope: Scope = new Scope();
  readonly #cwd: string;
  readonly #compiler: Compiler;
  /** For cells that are meant for a browser: made when the first of them is met. */
  #browser: Compiler | null = null;
  readonly #modules: CellModules;
  /** What `import.meta` is in a cell. */
  readonly #meta: {
    readonly url: string;
    readonly filename: string;
    readonly dirname: string;
    resolve(name: string): string;
  };
  #declared: readonly Declaration[] = [];
  /** The declarations of what cells have from the beginning. */
  #given: ReadonlySet<string> = new Set();
  #serial = 0;
  #interrupt: ((error: Error) => void) | null = null;
  #begun = 0;

  /** How many cells' own code has begun to run. */
  get begun(): number {
    return this.#begun;
  }

  /** Creates the TypeScript program: half a second to two. The working directory must not change afterwards. */
  constructor(cwd: string) {
    silenceModuleWarning();
    forwardRequire();
    this.#cwd = cwd;
    this.#compiler = new Compiler(cwd);
    this.#modules = new CellModules(cwd, this.sources);
    const filename = join(cwd, "cells.js");
    this.#meta = {
      url: pathToFileURL(filename).href,
      filename,
      dirname: dirname(filename),
      resolve: (name: string) => {
        const found = (this.#modules.require as NodeJS.Require).resolve(name);
        return isBuiltin(found) ? `node:${found.replace(/^node:/, "")}` : pathToFileURL(found).href;
      },
    };
    Object.defineProperty(globalThis, HANDOVER, { value: handover });
  }

  /** Makes names known as if a cell had imported them, without asking TypeScript: they are the kernel's own. */
  preload(imports: typeof PRELOAD): void {
    const bindings: Record<string, Binding> = {};
    for (const [module, names] of Object.entries(imports)) {
      const exports = this.#modules.load(module);
      for (const [name, exported] of Object.entries(names)) {
        const value = exported === "*" ? exports : exports?.[exported];
        bindings[name] = [() => value, () => undefined];
      }
    }
    this.scope.declare(bindings);
    this.#declared = declarationsOf(
      importsText(imports),
      () => true,
      () => true,
    );
    this.#given = new Set(this.#declared.map(({ text }) => text));
  }

  /** What cells have declared and later cells see, in the order of declaration; names of the beginning are left out. */
  variables(): { name: string; read(): unknown }[] {
    const own = this.#declared.filter(({ value, text }) => value && !this.#given.has(text));
    const names = new Set(own.map(({ name }) => name));
    return [...names].map((name) => ({ name, read: () => this.scope.names[name] }));
  }

  /** @param count the cell's execution count; null when it is not counted. */
  async execute(source: string, count: number | null): Promise<CellOutcome> {
    const metadata = metadataOf(source);
    if (metadata.module !== null) return this.#define(source, metadata, metadata.module);
    if (metadata.isBrowser) return outcome({});
    const { diagnostics, emitted, modules, values, declarations } = converted(
      this.#compiler,
      this.#declared,
      source,
    );
    if (!emitted) return outcome({ diagnostics });
    this.#modules.update(modules);
    const ran = await this.#run(source, count, emitted, values);
    this.#declared = merged(this.#declared, declarations, ran.isAlive);
    return outcome({ value: ran.value, thrown: ran.thrown });
  }

  #define(source: string, metadata: CellMetadata, name: string): CellOutcome {
    const compiler = this.#compilerOf(metadata);
    const found = compiler.addModule(name, source, metadata.isJsx);
    return outcome({ diagnostics: found.flatMap((one) => diagnosticOf(one, compiler.cellFile, 0)) });
  }

  #compilerOf({ isBrowser }: CellMetadata): Compiler {
    if (!isBrowser) return this.#compiler;
    this.#browser ??= new Compiler(this.#cwd, "browser");
    return this.#browser;
  }

  async #run(
    source: string,
    count: number | null,
    { js, map }: { js: string; map: string },
    values: readonly string[],
  ): Promise<{ value: unknown; thrown: { error: unknown } | null; isAlive(name: string): boolean }> {
    const accessors = values.map((name) => `${name}: [() => ${name}, ($value) => { ${name} = $value }]`);
    // In a block of its own, a cell may declare what the parameters are named. Modules are in strict mode, and so are cells.
    const head = `(async function (${PARAMETERS}) { "use strict"; { ${CELL}.declare({ ${accessors.join(", ")} }); `;
    const name = fileOf(++this.#serial);
    this.sources.set(name, { source, name: cellName(count), origin: mappingOf(map, head.length) });
    let undo: (name: string) => void = () => undefined;
    const cell: CellObject = {
      value: undefined,
      load: (module) => this.#modules.load(module),
      later: (module) => this.#modules.later(module),
      import: (module) => this.#modules.import(module),
      meta: this.#meta,
      stop: stopHere,
      declare: (bindings) => {
        undo = this.scope.declare(bindings);
        this.#begun++;
      },
    };
    const { filename, dirname } = this.#meta;
    const { names, exports } = this.scope;
    const { module, require } = this.#modules;
    handover.arguments = [names, cell, stoppingNumber(), load, exports, module, require, filename, dirname];
    let thrown: { error: unknown } | null = null;
    try {
      const running = vm.runInThisContext(`${head}${js}\n}})(...${HANDOVER}.arguments)`, {
        filename: name,
        breakOnSigint: isExtensible(self),
      }) as Promise<void>;
      await this.#interruptible(running);
    } catch (error) {
      thrown = { error };
    } finally {
      this.#interrupt = null;
    }
    if (!thrown) return { value: cell.value, thrown, isAlive: () => true };
    const dead = new Set(values.filter((one) => !this.scope.isAlive(one)));
    for (const one of dead) undo(one);
    return { value: undefined, thrown, isAlive: (one) => !dead.has(one) };
  }

  /** Waits for a cell, which may fail after it was interrupted, when nobody waits any more; without `then`, which a cell may replace. */
  #interruptible(running: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#interrupt = reject;
      const follow = async () => {
        try {
          resolve(await running);
        } catch (error) {
          reject(error);
        }
      };
      void follow();
    });
  }

  /** Stops waiting for the cell that runs, if one does. */
  interrupt(): void {
    this.#interrupt?.(interruption());
  }

  /** Reads all of Node.js's types, unless a cell has needed them already. */
  completeTypes(): void {
    this.#compiler.completeTypes(textOf(this.#declared));
  }

  complete(source: string, position: number): Candidates {
    return this.#compilerOf(metadataOf(source)).complete(textOf(this.#declared), source, position);
  }

  inspect(source: string, position: number): ts.QuickInfo | undefined {
    return this.#compilerOf(metadataOf(source)).inspect(textOf(this.#declared), source, position);
  }

  close(): void {
    this.#compiler.close();
    this.#browser?.close();
  }
}

function outcome(parts: Partial<CellOutcome>): CellOutcome {
  const { value, thrown = null, diagnostics = [] } = parts;
  return { ok: !thrown && diagnostics.length === 0, value, thrown, diagnostics };
}
