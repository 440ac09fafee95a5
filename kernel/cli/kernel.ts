import { parseArgs } from "node:util";
import { P2pError } from "../lab/index.js";
import { installKernel, type JupyterLocation, uninstallKernel } from "../notebook/index.js";
import type { Command } from "./command.js";

export const kernel: Command = {
  name: "kernel",
  usage: "kernel install|uninstall [--user | --sys-prefix | --prefix P]",
  describes:
    "makes the kernel and nbconvert's template p2plab known to Jupyter (default --user), or removes them",
  async run(args) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        user: { type: "boolean", default: false },
        "sys-prefix": { type: "boolean", default: false },
        prefix: { type: "string" },
      },
    });
    const chosen = [values.user, values["sys-prefix"], values.prefix !== undefined].filter(Boolean).length;
    if (chosen > 1)
      throw new P2pError(
        "usage",
        "more than one location is named",
        "Choose one of --user, --sys-prefix, --prefix P.",
      );
    if (values.prefix === "")
      throw new P2pError("usage", "--prefix names no folder", "Name one, or use --user.");
    const location: JupyterLocation =
      values.prefix !== undefined
        ? { prefix: values.prefix }
        : values["sys-prefix"]
          ? { sysPrefix: true }
          : { user: true };
    const [action] = positionals;
    if (action === "install" && positionals.length === 1) {
      const { kernel, template } = installKernel(location);
      process.stdout.write(`installed ${kernel}\ninstalled ${template}\n`);
      return 0;
    }
    if (action === "uninstall" && positionals.length === 1) {
      const removed = uninstallKernel(location);
      process.stdout.write(
        removed.map((folder) => `removed ${folder}\n`).join("") || "nothing was installed there\n",
      );
      return removed.length > 0 ? 0 : 1;
    }
    throw new P2pError(
      "usage",
      `kernel ${positionals.join(" ") || "(nothing)"} is not known`,
      "Use p2plab kernel install, or uninstall.",
    );
  },
};
