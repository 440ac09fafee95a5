/**
 * Makes the command's and the kernel's code one file, TypeScript's a short one, and leaves beside them what V8 compiles of them
 * while cells run.
 *
 *     node dist/kernel/cli/pack.js
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, inLatin, substituting } from "../jupyter/bundle.js";
import { packagePath } from "../lab/index.js";
import { PACKED_PROGRAM, packedHeader, packedScript, runPacked } from "../session/packed-program.js";

/** Cells such as readers write: the functions that they need are compiled. */
const CELLS = [
  "const machine = await lab.open('sim:pcie-gen4-2');",
  "const table = await lab.sweep(machine, { from: 0, to: 1, bytes: ['8 B', '1 MiB'] }); table",
  "plot.latency(table)",
];

/** TypeScript's code in a third of its nine megabytes, under the name that sessions look for. */
async function shortenTypescript(): Promise<void> {
  const { transform } = await import("esbuild");
  const require = createRequire(import.meta.url);
  const { version } = require("typescript/package.json") as { version: string };
  const short = packagePath(`.p2plab/typescript-${version}.js`);
  const { code } = await transform(readFileSync(require.resolve("typescript"), "utf8"), {
    minify: true,
    platform: "node",
    target: "node20",
    legalComments: "inline",
  });
  writeFileSync(own(short), inLatin(code), "latin1");
  renameSync(own(short), short);
}

const file = packagePath(PACKED_PROGRAM.code);
const own = (path: string) => `${path}.${process.pid}.tmp`;
const compiled = packagePath(PACKED_PROGRAM.compiled);
mkdirSync(dirname(file), { recursive: true });
try {
  await bundle(fileURLToPath(new URL("packed.js", import.meta.url)), own(file), {
    // Stacks and readers see names.
    keepNames: true,
    minifyWhitespace: true,
    // Each is loaded where it is needed, by its own way.
    external: ["esbuild", "playwright-core", "typescript"],
    plugins: [substituting({})],
  });
  const code = packedHeader() + inLatin(readFileSync(own(file), "utf8"));
  writeFileSync(own(file), code, "latin1");
  await shortenTypescript();
  const script = packedScript(code);
  const { load } = runPacked(script) as typeof import("./packed.js");
  await load.command();
  const { Session, keepCompiledForm } = await load.session();
  const session = await Session.create({ cwd: tmpdir() });
  for (const cell of CELLS) {
    const { error } = await session.execute(cell);
    if (error) throw new Error(`a cell failed: ${error.traceback.join("\n")}`);
  }
  keepCompiledForm();
  session.close();
  writeFileSync(own(compiled), script.createCachedData());
  renameSync(own(compiled), compiled);
  renameSync(own(file), file);
} catch (error) {
  // An open session would take it for what a cell has left behind.
  writeSync(2, `${error instanceof Error ? error.stack : error}\n`);
  process.exitCode = 1;
} finally {
  for (const path of [file, compiled]) rmSync(own(path), { force: true });
}
