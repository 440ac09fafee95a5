/**
 * Makes the start-up snapshot, from which `start.sh` begins the kernel in two thirds of the time: TypeScript and its library need not be
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
import { fileURLToPath } from "node:url";
import { bundle, inLatin, substituting } from "./bundle.js";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const snapshot = process.argv[2] ?? here("../../../.p2plab/kernel.snapshot");
const packed = `${snapshot}.${process.pid}.packed.cjs`;
const thread = `${snapshot}.${process.pid}.thread.cjs`;
const script = `${snapshot}.${process.pid}.cjs`;
const unfinished = `${snapshot}.${process.pid}`;
/** Says what a snapshot fits, in the words of `start.sh`: the folder, the file of Node.js, and what the processor can do. */
const FITS = `(cd "$2" && pwd -P); ls -Lis "$1"; grep -m 1 '^flags' /proc/cpuinfo || echo`;

/** The module that starts the sockets' thread from its code: nothing has to be read, and few modules to be looked for. */
function threadOf(code: string): string {
  const require = `require("node:module").createRequire(${JSON.stringify(here("sockets.js"))})`;
  const whole = JSON.stringify(`((require) => { ${code}\n})(${require})`);
  return `import { Worker } from "node:worker_threads";
export const socketsThread = (options) => new Worker(${whole}, { ...options, eval: true });`;
}

/** The module of zeromq that finds its compiled part, where it has been found. */
function zeromqAddon(): string {
  const require = createRequire(import.meta.url);
  require("zeromq");
  const found = Object.keys(require.cache).find((file) => /[\\/]zeromq[\\/].*\.node$/.test(file));
  if (found === undefined) throw new Error("zeromq loads no compiled part");
  return `exports.__esModule = true; exports.default = require(${JSON.stringify(found)});`;
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
      external: ["*.node"],
      plugins: [substituting({ "/zeromq/lib/load-addon.js": { contents: zeromqAddon() } })],
    });
    await bundle(here("main.js"), packed, {
      // Readers see the names of classes.
      keepNames: true,
      minify: true,
      plugins: [
        substituting({
          "/session/index.js": { path: here("../session/packed.js") },
          // It is one file already.
          "/session/packed-program.js": { contents: "export const packedPart = () => null;" },
          "/sockets-thread.js": { contents: threadOf(readFileSync(thread, "utf8")) },
        }),
      ],
    });
    writeFileSync(packed, inLatin(readFileSync(packed, "utf8")), "latin1");
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
    writeFileSync(`${snapshot}.for`, run("sh", ["-c", FITS, "sh", process.execPath, here("../..")]));
    renameSync(unfinished, snapshot);
  } finally {
    for (const file of [thread, packed, script, unfinished]) rmSync(file, { force: true });
  }
}
