/**
 * Makes the kernel's own packages resolvable from every working directory, for TypeScript's look-ups and for `require`, so
 * that a notebook needs no node_modules. A package that the working directory has itself wins, except this one.
 */
import { existsSync, readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { System } from "typescript";
import { packagePath } from "../lab/index.js";

const require = createRequire(import.meta.url);

/** Name → folder of each package that notebooks may import without installing it. */
export function preloadedPackages(): Map<string, string> {
  const root = packagePath(".").replace(/\/$/, "");
  const packages = new Map([
    ["p2plab", root],
    ["arquero", folderOf(require.resolve("arquero"), "arquero")],
    ["@types/node", dirname(require.resolve("@types/node/package.json"))],
    ["tslab", dirname(require.resolve("tslab/package.json"))],
  ]);
  try {
    packages.set("plotly.js-dist", dirname(require.resolve("plotly.js-dist/package.json")));
  } catch {
    // Left out where only headless runs are wanted: figures are plain JSON and do not need it.
  }
  return packages;
}

function folderOf(file: string, name: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).name === name) return folder;
  }
  throw new Error(`the package ${name} has no package.json above ${file}`);
}

/** Forwards `<cwd>/node_modules/<package>` to the kernel's packages. Changes the system that is given. */
export function forwardTypeScriptLookups(system: System, cwd: string): void {
  const modules = `${cwd.replace(/\\/g, "/").replace(/\/$/, "")}/node_modules`;
  const packages = [...preloadedPackages()].filter(
    ([name]) => name === "p2plab" || !existsSync(join(modules, name, "package.json")),
  );
  const forward = (path: string): string => {
    for (const [name, folder] of packages) {
      const prefix = `${modules}/${name}`;
      if (path === prefix || path.startsWith(`${prefix}/`)) return folder + path.slice(prefix.length);
    }
    return path;
  };
  const original = { ...system };
  system.fileExists = (path) => original.fileExists(forward(path));
  system.directoryExists = (path) =>
    path === modules || path === `${modules}/@types` || original.directoryExists(forward(path));
  system.readFile = (path, encoding) => original.readFile(forward(path), encoding);
  system.realpath = (path) => original.realpath?.(forward(path)) ?? forward(path);
}

type ResolveFilename = (request: string, parent: unknown, isMain: boolean, options?: unknown) => string;

/** Lets `require` find the kernel's packages where the notebook's folder has none. */
export function forwardRequire(): void {
  const packages = preloadedPackages();
  const own = new Map(["p2plab", "p2plab/notebook"].map((name) => [name, require.resolve(name)]));
  const internals = Module as unknown as { _resolveFilename: ResolveFilename };
  const original = internals._resolveFilename;
  internals._resolveFilename = function (this: unknown, request, parent, isMain, options) {
    const name = packageName(request);
    const folder = packages.get(name);
    const kernels = own.get(request);
    if (kernels) return kernels;
    try {
      return original.call(this, request, parent, isMain, options);
    } catch (error) {
      if (!folder || (error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
      return original.call(this, folder + request.slice(name.length), parent, isMain, options);
    }
  };
}

function packageName(request: string): string {
  return request.split("/", request.startsWith("@") ? 2 : 1).join("/");
}

/** Node.js 20 warns once that `require` of ES modules is new; a cell that imports a package has no use for that. */
export function silenceModuleWarning(): void {
  const original = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    const name = typeof rest[0] === "string" ? rest[0] : (rest[0] as { type?: string } | undefined)?.type;
    if (
      name === "ExperimentalWarning" &&
      /\brequire\(?\)?\b|ES Module|USE_MAIN_CONTEXT/i.test(String(warning))
    )
      return;
    (original as (...all: unknown[]) => void).call(process, warning, ...rest);
  }) as typeof process.emitWarning;
}
