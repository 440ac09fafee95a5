/**
 * What a cell's code becomes before TypeScript emits it: names of earlier cells are looked up in the session's scope, imports are
 * loaded, the last expression is kept, and every loop can be stopped.
 */
import type ts from "typescript";
import { tsc } from "./typescript.js";

/** Names by which a cell's code reaches the session. */
export const SCOPE = "$p2plab_scope";
export const CELL = "$p2plab_cell";
export const STOP = "$p2plab_stop";
export const LOAD = "$p2plab_load";

const { factory } = tsc;

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
  const names = (earlier as unknown as { locals?: Map<ts.__String, ts.Symbol> }).locals ?? new Map();
  const isEarlier = (symbol: ts.Symbol | undefined, name: ts.Identifier): boolean => {
    const own = names.get(name.escapedText);
    return own !== undefined && symbol !== undefined && symbol.declarations?.[0] === own.declarations?.[0];
  };
  const inScope = (name: string) =>
    factory.createPropertyAccessExpression(factory.createIdentifier(SCOPE), name);
  const imported: Imported = {
    isValue: (name) => {
      const symbol = checker.getSymbolAtLocation(name);
      if (!symbol || !(symbol.flags & tsc.SymbolFlags.Alias)) return true;
      const target = checker.getAliasedSymbol(symbol);
      // Of a package without types nothing is known but that it is there.
      return (
        target.flags === 0 || (target.flags & tsc.SymbolFlags.Value) !== 0 || checker.isUnknownSymbol(target)
      );
    },
  };

  return (context) => {
    const earlierName = (node: ts.Identifier): ts.Expression | null =>
      names.has(node.escapedText) && isEarlier(checker.getSymbolAtLocation(node), node)
        ? tsc.setTextRange(inScope(node.text), node)
        : null;

    /** Called by its bare name: `this` of the function is not the scope. */
    const callee = (node: ts.Expression): ts.Expression => {
      const found = tsc.isIdentifier(node) ? earlierName(node) : null;
      if (!found) return tsc.visitNode(node, visit, tsc.isExpression) as ts.Expression;
      const bare = factory.createParenthesizedExpression(
        factory.createComma(factory.createNumericLiteral(0), found),
      );
      return tsc.setTextRange(bare, node);
    };

    const visit = (node: ts.Node): ts.VisitResult<ts.Node | undefined> => {
      if (tsc.isIdentifier(node)) return earlierName(node) ?? node;
      if (tsc.isExpressionWithTypeArguments(node)) {
        const { expression } = node;
        return tsc.isHeritageClause(node.parent) && node.parent.token === tsc.SyntaxKind.ImplementsKeyword
          ? node
          : factory.updateExpressionWithTypeArguments(
              node,
              tsc.visitNode(expression, visit, tsc.isExpression) as ts.Expression,
              node.typeArguments,
            );
      }
      if (tsc.isTypeNode(node) || tsc.isInterfaceDeclaration(node) || tsc.isTypeAliasDeclaration(node))
        return node;
      if (tsc.isPropertyAccessExpression(node)) {
        const target = tsc.visitNode(node.expression, visit, tsc.isExpression) as ts.Expression;
        return factory.updatePropertyAccessExpression(node, target, node.name);
      }
      if (tsc.isShorthandPropertyAssignment(node)) return shorthand(node);
      if (tsc.isCallExpression(node)) {
        if (node.expression.kind === tsc.SyntaxKind.ImportKeyword) {
          const load = factory.createPropertyAccessExpression(factory.createIdentifier(CELL), "import");
          const args = node.arguments
            .slice(0, 1)
            .map((one) => tsc.visitNode(one, visit, tsc.isExpression) as ts.Expression);
          return tsc.setTextRange(factory.createCallExpression(load, undefined, args), node);
        }
        return factory.updateCallExpression(
          node,
          callee(node.expression),
          node.typeArguments,
          tsc.visitNodes(node.arguments, visit, tsc.isExpression),
        );
      }
      if (tsc.isTaggedTemplateExpression(node)) {
        return factory.updateTaggedTemplateExpression(
          node,
          callee(node.tag),
          node.typeArguments,
          tsc.visitNode(node.template, visit, tsc.isTemplateLiteral) as ts.TemplateLiteral,
        );
      }
      if (tsc.isMetaProperty(node) && node.keywordToken === tsc.SyntaxKind.ImportKeyword)
        return factory.createPropertyAccessExpression(factory.createIdentifier(CELL), "meta");
      if (tsc.isIterationStatement(node, false)) return stoppable(node);
      return tsc.visitEachChild(node, visit, context);
    };

    const shorthand = (node: ts.ShorthandPropertyAssignment): ts.Node => {
      const { name, objectAssignmentInitializer: initial } = node;
      const fallback = initial && (tsc.visitNode(initial, visit, tsc.isExpression) as ts.Expression);
      if (!isEarlier(checker.getShorthandAssignmentValueSymbol(node), name))
        return factory.updateShorthandPropertyAssignment(node, name, fallback);
      const value = tsc.setTextRange(inScope(name.text), name);
      return factory.createPropertyAssignment(
        factory.createIdentifier(name.text),
        fallback ? factory.createAssignment(value, fallback) : value,
      );
    };

    const stoppable = (node: ts.IterationStatement): ts.Node => {
      const inner = tsc.visitEachChild(node, visit, context);
      const asked = factory.createCallExpression(factory.createIdentifier(LOAD), undefined, [
        factory.createIdentifier(STOP),
        factory.createNumericLiteral(0),
      ]);
      const stops = factory.createPropertyAccessExpression(factory.createIdentifier(CELL), "stop");
      const check = factory.createIfStatement(
        asked,
        factory.createExpressionStatement(factory.createCallExpression(stops, undefined, [])),
      );
      const rest = tsc.isBlock(inner.statement) ? inner.statement.statements : [inner.statement];
      const body = tsc.setTextRange(factory.createBlock([check, ...rest], false), inner.statement);
      if (tsc.isForStatement(inner))
        return factory.updateForStatement(inner, inner.initializer, inner.condition, inner.incrementor, body);
      if (tsc.isForInStatement(inner))
        return factory.updateForInStatement(inner, inner.initializer, inner.expression, body);
      if (tsc.isForOfStatement(inner))
        return factory.updateForOfStatement(
          inner,
          inner.awaitModifier,
          inner.initializer,
          inner.expression,
          body,
        );
      if (tsc.isWhileStatement(inner)) return factory.updateWhileStatement(inner, inner.expression, body);
      const { expression } = inner as ts.DoStatement;
      return factory.updateDoStatement(inner as ts.DoStatement, body, expression);
    };

    return (file) => {
      const last = lastExpressionOf(file);
      let modules = 0;
      const imports: ts.Statement[] = [];
      const rest = file.statements.flatMap((statement): ts.Statement[] => {
        if (tsc.isImportDeclaration(statement)) {
          imports.push(...importStatements(statement, imported, modules++));
          return [];
        }
        if (
          tsc.isImportEqualsDeclaration(statement) &&
          tsc.isExternalModuleReference(statement.moduleReference)
        ) {
          const { expression } = statement.moduleReference;
          const call = factory.createCallExpression(factory.createIdentifier("require"), undefined, [
            expression,
          ]);
          imports.push(constant(statement.name, call));
          return [];
        }
        if (tsc.isExportDeclaration(statement)) return [];
        if (tsc.isExportAssignment(statement))
          return [
            factory.createExpressionStatement(
              tsc.visitNode(statement.expression, visit, tsc.isExpression) as ts.Expression,
            ),
          ];
        const visited = tsc.visitNode(statement, visit, tsc.isStatement) as ts.Statement | undefined;
        if (!visited) return [];
        if (statement === last) {
          const { expression } = visited as ts.ExpressionStatement;
          const value = factory.createPropertyAccessExpression(factory.createIdentifier(CELL), "value");
          const kept = factory.createAssignment(
            value,
            tsc.isCommaListExpression(expression) || tsc.isBinaryExpression(expression)
              ? factory.createParenthesizedExpression(expression)
              : expression,
          );
          return [tsc.setTextRange(factory.createExpressionStatement(kept), statement)];
        }
        return [withoutExport(visited)];
      });
      return factory.updateSourceFile(file, [...imports, ...rest]);
    };
  };
}

