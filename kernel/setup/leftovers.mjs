// Programs of a set-up that was killed: they run on without it, in the folders that the next one works in.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";

const GRACE_MS = 5_000;
const POLL_MS = 50;

/**
 * When a process began, as text that no later process of the same number has; null when it is gone, and where only Linux's
 * /proc could say.
 */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold spaces; behind it are the state and, 19 fields on, the start in ticks since boot.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return null;
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${fields[19]}`;
  } catch {
    return null;
  }
}

/** Whether a process of this computer runs: one that was killed and is kept for its parent to ask about does not. */
export function runs(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== "EPERM") return false;
  }
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch (error) {
    // Without /proc, as on macOS, the signal's word counts.
    return !existsSync("/proc/self/stat") || error.code !== "ENOENT";
  }
}

/** Keeps in `folder` which programs the set-up has running, each the leader of a process group. */
export function keepRunning(folder, pids) {
  const file = join(folder, "running.json");
  const programs = pids.map((pid) => ({ host: hostname(), pid, start: startOf(pid) }));
  if (programs.length === 0) rmSync(file, { force: true });
  else writeFileSync(file, JSON.stringify(programs));
}

/**
 * Ends what a set-up that is gone has left running, with its children, and waits until it has ended. A process is ended only
 * when its start is the one that was kept: a number may be another program's by now. Call it with the lock held.
 * @returns the numbers of the processes that were ended.
 */
export async function endLeftovers(folder) {
  const left = kept(folder).filter(isRunning);
  for (const { pid } of left) signal(pid, "SIGTERM");
  const killAt = Date.now() + GRACE_MS;
  for (let killed = false; left.some(isRunning); ) {
    if (!killed && Date.now() > killAt) {
      for (const program of left) if (isRunning(program)) signal(program.pid, "SIGKILL");
      killed = true;
    }
    if (Date.now() > killAt + GRACE_MS) break; // in an uninterruptible wait: no signal ends that
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  rmSync(join(folder, "running.json"), { force: true });
  return left.map(({ pid }) => pid);
}

function kept(folder) {
  try {
    const programs = JSON.parse(readFileSync(join(folder, "running.json"), "utf8"));
    return Array.isArray(programs) ? programs : [];
  } catch {
    return []; // none was left, or it was killed while writing
  }
}

function isRunning(program) {
  return (
    program?.host === hostname() &&
    Number.isInteger(program.pid) &&
    program.pid > 1 &&
    typeof program.start === "string" &&
    startOf(program.pid) === program.start
  );
}

function signal(pid, name) {
  try {
    process.kill(-pid, name);
  } catch {
    // It has ended by itself in the meantime.
  }
}
