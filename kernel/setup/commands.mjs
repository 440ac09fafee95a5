// What `node kernel/setup.mjs` can do: each command sets up what it needs and is missing, then does its work.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { adviceFor } from "./advice.mjs";
import { environment, kernelspec, languagePack, pythonEnvironment } from "./python.mjs";
import {
  answers,
  filesUnder,
  foreground,
  hashOf,
  lock,
  logged,
  npm,
  onlyRead,
  onPath,
  ROOT,
  readStamps,
  SetupError,
  STATE,
  say,
  step,
  WINDOWS,
  writeStamp,
} from "./steps.mjs";

const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const CLI = join(ROOT, "dist/kernel/cli/main.js");
const REQUIRED = process.env.P2PLAB_REQUIRE === "1";

// ---- steps ----

async function packages() {
  await step("npm packages", {
    hash: hashOf(["package-lock.json"]),
    // npm writes this file when everything else is there.
    present: () => existsSync(join(ROOT, "node_modules/.package-lock.json")),
    does: "npm ci",
    action: () =>
      npm("npm", ["ci", "--no-audit", "--no-fund"], {
        hint: (printed) =>
          adviceFor(printed, {
            folder: "node_modules",
            network:
              "Behind a proxy, name it: HTTPS_PROXY=http://… npm start; behind a mirror: npm config set registry https://…",
          }),
      }),
  });
}

const sourcesHash = (more = "") =>
  hashOf(["kernel", "test", "notebooks/solutions", "tsconfig.json", "package-lock.json"], {
    keep: /\.(ts|json)$/,
    more,
  });

async function typescript() {
  await step("TypeScript", {
    hash: sourcesHash(),
    present: () => existsSync(CLI),
    does: "compiling to dist/",
    action: () => logged("typescript", process.execPath, [TSC, "-p", "tsconfig.json"]),
  });
  afterCompiling();
}

/** Takes away what was compiled from sources that are gone, and makes `npx p2plab` work in the clone. */
function afterCompiling() {
  if (onlyRead) return;
  for (const file of filesUnder("dist", /\.(js|js\.map|d\.ts)$/)) {
    const source = file.slice(join(ROOT, "dist").length).replace(/\.(js|js\.map|d\.ts)$/, ".ts");
    if (!source.startsWith(join("/assets")) && !existsSync(join(ROOT, source))) rmSync(file);
  }
  if (WINDOWS) return;
  const link = join(ROOT, "node_modules/.bin/p2plab");
  chmodSync(CLI, 0o755);
  if (!existsSync(link)) {
    rmSync(link, { force: true });
    symlinkSync("../../dist/kernel/cli/main.js", link);
  }
}

/** What makes starts short. The kernel and the command start without as well: a failure is said and not fatal. */
async function ahead() {
  await madeAhead("program", {
    file: join(STATE, "program.cjs"),
    does: "bundling the code into one file",
    script: "dist/kernel/cli/pack.js",
    otherwise: "p2plab and the kernel read their modules",
  });
  // From this the kernel has its first cell done in two thirds of the time that the one file takes.
  if (WINDOWS) return;
  await madeAhead("start-up snapshot", {
    file: join(STATE, "kernel.snapshot"),
    does: "compiling the kernel ahead",
    script: "dist/kernel/jupyter/snapshot.js",
    otherwise: "the kernel starts without it",
  });
}

async function madeAhead(name, { file, does, script, otherwise }) {
  const isNewest = () => {
    const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return filesUnder("dist/kernel").every((path) => statSync(path).mtimeMs <= made);
  };
  const log = name.split(" ").at(-1);
  try {
    await step(name, {
      // They hold this folder's path, and what this Node.js has compiled.
      hash: sourcesHash(`${process.version} ${process.execPath} ${ROOT}`),
      present: isNewest,
      does,
      action: () => logged(log, process.execPath, [join(ROOT, script)]),
    });
  } catch (error) {
    if (REQUIRED || !(error instanceof SetupError)) throw error;
    say(`  – ${name}: not made (${join(STATE, `${log}.log`)}), so ${otherwise}`);
  }
}

