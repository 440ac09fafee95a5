/** Files of the notebook's folder, and module cells, as CommonJS: a file that was changed can then be loaded anew. */
import type ts from "typescript";
import { LANGUAGE_LEVEL, tsc } from "./typescript.js";

/** A module that cells import from their folder, as CommonJS. */
export interface ModuleCode {
  readonly source: string;
  readonly js: string;
  /** Source maps, as JSON, that lead from the code back to the source one after the other. */
  readonly maps: readonly string[];
  /** Whether it awaits something outside of functions: it cannot be required. */
  readonly isAsync: boolean;
}

/** What a module's code finds its `import.meta` under, as a member of its `module`. */
export const META = "$p2plab_meta";

/** In CommonJS there is no `import.meta`. Given to TypeScript before it emits a module. */
export const metaOfModule: ts.TransformerFactory<ts.SourceFile> = (context) => (file) => {
  const { factory } = tsc;
  const visit = (node: ts.Node): ts.Node =>
    tsc.isMetaProperty(node) && node.keywordToken === tsc.SyntaxKind.ImportKeyword
      ? factory.createPropertyAccessExpression(factory.createIdentifier("module"), META)
      : tsc.visitEachChild(node, visit, context);
  return file.text.includes("import.meta") ? tsc.visitEachChild(file, visit, context) : file;
};

/** @param emitted what TypeScript has made of the file: an ES module and its source map. */
export function moduleCode(file: ts.SourceFile, emitted: { js: string; map: string }): ModuleCode {
  const { js, map } = commonJs(emitted.js);
  const isAsync = /\bawait\b/.test(file.text) && file.statements.some(awaits);
  return { source: file.text, js, maps: [map, emitted.map], isAsync };
}

/** @param js an ES module. */
export function commonJs(js: string): { js: string; map: string } {
  const { outputText, sourceMapText = "" } = tsc.transpileModule(js, {
    fileName: "module.js",
    compilerOptions: {
      module: tsc.ModuleKind.CommonJS,
      target: LANGUAGE_LEVEL,
      esModuleInterop: true,
      sourceMap: true,
    },
  });
  return { js: withoutMapComment(outputText), map: sourceMapText };
}

export function withoutMapComment(js: string): string {
  return js.replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, "\n");
}

function awaits(node: ts.Node): boolean {
  if (tsc.isFunctionLike(node)) return false;
  if (tsc.isAwaitExpression(node) || (tsc.isForOfStatement(node) && node.awaitModifier)) return true;
  if (
    tsc.isVariableDeclarationList(node) &&
    (node.flags & tsc.NodeFlags.AwaitUsing) === tsc.NodeFlags.AwaitUsing
  )
    return true;
  return tsc.forEachChild(node, (child) => awaits(child) || undefined) ?? false;
}
