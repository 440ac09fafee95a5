/** A JupyterLab of its own for tests: settings, kernelspec and notebooks in a folder that goes with it. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packagePath } from "../../kernel/lab/index.js";
import { installKernel } from "../../kernel/notebook/index.js";

/** Programs of the Python environment that set-up makes, or of the active conda environment. */
const PREFIXES = [process.env.P2PLAB_PYTHON_PREFIX, packagePath(".venv"), process.env.CONDA_PREFIX];

/** Where a program of JupyterLab's environment is, or null. */
export function jupyterProgram(name: string): string | null {
  for (const prefix of PREFIXES) {
    const file = prefix ? join(prefix, "bin", name) : null;
    if (file && existsSync(file)) return file;
  }
  return null;
}

/** Why JupyterLab cannot be started here; null when it can. */
export function missingJupyterLab(): string | null {
  return jupyterProgram("jupyter-lab")
    ? null
    : "no JupyterLab in .venv (npm test sets it up; P2PLAB_PYTHON_PREFIX names another environment)";
}

export interface LabServer {
  /** Notebooks are opened relative to it. */
  readonly folder: string;
  /** Address of a place in JupyterLab, such as `/lab/tree/01.ipynb`, with its token. */
  address(place: string): string;
  /** Environment of programs that must see the same kernelspec. */
  readonly env: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

/** @param settings of the kernel, such as `{ P2PLAB_MACHINE: "sim:hgx-h100-8" }`. */
export async function startJupyterLab(settings: Record<string, string>): Promise<LabServer> {
  const program = jupyterProgram("jupyter-lab") as string;
  const home = mkdtempSync(join(tmpdir(), "p2plab-lab-"));
  const folder = join(home, "work");
  mkdirSync(folder);
  installKernel({ prefix: home });
  // All cells stand in the page at once: JupyterLab would otherwise take those out of it that are not in view.
  const notebookSettings = join(home, "settings/@jupyterlab/notebook-extension");
  mkdirSync(notebookSettings, { recursive: true });
  writeFileSync(
    join(notebookSettings, "tracker.jupyterlab-settings"),
    JSON.stringify({ windowingMode: "none" }),
  );
  const env = {
    ...process.env,
    ...settings,
    JUPYTER_PATH: join(home, "share/jupyter"),
    JUPYTER_CONFIG_DIR: join(home, "config"),
    JUPYTER_RUNTIME_DIR: join(home, "runtime"),
    JUPYTER_DATA_DIR: join(home, "data"),
    JUPYTERLAB_SETTINGS_DIR: join(home, "settings"),
    JUPYTERLAB_WORKSPACES_DIR: join(home, "workspaces"),
    IPYTHONDIR: join(home, "ipython"),
  };
  const port = await freePort();
  const token = "p2plab-test";
  const child = spawn(
    program,
    [
      "--no-browser",
      "--allow-root",
      "--ServerApp.ip=127.0.0.1",
      `--ServerApp.port=${port}`,
      "--ServerApp.port_retries=0",
      `--IdentityProvider.token=${token}`,
      `--ServerApp.root_dir=${folder}`,
      "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
      "--LabApp.news_url=None",
    ],
    { cwd: folder, env, stdio: ["ignore", "ignore", "pipe"] },
  );
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const root = `http://127.0.0.1:${port}`;
  try {
    await answers(`${root}/api/status?token=${token}`, child, () => said);
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
  return {
    folder,
    env,
    address: (place) => `${root}${place}${place.includes("?") ? "&" : "?"}token=${token}`,
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(timer);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function answers(address: string, child: ChildProcess, said: () => string): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (child.exitCode !== null) throw new Error(`jupyter-lab ended with ${child.exitCode}\n${said()}`);
    try {
      if ((await fetch(address)).ok) return;
    } catch {
      // It does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`jupyter-lab does not answer\n${said()}`);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
