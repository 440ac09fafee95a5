/** One cell through the compiler: what it becomes, and what it declares for later ones. */
import { P2pError } from "../lab/index.js";
import type { Compiler, Emitted } from "./compiler.js";
import { type Declaration, declarationsOf, textOf } from "./declarations.js";
import { type Diagnostic, diagnosticOf, jsxDiagnostic, withMagicAdvice } from "./diagnostic.js";
import type { ModuleCode } from "./module-code.js";
import { declaredNames, typesOf } from "./names.js";
import { rewriteCell } from "./rewrite.js";

/** Nothing is emitted, and nothing declared, where something was found. */
export interface Converted {
  readonly diagnostics: readonly Diagnostic[];
  readonly emitted: Emitted | null;
  /** The modules that the cell imports from its folder, by their path. */
  readonly modules: ReadonlyMap<string, ModuleCode>;
  /** Names that the cell declares and that stand for a value. */
  readonly values: readonly string[];
  readonly declarations: readonly Declaration[];
}

/** TypeScript takes half a second for each million characters. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** @throws P2pError `usage` for a cell that is longer than a reader can wait for. */
export function converted(compiler: Compiler, earlier: readonly Declaration[], cell: string): Converted {
  if (cell.length > MOST_CHARACTERS)
    throw new P2pError(
      "usage",
      `a cell of ${cell.length} characters: the most is ${MOST_CHARACTERS}`,
      "Put the data into a file beside the notebook and read it: fs.readFileSync(file).",
    );
  // A script's first line may name its interpreter, where no JavaScript may stand that is run within a function.
  const source = cell.replace(/^#!/, "//");
  const names = declaredNames(source);
  const text = names.length > 0 ? `${source}\nexport { ${names.join(", ")} };\n` : source;
  const found = compiler.compile(textOf(earlier), text, rewriteCell);
  const lines = source.split("\n").length;
  const diagnostics = found.diagnostics.flatMap((one) => diagnosticOf(one, compiler.cellFile, lines));
  const { emitted, modules, values, types } = found;
  if (diagnostics.length > 0 || !emitted) {
    const jsx = jsxDiagnostic(source);
    return {
      diagnostics: jsx ? [jsx] : withMagicAdvice(diagnostics, source),
      emitted: null,
      modules,
      values: [],
      declarations: [],
    };
  }
  const written = declarationsOf(
    emitted.declarations || typesOf(source),
    (name) => values.has(name),
    (name) => types.has(name),
  );
  const declarations = [...written, ...withoutStatement(written, values)];
  return { diagnostics, emitted, modules, values: [...values.keys()], declarations };
}

/** A `var` inside of a block is the cell's, but TypeScript writes no declaration of it; or it could write none at all. */
function withoutStatement(
  written: readonly Declaration[],
  values: ReadonlyMap<string, () => string>,
): Declaration[] {
  const known = new Set(written.map(({ name }) => name));
  return [...values]
    .filter(([name]) => !known.has(name))
    .map(([name, type]) => ({ name, value: true, type: false, text: `declare var ${name}: ${type()};` }));
}
