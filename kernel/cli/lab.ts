import { spawn } from "node:child_process";
import { constants } from "node:os";
import { packagePath } from "../lab/index.js";
import type { Command } from "./command.js";

export const lab: Command = {
  name: "lab",
  usage: "lab [--machine M] [JupyterLab options]",
  describes: "sets up what is missing and opens the course in JupyterLab, as npm start does",
  run(args) {
    return new Promise((resolve, reject) => {
      const setup = spawn(process.execPath, [packagePath("kernel/setup.mjs"), "start", ...args], {
        stdio: "inherit",
      });
      // Ctrl-C reaches JupyterLab through the terminal, and it asks back; this process waits for its end.
      process.on("SIGINT", () => {});
      process.on("SIGTERM", () => setup.kill("SIGTERM"));
      setup.once("error", reject);
      setup.once("exit", (status, signal) =>
        resolve(signal ? 128 + constants.signals[signal] : (status ?? 1)),
      );
    });
  },
};
