/**
 * What earlier cells have declared, as the text of a declaration file: what a new cell declares takes the place of what had its
 * name. Every statement declares one name, so that names can go one by one.
 */
import type ts from "typescript";
import { LANGUAGE_LEVEL, tsc } from "./typescript.js";

/** The statement, or an overload, that declares a name. */
export interface Declaration {
  readonly name: string;
  /** Whether the name stands for a value, a type, or both. */
  readonly value: boolean;
  readonly type: boolean;
  readonly text: string;
}

/**
 * @param text of a declaration file that TypeScript has written.
 * @param isValue whether an imported name, or a namespace, stands for a value.
 * @param isType whether an imported name stands for a type.
 */
export function declarationsOf(
  text: string,
  isValue: (name: string) => boolean,
  isType: (name: string) => boolean,
): Declaration[] {
  const file = tsc.createSourceFile("declarations.d.ts", text, LANGUAGE_LEVEL, true);
  const whole = (node: ts.Node) =>
    text.slice(node.getFullStart(), node.getStart()) +
    text.slice(node.getStart(), node.end).replace(/^export (default )?/, "");
  return file.statements.flatMap((statement): Declaration[] => {
    if (tsc.isVariableStatement(statement)) {
      const { declarations, flags } = statement.declarationList;
      // `using` can be declared nowhere else: to later cells it is a constant.
      const keyword = flags & tsc.NodeFlags.Let ? "let" : flags & tsc.NodeFlags.BlockScoped ? "const" : "var";
      const comment = text.slice(statement.getFullStart(), statement.getStart()).trim();
      return declarations.map((declaration) => ({
        name: declaration.name.getText(),
        value: true,
        type: false,
        text: `${comment && `${comment}\n`}declare ${keyword} ${declaration.getText()};`,
      }));
    }
    if (tsc.isImportDeclaration(statement)) return importsOf(statement, isValue, isType);
    if (tsc.isImportEqualsDeclaration(statement))
      return [{ name: statement.name.text, value: true, type: true, text: whole(statement) }];
    if (tsc.isExportDeclaration(statement) || tsc.isExportAssignment(statement)) return [];
    const { name } = statement as ts.DeclarationStatement;
    if (!name || !tsc.isIdentifier(name)) return [];
    const isClass = tsc.isClassDeclaration(statement) || tsc.isEnumDeclaration(statement);
    const isAlone = tsc.isInterfaceDeclaration(statement) || tsc.isTypeAliasDeclaration(statement);
    const isSpace = tsc.isModuleDeclaration(statement);
    return [
      {
        name: name.text,
        value: !isAlone && (!isSpace || isValue(name.text)),
        type: isClass || isAlone || isSpace,
        text: whole(statement),
      },
    ];
  });
}

function importsOf(
  statement: ts.ImportDeclaration,
  isValue: (name: string) => boolean,
  isType: (name: string) => boolean,
): Declaration[] {
  const clause = statement.importClause;
  if (!clause) return [];
  const from = statement.moduleSpecifier.getText();
  const make = (name: ts.Identifier, what: string): Declaration => ({
    name: name.text,
    value: isValue(name.text),
    type: isType(name.text),
    text: `import ${clause.isTypeOnly ? "type " : ""}${what} from ${from};`,
  });
  const found = clause.name ? [make(clause.name, clause.name.text)] : [];
  const { namedBindings } = clause;
  if (!namedBindings) return found;
  if (tsc.isNamespaceImport(namedBindings))
    return [...found, make(namedBindings.name, namedBindings.getText())];
  return [
    ...found,
    ...namedBindings.elements.map((element) => make(element.name, `{ ${element.getText()} }`)),
  ];
}

/**
 * @param kept names of `latest` that came to be: a cell that failed leaves some of its values out.
 */
export function merged(
  earlier: readonly Declaration[],
  latest: readonly Declaration[],
  kept: (name: string) => boolean,
): Declaration[] {
  const now = latest.filter((declaration) => !declaration.value || kept(declaration.name));
  const values = new Set(now.filter(({ value }) => value).map(({ name }) => name));
  const types = new Set(now.filter(({ type }) => type).map(({ name }) => name));
  const left = earlier.flatMap((declaration): Declaration[] => {
    const { name, value, type } = declaration;
    // A class, an enum or an import whose value has gone is gone altogether.
    if (value && values.has(name)) return [];
    if (!type || !types.has(name)) return [declaration];
    // Its type is another now, and its value can still be used, without one.
    return value ? [{ name, value: true, type: false, text: `declare let ${name}: any;` }] : [];
  });
  return [...left, ...now];
}

export function textOf(declarations: readonly Declaration[]): string {
  return `${declarations.map(({ text }) => text).join("\n")}\nexport {};\n`;
}
