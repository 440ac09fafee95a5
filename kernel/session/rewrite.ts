/**
 * What a cell's code becomes before TypeScript emits it: names of earlier cells are looked up in the session's scope, imports are
 * loaded, the last expression is kept, and every loop can be stopped.
 */
import ts from "typescript";

/** Names by which a cell's code reaches the session. */
export const SCOPE = "$p2plab_scope";
export const CELL = "$p2plab_cell";
export const STOP = "$p2plab_stop";
export const LOAD = "$p2plab_load";

const { factory } = ts;

interface Imported {
  /** Loaded with a value: types leave no trace. */
  isValue(name: ts.Identifier): boolean;
}

/**
 * @param earlier holds the declarations of earlier cells.
 */
export function rewriteCell(
  checker: ts.TypeChecker,
  earlier: ts.SourceFile,
): ts.TransformerFactory<ts.SourceFile> {
  const names = (earlier as unknown as { locals?: Map<string, ts.Symbol> }).locals ?? new Map();
  const isEarlier = (symbol: ts.Symbol | undefined, name: string): boolean => {
    const own = names.get(name);
    return own !== undefined && symbol !== undefined && symbol.declarations?.[0] === own.declarations?.[0];
  };
  const inScope = (name: string) =>
    factory.createPropertyAccessExpression(factory.createIdentifier(SCOPE), name);
  const imported: Imported = {
    isValue: (name) => {
      const symbol = checker.getSymbolAtLocation(name);
      if (!symbol || !(symbol.flags & ts.SymbolFlags.Alias)) return true;
      const target = checker.getAliasedSymbol(symbol);
      // Of a package without types nothing is known but that it is there.
      return (
        target.flags === 0 || (target.flags & ts.SymbolFlags.Value) !== 0 || checker.isUnknownSymbol(target)
      );
    },
  };

  return (context) => {
    const earlierName = (node: ts.Identifier): ts.Expression | null =>
      names.has(node.text) && isEarlier(checker.getSymbolAtLocation(node), node.text)
        ? ts.setTextRange(inScope(node.text), node)
        : null;

    /** Called by its bare name: `this` of the function is not the scope. */
    const callee = (node: ts.Expression): ts.Expression => {
      const found = ts.isIdentifier(node) ? earlierName(node) : null;
      if (!found) return ts.visitNode(node, visit, ts.isExpression) as ts.Expression;
      const bare = factory.createParenthesizedExpression(
        factory.createComma(factory.createNumericLiteral(0), found),
      );
      return ts.setTextRange(bare, node);
    };

    const visit = (node: ts.Node): ts.VisitResult<ts.Node | undefined> => {
      if (ts.isIdentifier(node)) return earlierName(node) ?? node;
      if (ts.isExpressionWithTypeArguments(node)) {
        const { expression } = node;
        return ts.isHeritageClause(node.parent) && node.parent.token === ts.SyntaxKind.ImplementsKeyword
          ? node
          : factory.updateExpressionWithTypeArguments(
              node,
              ts.visitNode(expression, visit, ts.isExpression) as ts.Expression,
              node.typeArguments,
            );
      }
      if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
        return node;
      if (ts.isPropertyAccessExpression(node)) {
        const target = ts.visitNode(node.expression, visit, ts.isExpression) as ts.Expression;
        return factory.updatePropertyAccessExpression(node, target, node.name);
      }
      if (ts.isShorthandPropertyAssignment(node)) return shorthand(node);
      if (ts.isCallExpression(node)) {
        if (node.expression.kind === ts.SyntaxKind.ImportKeyword) {
          const load = factory.createPropertyAccessExpression(factory.createIdentifier(CELL), "import");
          const args = node.arguments
            .slice(0, 1)
            .map((one) => ts.visitNode(one, visit, ts.isExpression) as ts.Expression);
          return ts.setTextRange(factory.createCallExpression(load, undefined, args), node);
        }
        return factory.updateCallExpression(
          node,
          callee(node.expression),
          node.typeArguments,
          ts.visitNodes(node.arguments, visit, ts.isExpression),
        );
      }
      if (ts.isTaggedTemplateExpression(node)) {
        return factory.updateTaggedTemplateExpression(
          node,
          callee(node.tag),
          node.typeArguments,
          ts.visitNode(node.template, visit, ts.isTemplateLiteral) as ts.TemplateLiteral,
        );
      }
      if (ts.isMetaProperty(node) && node.keywordToken === ts.SyntaxKind.ImportKeyword)
        return factory.createPropertyAccessExpression(factory.createIdentifier(CELL), "meta");
      if (ts.isIterationStatement(node, false)) return stoppable(node);
      return ts.visitEachChild(node, visit, context);
    };

    const shorthand = (node: ts.ShorthandPropertyAssignment): ts.Node => {
      const { name, objectAssignmentInitializer: initial } = node;
      const fallback = initial && (ts.visitNode(initial, visit, ts.isExpression) as ts.Expression);
      if (!isEarlier(checker.getShorthandAssignmentValueSymbol(node), name.text))
        return factory.updateShorthandPropertyAssignment(node, name, fallback);
      const value = ts.setTextRange(inScope(name.text), name);
      return factory.createPropertyAssignment(
        factory.createIdentifier(name.text),
        fallback ? factory.createAssignment(value, fallback) : value,
      );
    };

    const stoppable = (node: ts.IterationStatement): ts.Node => {
      const inner = ts.visitEachChild(node, visit, context);
      const asked = factory.createCallExpression(factory.createIdentifier(LOAD), undefined, [
        factory.createIdentifier(STOP),
        factory.createNumericLiteral(0),
      ]);
      const stops = factory.createPropertyAccessExpression(factory.createIdentifier(CELL), "stop");
      const check = factory.createIfStatement(
        asked,
        factory.createExpressionStatement(factory.createCallExpression(stops, undefined, [])),
      );
      const rest = ts.isBlock(inner.statement) ? inner.statement.statements : [inner.statement];
      const body = ts.setTextRange(factory.createBlock([check, ...rest], false), inner.statement);
      if (ts.isForStatement(inner))
        return factory.updateForStatement(inner, inner.initializer, inner.condition, inner.incrementor, body);
      if (ts.isForInStatement(inner))
        return factory.updateForInStatement(inner, inner.initializer, inner.expression, body);
      if (ts.isForOfStatement(inner))
        return factory.updateForOfStatement(
          inner,
          inner.awaitModifier,
          inner.initializer,
          inner.expression,
          body,
        );
      if (ts.isWhileStatement(inner)) return factory.updateWhileStatement(inner, inner.expression, body);
      const { expression } = inner as ts.DoStatement;
      return factory.updateDoStatement(inner as ts.DoStatement, body, expression);
    };

    return (file) => {
      const last = lastExpressionOf(file);
      let modules = 0;
      const imports: ts.Statement[] = [];
      const rest = file.statements.flatMap((statement): ts.Statement[] => {
        if (ts.isImportDeclaration(statement)) {
          imports.push(...importStatements(statement, imported, modules++));
          return [];
        }
        if (
          ts.isImportEqualsDeclaration(statement) &&
          ts.isExternalModuleReference(statement.moduleReference)
        ) {
          const { expression } = statement.moduleReference;
          const call = factory.createCallExpression(factory.createIdentifier("require"), undefined, [
            expression,
          ]);
          imports.push(constant(statement.name, call));
          return [];
        }
        if (ts.isExportDeclaration(statement)) return [];
        if (ts.isExportAssignment(statement))
          return [
            factory.createExpressionStatement(
              ts.visitNode(statement.expression, visit, ts.isExpression) as ts.Expression,
            ),
          ];
        const visited = ts.visitNode(statement, visit, ts.isStatement) as ts.Statement | undefined;
        if (!visited) return [];
        if (statement === last) {
          const { expression } = visited as ts.ExpressionStatement;
          const value = factory.createPropertyAccessExpression(factory.createIdentifier(CELL), "value");
          const kept = factory.createAssignment(
            value,
            ts.isCommaListExpression(expression) || ts.isBinaryExpression(expression)
              ? factory.createParenthesizedExpression(expression)
              : expression,
          );
          return [ts.setTextRange(factory.createExpressionStatement(kept), statement)];
        }
        return [withoutExport(visited)];
      });
      return factory.updateSourceFile(file, [...imports, ...rest]);
    };
  };
}

