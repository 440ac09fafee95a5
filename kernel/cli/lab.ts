import { spawnSync } from "node:child_process";
import { packagePath } from "../lab/index.js";
import type { Command } from "./command.js";

export const lab: Command = {
  name: "lab",
  usage: "lab [JupyterLab options]",
  describes: "sets up what is missing and opens the course in JupyterLab, as npm start does",
  async run(args) {
    const started = spawnSync(process.execPath, [packagePath("kernel/setup.mjs"), "start", ...args], {
      stdio: "inherit",
    });
    return started.status ?? 1;
  },
};
