/**
 * Where TypeScript has looked for files and modules: it asks again for each program, hundreds of times, and little of it changes
 * under a running session.
 */
import { realpathSync } from "node:fs";
import type ts from "typescript";
import { packagePath } from "../lab/index.js";
import { tsc } from "./typescript.js";

/** The folder of the kernel's own packages, as TypeScript writes it. */
function ownPackages(): string {
  ownFolder ??= `${realpathSync(packagePath("node_modules")).replace(/\\/g, "/")}/`;
  return ownFolder;
}
let ownFolder: string | null = null;

/** Which of the kernel's own packages a path lies in; undefined for none. */
function packageOf(path: string, packages: string): string | undefined {
  if (!path.startsWith(packages)) return undefined;
  return /^(?:@[^/]+\/)?[^/]+\//.exec(path.slice(packages.length))?.[0];
}

/**
 * Asks once for what does not change: what is there, outside of the notebook's folder, stays there, and what one of the kernel's own
 * packages lacks it goes on lacking.
 */
export function remembered(ask: (path: string) => boolean, cwd: string): (path: string) => boolean {
  const packages = ownPackages();
  const found = new Set<string>();
  const lacking = new Set<string>();
  /** Packages of which something was found: others may be installed while the session runs. */
  const present = new Set<string>();
  return (path) => {
    if (found.has(path)) return true;
    if (lacking.has(path)) return false;
    const name = packageOf(path, packages);
    if (ask(path)) {
      if (name !== undefined) present.add(name);
      if (!path.startsWith(`${cwd}/`)) found.add(path);
      return true;
    }
    if (name !== undefined && present.has(name)) lacking.add(path);
    return false;
  };
}

/** What a `package.json` says; without contents: there is none. */
interface PackageInfo {
  readonly contents?: object;
}

/** TypeScript's own memory of packages; its types leave the methods out. */
interface PackageInfos extends ts.PackageJsonInfoCache {
  getPackageJsonInfo(file: string): PackageInfo | undefined;
  setPackageJsonInfo(file: string, info: PackageInfo): void;
  getInternalMap(): undefined;
}

/** Where a program's modules were found. Each program looks anew, but for what the kernel's own packages hold. */
export class ModuleLookups {
  readonly #cwd: string;
  readonly #own = new Map<string, PackageInfo>();
  #of = -1;
  #cache: ts.ModuleResolutionCache | null = null;

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** @param program number of the program that asks. */
  of(program: number, options: ts.CompilerOptions): ts.ModuleResolutionCache {
    if (this.#of !== program || !this.#cache) {
      this.#of = program;
      this.#cache = tsc.createModuleResolutionCache(this.#cwd, (name) => name, options, this.#packageInfos());
    }
    return this.#cache;
  }

  #packageInfos(): PackageInfos {
    const packages = ownPackages();
    const others = new Map<string, PackageInfo>();
    // Of a package that is not there it may be installed next.
    const isOwn = (file: string, info: PackageInfo | undefined) => {
      const name = packageOf(file, packages);
      return (
        name !== undefined &&
        (info === undefined || info.contents !== undefined || file !== `${packages}${name}package.json`)
      );
    };
    return {
      getPackageJsonInfo: (file) =>
        (isOwn(file, undefined) ? this.#own.get(file) : undefined) ?? others.get(file),
      setPackageJsonInfo: (file, info) => {
        (isOwn(file, info) ? this.#own : others).set(file, info);
      },
      getInternalMap: () => undefined,
      clear: () => others.clear(),
    };
  }
}
