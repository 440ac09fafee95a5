// Bootstraps a clone before anything is installed: the one plain JavaScript file, without dependencies.
//   node kernel/setup.mjs setup                 set up what is missing
//   node kernel/setup.mjs start [options]       the same, then JupyterLab on notebooks/ (options go to JupyterLab)
//   node kernel/setup.mjs start --headless [--machine M]   instead run chapter 01 and write its report; needs no Python
//   node kernel/setup.mjs test [filter…]        the same, then every test suite
//   node kernel/setup.mjs build                 only TypeScript and the figures' library
// Each step leaves a stamp with a hash of what it was made from in .p2plab/, and is skipped while that is unchanged.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const STATE = join(ROOT, ".p2plab");
const STAMPS = join(STATE, "stamps.json");
const MIN_NODE = [20, 19];
const WINDOWS = process.platform === "win32";

class SetupError extends Error {}

function say(line) {
  process.stderr.write(`${line}\n`);
}

// ---- stamps ----

function readStamps() {
  try {
    return JSON.parse(readFileSync(STAMPS, "utf8"));
  } catch {
    return {}; // none yet, or half-written by a crash: every step is checked anew
  }
}

function writeStamp(name, hash) {
  const stamps = { ...readStamps(), [name]: hash };
  writeFileSync(`${STAMPS}.tmp`, JSON.stringify(stamps, null, 1));
  renameSync(`${STAMPS}.tmp`, STAMPS);
}