async function figures() {
  const target = join(ROOT, "dist/assets/plotly.min.js");
  await step("figures", {
    hash: hashOf(["node_modules/plotly.js-dist/package.json", "node_modules/esbuild/package.json"]),
    present: () => existsSync(target),
    does: "minifying plotly.js",
    action: async () => {
      const { transform } = await import("esbuild");
      const source = readFileSync(join(ROOT, "node_modules/plotly.js-dist/plotly.js"), "utf8");
      const { code } = await transform(source, { minify: true, legalComments: "none", charset: "utf8" });
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(
        `${target}.tmp`,
        `/* plotly.js, MIT License, https://github.com/plotly/plotly.js */\n${code}`,
      );
      renameSync(`${target}.tmp`, target);
    },
  });
}

/** What building the addon needs and is not on the PATH, as advice; nothing when all is there. */
function lacking() {
  const needed = [
    ["c++", process.env.CXX ?? onPath("c++", "g++", "clang++")],
    ["make", process.env.MAKE ?? onPath("make")],
    ["python3", onPath("python3", "python")],
  ];
  const names = needed.filter(([, found]) => !found).map(([name]) => name);
  if (WINDOWS || names.length === 0) return "";
  const packages = names.map((name) => (name === "c++" ? "g++" : name)).join(" ");
  return `\n    → Not on the PATH: ${names.join(", ")}. Debian and Ubuntu: apt install ${packages}. conda: conda install -c conda-forge cxx-compiler make.`;
}

/** The addon is optional: without it recordings and simulations work, so a failure is said and not fatal. */
export async function addon() {
  const file = join(ROOT, "build/Release/p2p.node");
  const hash = hashOf(["native", "binding.gyp"], { keep: /\.(cc|h|cu|ptx|mjs|gyp)$/ });
  const compiler = () => `${hash} ${answers("c++", ["--version"])}`;
  const goingOn = `real GPUs cannot be measured; recordings and simulations work. Again: npm run build:addon${lacking()}`;
  if (!REQUIRED && !existsSync(file) && readStamps()["addon failed"] === compiler()) {
    say(`  – addon: could not be built here (${join(STATE, "addon.log")}), so ${goingOn}`);
    return;
  }
  const headers = join(dirname(dirname(process.execPath)), "include/node");
  try {
    await step("addon", {
      hash,
      present: () => existsSync(file),
      does: "compiling native/",
      action: () =>
        npm("addon", ["run", "build:addon"], {
          // Headers beside Node.js (conda, Debian, nodejs.org's archives) spare a download.
          env: existsSync(join(headers, "node.h"))
            ? { ...process.env, npm_config_nodedir: dirname(dirname(headers)) }
            : process.env,
        }),
    });
  } catch (error) {
    if (REQUIRED || !(error instanceof SetupError)) throw error;
    writeStamp("addon failed", compiler());
    say(`  – addon: not built (${join(STATE, "addon.log")}), so ${goingOn}`);
  }
}

/** @param python `needed`; `wanted`: goes on when it cannot be had; or `no`. */
async function setUp(python) {
  const unlock = await lock();
  try {
    // pip and npm wait for different servers: side by side.
    const environmentReady = python === "no" ? Promise.resolve(false) : pythonReady(python);
    environmentReady.catch(() => {}); // its failure is thrown below, after the other steps
    await packages();
    await typescript();
    await figures();
    await ahead();
    await addon();
    if (await environmentReady) await kernelspec();
  } finally {
    unlock();
  }
}

async function pythonReady(python) {
  try {
    await pythonEnvironment();
    await languagePack();
    return true;
  } catch (error) {
    if (python === "needed" || !(error instanceof SetupError)) throw error;
    say(`  – Python environment: ${error.message}\n    Going on without it: what needs Jupyter is skipped.`);
    return false;
  }
}

// ---- commands ----

