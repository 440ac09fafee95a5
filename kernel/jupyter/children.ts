/** The processes that user code has started, for an interrupt: a terminal's Ctrl-C reaches all of a process group. */
import { readdirSync, readFileSync } from "node:fs";

interface Status {
  readonly parent: number;
  readonly group: number;
}

/** Null for a process that is gone, and on a system that tells nothing of processes. */
function statusOf(pid: number): Status | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, in parentheses, may hold anything.
    const [, parent, group] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { parent: Number(parent), group: Number(group) };
  } catch {
    return null;
  }
}

/**
 * Sends SIGINT to the descendants of this process that are in its process group; those that were started as `detached` are not.
 * Only Linux tells of them; elsewhere none is reached.
 * @param told those that have had it already, to which the others are added: a second signal would mean more.
 */
export function interruptChildren(told: Set<number>): void {
  const own = statusOf(process.pid);
  if (!own) return;
  const all = new Map<number, Status>();
  for (const name of readdirSync("/proc")) {
    const status = /^\d+$/.test(name) ? statusOf(Number(name)) : null;
    if (status?.group === own.group) all.set(Number(name), status);
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === process.pid || isBelow(all.get(pid)?.parent));
  for (const [pid, { parent }] of all) {
    if (pid === process.pid || told.has(pid) || !isBelow(parent)) continue;
    told.add(pid);
    try {
      process.kill(pid, "SIGINT");
    } catch {
      // It has ended.
    }
  }
}
