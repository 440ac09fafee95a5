/**
 * tslab's TypeScript with a few things added: source maps of the JavaScript that cells become, for the lines of errors, and the
 * library of ES2023 as far as TypeScript 5.0 knows it. tslab offers no place for them, so the functions that it calls are replaced before it is loaded.
 */
import { createRequire, SourceMap, type SourceMapPayload } from "node:module";

type Options = Record<string, unknown>;

/** The parts of TypeScript's API that are used here; tslab's copy of it comes without types for us. */
export interface TypeScript extends TypeScriptParser {
  sys: TypeScriptSystem;
  createWatchCompilerHost(
    roots: string[],
    options: Options,
    system: TypeScriptSystem,
    ...rest: unknown[]
  ): unknown;
  transpileModule(
    input: string,
    options: { compilerOptions: Options },
  ): { outputText: string; sourceMapText?: string };
}

/** The parts of TypeScript's `sys` that look files up. */
export interface TypeScriptSystem {
  fileExists(path: string): boolean;
  directoryExists(path: string): boolean;
  readFile(path: string, encoding?: string): string | undefined;
  realpath?(path: string): string;
  watchFile?(path: string, ...rest: unknown[]): { close(): void };
  watchDirectory?(path: string, callback: (changed: string) => void): { close(): void };
  getCurrentDirectory(): string;
  setTimeout?(callback: () => void, ms: number): unknown;
  clearTimeout?(timer: unknown): void;
}

export interface TypeScriptParser {
  createSourceFile(name: string, text: string, target: number, setParents: boolean): TsSourceFile;
  forEachChild(node: TsNode, visit: (child: TsNode) => void): void;
  SyntaxKind: { ShorthandPropertyAssignment: number };
  ScriptTarget: { ES2022: number };
}

export interface TsNode {
  readonly kind: number;
  readonly name?: { readonly text: string; readonly end: number };
  readonly objectAssignmentInitializer?: TsNode;
}

export interface TsSourceFile extends TsNode {
  readonly parseDiagnostics?: readonly { start: number; length: number; code: number }[];
}

/** Line and column of a position; both count from 0. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

const INLINE_MAP = /\n?\/\/# sourceMappingURL=data:application\/json;base64,([A-Za-z0-9+/=]+)\s*$/;
const MAP_COMMENT = /\n?\/\/# sourceMappingURL=\S+\s*$/;

export class PreparedTypeScript {
  readonly ts: TypeScript;
  /** Tells TypeScript that a folder has changed in which it looked for something. */
  readonly #folders = new Set<() => void>();
  #crash: { readonly error: unknown } | null = null;
  /** Maps of the latest conversion: TypeScript to modules, modules to CommonJS. */
  #maps: { typed: SourceMapPayload | null; common: SourceMapPayload | null } = { typed: null, common: null };

  /** Must run before tslab's modules are loaded. */
  constructor() {
    const require = createRequire(import.meta.url);
    const tslab = createRequire(require.resolve("tslab/package.json"));
    const file = tslab.resolve("@tslab/typescript-for-tslab");
    const original = tslab(file) as TypeScript;
    const replaced: TypeScript = {
      ...original,
      createWatchCompilerHost: (roots, options, system, ...rest) => {
        this.#separateTimers(system);
        this.#watchLess(system);
        // Only Node's own types are loaded unasked: every other package under @types costs start-up time.
        const more = { lib: ["lib.es2023.d.ts"], types: ["node"], inlineSourceMap: true };
        return original.createWatchCompilerHost(roots, { ...options, ...more }, system, ...rest);
      },
      transpileModule: (input, options) => {
        const typed = INLINE_MAP.exec(input);
        const result = original.transpileModule(input.replace(INLINE_MAP, "\n"), {
          ...options,
          compilerOptions: { ...options.compilerOptions, sourceMap: true },
        });
        this.#maps = {
          typed: typed ? parsed(Buffer.from(typed[1] as string, "base64").toString()) : null,
          common: result.sourceMapText ? parsed(result.sourceMapText) : null,
        };
        return { ...result, outputText: result.outputText.replace(MAP_COMMENT, "\n") };
      },
    };
    const loaded = tslab.cache[file];
    if (!loaded) throw new Error(`${file} is not where Node.js keeps loaded modules`);
    loaded.exports = replaced;
    this.ts = replaced;
  }

  /**
   * tslab knows of one timer, the one that rebuilds the program, and never recovers from a second one, or from a rebuild that
   * throws. TypeScript starts a second one when a file changes on which look-ups depend, such as the notebook's own package.json.
   */
  #separateTimers(system: TypeScriptSystem): void {
    const { setTimeout: rebuildLater, clearTimeout: forgetRebuild } = system;
    const own = new Set<unknown>();
    system.setTimeout = (callback, ms) => {
      if (callback.name === "updateProgramWithWatchStatus") {
        return rebuildLater?.call(
          system,
          () => {
            try {
              callback();
            } catch (error) {
              this.#crash ??= { error };
            }
          },
          ms,
        );
      }
      const timer = setTimeout(() => {
        own.delete(timer);
        callback();
      }, ms).unref();
      own.add(timer);
      return timer;
    };
    system.clearTimeout = (timer) => {
      if (!own.delete(timer)) return forgetRebuild?.call(system, timer);
      clearTimeout(timer as NodeJS.Timeout);
    };
  }

  /**
   * Installed packages do not change under a running session: watching each of their files would cost idle time. Folders are
   * not watched at all; TypeScript is told to look again when a module was missing.
   */
  #watchLess(system: TypeScriptSystem): void {
    const near = `${system.getCurrentDirectory().replace(/\/$/, "")}/`;
    const { sys } = this.ts;
    const watchFile = sys.watchFile?.bind(sys);
    sys.watchFile = (path, ...rest) =>
      path.startsWith(near) && !path.includes("/node_modules/") && watchFile
        ? watchFile(path, ...rest)
        : { close: () => undefined };
    system.watchDirectory = (path, callback) => {
      const watched = () => callback(path);
      this.#folders.add(watched);
      return { close: () => void this.#folders.delete(watched) };
    };
  }

  /** What was not found may be there when it is looked for next. */
  forgetMissing(): void {
    for (const changed of [...this.#folders]) changed();
  }

  /** @throws what TypeScript threw in the latest rebuild: its program is then not that of the cell. */
  checkRebuild(): void {
    const crash = this.#crash;
    this.#crash = null;
    if (crash) throw crash.error;
  }

  /** Where positions of the JavaScript made last came from; call it before the next conversion. */
  takeMapping(): (generated: Position) => Position | null {
    const { typed, common } = this.#maps;
    this.#maps = { typed: null, common: null };
    if (!typed || !common) return () => null;
    let maps: [SourceMap, SourceMap] | null = null;
    return (generated) => {
      maps ??= [new SourceMap(common), new SourceMap(typed)];
      const module = originOf(maps[0], generated);
      return module && originOf(maps[1], module);
    };
  }
}

function parsed(json: string): SourceMapPayload {
  return JSON.parse(json) as SourceMapPayload;
}

function originOf(map: SourceMap, { line, character }: Position): Position | null {
  const entry = map.findEntry(line, character);
  // The entry found may stand on an earlier line: then this line came from nowhere.
  if (!("originalLine" in entry) || entry.generatedLine !== line) return null;
  return { line: entry.originalLine, character: entry.originalColumn };
}
