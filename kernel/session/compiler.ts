/**
 * TypeScript's language service over one cell, what earlier cells declared, and the modules that cells define. A cell is a module
 * of its own whose scope stands inside that of the declarations: what it does not declare is looked up there.
 */
import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import type ts from "typescript";
import { packagePath } from "../lab/index.js";
import { isLibraryPart, LIBRARY, libraryFile, libraryText } from "./library.js";
import { ModuleLookups, remembered } from "./lookups.js";
import { type ModuleCode, metaOfModule, moduleCode, withoutMapComment } from "./module-code.js";
import { forwardTypeScriptLookups, preloadedPackages } from "./packages.js";
import { PRELOAD } from "./preload.js";
import { documents, LANGUAGE_LEVEL, tsc } from "./typescript.js";

/** What TypeScript makes of one file. */
export interface Emitted {
  readonly js: string;
  /** Source map of the JavaScript, as JSON. */
  readonly map: string;
  /** Empty where TypeScript cannot write them: a type that the cell infers has no name outside of its package. */
  readonly declarations: string;
}

/** TypeScript's codes for a module, and for the types of a module, that cannot be found. */
const MISSING_MODULE = new Set([2307, 7016]);
/** For a decorator that is not called as it was declared. */
const WRONG_DECORATOR = new Set([1238, 1239, 1240, 1241, 1270, 1271, 1278, 1279, 1329]);
/** For `import x = require("m")`: a cell may have it, which is no module when it runs. */
const IMPORT_REQUIRE = 1202;

/** Files of Node.js's types that stand for themselves. */
const COMMON = ["abortcontroller", "domexception", "events"]
  .map((name) => `web-globals/${name}.d.ts`)
  .concat("console.d.ts");

/** Where the library's types are; a notebook may lie in the kernel's own folder. */
const LIBRARY_TYPES = packagePath("dist/").replace(/\\/g, "/");

interface TextFile {
  readonly text: string;
  readonly version: number;
}

/** Parts of TypeScript's program that its types leave out. */
interface Internals {
  getResolvedModuleFromModuleSpecifier?(specifier: ts.StringLiteralLike): {
    resolvedModule?: ts.ResolvedModuleFull;
  };
}

export class Compiler {
  readonly cellFile: string;
  readonly #earlierFile: string;
  readonly #cwd: string;
  readonly #service: ts.LanguageService;
  /** Those of Node.js's types that most cells need. */
  readonly #common: readonly string[];
  /** Cell, declarations and modules of cells, by path. */
  readonly #texts = new Map<string, TextFile>();
  readonly #snapshots = new Map<string, { version: string; snapshot: ts.IScriptSnapshot }>();
  /** Of files that do not change under a running session. */
  readonly #versions = new Map<string, string>();
  readonly #modules = new Set<string>();
  readonly #preloaded = new Map<string, ts.ResolvedModuleWithFailedLookupLocations>();
  readonly #lookups: ModuleLookups;
  #options: ts.CompilerOptions;
  /** Whether Node.js's types are known: two thirds of all that TypeScript has to read, and many cells need none of it. */
  #isWhole = false;
  #changes = 0;

  /** @param place what the code is for: Node.js's types or those of a browser are known. */
  constructor(cwd: string, place: "node" | "browser" = "node") {
    this.#cwd = cwd.replace(/\\/g, "/").replace(/\/$/, "");
    this.cellFile = `${this.#cwd}/__tslab__.ts`;
    this.#earlierFile = `${this.#cwd}/__prev__.d.ts`;
    this.#write(this.cellFile, "");
    this.#write(this.#earlierFile, "export {};\n");
    const nodeTypes = preloadedPackages().get("@types/node") ?? packagePath("node_modules/@types/node");
    this.#common = place === "node" ? COMMON.map((file) => join(nodeTypes, file)) : [];
    this.#options = optionsOf(this.#cwd, nodeTypes);
    if (place === "browser") {
      this.#isWhole = true;
      this.#options.lib = [...(this.#options.lib ?? []), "lib.dom.d.ts", "lib.dom.iterable.d.ts"];
    }
    this.#versions.set(libraryFile, tsc.version);
    this.#lookups = new ModuleLookups(this.#cwd);
    this.#service = tsc.createLanguageService(this.#host(), documents);
  }