/** The expression that a cell ends in; what is exported after it does not count. */
function lastExpressionOf(file: ts.SourceFile): ts.Statement | null {
  const statements = file.statements.filter((statement) => !ts.isExportDeclaration(statement));
  const last = statements.at(-1);
  return last && ts.isExpressionStatement(last) ? last : null;
}

function constant(name: ts.BindingName, value: ts.Expression): ts.Statement {
  const declaration = factory.createVariableDeclaration(name, undefined, undefined, value);
  return factory.createVariableStatement(
    undefined,
    factory.createVariableDeclarationList([declaration], ts.NodeFlags.Const),
  );
}

/** `import d, { a as b } from "m"`: the module once, then its names; a module that can only be awaited is awaited. */
function importStatements(
  statement: ts.ImportDeclaration,
  imported: Imported,
  number: number,
): ts.Statement[] {
  const clause = statement.importClause;
  if (clause?.isTypeOnly) return [];
  const load = (method: string) =>
    factory.createCallExpression(
      factory.createPropertyAccessExpression(factory.createIdentifier(CELL), method),
      undefined,
      [statement.moduleSpecifier],
    );
  const loaded = factory.createBinaryExpression(
    load("load"),
    ts.SyntaxKind.QuestionQuestionToken,
    factory.createAwaitExpression(load("later")),
  );
  if (!clause) return [ts.setTextRange(factory.createExpressionStatement(loaded), statement)];
  const module = factory.createIdentifier(`$p2plab_module${number}`);
  const member = (name: string) =>
    factory.createElementAccessExpression(module, factory.createStringLiteral(name));
  const values: ts.Statement[] = [];
  const bind = (name: ts.Identifier, value: ts.Expression) => {
    if (imported.isValue(name)) values.push(constant(factory.createIdentifier(name.text), value));
  };
  if (clause.name) bind(clause.name, member("default"));
  const { namedBindings } = clause;
  if (namedBindings && ts.isNamespaceImport(namedBindings)) bind(namedBindings.name, module);
  else {
    for (const element of namedBindings?.elements ?? [])
      if (!element.isTypeOnly) bind(element.name, member((element.propertyName ?? element.name).text));
  }
  // Nothing but types: the module is not loaded.
  if (values.length === 0) return [];
  return [ts.setTextRange(constant(module, loaded), statement), ...values];
}

/** In a cell every declaration is visible to later ones: `export` adds nothing. */
function withoutExport(statement: ts.Statement): ts.Statement {
  const keep = (modifiers: readonly ts.ModifierLike[] | undefined) =>
    modifiers?.filter(
      ({ kind }) => kind !== ts.SyntaxKind.ExportKeyword && kind !== ts.SyntaxKind.DefaultKeyword,
    );
  if (!ts.canHaveModifiers(statement)) return statement;
  const modifiers = keep(statement.modifiers);
  if (modifiers?.length === statement.modifiers?.length) return statement;
  return factory.replaceModifiers(statement as ts.FunctionDeclaration, (modifiers ?? []) as ts.Modifier[]);
}
