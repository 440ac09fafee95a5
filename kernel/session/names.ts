/** The names that a cell declares for later ones. */
import type ts from "typescript";
import { LANGUAGE_LEVEL, tsc } from "./typescript.js";

/** Names to export, so that TypeScript writes their declarations; those with `export` before them are exported already, and a
 * text with syntax errors declares nothing. */
export function declaredNames(source: string): string[] {
  const file = tsc.createSourceFile("cell.ts", source, LANGUAGE_LEVEL, false);
  const { parseDiagnostics: wrong = [] } = file as unknown as { parseDiagnostics?: readonly unknown[] };
  if (wrong.length > 0) return [];
  const names = new Set<string>();
  const exported = new Set<string>();
  const add = (name: ts.BindingName, to: Set<string>): void => {
    if (tsc.isIdentifier(name)) to.add(name.text);
    else for (const element of name.elements) if (!tsc.isOmittedExpression(element)) add(element.name, to);
  };
  for (const statement of file.statements) {
    const isExported =
      tsc.canHaveModifiers(statement) &&
      (statement.modifiers?.some(({ kind }) => kind === tsc.SyntaxKind.ExportKeyword) ?? false);
    const to = isExported ? exported : names;
    if (tsc.isVariableStatement(statement)) {
      for (const { name } of statement.declarationList.declarations) add(name, to);
    } else if (tsc.isImportDeclaration(statement)) {
      const { name, namedBindings } = statement.importClause ?? {};
      if (name) to.add(name.text);
      if (namedBindings && tsc.isNamespaceImport(namedBindings)) to.add(namedBindings.name.text);
      else for (const element of namedBindings?.elements ?? []) to.add(element.name.text);
    } else if (
      tsc.isFunctionDeclaration(statement) ||
      tsc.isClassDeclaration(statement) ||
      tsc.isEnumDeclaration(statement) ||
      tsc.isInterfaceDeclaration(statement) ||
      tsc.isTypeAliasDeclaration(statement) ||
      tsc.isImportEqualsDeclaration(statement) ||
      tsc.isModuleDeclaration(statement)
    ) {
      if (statement.name && tsc.isIdentifier(statement.name)) to.add(statement.name.text);
    } else hoisted(statement, (name) => add(name, to));
  }
  return [...names].filter((name) => !exported.has(name) && name !== "" && name !== "global");
}

/** Those statements of a cell that are declarations as they stand. */
export function typesOf(source: string): string {
  const file = tsc.createSourceFile("cell.ts", source, LANGUAGE_LEVEL, true);
  return file.statements
    .filter(
      (statement) =>
        tsc.isInterfaceDeclaration(statement) ||
        tsc.isTypeAliasDeclaration(statement) ||
        tsc.isImportDeclaration(statement),
    )
    .map((statement) => statement.getText())
    .join("\n");
}

/** `var` inside of blocks and loops belongs to the cell; inside of functions it does not. */
function hoisted(node: ts.Node, found: (name: ts.BindingName) => void): void {
  if (tsc.isFunctionLike(node) || tsc.isClassLike(node)) return;
  if (tsc.isVariableDeclarationList(node) && !(node.flags & tsc.NodeFlags.BlockScoped)) {
    for (const { name } of node.declarations) found(name);
  }
  tsc.forEachChild(node, (child) => hoisted(child, found));
}
