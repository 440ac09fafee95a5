/**
 * Makes the start-up snapshot, from which `start.sh` begins the kernel in half the time: TypeScript and its library need not be
 * read and parsed.
 *
 *     node dist/kernel/jupyter/snapshot.js [FILE]
 *
 * FILE is `.p2plab/kernel.snapshot` in the package's folder unless it is given.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BuildOptions, Plugin } from "esbuild";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const snapshot = process.argv[2] ?? here("../../../.p2plab/kernel.snapshot");
const packed = `${snapshot}.${process.pid}.packed.cjs`;
const thread = `${snapshot}.${process.pid}.thread.cjs`;
const script = `${snapshot}.${process.pid}.cjs`;
const unfinished = `${snapshot}.${process.pid}`;
/** Says what a snapshot fits, in the words of `start.sh`: the file of Node.js, and what the processor can do. */
const FITS = `ls -Lis "$1"; grep -m 1 '^flags' /proc/cpuinfo || echo`;

/** Replaces modules by others, and gives each one of the kernel's the address that it has unbundled. */
function substituting(modules: Readonly<Record<string, { path: string } | { contents: string }>>): Plugin {
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

async function bundle(entry: string, outfile: string, options: BuildOptions): Promise<void> {
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
    ...options,
  });
}

/** The module that starts the sockets' thread from its code: nothing has to be read, and few modules to be looked for. */
function threadOf(code: string): string {
  const require = `require("node:module").createRequire(${JSON.stringify(here("sockets.js"))})`;
  const whole = JSON.stringify(`((require) => { ${code}\n})(${require})`);
  return `import { Worker } from "node:worker_threads";
export const socketsThread = (options) => new Worker(${whole}, { ...options, eval: true });`;
}

function run(program: string, args: readonly string[], env: Record<string, string> = {}): string {
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "", ...env },
  });
  if (status === 0) return stdout;
  throw new Error(`${program} ${args.join(" ")} failed: ${error?.message ?? signal ?? status}\n${stderr}`);
}

if (process.platform === "win32") {
  process.stdout.write("no start-up snapshot on Windows: the kernel is started there without\n");
} else {
  mkdirSync(dirname(snapshot), { recursive: true });
  try {
    // The library is part of the kernel's one file; cells get it from there.
    await bundle(here("sockets.js"), thread, {
      minify: true,
      external: ["zeromq"],
      plugins: [substituting({})],
    });
    await bundle(here("main.js"), packed, {
      // Readers see the names of classes.
      keepNames: true,
      minifyWhitespace: true,
      plugins: [
        substituting({
          "/session/index.js": { path: here("../session/packed.js") },
          "/sockets-thread.js": { contents: threadOf(readFileSync(thread, "utf8")) },
        }),
      ],
    });
    await bundle(here("../session/snapshot.js"), script, {
      minify: true,
      // TypeScript finds its library beside itself.
      define: { __filename: JSON.stringify(createRequire(import.meta.url).resolve("typescript")) },
      plugins: [
        substituting({
          // Of the library no more than where its files are.
          "/lab/index.js": { path: here("../lab/files.js") },
          "/session/compiled-form.js": {
            contents: 'import tsc from "typescript"; export const loadTypescript = () => tsc;',
          },
        }),
      ],
    });
    run(process.execPath, ["--no-warnings", "--snapshot-blob", unfinished, "--build-snapshot", script], {
      P2PLAB_PACKED: packed,
    });
    // Node.js calls it experimental: what cannot be started from is not kept.
    run(process.execPath, ["--no-warnings", "--snapshot-blob", unfinished, here("main.js"), "--check"]);
    for (const old of [snapshot, `${snapshot}.started`]) rmSync(old, { force: true });
    writeFileSync(`${snapshot}.for`, run("sh", ["-c", FITS, "sh", process.execPath]));
    renameSync(unfinished, snapshot);
  } finally {
    for (const file of [thread, packed, script, unfinished]) rmSync(file, { force: true });
  }
}
