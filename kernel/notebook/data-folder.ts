/** Jupyter's data folders: where kernels and nbconvert's templates are looked for. */
import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { P2pError } from "../lab/index.js";

/** Whose Jupyter: the user's, the Python environment's, or that of a given prefix. */
export type JupyterLocation = { user: true } | { sysPrefix: true } | { prefix: string };

/** The user's home folder; null where none is known, as for a container's user without an entry. */
export function homeFolder(): string | null {
  try {
    return homedir() || null;
  } catch {
    return null;
  }
}

/** @throws P2pError `not-available` when Python does not say its prefix, or the user has no folder. */
export function dataFolder(location: JupyterLocation): string {
  if ("prefix" in location) return join(resolve(location.prefix), "share/jupyter");
  if ("user" in location) return userDataFolder();
  const answer = spawnSync("python3", ["-c", "import sys; print(sys.prefix)"], { encoding: "utf8" });
  if (answer.status !== 0) {
    throw new P2pError(
      "not-available",
      "python3 does not answer with its prefix",
      "Name the folder: --prefix FOLDER, or use --user.",
    );
  }
  return join(answer.stdout.trim(), "share/jupyter");
}

/** As jupyter_core finds it; a variable that is empty says nothing. */
function userDataFolder(): string {
  const { JUPYTER_DATA_DIR, XDG_DATA_HOME, APPDATA } = process.env;
  if (JUPYTER_DATA_DIR) return resolve(JUPYTER_DATA_DIR);
  const home = homeFolder();
  if (process.platform === "win32" && (APPDATA || home)) return join(APPDATA || (home as string), "jupyter");
  if (process.platform === "linux" && XDG_DATA_HOME) return join(resolve(XDG_DATA_HOME), "jupyter");
  if (home === null || !isAbsolute(home)) {
    throw new P2pError(
      "not-available",
      home === null ? "the user has no home folder" : `HOME is ${home}, which is not an absolute path`,
      "Name the folder: --prefix FOLDER, or JUPYTER_DATA_DIR=FOLDER.",
    );
  }
  return process.platform === "darwin" ? join(home, "Library/Jupyter") : join(home, ".local/share/jupyter");
}
