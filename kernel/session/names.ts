/** The names that a cell declares for later ones. */
import ts from "typescript";

/** Names to export, so that TypeScript writes their declarations; those with `export` before them are exported already, and a
 * text with syntax errors declares nothing. */
export function declaredNames(source: string): string[] {
  const file = ts.createSourceFile("cell.ts", source, ts.ScriptTarget.ES2022, false);
  const { parseDiagnostics: wrong = [] } = file as unknown as { parseDiagnostics?: readonly unknown[] };
  if (wrong.length > 0) return [];
  const names = new Set<string>();
  const exported = new Set<string>();
  const add = (name: ts.BindingName, to: Set<string>): void => {
    if (ts.isIdentifier(name)) to.add(name.text);
    else for (const element of name.elements) if (!ts.isOmittedExpression(element)) add(element.name, to);
  };
  for (const statement of file.statements) {
    const isExported =
      ts.canHaveModifiers(statement) &&
      (statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false);
    const to = isExported ? exported : names;
    if (ts.isVariableStatement(statement)) {
      for (const { name } of statement.declarationList.declarations) add(name, to);
    } else if (ts.isImportDeclaration(statement)) {
      const { name, namedBindings } = statement.importClause ?? {};
      if (name) to.add(name.text);
      if (namedBindings && ts.isNamespaceImport(namedBindings)) to.add(namedBindings.name.text);
      else for (const element of namedBindings?.elements ?? []) to.add(element.name.text);
    } else if (
      ts.isFunctionDeclaration(statement) ||
      ts.isClassDeclaration(statement) ||
      ts.isEnumDeclaration(statement) ||
      ts.isInterfaceDeclaration(statement) ||
      ts.isTypeAliasDeclaration(statement) ||
      ts.isImportEqualsDeclaration(statement) ||
      ts.isModuleDeclaration(statement)
    ) {
      if (statement.name && ts.isIdentifier(statement.name)) to.add(statement.name.text);
    } else hoisted(statement, (name) => add(name, to));
  }
  return [...names].filter((name) => !exported.has(name) && name !== "" && name !== "global");
}

/** `var` inside of blocks and loops belongs to the cell; inside of functions it does not. */
function hoisted(node: ts.Node, found: (name: ts.BindingName) => void): void {
  if (ts.isFunctionLike(node) || ts.isClassLike(node)) return;
  if (ts.isVariableDeclarationList(node) && !(node.flags & ts.NodeFlags.BlockScoped)) {
    for (const { name } of node.declarations) found(name);
  }
  ts.forEachChild(node, (child) => hoisted(child, found));
}