function filesUnder(folder, keep) {
  const path = join(ROOT, folder);
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && keep.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

function hashOf(places, keep = /./, more = "") {
  const hash = createHash("sha256").update(`${process.version} ${process.platform} ${process.arch} ${more}`);
  for (const place of places) {
    for (const file of filesUnder(place, keep))
      hash.update(`\n${file.slice(ROOT.length)}\n`).update(readFileSync(file));
  }
  return hash.digest("hex").slice(0, 20);
}

/** Runs a step unless its stamp says that it is done and `present` agrees. */
async function step(name, hash, present, action, does) {
  if (readStamps()[name] === hash && present()) return false;
  const began = performance.now();
  say(`  … ${does}`);
  await action();
  writeStamp(name, hash);
  say(`  ✓ ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  return true;
}

// ---- running programs ----

/** Runs a program with its output in a log; on failure the log's tail is in the error. */
async function logged(name, command, args, options = {}) {
  const log = join(STATE, `${name}.log`);
  const file = openSync(log, "w");
  const code = await new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ["ignore", file, file], ...options });
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (status, signal) => resolve(signal ?? status));
  });
  if (code === 0) return;
  const tail = readFileSync(log, "utf8").trimEnd().split("\n").slice(-12).join("\n    ");
  throw new SetupError(`${name} failed (${code}); the whole log is ${log}. Its end:\n    ${tail}`);
}

function npm(name, args) {
  const cli = process.env.npm_execpath;
  return cli
    ? logged(name, process.execPath, [cli, ...args])
    : logged(name, WINDOWS ? "npm.cmd" : "npm", args, { shell: WINDOWS });
}

function answers(command, args) {
  const result = spawnSync(command, args, { encoding: "utf8" });
  return result.status === 0 ? result.stdout.trim() : null;
}

// ---- steps ----

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1])) {
    throw new SetupError(
      `Node.js ${MIN_NODE.join(".")} or later is needed, this is ${process.versions.node}. Install a newer one from nodejs.org or conda-forge.`,
    );
  }
}

async function packages() {
  await step(
    "npm packages",
    hashOf(["package.json", "package-lock.json"]),
    () =>
      existsSync(join(ROOT, "node_modules/tslab/package.json")) &&
      existsSync(join(ROOT, "node_modules/typescript/bin/tsc")),
    () => npm("npm", ["ci", "--no-audit", "--no-fund"]),
    "npm packages: npm ci",
  );
}

async function build() {
  await step(
    "TypeScript",
    hashOf(["kernel", "test", "notebooks/solutions", "tsconfig.json", "package-lock.json"], /\.(ts|json)$/),
    () => existsSync(join(ROOT, "dist/kernel/cli/main.js")),
    () =>
      logged("typescript", process.execPath, [
        join(ROOT, "node_modules/typescript/bin/tsc"),
        "-p",
        "tsconfig.json",
      ]),
    "TypeScript: compiling to dist/",
  );
  const assets = join(ROOT, "dist/assets");
  await step(
    "figures",
    hashOf(["node_modules/plotly.js-dist/package.json"]),
    () => existsSync(join(assets, "plotly.min.js")),
    async () => {
      mkdirSync(assets, { recursive: true });
      const { transform } = await import("esbuild");
      const source = readFileSync(join(ROOT, "node_modules/plotly.js-dist/plotly.js"), "utf8");
      const { code } = await transform(source, { minify: true, legalComments: "none", charset: "utf8" });
      writeFileSync(
        join(assets, "plotly.min.js.tmp"),
        `/* plotly.js, MIT License, https://github.com/plotly/plotly.js */\n${code}`,
      );
      renameSync(join(assets, "plotly.min.js.tmp"), join(assets, "plotly.min.js"));
    },
    "figures: minifying plotly.js",
  );
}

/** The addon is optional: without it recordings and simulations work, so a failure is said and not fatal. */
async function addon() {
  const hash = hashOf(["native", "binding.gyp"], /\.(cc|h|cu|ptx|mjs|gyp)$/, process.versions.modules);
  if (readStamps()["addon failed"] === hash && process.env.P2PLAB_REQUIRE !== "1") {
    say(`  – addon: did not build here before (${join(STATE, "addon.log")}); going on without it`);
    return;
  }
  try {
    await step(
      "addon",
      hash,
      () => existsSync(join(ROOT, "build/Release/p2p.node")),
      () => npm("addon", ["run", "build:addon"]),
      "addon: compiling native/",
    );
  } catch (error) {
    if (process.env.P2PLAB_REQUIRE === "1") throw error;
    writeStamp("addon failed", hash);
    say(
      `  – addon: not built, so real GPUs cannot be measured; recordings and simulations work. ${error.message}`,
    );
  }
}

/** Packages of environment.yml as `name` and `constraint`, without those that only conda has. */
function pythonPackages() {
  const onlyConda = new Set(["python", "nodejs", "cxx-compiler", "cuda-nvcc"]);
  const lines = readFileSync(join(ROOT, "environment.yml"), "utf8").split("\n");
  const begin = lines.findIndex((line) => line.startsWith("dependencies:"));
  return lines.slice(begin + 1).flatMap((line) => {
    const match = /^\s+- ([\w.-]+)\s*([<>=!~][^#]*)?/.exec(line);
    return match && !onlyConda.has(match[1]) ? [{ name: match[1], constraint: (match[2] ?? "").trim() }] : [];
  });
}

/** The environment that JupyterLab lives in: the active conda one, otherwise .venv. */
function environment() {
  const conda = process.env.MAMBA_EXE ?? process.env.CONDA_EXE ?? null;
  const prefix = process.env.CONDA_PREFIX && conda ? process.env.CONDA_PREFIX : join(ROOT, ".venv");
  const bin = WINDOWS ? join(prefix, prefix.endsWith(".venv") ? "Scripts" : "") : join(prefix, "bin");
  return {
    conda: process.env.CONDA_PREFIX && conda ? conda : null,
    prefix,
    bin,
    python: join(bin, WINDOWS ? "python.exe" : "python"),
  };
}

async function python() {
  const { conda, prefix, python: executable } = environment();
  const list = pythonPackages();
  const importable = "import jupyterlab, nbconvert, nbclient, plotly";
  await step(
    "Python environment",
    hashOf(["environment.yml"], /./, prefix),
    () =>
      existsSync(executable) &&
      existsSync(join(prefix, WINDOWS ? "Scripts/jupyter-lab.exe" : "bin/jupyter-lab")),
    async () => {
      if (conda) {
        if (answers(executable, ["-c", importable]) === null) {
          await logged("python", conda, [
            "install",
            "--yes",
            "--prefix",
            prefix,
            "--channel",
            "conda-forge",
            ...list.map((p) => `${p.name}${p.constraint}`),
          ]);
        }
        return;
      }
      if (answers(executable, ["-m", "pip", "--version"]) === null) await newVenv(prefix);
      await logged("python", executable, [
        "-m",
        "pip",
        "install",
        "--retries",
        "1",
        "--disable-pip-version-check",
        ...list.map((p) => `${p.name}${p.constraint}`),
      ]);
    },
    conda
      ? `Python: ${list.map((p) => p.name).join(", ")} by ${conda} into ${prefix}`
      : `Python: ${list.map((p) => p.name).join(", ")} by pip into .venv`,
  );
}

async function newVenv(prefix) {
  const system = ["python3", "python"].find(
    (name) => answers(name, ["-c", "import sys; assert sys.version_info >= (3, 10)"]) !== null,
  );
  if (!system)
    throw new SetupError(
      "Python 3.10 or later was not found. Install it (Debian: apt install python3 python3-venv; or conda), then run this again.",
    );
  rmSync(prefix, { recursive: true, force: true });
  try {
    await logged("venv", system, ["-m", "venv", prefix]);
  } catch (error) {
    rmSync(prefix, { recursive: true, force: true });
    if (answers("virtualenv", ["--version"]) !== null)
      return await logged("venv", "virtualenv", ["--python", system, prefix]);
    if (answers("uv", ["--version"]) !== null)
      return await logged("venv", "uv", ["venv", "--seed", "--python", system, prefix]);
    throw new SetupError(
      `${system} cannot make a virtual environment. On Debian and Ubuntu: apt install python3-venv. ${error.message}`,
    );
  }
}

async function kernelspec() {
  const { prefix } = environment();
  await step(
    "kernelspec",
    hashOf(
      ["kernel/notebook/kernelspec.ts", "node_modules/plotly.js-dist/package.json"],
      /./,
      `${process.execPath} ${ROOT} ${prefix}`,
    ),
    () => existsSync(join(prefix, "share/jupyter/kernels/p2plab/kernel.json")),
    () =>
      logged("kernelspec", process.execPath, [
        join(ROOT, "dist/kernel/cli/main.js"),
        "kernel",
        "install",
        "--prefix",
        prefix,
      ]),
    `kernelspec: p2plab into ${prefix}`,
  );
}

async function setUp({ withPython }) {
  checkNode();
  mkdirSync(STATE, { recursive: true });
  const unlock = await lock();
  try {
    // What does not depend on each other runs side by side.
    const pythonDone = withPython ? python() : Promise.resolve();
    pythonDone.catch(() => {}); // reported below, after the other branch has ended
    await packages();
    await build();
    await addon();
    await pythonDone;
    if (withPython) await kernelspec();
  } finally {
    unlock();
  }
}

/** One set-up at a time in a clone. A lock whose process is gone is taken over. */
async function lock() {
  const file = join(STATE, "lock");
  for (let waited = 0; ; waited++) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw new SetupError(`cannot write into ${STATE}: ${error.message}`);
      const holder = Number(readFileSync(file, "utf8")) || 0;
      if (!isAlive(holder)) rmSync(file, { force: true });
      else {
        if (waited === 0) say(`  … another set-up (process ${holder}) is at work; waiting`);
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
  }
}

function isAlive(pid) {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

// ---- what follows the set-up ----

/** Runs a program in the foreground until it ends; signals of the terminal reach it directly. */
function foreground(command, args, env = process.env) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: "inherit", env });
    for (const signal of ["SIGINT", "SIGTERM"])
      process.on(signal, () => signal === "SIGTERM" && child.kill(signal));
    child.once("error", (error) => {
      say(`${command}: ${error.message}`);
      resolve(1);
    });
    child.once("exit", (status, signal) => resolve(signal ? 130 : (status ?? 1)));
  });
}

function chapterOne() {
  const folder = join(ROOT, "notebooks");
  const name = readdirSync(folder).find((file) => /^01-.*\.ipynb$/.test(file));
  if (!name) throw new SetupError("notebooks/ has no chapter 01");
  return join("notebooks", name);
}

async function start(args) {
  if (args.includes("--headless")) {
    await setUp({ withPython: false });
    const rest = args.filter((arg) => arg !== "--headless");
    return await foreground(process.execPath, [
      join(ROOT, "dist/kernel/cli/main.js"),
      "report",
      chapterOne(),
      "--out",
      "reports",
      ...rest,
    ]);
  }
  const { machine, rest } = machineOption(args);
  await setUp({ withPython: true });
  const { bin } = environment();
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    ...(machine ? { P2PLAB_MACHINE: machine } : {}),
  };
  const root = process.getuid?.() === 0 ? ["--allow-root"] : [];
  return await foreground(
    join(bin, WINDOWS ? "jupyter-lab.exe" : "jupyter-lab"),
    [`--notebook-dir=${join(ROOT, "notebooks")}`, ...root, ...rest],
    env,
  );
}

function machineOption(args) {
  const at = args.indexOf("--machine");
  if (at < 0) return { machine: null, rest: args };
  if (args[at + 1] === undefined) throw new SetupError("--machine names no machine");
  return { machine: args[at + 1], rest: [...args.slice(0, at), ...args.slice(at + 2)] };
}

async function main([action, ...args]) {
  switch (action) {
    case "setup":
      await setUp({ withPython: true });
      return 0;
    case "build":
      checkNode();
      mkdirSync(STATE, { recursive: true });
      await build();
      return 0;
    case "start":
      return await start(args);
    case "test":
      await setUp({ withPython: true });
      return await foreground(process.execPath, [join(ROOT, "dist/test/run.js"), ...args], {
        ...process.env,
        PATH: `${environment().bin}${delimiter}${process.env.PATH}`,
      });
    default:
      say("usage: node kernel/setup.mjs setup | build | start [--headless] [--machine M] | test [FILTER…]");
      return 2;
  }
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error) => {
    say(error instanceof SetupError ? `p2plab set-up: ${error.message}` : error.stack);
    process.exit(1);
  },
);
