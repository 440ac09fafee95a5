/** TypeScript's library in one file says what it says in its own. */
import { dirname, join } from "node:path";
import type ts from "typescript";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Compiler } from "../../kernel/session/compiler.js";
import { isLibraryPart, LIBRARY, libraryFile, libraryText } from "../../kernel/session/library.js";
import { rewriteCell } from "../../kernel/session/rewrite.js";
import { tsc } from "../../kernel/session/typescript.js";

const library = suite("the library in one file");
const FILE = "/it.ts";
const folder = dirname(tsc.getDefaultLibFilePath({}));

/** Everything global that a program with these libraries knows: each name, its members, and each one's type with all overloads. */
function known(lib: string[]): Map<string, string> {
  const options: ts.CompilerOptions = {
    target: tsc.ScriptTarget.ES2022,
    lib,
    types: [],
    noResolve: true,
    strict: true,
  };
  const host: ts.CompilerHost = {
    ...tsc.createCompilerHost(options),
    getSourceFile: (name, version) => {
      const text =
        name === FILE
          ? "export {};"
          : name === libraryFile
            ? libraryText()
            : (tsc.sys.readFile(name) as string);
      return tsc.createSourceFile(name, text, version);
    },
  };
  const program = tsc.createProgram([FILE], options, host);
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(FILE) as ts.SourceFile;
  const found = new Map<string, string>();
  const print = (type: ts.Type) => checker.typeToString(type, file, tsc.TypeFormatFlags.NoTruncation);
  const members = (type: ts.Type) =>
    checker
      .getPropertiesOfType(type)
      .map((one) => `${one.name}: ${print(checker.getTypeOfSymbolAtLocation(one, file))}`);
  const flags = tsc.SymbolFlags.Value | tsc.SymbolFlags.Type | tsc.SymbolFlags.Namespace;
  for (const symbol of checker.getSymbolsInScope(file, flags)) {
    const parts: string[] = [];
    if (symbol.flags & tsc.SymbolFlags.Type) parts.push(...members(checker.getDeclaredTypeOfSymbol(symbol)));
    if (symbol.flags & tsc.SymbolFlags.Value) {
      const type = checker.getTypeOfSymbolAtLocation(symbol, file);
      parts.push(print(type), ...members(type));
    }
    for (const one of symbol.exports?.values() ?? []) parts.push(`${one.name}`);
    // TypeScript numbers symbols as it meets them.
    found.set(symbol.name, parts.join("\n").replace(/@\d+/g, ""));
  }
  return found;
}

library("declares each name, member and overload as TypeScript's own files do, in their order", () => {
  const own = known(["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"]);
  const one = known([LIBRARY]);
  assert.ok(own.size > 100);
  assert.equal([...one.keys()].sort(), [...own.keys()].sort());
  for (const [name, text] of own) assert.is(one.get(name), text, name);
});

library("knows the files that it is made of, and no other", () => {
  for (const name of ["es5", "es2015.core", "es2023.array", "esnext.disposable", "decorators"])
    assert.ok(isLibraryPart(join(folder, `lib.${name}.d.ts`)), name);
  for (const path of [
    libraryFile,
    join(folder, "lib.dom.d.ts"),
    join(folder, "lib.es2024.d.ts"),
    "/lib.es5.d.ts",
  ])
    assert.not.ok(isLibraryPart(path), path);
});

library("is not declared twice by a file that asks for a part or for all of what is newer", () => {
  const compiler = new Compiler(process.cwd());
  const say = (cell: string) => {
    const { diagnostics } = compiler.compile("export {};\n", cell, rewriteCell);
    return diagnostics.map(({ code }) => code);
  };
  const checked = "Array.from('ab').flatMap((x) => [x]).at(0)?.toUpperCase();";
  assert.equal(say(`/// <reference lib="es2020" />\n${checked}`), []);
  assert.equal(say(`/// <reference lib="esnext" />\n${checked}\nObject.groupBy([1], (x) => String(x));`), []);
  assert.equal(say("Object.groupBy([1], (x) => String(x));"), [2550]);
  assert.equal(say("const list: string[] = [1];"), [2322]);
  compiler.close();
});

library.run();