/** The expression that a cell ends in; what is exported after it does not count. */
function lastExpressionOf(file: ts.SourceFile): ts.Statement | null {
  const statements = file.statements.filter((statement) => !tsc.isExportDeclaration(statement));
  const last = statements.at(-1);
  return last && tsc.isExpressionStatement(last) ? last : null;
}

function constant(name: ts.BindingName, value: ts.Expression): ts.Statement {
  const declaration = factory.createVariableDeclaration(name, undefined, undefined, value);
  return factory.createVariableStatement(
    undefined,
    factory.createVariableDeclarationList([declaration], tsc.NodeFlags.Const),
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
    tsc.SyntaxKind.QuestionQuestionToken,
    factory.createAwaitExpression(load("later")),
  );
  if (!clause) return [tsc.setTextRange(factory.createExpressionStatement(loaded), statement)];
  const module = factory.createIdentifier(`$p2plab_module${number}`);
  const member = (name: string) =>
    factory.createElementAccessExpression(module, factory.createStringLiteral(name));
  const values: ts.Statement[] = [];
  const bind = (name: ts.Identifier, value: ts.Expression) => {
    if (imported.isValue(name)) values.push(constant(factory.createIdentifier(name.text), value));
  };
  if (clause.name) bind(clause.name, member("default"));
  const { namedBindings } = clause;
  if (namedBindings && tsc.isNamespaceImport(namedBindings)) bind(namedBindings.name, module);
  else {
    for (const element of namedBindings?.elements ?? [])
      if (!element.isTypeOnly) bind(element.name, member((element.propertyName ?? element.name).text));
  }
  // Nothing but types: the module is not loaded.
  if (values.length === 0) return [];
  return [tsc.setTextRange(constant(module, loaded), statement), ...values];
}

/** In a cell every declaration is visible to later ones: `export` adds nothing. */
function withoutExport(statement: ts.Statement): ts.Statement {
  const keep = (modifiers: readonly ts.ModifierLike[] | undefined) =>
    modifiers?.filter(
      ({ kind }) => kind !== tsc.SyntaxKind.ExportKeyword && kind !== tsc.SyntaxKind.DefaultKeyword,
    );
  if (!tsc.canHaveModifiers(statement)) return statement;
  const modifiers = keep(statement.modifiers);
  if (modifiers?.length === statement.modifiers?.length) return statement;
  return factory.replaceModifiers(statement as ts.FunctionDeclaration, (modifiers ?? []) as ts.Modifier[]);
}
