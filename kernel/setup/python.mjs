// The Python environment that JupyterLab lives in: the active conda one, otherwise .venv; and the kernelspec in it.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { adviceFor } from "./advice.mjs";
import {
  answers,
  hashOf,
  logged,
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
import { ownScripts } from "./venv-scripts.mjs";

/** Where JupyterLab is or will be; `conda` is the program that installs there, null for a virtual environment. */
export function environment() {
  const named = [process.env.MAMBA_EXE, process.env.CONDA_EXE].find((file) => file && existsSync(file));
  const conda = process.env.CONDA_PREFIX ? (named ?? onPath("mamba", "micromamba", "conda")) : null;
  const prefix = conda ? process.env.CONDA_PREFIX : join(ROOT, ".venv");
  const bin = WINDOWS ? (conda ? prefix : join(prefix, "Scripts")) : join(prefix, "bin");
  return { conda, prefix, bin, python: join(bin, WINDOWS ? "python.exe" : "python") };
}

/** The dependencies of environment.yml, in its order. */
function dependencies() {
  const lines = readFileSync(join(ROOT, "environment.yml"), "utf8").split("\n");
  const begin = lines.findIndex((line) => line.startsWith("dependencies:"));
  return lines.slice(begin + 1).flatMap((line) => {
    const match = /^\s+- ([\w.-]+)\s*([<>=!~][^#]*)?/.exec(line);
    return match ? [{ name: match[1], constraint: (match[2] ?? "").trim() }] : [];
  });
}

/** What pip cannot bring, or what is already running. */
const ONLY_CONDA = new Set(["python", "nodejs", "cxx-compiler", "cuda-nvcc"]);

const specification = ({ name, constraint }) => `${name}${constraint}`;

/** Whether a version such as `4.2.1` meets a constraint such as `>=4.2,<5`. */
export function meets(version, constraint) {
  const numbers = (text) => text.split(".").map((part) => Number.parseInt(part, 10) || 0);
  const compare = (a, b) => {
    for (let i = 0; i < Math.max(a.length, b.length); i++) {
      if ((a[i] ?? 0) !== (b[i] ?? 0)) return (a[i] ?? 0) < (b[i] ?? 0) ? -1 : 1;
    }
    return 0;
  };
  return constraint
    .split(",")
    .filter(Boolean)
    .every((part) => {
      const [, operator, wanted] = /^\s*([<>=!~]+)\s*(\S+)/.exec(part);
      const order = compare(numbers(version), numbers(wanted));
      const holds = { ">=": order >= 0, ">": order > 0, "<=": order <= 0, "<": order < 0, "==": order === 0 };
      return holds[operator] ?? order === 0;
    });
}

/** Packages that the environment lacks or has too old. */
function missing(python, list) {
  const program =
    "import json, sys, importlib.metadata as m\n" +
    "print(json.dumps({d.metadata['Name'].lower(): d.version for d in m.distributions() if d.metadata['Name']}))";
  const found = JSON.parse(answers(python, ["-c", program]) ?? "{}");
  return list.filter(({ name, constraint }) => !(found[name] && meets(found[name], constraint)));
}

export async function pythonEnvironment() {
  const { conda, prefix, python } = environment();
  const list = dependencies().filter(({ name }) => !ONLY_CONDA.has(name));
  await step("Python environment", {
    hash: hashOf(["environment.yml"], { more: prefix }),
    present: () => existsSync(python) && hasJupyterLab(prefix),
    does: `${list.map(({ name }) => name).join(", ")} into ${conda ? prefix : ".venv"}`,
    action: () => (conda ? byConda(conda, prefix, python, list) : byPip(prefix, python, list)),
  });
}

const LANGUAGE_PACK = "jupyterlab-language-pack-zh-CN";

/**
 * JupyterLab's own interface in Chinese, as the course is. Not every index has the pack: then it stays English, which is said
 * once. In a conda environment, which serves other work as well, the language is left to whoever owns it.
 */
export async function languagePack() {
  const { conda, prefix, python } = environment();
  const install = () =>
    conda
      ? logged("language", conda, [
          ...["install", "--yes", "--prefix", prefix, "--channel", "conda-forge", "--override-channels"],
          LANGUAGE_PACK.toLowerCase(),
        ])
      : logged("language", python, [
          ...["-m", "pip", "install", "--retries", "1", "--timeout", "5", "--disable-pip-version-check"],
          LANGUAGE_PACK,
        ]);
  const hash = hashOf(["environment.yml"], { more: prefix });
  // Where no index has it, it is not asked for again at every start.
  if (readStamps()["no language pack"] === hash) return;
  try {
    await step("language pack", {
      hash,
      present: () => true,
      does: LANGUAGE_PACK,
      action: async () => {
        await install();
        if (!conda) setLocale(prefix);
      },
    });
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    writeStamp("no language pack", hash);
    say(
      `  – language pack: ${LANGUAGE_PACK} cannot be had here (${join(STATE, "language.log")}), so JupyterLab's menus stay English`,
    );
  }
}

/** The default of a Python environment of our own; what a user chooses in Settings → Language comes before it. */
function setLocale(prefix) {
  const folder = join(prefix, "share/jupyter/lab/settings");
  const file = join(folder, "overrides.json");
  if (existsSync(file)) return;
  mkdirSync(folder, { recursive: true });
  const settings = { "@jupyterlab/translation-extension:plugin": { locale: "zh_CN" } };
  writeFileSync(file, `${JSON.stringify(settings, null, 1)}\n`);
}

function hasJupyterLab(prefix) {
  return existsSync(join(prefix, WINDOWS ? "Scripts/jupyter-lab.exe" : "bin/jupyter-lab"));
}

async function byConda(conda, prefix, python, list) {
  const wanted = missing(python, list);
  const all = dependencies();
  if (!existsSync(python)) wanted.unshift(...all.filter(({ name }) => name === "python"));
  if (!onPath("c++", "g++", "clang++")) wanted.push(...all.filter(({ name }) => name === "cxx-compiler"));
  if (wanted.length === 0) return;
  await logged(
    "python",
    conda,
    [
      "install",
      "--yes",
      "--prefix",
      prefix,
      "--channel",
      "conda-forge",
      "--override-channels",
      ...wanted.map(specification),
    ],
    {
      hint: (printed) =>
        adviceFor(printed, {
          folder: prefix,
          network:
            "Name a mirror of conda-forge in .condarc, or deactivate the conda environment to use .venv.",
          otherwise: "Deactivate the conda environment to use .venv instead.",
        }),
    },
  );
}

async function byPip(prefix, python, list) {
  if (answers(python, ["-m", "pip", "--version"]) === null) await newVenv(prefix);
  if (!WINDOWS) ownScripts(prefix);
  // JupyterLab brings a yarn.js in CommonJS, which this package's "type": "module" would otherwise reach.
  writeFileSync(join(prefix, "package.json"), '{ "type": "commonjs" }\n');
  await logged(
    "python",
    python,
    ["-m", "pip", "install", "--retries", "1", "--disable-pip-version-check", ...list.map(specification)],
    {
      hint: (printed) =>
        adviceFor(printed, {
          folder: ".venv",
          network:
            "Behind a proxy, name it: HTTPS_PROXY=http://… npm start; behind a mirror: PIP_INDEX_URL=https://… npm start. Without Python: npm start -- --headless.",
          otherwise: "Without Python: npm start -- --headless.",
        }),
    },
  );
}

async function newVenv(prefix) {
  const { constraint } = dependencies().find(({ name }) => name === "python");
  const version = "import sys; print('%d.%d' % sys.version_info[:2])";
  const system = ["python3", "python"].find((name) =>
    meets(answers(name, ["-c", version]) ?? "0", constraint),
  );
  if (!system) {
    throw new SetupError(
      `no python3 ${constraint} on the PATH.\n  → Debian and Ubuntu: apt install python3 python3-venv. Or activate a conda environment. ` +
        "Without Python: npm start -- --headless.",
    );
  }
  const makers = [
    [system, ["-m", "venv", prefix]],
    ["virtualenv", ["--python", system, prefix]],
    ["uv", ["venv", "--seed", "--python", system, prefix]],
  ];
  for (const [command, args] of makers) {
    if (command !== system && onPath(command) === null) continue;
    rmSync(prefix, { recursive: true, force: true });
    try {
      return await logged("venv", command, args);
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      say(`  – ${command} could not make .venv`);
    }
  }
  rmSync(prefix, { recursive: true, force: true });
  throw new SetupError(
    `no virtual environment could be made (${join(ROOT, ".p2plab/venv.log")}).\n  → Debian and Ubuntu: apt install python3-venv. ` +
      "Or activate a conda environment. Without Python: npm start -- --headless.",
  );
}

export async function kernelspec() {
  const { prefix } = environment();
  await step("kernelspec", {
    hash: hashOf(["kernel/notebook", "node_modules/plotly.js-dist/package.json"], {
      more: `${process.execPath} ${ROOT} ${prefix}`,
    }),
    present: () =>
      ["kernels/p2plab/kernel.json", "nbconvert/templates/p2plab/conf.json"].every((file) =>
        existsSync(join(prefix, "share/jupyter", file)),
      ),
    does: `p2plab, and nbconvert's template of that name, into ${prefix}`,
    action: () =>
      logged("kernelspec", process.execPath, [
        join(ROOT, "dist/kernel/cli/main.js"),
        "kernel",
        "install",
        "--prefix",
        prefix,
      ]),
  });
}
