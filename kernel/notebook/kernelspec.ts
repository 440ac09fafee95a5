/** The kernelspec `p2plab`, by which Jupyter finds the kernel, and nbconvert's template of that name. */
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf, P2pError, packagePath } from "../lab/index.js";
import { nodeFlags } from "./cell-runner.js";
import { dataFolder, type JupyterLocation } from "./data-folder.js";
import { makeWritableFolder } from "./folder.js";
import { LOGO_PNG, LOGO_SVG } from "./logo.js";
import { templateFiles } from "./report/nbconvert.js";
import { plotlyFile } from "./report/page.js";

/** Name of the kernelspec and of the template. */
const KERNEL_NAME = "p2plab";

/** What is installed together: the kernelspec, and the template that `jupyter nbconvert --template p2plab` finds. */
export interface InstalledKernel {
  readonly kernel: string;
  readonly template: string;
}

function kernelFolders(location: JupyterLocation): InstalledKernel {
  const data = dataFolder(location);
  return {
    kernel: join(data, "kernels", KERNEL_NAME),
    template: join(data, "nbconvert/templates", KERNEL_NAME),
  };
}

/**
 * Installs kernelspec and template, replacing older ones whole.
 * @returns their folders.
 * @throws P2pError `output` when they cannot be written, `not-available` when this package has not been built whole.
 */
export function installKernel(location: JupyterLocation): InstalledKernel {
  if (!existsSync(plotlyFile()))
    throw new P2pError("not-available", `${plotlyFile()} is missing`, "Build it: npm run build.");
  const folders = kernelFolders(location);
  const finish = [
    staged(folders.kernel, (folder) => {
      writeFileSync(join(folder, "kernel.json"), `${JSON.stringify(kernelJson(), null, 1)}\n`);
      writeFileSync(join(folder, "logo-svg.svg"), LOGO_SVG);
      for (const [side, picture] of Object.entries(LOGO_PNG))
        writeFileSync(join(folder, `logo-${side}x${side}.png`), Buffer.from(picture, "base64"));
      cpSync(plotlyFile(), join(folder, "plotly.min.js"));
    }),
    staged(folders.template, (folder) => {
      for (const [name, text] of templateFiles()) writeFileSync(join(folder, name), text);
    }),
  ];
  for (const replace of finish) replace();
  return folders;
}

/**
 * Fills a folder beside the one it will replace.
 * @returns what puts it in its place.
 */
function staged(folder: string, fill: (folder: string) => void): () => void {
  const staging = `${folder}.${process.pid}.tmp`;
  makeWritableFolder(dirname(staging));
  const attempt = (action: () => void) => {
    try {
      action();
    } catch (error) {
      rmSync(staging, { recursive: true, force: true });
      throw new P2pError(
        "output",
        `cannot install the kernel into ${folder}: ${messageOf(error)}`,
        "Use --user, or --prefix with a folder that can be written.",
        { cause: error },
      );
    }
  };
  attempt(() => {
    mkdirSync(staging);
    fill(staging);
  });
  return () =>
    attempt(() => {
      rmSync(folder, { recursive: true, force: true });
      renameSync(staging, folder);
    });
}

/**
 * Removes kernelspec and template.
 * @returns the folders that were removed: none when nothing was installed.
 * @throws P2pError `output` when one cannot be removed.
 */
export function uninstallKernel(location: JupyterLocation): string[] {
  const { kernel, template } = kernelFolders(location);
  return [kernel, template].filter((folder) => {
    const isThere = existsSync(folder);
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
    return isThere;
  });
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
