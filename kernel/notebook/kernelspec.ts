/** The kernelspec `p2plab`, by which Jupyter finds the kernel. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { messageOf, P2pError, packagePath } from "../lab/index.js";
import { nodeFlags } from "./cell-runner.js";
import { makeWritableFolder } from "./folder.js";
import { LOGO_PNG, LOGO_SVG } from "./logo.js";
import { plotlyFile } from "./report/page.js";

export const KERNEL_NAME = "p2plab";

/** Where kernels go: the user's Jupyter folder, the Python environment, or a given prefix. */
export type KernelLocation = { user: true } | { sysPrefix: true } | { prefix: string };

/** The kernels folder of a location. */
export function kernelsFolder(location: KernelLocation): string {
  if ("prefix" in location) return join(resolve(location.prefix), "share/jupyter/kernels");
  if ("user" in location) {
    const data =
      process.env.JUPYTER_DATA_DIR ??
      (process.platform === "darwin"
        ? join(homedir(), "Library/Jupyter")
        : process.platform === "win32"
          ? join(process.env.APPDATA ?? homedir(), "jupyter")
          : join(process.env.XDG_DATA_HOME ?? join(homedir(), ".local/share"), "jupyter"));
    return join(data, "kernels");
  }
  const answer = spawnSync("python3", ["-c", "import sys; print(sys.prefix)"], { encoding: "utf8" });
  if (answer.status !== 0) {
    throw new P2pError(
      "not-available",
      "python3 does not answer with its prefix",
      "Name the folder: --prefix FOLDER, or use --user.",
    );
  }
  return join(answer.stdout.trim(), "share/jupyter/kernels");
}

/**
 * Installs the kernelspec, replacing an older one whole.
 * @returns its folder.
 * @throws P2pError `output` when it cannot be written, `not-available` when this package has not been built whole.
 */
export function installKernel(location: KernelLocation): string {
  if (!existsSync(plotlyFile()))
    throw new P2pError("not-available", `${plotlyFile()} is missing`, "Build it: npm run build.");
  const folder = join(kernelsFolder(location), KERNEL_NAME);
  const staging = `${folder}.${process.pid}.tmp`;
  makeWritableFolder(dirname(staging));
  try {
    mkdirSync(staging);
    writeFileSync(join(staging, "kernel.json"), `${JSON.stringify(kernelJson(), null, 1)}\n`);
    writeFileSync(join(staging, "logo-svg.svg"), LOGO_SVG);
    for (const [side, picture] of Object.entries(LOGO_PNG))
      writeFileSync(join(staging, `logo-${side}x${side}.png`), Buffer.from(picture, "base64"));
    cpSync(plotlyFile(), join(staging, "plotly.min.js"));
    rmSync(folder, { recursive: true, force: true });
    renameSync(staging, folder);
  } catch (error) {
    rmSync(staging, { recursive: true, force: true });
    throw new P2pError(
      "output",
      `cannot install the kernel into ${folder}: ${messageOf(error)}`,
      "Use --user, or --prefix with a folder that can be written.",
      { cause: error },
    );
  }
  return folder;
}

/**
 * Removes the kernelspec; `removed` is false when there was none.
 * @throws P2pError `output` when it cannot be removed.
 */
export function uninstallKernel(location: KernelLocation): { folder: string; removed: boolean } {
  const folder = join(kernelsFolder(location), KERNEL_NAME);
  const removed = existsSync(folder);
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    throw new P2pError(
      "output",
      `cannot remove ${folder}: ${messageOf(error)}`,
      "Remove it as the user who installed it.",
      { cause: error },
    );
  }
  return { folder, removed };
}

function kernelJson(): unknown {
  return {
    argv: startCommand(),
    display_name: "P2P Lab (TypeScript)",
    language: "typescript",
    interrupt_mode: "message",
    env: {},
    metadata: { debugger: false },
  };
}

/** From the start-up snapshot where there is one; Windows has none. */
function startCommand(): string[] {
  const node = [process.execPath, ...nodeFlags()];
  return process.platform === "win32"
    ? [...node, packagePath("dist/kernel/jupyter/main.js"), "{connection_file}"]
    : ["/bin/sh", packagePath("kernel/jupyter/start.sh"), "{connection_file}", ...node];
}
