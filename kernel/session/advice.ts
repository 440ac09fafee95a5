/** What a reader can do about a cell that TypeScript refuses, or a module that cannot be loaded. */
import { existsSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import type ts from "typescript";
import { LANGUAGE_LEVEL, tsc } from "./typescript.js";

/**
 * About a module that is not found.
 * @param name as the cell writes it.
 * @param folder the notebook's.
 */
export function missingModuleAdvice(name: string, folder: string): string {
  if (/^(\.{0,2}\/|\.{1,2}$)/.test(name))
    return "Paths begin at the notebook's folder; a cell that begins with /** @module name */ is imported as ./name.";
  if (name.startsWith("node:") || isBuiltin(name))
    return `Node.js ${process.versions.node} has no module ${name}, or no types of it are known.`;
  const asked = /^(?:npm|jsr):\/?(.*)$/.exec(name)?.[1] ?? name;
  if (/^[a-z]+:/.test(asked))
    return "Modules come from npm's packages and the notebook's folder: install the package, or save the file there.";
  const plain = withoutVersion(asked);
  const wanted = packageOf(plain);
  if (asked === name && isInstalled(wanted, folder))
    return `The package ${wanted} is installed, and gives nothing under this name: look at "exports" and "main" in its package.json.`;
  const install = `${name.startsWith("jsr:") ? "npx jsr add" : "npm install"} ${packageOf(asked)}`;
  const change = asked === name ? "" : ` and import it as "${plain}"`;
  return `Run ${install} in the notebook's folder${change}; then run the cell again.`;
}

/** `@a/b@1/c` → `@a/b@1`. */
function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** `@a/b@1/c` → `@a/b/c`. */
function withoutVersion(specifier: string): string {
  return specifier.replace(/^(@?[^@]+)@[^/]*/, "$1");
}

function isInstalled(name: string, folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, "node_modules", name, "package.json"))) return true;
    if (at === dirname(at)) return false;
  }
}

/** Where a cell, which has no JSX, was written with it; null for any other. */
export function jsxIn(source: string): ts.TextRange | null {
  if (!/<\/|\/>/.test(source)) return null;
  const file = tsc.createSourceFile("cell.tsx", source, LANGUAGE_LEVEL, false, tsc.ScriptKind.TSX);
  const { parseDiagnostics = [] } = file as unknown as { parseDiagnostics?: readonly unknown[] };
  if (parseDiagnostics.length > 0) return null;
  const first = (node: ts.Node): ts.Node | undefined =>
    tsc.isJsxElement(node) || tsc.isJsxSelfClosingElement(node) || tsc.isJsxFragment(node)
      ? node
      : tsc.forEachChild(node, first);
  const found = first(file);
  return found ? { pos: found.getStart(file), end: found.end } : null;
}

export const JSX_ADVICE =
  "JSX stands in module cells: begin one with /** @module name */ and /** @jsx */, import what JSX stands for there, and import the cell as ./name.";
