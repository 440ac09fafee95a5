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

const IN_NODE = `Cells run in Node.js ${process.versions.node}`;

/** About names that other places have, by name. */
const ELSEWHERE: Record<string, string> = {
  Deno: `${IN_NODE}, not in Deno: node:fs reads files, and display shows what Deno.jupyter does.`,
  Bun: `${IN_NODE}, not in Bun: node:fs reads files, and node:child_process starts programs.`,
  alert: `${IN_NODE}, not in a page: console.log writes, and display shows.`,
  confirm: `${IN_NODE}, not in a page: prompt asks the reader.`,
  help: "lab.help() tells what there is, and lab.help(name) what a name stands for; Shift-Tab shows any name's documentation.",
  clear: "display.clear() clears a cell's output.",
};
const PAGE = `${IN_NODE}, not in a page: display.html shows HTML, whose scripts run in the page, and display.raw a plot as its data.`;
for (const name of ["document", "window", "self", "navigator", "localStorage", "HTMLElement"])
  ELSEWHERE[name] = PAGE;

/** About a name that is not known; null where nothing is known of it. */
export function unknownNameAdvice(name: string): string | null {
  return Object.hasOwn(ELSEWHERE, name) ? (ELSEWHERE[name] as string) : null;
}

/** About a cell that holds what IPython has beside its language; null for any other. */
export function magicAdvice(source: string): string | null {
  if (/^\s*%{1,2}[a-z]/m.test(source))
    return "Cells have no magics: await lab.time(fn) times a function, lab.vars() lists the variables, lab.help() tells what else there is.";
  const command = /^\s*!\s*([a-z][\w.-]*( .*)?)$/m.exec(source)?.[1];
  if (command)
    return `A program is started by a function: import { execSync } from "node:child_process"; execSync(${JSON.stringify(command.trim())}, { stdio: "inherit" })`;
  if (/^\s*\?{1,2}[\w.]+\s*$|^\s*[\w.]+\?{1,2}\s*$/.test(source))
    return "Shift-Tab shows a name's documentation, and lab.help(name) that of the library.";
  return null;
}
