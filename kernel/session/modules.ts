/** What cells import: packages from the notebook's folder or the kernel's, Node's modules, and modules that cells define. */
import { statSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { basename, dirname, extname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { types } from "node:util";
import vm from "node:vm";
import { META, type ModuleCode } from "./module-code.js";
import { providedExports } from "./provided.js";
import { type CellSource, joined, mappingOf } from "./sources.js";

const kernelsRequire = createRequire(import.meta.url);

type Exports = Record<string, unknown>;
/** Parts of Node.js's loader that its types leave out. */
interface LoadedModule extends NodeJS.Module {
  _compile(code: string, file: string): void;
}

// Asynchronous modules, and packages that have nothing for `require`: those can only be awaited.
const ONLY_IMPORT = new Set(["ERR_REQUIRE_ASYNC_MODULE", "ERR_PACKAGE_PATH_NOT_EXPORTED", "ERR_REQUIRE_ESM"]);

/** Thrown where a module is required that has to be awaited. */
class AsyncModule extends Error {
  readonly code = "ERR_REQUIRE_ASYNC_MODULE";
  readonly key: string;

  constructor(key: string) {
    super(`${nameOf(key)} awaits something outside of functions: it can be imported, and not required`);
    this.key = key;
  }
}

function nameOf(key: string): string {
  return basename(key);
}

export class CellModules {
  readonly #cwd: string;
  readonly #require: NodeJS.Require;
  readonly #import: (name: string) => Promise<Exports>;
  /** Code by path without its extension, the file that it comes from, and what it exported. */
  readonly #code = new Map<string, ModuleCode>();
  readonly #files = new Map<string, string>();
  readonly #sources: Map<string, CellSource>;
  /** Of files of data that were loaded, what tells that they have changed. */
  readonly #versions = new Map<string, string>();
  readonly #loaded = new Map<string, LoadedModule>();
  readonly #views = new WeakMap<object, Exports>();
  /** What `module` and `require` are in a cell. */
  readonly module: NodeJS.Module;
  readonly require: (name: string) => unknown;

  /** @param sources where the modules' code is told of, by the file that its frames name. */
  constructor(cwd: string, sources: Map<string, CellSource>) {
    this.#cwd = cwd;
    this.#sources = sources;
    const file = join(cwd, "cells.js");
    this.module = moduleOf(file);
    this.#require = createRequire(file);
    this.#import = vm.runInThisContext("(name) => import(name)", {
      filename: file,
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    this.require = this.#requireFrom(cwd, this.#require);
  }

  /** Gives the code of modules; those that changed are loaded anew by the next import. */
  update(modules: ReadonlyMap<string, ModuleCode>): void {
    for (const file of modules.size > 0 ? this.#versions.keys() : []) this.#look(file);
    for (const [path, module] of modules) {
      const key = withoutExtension(path);
      this.#files.set(key, path);
      if (this.#code.get(key)?.js === module.js) continue;
      this.#code.set(key, module);
      const origin = module.maps.map((map) => mappingOf(map, 0)).reduce(joined);
      this.#sources.set(`${key}.js`, { source: module.source, origin, name: relative(this.#cwd, path) });
      // A module may have taken values from the one that changed.
      this.#loaded.clear();
    }
  }

  #requireFrom(folder: string, require: NodeJS.Require): NodeJS.Require {
    return new Proxy(require, {
      // As in a script that is run: `if (require.main === module) …`.
      get: (target, key) => (key === "main" ? this.module : Reflect.get(target, key)),
      apply: (target, self, args: [string]) => {
        this.#forgetChanged(args[0], require);
        try {
          return this.#own(folder, args[0]) ?? shared(args[0], require) ?? Reflect.apply(target, self, args);
        } catch (error) {
          throw withoutCells(error);
        }
      },
    });
  }

  /** A file of data is read again once it is another. */
  #forgetChanged(name: string, require: NodeJS.Require): void {
    if (typeof name !== "string" || !/^\.{0,2}\/.*\.json$/.test(name)) return;
    try {
      this.#look(require.resolve(name));
    } catch {
      // It is not there: to load it says so.
    }
  }

  #look(file: string): void {
    const { mtimeMs = 0, size = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
    const version = `${mtimeMs}:${size}`;
    const before = this.#versions.get(file);
    if (before === version) return;
    this.#versions.set(file, version);
    delete this.#require.cache[file];
    if (before !== undefined) this.#loaded.clear();
  }

  #own(folder: string, name: string): unknown {
    if (typeof name !== "string" || !/^\.{0,2}\//.test(name)) return undefined;
    const path = name.startsWith("/") ? name : join(folder, name);
    const key = [path, withoutExtension(path), join(path, "index")].find((one) => this.#code.has(one));
    const code = key === undefined ? undefined : this.#code.get(key);
    if (key === undefined || code === undefined) return undefined;
    const known = this.#loaded.get(key);
    if (known) return known.exports;
    if (code.isAsync) throw new AsyncModule(key);
    const module = this.#moduleOf(key);
    this.#loaded.set(key, module);
    try {
      module._compile(code.js, module.filename);
    } catch (error) {
      this.#loaded.delete(key);
      throw error;
    }
    return module.exports;
  }

  #moduleOf(key: string): LoadedModule {
    const file = `${key}.js`;
    const module = moduleOf(file);
    module.require = this.#requireFrom(dirname(file), createRequire(file)) as NodeJS.Module["require"];
    const filename = this.#files.get(key) ?? file;
    const meta = {
      url: pathToFileURL(filename).href,
      filename,
      dirname: dirname(filename),
      resolve: (name: string) => pathToFileURL(createRequire(filename).resolve(name)).href,
    };
    return Object.assign(module, { [META]: meta });
  }

  /** The same as {@link CellModules.#own} where a module, or one that it imports, awaits something. */
  async #ownLater(name: string): Promise<unknown> {
    for (;;) {
      try {
        return this.#own(this.#cwd, name);
      } catch (error) {
        if (!(error instanceof AsyncModule)) throw error;
        await this.#await(error.key, []);
      }
    }
  }

  /** Runs a module that awaits something; anew, once a module is there that it imports and that awaits something itself. */
  async #await(key: string, waiting: readonly string[]): Promise<void> {
    if (waiting.includes(key))
      throw new Error(`modules wait for each other: ${[...waiting, key].map(nameOf).join(", ")}`);
    const module = this.#moduleOf(key);
    const { filename, require, exports } = module;
    const run = vm.runInThisContext(
      `(async (exports, require, module, __filename, __dirname) => { ${this.#code.get(key)?.js}\n})`,
      { filename, importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER },
    ) as (...args: unknown[]) => Promise<void>;
    for (;;) {
      try {
        await run(exports, require.bind(module), module, filename, dirname(filename));
        this.#loaded.set(key, module);
        return;
      } catch (error) {
        if (!(error instanceof AsyncModule)) throw error;
        await this.#await(error.key, [...waiting, key]);
      }
    }
  }

  /** The module's exports, `default` among them; null where it has to be awaited. */
  load(name: string): Exports | null {
    try {
      return shared(name, this.#require) ?? this.#view(this.require(name));
    } catch (error) {
      if (ONLY_IMPORT.has(String((error as NodeJS.ErrnoException).code))) return null;
      throw error;
    }
  }

  async later(name: string): Promise<Exports> {
    const own = await this.#ownLater(name);
    if (own !== undefined) return this.#view(own);
    return this.#import(name.startsWith(".") ? pathToFileURL(join(this.#cwd, name)).href : name);
  }

  /** What `import(name)` is in a cell. */
  async import(name: string): Promise<Exports> {
    if (/^(file|data|node):/.test(name)) return this.#import(name);
    return this.load(name) ?? (await this.later(name));
  }

  #view(exports: unknown): Exports {
    if (types.isModuleNamespaceObject(exports)) return exports as unknown as Exports;
    const isObject = (typeof exports === "object" && exports !== null) || typeof exports === "function";
    if (!isObject) return { default: exports };
    if ((exports as { __esModule?: unknown }).__esModule) return exports as Exports;
    const known = this.#views.get(exports as object);
    if (known) return known;
    const view: Exports = {};
    for (const name of Object.keys(exports as object))
      Object.defineProperty(view, name, {
        get: () => (exports as Exports)[name],
        enumerable: true,
        configurable: true,
      });
    Object.defineProperty(view, "default", { value: exports, enumerable: true });
    this.#views.set(exports as object, view);
    return view;
  }
}

/** What the running kernel itself holds of a package, unless the folder that asks has another one of that name. */
function shared(name: string, asking: NodeJS.Require): Exports | undefined {
  const exports = providedExports(name);
  if (!exports || asking.resolve(name) !== kernelsRequire.resolve(name)) return undefined;
  return exports as Exports;
}

/** Who asked for a module that is not there, as Node.js tells it, is for a cell the cell itself. */
function withoutCells(error: unknown): unknown {
  if (error instanceof Error && "requireStack" in error)
    error.message = error.message.replace(/\nRequire stack:\n- \S*cells\.js$/, "");
  return error;
}

function moduleOf(file: string): LoadedModule {
  const module = new Module(file) as LoadedModule;
  module.filename = file;
  module.paths = (Module as unknown as { _nodeModulePaths(folder: string): string[] })._nodeModulePaths(
    dirname(file),
  );
  return module;
}

function withoutExtension(path: string): string {
  return /^\.[cm]?[jt]sx?$/.test(extname(path)) ? path.slice(0, -extname(path).length) : path;
}