async function build() {
  const unlock = await lock();
  try {
    await packages();
    const compiled = spawnSync(process.execPath, [TSC, "-p", "tsconfig.json"], {
      cwd: ROOT,
      stdio: "inherit",
    });
    if (compiled.status !== 0) return compiled.status ?? 1;
    afterCompiling();
    await figures();
    return 0;
  } finally {
    unlock();
  }
}

function chapterOne() {
  const name = readdirSync(join(ROOT, "notebooks")).find((file) => /^01-.*\.ipynb$/.test(file));
  if (!name) throw new SetupError("notebooks/ has no chapter 01.\n  → Restore it: git checkout notebooks");
  return join("notebooks", name);
}

async function start(args) {
  if (args.includes("--headless")) {
    await setUp("no");
    const rest = args.filter((arg) => arg !== "--headless");
    return await foreground(process.execPath, [CLI, "report", chapterOne(), "--out", "reports", ...rest]);
  }
  const { machine, rest } = machineOption(args);
  await setUp("needed");
  const { bin, python } = environment();
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    JUPYTER_PREFER_ENV_PATH: "1",
    ...(machine === null ? {} : { P2PLAB_MACHINE: machine }),
  };
  const asRoot = process.getuid?.() === 0 ? ["--allow-root"] : [];
  const notebooks = `--notebook-dir=${join(ROOT, "notebooks")}`;
  // Not the jupyter-lab script: its first line breaks in a folder whose path is long or holds spaces.
  return await foreground(python, ["-m", "jupyterlab", notebooks, ...asRoot, ...rest], env);
}

function machineOption(args) {
  const at = args.findIndex((arg) => arg === "--machine" || arg.startsWith("--machine="));
  if (at < 0) return { machine: null, rest: args };
  const joined = args[at].includes("=");
  const machine = joined ? args[at].slice("--machine=".length) : args[at + 1];
  if (!machine) throw new SetupError("--machine names no machine.\n  → npx p2plab machines lists them.");
  return { machine, rest: [...args.slice(0, at), ...args.slice(at + (joined ? 1 : 2))] };
}

async function test(filters) {
  await setUp(REQUIRED ? "needed" : "wanted");
  return await foreground(process.execPath, [join(ROOT, "dist/test/run.js"), ...filters], {
    ...process.env,
    PATH: `${environment().bin}${delimiter}${process.env.PATH}`,
  });
}

/** The suites that need a GPU: here they fail without one instead of being skipped. */
async function testGpu(filters) {
  await setUp("no");
  const suites = filters.length > 0 ? filters.map((filter) => `gpu/${filter}`) : ["gpu/"];
  return await foreground(process.execPath, [join(ROOT, "dist/test/run.js"), ...suites], {
    ...process.env,
    P2PLAB_REQUIRE_GPU: "1",
  });
}

async function bench(args) {
  await setUp("no");
  return await foreground(process.execPath, [join(ROOT, "dist/test/bench/run.js"), ...args]);
}

async function site(args) {
  await setUp("no");
  return await foreground(process.execPath, [CLI, "site", ...args]);
}

const COMMANDS = {
  setup: () => setUp("needed").then(() => 0),
  build,
  start,
  site,
  test,
  "test:gpu": testGpu,
  bench,
};

/** Runs a command and ends the process with its exit code. */
export async function main([name, ...args]) {
  const command = Object.hasOwn(COMMANDS, name ?? "") ? COMMANDS[name] : null;
  if (!command) {
    say(
      "usage: node kernel/setup.mjs setup | build | start [--headless] [--machine M] | test [FILTER…] | test:gpu [FILTER…] | site | bench NAME",
    );
    process.exit(2);
  }
  try {
    process.exit(await command(args));
  } catch (error) {
    say(error instanceof SetupError ? `p2plab set-up: ${error.message}` : error.stack);
    // Whoever reads a test run by its last line finds one here too.
    if (name === "test") process.stdout.write("0 passed, 1 failed\n");
    process.exit(1);
  }
}
