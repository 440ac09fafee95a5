// The machinery of set-up: steps that are skipped when done, programs that leave a log, one set-up at a time.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  existsSync,
  constants as files,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { constants, hostname } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { endLeftovers, keepRunning, runs } from "./leftovers.mjs";

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** Stamps, logs and the lock; git-ignored. */
export const STATE = join(ROOT, ".p2plab");
export const WINDOWS = process.platform === "win32";

/** A stated condition: shown as a message, without a stack. */
export class SetupError extends Error {}

export function say(line) {
  process.stderr.write(`${line}\n`);
}

// ---- steps and their stamps ----

const STAMPS = join(STATE, "stamps.json");
const STILL_EVERY_MS = 15_000;

export function readStamps() {
  try {
    return JSON.parse(readFileSync(STAMPS, "utf8"));
  } catch {
    return {}; // none yet, or not readable: every step is done anew
  }
}

export function writeStamp(name, hash) {
  writeFileSync(`${STAMPS}.tmp`, JSON.stringify({ ...readStamps(), [name]: hash }, null, 1));
  renameSync(`${STAMPS}.tmp`, STAMPS);
}

/** Whether this clone can only be read: somebody else's, set up before. Then nothing is done, and what would have to be is an error. */
export let onlyRead = false;

/**
 * Does a step, unless its stamp has the hash of today's inputs and what it makes is `present`. The stamp is taken away before
 * the step begins, so that one which was killed half-way is done again.
 */
export async function step(name, { hash, present, does, action }) {
  if (readStamps()[name] === hash && present()) return;
  if (onlyRead)
    throw new SetupError(
      `${name}: not up to date here, and ${ROOT} cannot be written.\n  → Whose clone it is: npm run setup. Or clone to a folder of your own.`,
    );
  writeStamp(name, null);
  const began = performance.now();
  const elapsed = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
  say(`  … ${name}: ${does}`);
  const still = setInterval(() => say(`  … ${name}: ${elapsed()} so far`), STILL_EVERY_MS);
  try {
    await action();
  } finally {
    clearInterval(still);
  }
  writeStamp(name, hash);
  say(`  ✓ ${name} (${elapsed()})`);
}

/** The files of a folder of this repository whose names match, as absolute paths in a fixed order. */
export function filesUnder(place, keep = /./) {
  const path = join(ROOT, place);
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && keep.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/**
 * A hash of files' names and contents, of the system, and of anything `more`. The version of Node.js is not in it: what is
 * compiled and installed, the addon too, serves all of them.
 */
export function hashOf(places, { keep = /./, more = "" } = {}) {
  const hash = createHash("sha256").update(`${process.platform} ${process.arch} ${more}`);
  for (const file of places.flatMap((place) => filesUnder(place, keep))) {
    hash.update(`\n${file.slice(ROOT.length)}\n`).update(readFileSync(file));
  }
  return hash.digest("hex").slice(0, 20);
}

// ---- programs ----

const running = new Set();
let onSignal = (signal) => process.exit(128 + constants.signals[signal]);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => onSignal(signal));
// Whatever ends the set-up ends what it started, with all of their own children.
process.on("exit", () => {
  for (const child of running) {
    try {
      process.kill(WINDOWS ? child.pid : -child.pid, "SIGTERM");
    } catch {
      // It has ended by itself in the meantime.
    }
  }
});

function nowRunning(child, is) {
  if (is) running.add(child);
  else running.delete(child);
  // Windows has no process groups to end by a number.
  if (WINDOWS) return;
  keepRunning(
    STATE,
    [...running].map(({ pid }) => pid),
  );
}

/**
 * Runs a program with its output in a log; when it fails, the end of the log and `hint` are in the error. A hint may be a
 * function of what was printed. `absent` is said where there is no such program.
 */
export async function logged(name, command, args, { hint = "", absent = "Install it.", ...options } = {}) {
  const log = join(STATE, `${name}.log`);
  const file = openSync(log, "w");
  const outcome = await new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      stdio: ["ignore", file, file],
      detached: !WINDOWS,
      ...options,
    });
    if (child.pid) nowRunning(child, true);
    child.once("error", (error) => resolve(error.code === "ENOENT" ? error.code : error.message));
    child.once("exit", (status, signal) => {
      nowRunning(child, false);
      resolve(signal ?? status);
    });
  });
  if (outcome === 0) return;
  if (outcome === "ENOENT")
    throw new SetupError(`${name} failed: ${command} is not on the PATH.\n  → ${absent}`);
  const printed = readFileSync(log, "utf8").trimEnd();
  const tail = printed.split("\n").slice(-12).join("\n    ");
  const reason = typeof outcome === "number" ? `exit code ${outcome}` : outcome;
  const todo = typeof hint === "function" ? hint(printed) : hint;
  throw new SetupError(
    `${name} failed (${reason}). The whole log is ${log}; its end:\n    ${tail}${todo ? `\n  → ${todo}` : ""}`,
  );
}