  #host(): ts.LanguageServiceHost {
    const system = { ...tsc.sys };
    forwardTypeScriptLookups(system, this.#cwd);
    for (const ask of ["fileExists", "directoryExists"] as const)
      system[ask] = remembered(system[ask], this.#cwd);
    const readFile = (path: string, encoding?: string) =>
      this.#texts.get(path)?.text ?? system.readFile(path, encoding);
    const library = dirname(tsc.getDefaultLibFilePath(this.#options));
    const host: ts.LanguageServiceHost = {
      getCompilationSettings: () => this.#options,
      getScriptFileNames: () => [...this.#common, this.#earlierFile, this.cellFile, ...this.#modules],
      getProjectVersion: () => String(this.#changes),
      getScriptVersion: (path) => this.#versionOf(path),
      getScriptSnapshot: (path) => {
        const version = this.#versionOf(path);
        const known = this.#snapshots.get(path);
        if (known?.version === version) return known.snapshot;
        const own = isLibraryPart(path) ? { text: "" } : this.#texts.get(path);
        if (!own && path !== libraryFile && !system.fileExists(path)) return undefined;
        const snapshot = own
          ? tsc.ScriptSnapshot.fromString(own.text)
          : new FileText(path === libraryFile ? libraryText : () => readFile(path) ?? "");
        this.#snapshots.set(path, { version, snapshot });
        return snapshot;
      },
      getCurrentDirectory: () => this.#cwd,
      getDefaultLibFileName: (options) => join(library, tsc.getDefaultLibFileName(options)),
      useCaseSensitiveFileNames: () => true,
      fileExists: (path) => this.#texts.has(path) || system.fileExists(path),
      readFile,
      directoryExists: system.directoryExists,
      getDirectories: system.getDirectories,
      realpath: (path) => (this.#texts.has(path) ? path : (system.realpath?.(path) ?? path)),
      readDirectory: system.readDirectory,
      resolveModuleNameLiterals: (literals, file, redirected, options, from) => {
        const cache = this.#lookups.of(this.#changes, this.#options);
        return literals.map((literal) => {
          const mode = tsc.getModeForUsageLocation(from, literal, options);
          const look = () =>
            tsc.resolveModuleName(literal.text, file, options, host, cache, redirected, mode);
          if (file !== this.#earlierFile || !(literal.text in PRELOAD)) return look();
          // What every session has from its beginning stays what it is.
          const known = this.#preloaded.get(literal.text) ?? look();
          if (known.resolvedModule) this.#preloaded.set(literal.text, known);
          return known;
        });
      },
    };
    // TypeScript's types leave it out: without, each program looks anew for what kind of module every file is.
    return Object.assign(host, {
      getModuleResolutionCache: () => this.#lookups.of(this.#changes, this.#options),
    });
  }

  /** Files of the notebook's own may change under a running session; installed packages and TypeScript's library do not. */
  #versionOf(path: string): string {
    // First what is asked most: three hundred files, several times a cell.
    const known = this.#versions.get(path);
    if (known !== undefined) return known;
    const own = this.#texts.get(path);
    if (own) return String(own.version);
    const version = fileVersion(path);
    const mayChange =
      path.startsWith(`${this.#cwd}/`) && !path.includes("/node_modules/") && !path.startsWith(LIBRARY_TYPES);
    if (!mayChange) this.#versions.set(path, version);
    return version;
  }

  #write(path: string, text: string): void {
    if (this.#texts.get(path)?.text === text) return;
    this.#texts.set(path, { text, version: ++this.#changes });
  }

  /** Lays a cell over the declarations of earlier ones. */
  #place(earlier: string, source: string): Placed {
    this.#write(this.#earlierFile, earlier);
    this.#write(this.cellFile, source);
    // What a cell imports is looked up anew each time: it may have been installed or changed meanwhile.
    this.#changes++;
    const program = this.#service.getProgram();
    const cell = program?.getSourceFile(this.cellFile);
    const declared = program?.getSourceFile(this.#earlierFile);
    if (!program || !cell || !declared) throw new Error("TypeScript's program lacks the cell");
    // The checker's creation binds the files and takes the parent away: first the one, then the other.
    const checker = program.getTypeChecker();
    (cell as { parent: ts.Node }).parent = declared;
    return { program, checker, cell, declared };
  }

  /**
   * Checks a cell, and emits it when nothing is wrong.
   * @param rewrite makes the transformation of the cell's code.
   */
  compile(
    earlier: string,
    source: string,
    rewrite: (checker: ts.TypeChecker, declared: ts.SourceFile) => ts.TransformerFactory<ts.SourceFile>,
  ): Compiled {
    const { program, checker, cell, declared } = this.#place(earlier, source);
    const own = this.#dependenciesOf(program, cell);
    const diagnostics = [cell, ...own]
      .flatMap((file) => diagnosticsOf(program, file))
      .filter(({ code, file }) => code !== IMPORT_REQUIRE || file !== cell);
    if (!this.#isWhole && (diagnostics.length > 0 || mayNeedNode(cell))) {
      this.#widen();
      return this.compile(earlier, source, rewrite);
    }
    const other = this.#otherDecorators(diagnostics, () => this.compile(earlier, source, rewrite));
    if (other?.diagnostics.length === 0) return other;
    // The next cell looks again, also when it is the same.
    if (diagnostics.some(({ code }) => MISSING_MODULE.has(code))) this.#texts.delete(this.cellFile);
    if (diagnostics.length > 0)
      return { diagnostics, emitted: null, modules: new Map(), values: new Map(), types: new Set() };
    const transformers = { before: [rewrite(checker, declared)], after: [dropExports] };
    // To write the declarations of a cell that has none takes a quarter of the time.
    const emitted = cell.statements.every(tsc.isExpressionStatement)
      ? { ...emit(program, cell, transformers, CODE_ONLY), declarations: "export {};\n" }
      : emit(program, cell, transformers);
    const modules = new Map(
      own.map((file) => [file.fileName, moduleCode(file, emit(program, file, { before: [metaOfModule] }))]),
    );
    return { diagnostics, emitted, modules, values: valuesOf(checker, cell), types: typesOf(checker, cell) };
  }

  /**
   * Decorators are those of tslab, which TypeScript had before the language itself; where none of these was meant, the language's own.
   * @param found with the ones; null is returned where they are not what is wrong.
   */
  #otherDecorators<T>(found: readonly ts.Diagnostic[], work: () => T): T | null {
    if (!this.#options.experimentalDecorators || !found.some(({ code }) => WRONG_DECORATOR.has(code)))
      return null;
    const options = this.#options;
    this.#options = { ...options, experimentalDecorators: false };
    this.#changes++;
    try {
      return work();
    } finally {
      this.#options = { ...this.#options, experimentalDecorators: true };
      this.#changes++;
    }
  }

  /** From now on all of Node.js's types are known; the next program takes half a second more. */
  #widen(): void {
    if (this.#isWhole) return;
    this.#isWhole = true;
    this.#options = { ...this.#options, types: ["node"] };
    this.#changes++;
  }

  /** Makes the program that knows all of Node.js's types, so that no cell has to wait for it. */
  completeTypes(earlier: string): void {
    if (this.#isWhole) return;
    this.#widen();
    this.#place(earlier, "");
  }

  /** Source files, cells' modules among them, that a file imports, and those that they import. */
  #dependenciesOf(program: ts.Program, root: ts.SourceFile): ts.SourceFile[] {
    const found = new Set<ts.SourceFile>();
    const visit = (file: ts.SourceFile): void => {
      const { imports = [] } = file as unknown as { imports?: readonly ts.StringLiteralLike[] };
      for (const specifier of imports) {
        const { resolvedModule } =
          (program as unknown as Internals).getResolvedModuleFromModuleSpecifier?.(specifier) ?? {};
        const target = resolvedModule && program.getSourceFile(resolvedModule.resolvedFileName);
        if (!target || target.isDeclarationFile || found.has(target) || target === root) continue;
        if (!target.fileName.startsWith(`${this.#cwd}/`) || target.fileName.includes("/node_modules/"))
          continue;
        if (target.fileName.endsWith(".json")) continue;
        found.add(target);
        visit(target);
      }
    };
    visit(root);
    return [...found];
  }

  /** Defines a module that cells can import as `./NAME`. */
  addModule(name: string, content: string, isJsx: boolean): ts.Diagnostic[] {
    this.#widen();
    const path = `${this.#cwd}/${name}.${isJsx ? "tsx" : "ts"}`;
    // It takes the place of one in the other language.
    const other = `${this.#cwd}/${name}.${isJsx ? "ts" : "tsx"}`;
    if (this.#modules.delete(other)) this.#texts.delete(other);
    this.#write(path, content);
    this.#modules.add(path);
    const look = (): ts.Diagnostic[] => {
      const program = this.#service.getProgram();
      const file = program?.getSourceFile(path);
      if (!program || !file) throw new Error(`TypeScript's program lacks the module ${name}`);
      return diagnosticsOf(program, file);
    };
    const found = look();
    return this.#otherDecorators(found, look)?.length === 0 ? [] : found;
  }

  complete(earlier: string, source: string, position: number): Candidates {
    this.#widen();
    const { checker, cell } = this.#place(earlier, source);
    const found = this.#service.getCompletionsAtPosition(this.cellFile, position, { includeSymbol: true });
    const signatureOf = ({ symbol }: ts.CompletionEntry) => {
      if (!symbol) return null;
      const target = symbol.flags & tsc.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      if (!(target.flags & tsc.SymbolFlags.Value)) return null;
      const written = writtenSignature(target);
      if (written !== null) return written;
      return checker.typeToString(checker.getTypeOfSymbolAtLocation(target, cell), cell);
    };
    return { entries: found?.entries ?? [], signatureOf };
  }

  inspect(earlier: string, source: string, position: number): ts.QuickInfo | undefined {
    this.#widen();
    this.#place(earlier, source);
    return this.#service.getQuickInfoAtPosition(this.cellFile, position);
  }

  close(): void {
    this.#service.dispose();
    this.#snapshots.clear();
  }
}

/** A file's text, read when it has to be parsed: most are parsed already where the process began from a snapshot. */
class FileText implements ts.IScriptSnapshot {
  readonly #read: () => string;
  #text: string | null = null;

  constructor(read: () => string) {
    this.#read = read;
  }

  get #whole(): string {
    this.#text ??= this.#read();
    return this.#text;
  }

  getText(start: number, end: number): string {
    return this.#whole.slice(start, end);
  }

  getLength(): number {
    return this.#whole.length;
  }

  getChangeRange(): undefined {
    return undefined;
  }
}

/** Another text has another version, in this process and in those to come. */
function fileVersion(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.mtimeMs}:${found.size}` : "0";
}

/** A function's type as its one declaration has it, where that says everything: to have it worked out takes as long as the completion. */
function writtenSignature({ declarations = [] }: ts.Symbol): string | null {
  const [declaration] = declarations;
  if (!declaration || declarations.length > 1) return null;
  if (!tsc.isFunctionDeclaration(declaration) && !tsc.isMethodSignature(declaration)) return null;
  const { parameters, type, typeParameters = [] } = declaration;
  if (!type || parameters.some((parameter) => !parameter.type)) return null;
  const file = declaration.getSourceFile();
  const text = (nodes: readonly ts.Node[]) =>
    nodes.map((node) => node.getText(file).replace(/\s+/g, " ")).join(", ");
  const generic = typeParameters.length > 0 ? `<${text(typeParameters)}>` : "";
  return `${generic}(${text(parameters)}) => ${text([type])}`;
}

/** What may stand at a position, and each one's type as text; null for what is no value. */
export interface Candidates {
  readonly entries: readonly ts.CompletionEntry[];
  signatureOf(entry: ts.CompletionEntry): string | null;
}

interface Placed {
  readonly program: ts.Program;
  readonly checker: ts.TypeChecker;
  readonly cell: ts.SourceFile;
  readonly declared: ts.SourceFile;
}

/** A checked cell; nothing is emitted where something was found. */
export interface Compiled {
  readonly diagnostics: readonly ts.Diagnostic[];
  readonly emitted: Emitted | null;
  /** The modules that the cell imports from its folder, by their path. */
  readonly modules: ReadonlyMap<string, ModuleCode>;
  /** Names that the cell declares and that stand for a value, and what gives each one's type. */
  readonly values: ReadonlyMap<string, () => string>;
  /** Names that the cell declares and that stand for a type; of a package without types nothing is known. */
  readonly types: ReadonlySet<string>;
}

function optionsOf(cwd: string, nodeTypes: string): ts.CompilerOptions {
  return {
    // What Node.js 20 runs as it is: regular expressions with the flag `v` among it, `using` not.
    target: LANGUAGE_LEVEL,
    lib: [LIBRARY],
    module: tsc.ModuleKind.ESNext,
    moduleDetection: tsc.ModuleDetectionKind.Force,
    moduleResolution: tsc.ModuleResolutionKind.Bundler,
    // As tslab has them, for notebooks that were written for it.
    strict: false,
    esModuleInterop: true,
    experimentalDecorators: true,
    resolveJsonModule: true,
    // As Node.js and Deno want them written.
    allowImportingTsExtensions: true,
    jsx: tsc.JsxEmit.React,
    allowJs: true,
    checkJs: true,
    // Only Node's own types are loaded unasked, and those when they are needed.
    types: [],
    typeRoots: [`${cwd}/node_modules/@types`, dirname(nodeTypes)],
    preserveConstEnums: true,
    skipLibCheck: true,
    declaration: true,
    sourceMap: true,
    newLine: tsc.NewLineKind.LineFeed,
    rootDir: cwd,
    outDir: `${cwd}/outDir`,
  };
}

/**
 * Whether a cell without errors could still mean something else once Node.js's types are known: through a package whose types
 * build on them, or where TypeScript does not complain of what it does not know.
 */
function mayNeedNode(cell: ts.SourceFile): boolean {
  const { imports = [] } = cell as unknown as { imports?: readonly ts.StringLiteralLike[] };
  return imports.some(({ text }) => !(text in PRELOAD)) || /\bglobalThis\b|@ts-/.test(cell.text);
}

function diagnosticsOf(program: ts.Program, file: ts.SourceFile): ts.Diagnostic[] {
  // Of the same place, the syntax comes first.
  const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  return found.sort((a, b) => (a.start ?? 0) - (b.start ?? 0));
}

/** TypeScript's number for it, which its types leave out: `false` and the declarations are written as well. */
const CODE_ONLY = 0 as unknown as boolean;

function emit(
  program: ts.Program,
  file: ts.SourceFile,
  transformers?: ts.CustomTransformers,
  what?: typeof CODE_ONLY,
): Emitted {
  const parts = { js: "", map: "", declarations: "" };
  const write: ts.WriteFileCallback = (path, text) => {
    if (path.endsWith(".map")) parts.map = text;
    else if (/\.d\.[cm]?ts$/.test(path)) parts.declarations = text;
    else parts.js = withoutMapComment(text);
  };
  program.emit(file, write, undefined, what, transformers);
  return parts;
}

/** A function's body exports nothing; TypeScript writes `export {}` for a module that does not. */
const dropExports: ts.TransformerFactory<ts.SourceFile> = () => (file) =>
  tsc.factory.updateSourceFile(
    file,
    file.statements.filter((statement) => !tsc.isExportDeclaration(statement)),
  );

/** Nothing left out, and every name with the file that it comes from. */
const FULL_TYPE =
  tsc.TypeFormatFlags.NoTruncation |
  tsc.TypeFormatFlags.UseFullyQualifiedType |
  tsc.TypeFormatFlags.UseStructuralFallback;

/** Each value that the cell declares, and its type as text. */
function valuesOf(checker: ts.TypeChecker, cell: ts.SourceFile): Map<string, () => string> {
  const values = new Map<string, () => string>();
  for (const [name, target] of declaredIn(checker, cell)) {
    const unknown = target.flags === 0 || checker.isUnknownSymbol(target);
    if (!unknown && !(target.flags & tsc.SymbolFlags.Value)) continue;
    values.set(name, () => checker.typeToString(checker.getTypeOfSymbol(target), undefined, FULL_TYPE));
  }
  return values;
}

function typesOf(checker: ts.TypeChecker, cell: ts.SourceFile): Set<string> {
  const isType = (target: ts.Symbol) => (target.flags & tsc.SymbolFlags.Type) !== 0;
  return new Set([...declaredIn(checker, cell)].filter(([, target]) => isType(target)).map(([name]) => name));
}

/** What each name of the cell stands for: of an import, what was imported. */
function* declaredIn(checker: ts.TypeChecker, cell: ts.SourceFile): Generator<[string, ts.Symbol]> {
  const { locals } = cell as unknown as { locals?: Map<ts.__String, ts.Symbol> };
  for (const [escaped, local] of locals ?? []) {
    const name = tsc.unescapeLeadingUnderscores(escaped);
    const symbol = checker.getExportSymbolOfSymbol(local);
    yield [name, symbol.flags & tsc.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol];
  }
}
