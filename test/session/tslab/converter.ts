/** tslab's converter, as its specs see it, on this kernel's compiler. */

import { readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type ts from "typescript";
import { completionOf } from "../../../kernel/session/assistance.js";
import { Compiler } from "../../../kernel/session/compiler.js";
import { completenessOf } from "../../../kernel/session/completeness.js";
import { converted } from "../../../kernel/session/conversion.js";
import { type Declaration, declarationsOf, merged, textOf } from "../../../kernel/session/declarations.js";
import { type Diagnostic, diagnosticOf } from "../../../kernel/session/diagnostic.js";
import { commonJs } from "../../../kernel/session/module-code.js";
import { tsc } from "../../../kernel/session/typescript.js";

type Watcher = (fileName: string, kind: number) => void;

/** Texts of JavaScript that `convert` gave: its form is the kernel's own. */
export const javaScript: Set<string> = new Set();
/** Texts of declarations that `convert` gave. */
export const declarationTexts: Set<string> = new Set();

const WATCH_MS = 20;

export function createConverter(options: { isBrowser?: boolean; _fileWatcher?: Watcher } = {}) {
  const cwd = process.cwd();
  const compiler = new Compiler(cwd, options.isBrowser ? "browser" : "node");
  const { _fileWatcher: watcher } = options;
  // The kernel has no watchers, it looks at each cell; who waits for one is told that it may go on.
  const timer = setInterval(() => {
    const files = watcher ? readdirSync(cwd, { recursive: true, encoding: "utf8" }) : [];
    for (const file of files)
      if (file.endsWith(".ts")) watcher?.(join(cwd, file), tsc.FileWatcherEventKind.Changed);
  }, WATCH_MS);
  return {
    convert(earlierText: string, source: string) {
      const earlier = parsed(earlierText);
      const { diagnostics, emitted, modules, declarations } = converted(compiler, earlier, source);
      if (!emitted) return { diagnostics: diagnostics.map((one) => positioned(one, source, cwd)) };
      const sideOutputs = [...modules]
        .map(([path, data]) => ({ path: path.replace(/\.tsx?$/, ".js"), data: withoutPrologue(data.js) }))
        .filter(({ path }) => dirname(path) !== cwd)
        .sort((a, b) => (a.path < b.path ? -1 : 1));
      const declOutput = textOf(merged(earlier, declarations, () => true))
        .replace(/\n?export \{\};\n$/, "\n")
        .trimStart();
      javaScript.add(emitted.js);
      declarationTexts.add(declOutput);
      const value = /\$p2plab_cell\.value = /.test(emitted.js);
      return {
        output: emitted.js,
        declOutput,
        diagnostics: [],
        hasToplevelAwait: hasAwait(source),
        ...(value && { lastExpressionVar: "tsLastExpr" }),
        ...(sideOutputs.length > 0 && { sideOutputs }),
      };
    },
    inspect: (earlier: string, source: string, position: number) =>
      compiler.inspect(textOf(parsed(earlier)), source, position),
    complete(earlier: string, source: string, position: number) {
      const { entries, signatureOf } = compiler.complete(textOf(parsed(earlier)), source, position);
      const { candidates, ...rest } = completionOf(source, position, entries, signatureOf);
      return { ...rest, candidates: candidates.map(({ name }) => name) };
    },
    addModule: (name: string, content: string) =>
      compiler
        .addModule(name, content, false)
        .flatMap((one) => diagnosticOf(one, compiler.cellFile, 0))
        .map((one) => positioned(one, content, cwd)),
    close() {
      clearInterval(timer);
      compiler.close();
    },
  };
}

export function isCompleteCode(source: string): { completed: boolean; indent?: string } {
  const { completed, indent } = completenessOf(source);
  return completed ? { completed } : { completed, indent };
}

export function esModuleToCommonJSModule(js: string): string {
  return js === "" ? "" : withoutPrologue(commonJs(js).js);
}

/** What was an ES module is strict; tslab's TypeScript leaves that out. */
function withoutPrologue(js: string): string {
  return js.replace(/^"use strict";\n/, "");
}

/** Each name with one statement, whatever stood together. */
export function parsed(text: string): Declaration[] {
  const declared = text.replace(/^(?=(class|enum|let|const|var|function) )/gm, "declare ");
  // Of an import only a type is called like one.
  const isType = (name: string) => /^[A-Z]/.test(name);
  return declarationsOf(declared, (name) => !isType(name), isType);
}

/** The same declarations, in whatever order, and however they are grouped. */
export function sameDeclarations(a: string, b: string): boolean {
  const shape = (text: string) =>
    parsed(text.replace(/^\/\/\/ .*$/gm, ""))
      .map((one) => one.text.replace(/\s+/g, ""))
      .sort()
      .join("\n");
  return shape(a) === shape(b);
}

function hasAwait(source: string): boolean {
  const file = tsc.createSourceFile("cell.ts", source, tsc.ScriptTarget.ES2022, true);
  const awaits = (node: ts.Node): boolean =>
    !tsc.isFunctionLike(node) && (tsc.isAwaitExpression(node) || tsc.forEachChild(node, awaits) === true);
  return awaits(file);
}

function positioned(found: Diagnostic, source: string, cwd: string) {
  const lines = source.split("\n");
  const offsetOf = ({ line, character }: Diagnostic["start"]) => ({
    offset: lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, 0) + character,
    line,
    character,
  });
  const { start, end, messageText, code, fileName } = found;
  return {
    start: offsetOf(start),
    end: offsetOf(end),
    messageText,
    category: tsc.DiagnosticCategory.Error,
    code,
    ...(fileName !== undefined && { fileName: relative(cwd, join(cwd, fileName)) }),
  };
}
