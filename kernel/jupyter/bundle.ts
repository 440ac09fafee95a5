/** Bundling the kernel's code into one file. */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { BuildOptions, Plugin } from "esbuild";

/** Replaces modules by others, and gives each one of the kernel's the address that it has unbundled. */
export function substituting(
  modules: Readonly<Record<string, { path: string } | { contents: string }>>,
): Plugin {
  return {
    name: "substituting",
    setup(bundler) {
      for (const [suffix, substitute] of Object.entries(modules)) {
        const filter = new RegExp(`${suffix.replace(/[./]/g, "\\$&")}$`);
        if ("path" in substitute) bundler.onResolve({ filter }, () => substitute);
        else bundler.onLoad({ filter }, () => substitute);
      }
      bundler.onLoad({ filter: /[\\/]dist[\\/]kernel[\\/].*\.js$/ }, ({ path }) => ({
        contents: readFileSync(path, "utf8").replaceAll(
          "import.meta.url",
          JSON.stringify(pathToFileURL(path).href),
        ),
      }));
    },
  };
}

/** One CommonJS file for Node.js. */
export async function bundle(entry: string, outfile: string, options: BuildOptions): Promise<void> {
  const { build } = await import("esbuild");
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    mainFields: ["module", "main"],
    logLevel: "error",
    // Code out of a snapshot or with compiled data beside it knows no way to import: it requires instead.
    supported: { "dynamic-import": false },
    ...options,
  });
}

/** A character then takes one byte in memory, not two: what is left of Chinese in bundled code stands in regular expressions. */
export function inLatin(code: string): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return code.replace(/[^\0-\x7f]/g, escaped);
}