/** Runs npm, with its output in a log. */
export function npm(name, args, options) {
  const cli = process.env.npm_execpath;
  if (cli && /npm-cli\.c?js$/.test(cli)) return logged(name, process.execPath, [cli, ...args], options);
  return logged(name, WINDOWS ? "npm.cmd" : "npm", args, {
    shell: WINDOWS,
    absent:
      "npm comes with Node.js from https://nodejs.org and conda-forge; Debian and Ubuntu: apt install npm.",
    ...options,
  });
}

/** What a program prints, or null when it fails or is not there. */
export function answers(command, args) {
  const result = spawnSync(command, args, { encoding: "utf8" });
  return result.status === 0 ? result.stdout.trim() : null;
}

/** The first of several programs that is on the PATH, or null. */
export function onPath(...names) {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  const candidates = names.flatMap((name) =>
    folders.map((folder) => join(folder, WINDOWS ? `${name}.exe` : name)),
  );
  return candidates.find((file) => existsSync(file)) ?? null;
}

/** Runs a program in the foreground until it ends. Ctrl-C reaches it through the terminal; other signals are passed on. */
export function foreground(command, args, env = process.env) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: "inherit", env });
    onSignal = (signal) => signal === "SIGINT" || child.kill(signal);
    child.once("error", (error) => {
      say(`${command}: ${error.message}`);
      resolve(1);
    });
    child.once("exit", (status, signal) => resolve(signal ? 128 + constants.signals[signal] : status));
  });
}

// ---- one set-up at a time ----

const BEAT_MS = 5_000;
const STALE_AFTER_MS = 60_000;

/**
 * Waits until no other set-up works in this clone. The holder's process writes the lock's time every few seconds, so a lock
 * is stale when its process is gone, and also when the time is old (its number may be another program's by now). What a
 * killed holder has left running is ended first. In a clone that can only be read nothing is done, so that nothing is waited for.
 * @returns a function that gives the lock back.
 */
export async function lock() {
  const file = join(STATE, "lock");
  if (existsSync(STAMPS) && !mayWrite(STATE)) {
    onlyRead = true;
    return () => {};
  }
  const mine = `${hostname()} ${process.pid}`;
  try {
    mkdirSync(STATE, { recursive: true });
  } catch (error) {
    throw new SetupError(`cannot write into ${ROOT}: ${error.message}\n  → Clone to a folder of your own.`);
  }
  for (let polls = 0; !take(file, mine); ) {
    const holder = read(file);
    if (holder === null) continue;
    if (isStale(file, holder)) {
      remove(file, holder);
      continue;
    }
    // Not at the first look: one that is just ending is not waited for.
    if (++polls === 2) say(`  … another set-up is at work here (${holder}); waiting for it`);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  const release = () => read(file) === mine && rmSync(file, { force: true });
  const beat = setInterval(() => utimesSync(file, new Date(), new Date()), BEAT_MS);
  process.once("exit", release);
  const ended = await endLeftovers(STATE);
  if (ended.length > 0)
    say(`  … a set-up that was killed had left something running (${ended.join(", ")}); ended`);
  return () => {
    clearInterval(beat);
    process.off("exit", release);
    release();
  };
}

function mayWrite(folder) {
  try {
    accessSync(folder, files.W_OK);
    return true;
  } catch {
    return false;
  }
}

function take(file, mine) {
  try {
    writeFileSync(file, mine, { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw new SetupError(
      `cannot write into ${STATE}: ${error.message}\n  → Clone to a folder of your own, or free the disk.`,
    );
  }
}

function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null; // given back in the meantime
  }
}

function isStale(file, holder) {
  const [host, pid] = holder.split(" ");
  const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (written === undefined) return false;
  return Date.now() - written > STALE_AFTER_MS || (host === hostname() && !runs(Number(pid)));
}

/** Takes a stale lock away; when another process has replaced it meanwhile, gives the new one back. */
function remove(file, stale) {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (readFileSync(aside, "utf8") !== stale) linkSync(aside, file);
  } catch (error) {
    if (error.code !== "ENOENT" && error.code !== "EEXIST") throw error;
  }
  rmSync(aside, { force: true });
}
