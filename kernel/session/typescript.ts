/**
 * tslab's TypeScript with two things added: source maps of the JavaScript that cells become, for the lines of errors, and the
 * library of ES2023 as far as TypeScript 5.0 knows it. tslab keeps both to itself, so the functions that it calls are replaced before it is loaded.
 */
import { createRequire, SourceMap, type SourceMapPayload } from "node:module";

type Options = Record<string, unknown>;

/** The parts of TypeScript's API that are used here; tslab's copy of it comes without types for us. */
export interface TypeScript extends TypeScriptParser {
  sys: TypeScriptSystem;
  createWatchCompilerHost(roots: string[], options: Options, ...rest: unknown[]): unknown;
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
      createWatchCompilerHost: (roots, options, ...rest) =>
        original.createWatchCompilerHost(
          roots,
          // Only Node's own types are loaded unasked: every other package under @types costs start-up time.
          { ...options, lib: ["lib.es2023.d.ts"], types: ["node"], inlineSourceMap: true },
          ...rest,
        ),
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
