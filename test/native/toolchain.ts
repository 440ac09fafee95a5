/** Builds what the native tests need into build/test-native/, once for each state of the sources. */
import { execFileSync, type SpawnSyncReturns, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as assert from "uvu/assert";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const OUT = join(ROOT, "build/test-native");
const CXX = process.env.CXX ?? "g++";

export const ADDON = process.env.P2PLAB_ADDON ?? join(ROOT, "build/Release/p2p.node");

/** Why a tool or file that some tests need is missing; null when it is there. */
export function missing(
  what: "compiler" | "addon" | "nvcc" | "cuda headers" | "nvml header" | "nvrtc header" | "nvtx header",
): string | null {
  if (process.platform !== "linux") return "the addon measures on Linux only";
  if (what === "addon") return existsSync(ADDON) ? null : `no ${ADDON} (npm run build:addon)`;
  if (what === "cuda headers") {
    return existsSync(join(CUDA_INCLUDE, "cupti.h")) ? null : `no cupti.h in ${CUDA_INCLUDE}`;
  }
  if (what === "nvml header") {
    return existsSync(join(NVML_INCLUDE, "nvml.h")) ? null : `no nvml.h in ${NVML_INCLUDE}`;
  }
  if (what === "nvtx header") {
    const header = "nvtx3/nvToolsExt.h";
    return existsSync(join(CUDA_INCLUDE, header)) ? null : `no ${header} in ${CUDA_INCLUDE}`;
  }
  if (what === "nvrtc header") {
    return existsSync(join(NVRTC_INCLUDE, "nvrtc.h")) ? null : `no nvrtc.h in ${NVRTC_INCLUDE}`;
  }
  const tool = what === "compiler" ? CXX : "nvcc";
  return spawnSync(tool, ["--version"]).status === 0 ? null : `no ${tool} on this machine`;
}

export const CUDA_INCLUDE = join(process.env.CUDA_HOME ?? "/usr/local/cuda", "include");

/** Where nvml.h is: in the toolkit, unless P2PLAB_NVML_INCLUDE names another folder (pip's nvidia-nvml-dev has one). */
export const NVML_INCLUDE = process.env.P2PLAB_NVML_INCLUDE ?? CUDA_INCLUDE;

/** Where nvrtc.h is: in the toolkit, unless P2PLAB_NVRTC_INCLUDE names another folder (pip's nvidia-cuda-nvrtc has one). */
export const NVRTC_INCLUDE = process.env.P2PLAB_NVRTC_INCLUDE ?? CUDA_INCLUDE;

/** The stand-in libcuda; `old` lacks a symbol. */
export function fakeCuda(old = false): string {
  return old
    ? build("libcuda-old.so.1", standIn("cuda"), [...SHARED, "-DP2P_FAKE_OLD_DRIVER"])
    : build("libcuda.so.1", standIn("cuda"), SHARED);
}

/** The stand-in libcuda as a driver of a CUDA release, such as "11.0", has it: without the functions that came later. */
export function fakeCudaOf(release: string): string {
  const age = (text: string) => text.split(".").reduce((sum, part) => sum * 100 + Number(part), 0);
  const later = [...readFileSync(join(ROOT, "native/cuda_api.h"), "utf8").matchAll(/X\("([\d.]+)", (\w+),/g)]
    .filter(([, since]) => age(since as string) > age(release))
    .map(([, , name]) => name);
  const hidden = `{ local: ${later.map((name) => `${name};`).join(" ")} };`;
  const script = made(hashOf(hidden), "hidden.map", (temporary) => writeFileSync(temporary, hidden));
  return build(`libcuda-${release}.so.1`, standIn("cuda"), [...SHARED], [`-Wl,--version-script=${script}`]);
}

/** The stand-in libnvidia-ml; `old` lacks what came after CUDA 11.1. */
export function fakeNvml(old = false): string {
  return old
    ? build("libnvidia-ml-old.so.1", [...standIn("nvml"), ...MACHINE], [...SHARED, "-DP2P_FAKE_OLD_NVML"])
    : build("libnvidia-ml.so.1", [...standIn("nvml"), ...MACHINE], SHARED);
}

export function fakeCupti(): string {
  return build("libcupti.so.13", standIn("cupti"), SHARED);
}

/** A profiler's library that listens to named ranges. */
export function fakeNvtx(): string {
  return build("libnvtx-listener.so", standIn("nvtx"), SHARED);
}

export function fakeNvrtc(): string {
  return build("libnvrtc.so.13", standIn("nvrtc"), SHARED);
}

/**
 * Thread-local variables stand where those of the program do: LeakSanitizer reads noise for the bounds of those that a
 * library loaded later gets by itself, and crashes on them.
 */
const SHARED = ["-O1", "-g1", "-shared", "-fPIC", "-pthread", "-ftls-model=initial-exec"];

/** What libcuda and NVML must agree on. */
const MACHINE = ["test/fake-driver/fake_gpus.cc", "test/fake-driver/fake_settings.cc"];

/** Sources of a stand-in: fake_LIBRARY*.cc; what names no other library belongs to libcuda. */
function standIn(library: string): string[] {
  const others = /^fake_(cupti|nvml|nvrtc|nvtx)/;
  return readdirSync(join(ROOT, "test/fake-driver"))
    .filter((file) => /^fake_\w+\.cc$/.test(file))
    .filter((file) => (library === "cuda" ? !others.test(file) : file.startsWith(`fake_${library}`)))
    .sort()
    .map((file) => `test/fake-driver/${file}`);
}

/** Files of native/ that know Node.js; everything else is the core. */
const NODE_FILES = /^(addon|addon_data|arguments|js_errors|\w+_object)\.cc$/;

/** Flags of a program that stops at the first error of memory or arithmetic. */
export const SANITIZED = ["-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/** A program of test/native/, of one source or several, with the core of the addon. */
export function coreProgram(
  name: string,
  sources: string | readonly string[],
  flags: readonly string[],
): string {
  const core = readdirSync(join(ROOT, "native"))
    .filter((file) => file.endsWith(".cc") && !NODE_FILES.test(file))
    .map((file) => `native/${file}`);
  return build(name, [...[sources].flat(), ...core], [...flags, "-pthread"]);
}

/** A file in OUT, by a hash of what it is made from, made by `make` when it is not there yet. */
function made(hash: string, name: string, make: (temporary: string) => void): string {
  const file = join(OUT, hash, name);
  if (existsSync(file)) return file;
  mkdirSync(join(OUT, hash), { recursive: true });
  // Several test files may make the same at once: each writes its own name, and the last rename wins.
  const temporary = `${file}.${process.pid}`;
  make(temporary);
  renameSync(temporary, file);
  return file;
}

function hashOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest("hex").slice(0, 16);
}

/** What this process has built already: reading and hashing all sources again takes longer than many a test. */
const built = new Map<string, string>();

function build(
  name: string,
  sources: readonly string[],
  flags: readonly string[],
  linkFlags: readonly string[] = [],
): string {
  const key = JSON.stringify([name, sources, flags, linkFlags]);
  const file = built.get(key) ?? buildAnew(name, sources, flags, linkFlags);
  built.set(key, file);
  return file;
}

/** Compiles and links to OUT/<hash>/name; an object is compiled once for each state of its source and of the headers. */
function buildAnew(
  name: string,
  sources: readonly string[],
  flags: readonly string[],
  linkFlags: readonly string[],
): string {
  const text = readFileSync(join(ROOT, "native/kernels.ptx"));
  const ptx = made(hashOf(text), "kernels_ptx.h", (temporary) => {
    execFileSync(process.execPath, ["native/embed-ptx.mjs", "native/kernels.ptx", temporary], { cwd: ROOT });
  });
  const headers = ["native", "test/native", "test/fake-driver"].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((file) => file.endsWith(".h"))
      .sort()
      .flatMap((file) => [file, readFileSync(join(ROOT, folder, file))]),
  );
  const compile = ["-std=c++20", "-Wall", "-Wextra", "-Werror", ...flags];
  const common = hashOf(CXX, text, ...compile, ...headers);
  const objects = sources.map((source) => {
    const hash = hashOf(common, source, readFileSync(join(ROOT, source)));
    return { source, file: join(OUT, hash, "object.o") };
  });
  alone(common, () =>
    compileAll(
      [...compile, "-I", "native", "-I", dirname(ptx)],
      objects.filter(({ file }) => !existsSync(file)),
    ),
  );
  const files = objects.map(({ file }) => file);
  return made(hashOf(...flags, ...linkFlags, ...files), name, (temporary) => {
    const linked = spawnSync(CXX, [...flags, ...linkFlags, ...files, "-o", temporary, "-ldl"], {
      encoding: "utf8",
    });
    if (linked.status !== 0) throw new Error(`${name} does not link\n${linked.stderr}`);
  });
}

/** Does the work while no other process does work of this name: several test files would compile the same side by side. */
function alone(name: string, work: () => void): void {
  const lock = join(OUT, `${name}.lock`);
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (ownerIsGone(lock)) rmSync(lock, { force: true });
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    }
  }
  try {
    work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** Whether the process that made the lock ended without taking it away. */
function ownerIsGone(lock: string): boolean {
  try {
    const owner = Number(readFileSync(lock, "utf8"));
    if (owner > 0) process.kill(owner, 0);
    return false;
  } catch (error) {
    // ENOENT: it was taken away just now.
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** Compiles as many sources at a time as there are processors. */
function compileAll(flags: readonly string[], wanted: readonly { source: string; file: string }[]): void {
  if (wanted.length === 0) return;
  const temporary = (file: string) => `${file}.${process.pid}`;
  for (const { file } of wanted) mkdirSync(dirname(file), { recursive: true });
  const lines = wanted.map(({ source, file }) => `"${source}" -o "${temporary(file)}"\n`).join("");
  const args = ["-P", String(availableParallelism()), "-L", "1", CXX, ...flags, "-c"];
  const compiled = spawnSync("xargs", args, { cwd: ROOT, input: lines, encoding: "utf8" });
  if (compiled.status !== 0) throw new Error(`${CXX} ${flags.join(" ")}\n${compiled.stderr}`);
  for (const { file } of wanted) renameSync(temporary(file), file);
}

/** Environment of a process that uses the stand-ins; nothing of the machine's own CUDA gets in. */
export function fakeEnvironment(settings: Record<string, string> = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(P2PLAB_|CUDA_|LD_LIBRARY_PATH)/.test(name));
  return {
    ...Object.fromEntries(own),
    P2PLAB_LIBCUDA: fakeCuda(),
    P2PLAB_CUPTI: fakeCupti(),
    P2PLAB_NVML: fakeNvml(),
    P2PLAB_NVRTC: fakeNvrtc(),
    ...settings,
  };
}

/**
 * Runs a script (the body of an async function with `addon`, `push`, `print`) in a process of its own with the addon on
 * the stand-in driver; what it prints comes back, one JSON value a line.
 */
export function inChild(script: string, settings: Record<string, string> = {}): ChildResult {
  const body = `
    const addon = require(${JSON.stringify(ADDON)});
    const print = (value) => console.log(JSON.stringify(value));
    const failure = (error) => ({ code: error.code, message: error.message, hint: error.hint, result: error.result, call: error.call });
    // GPU 0 to GPU 1, pushed by GPU 0.
    const push = (change = {}) => ({
      buffers: Float64Array.of(0, 0, 64, 0, 1, 64), streams: Int32Array.of(0), eventCount: 0,
      operations: Float64Array.of(1, 0, 0, 1, 64, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0),
      peers: Int32Array.of(0, 1, 1, 1, 0, 1), sources: Float64Array.of(0, 7), checks: Float64Array.of(1, 0, 64, 7, 0), graph: false, ...change });
    (async () => {${script}})().catch((error) => { console.error(error); process.exit(9); });`;
  const child = spawnSync(process.execPath, ["--expose-gc", "-e", body], {
    encoding: "utf8",
    env: fakeEnvironment(settings),
    timeout: 120_000,
  });
  return {
    ...child,
    lines: child.stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  };
}

/**
 * What processes counted that wrote to `P2PLAB_FAKE_COUNTS=FOLDER/%p.json`: the calls of the process `own`, and of all, its
 * children among them, what the driver still held at their end.
 */
export function countsIn(
  folder: string,
  own: number,
): { calls: Record<string, number>; children: number; left: string[] } {
  const files = readdirSync(folder).filter((file) => /^\d+\.json$/.test(file));
  const left: string[] = [];
  let calls: Record<string, number> | null = null;
  for (const file of files) {
    const { calls: made, ...live } = JSON.parse(readFileSync(join(folder, file), "utf8"));
    const mine = file === `${own}.json`;
    if (mine) calls = made;
    for (const [kind, count] of Object.entries(live)) {
      if (count !== 0) left.push(`${mine ? "own process" : "child"}: ${count} ${kind}`);
    }
  }
  if (!calls) throw new Error(`the process ${own} left no counts`);
  return { calls, children: files.length - 1, left };
}

export interface ChildResult extends SpawnSyncReturns<string> {
  // biome-ignore lint/suspicious/noExplicitAny: whatever the script printed
  lines: any[];
}

/**
 * Runs a script (the body of an async function with `cuda`, `CudaMachine`, `program`, `print`) in a process of its
 * own with the library on the stand-in driver.
 */
export function inLab(script: string, settings: Record<string, string> = {}): ChildResult {
  const from = (file: string) => JSON.stringify(new URL(`../../kernel/lab/${file}.js`, import.meta.url).href);
  const body = `
    import * as cuda from ${from("cuda")};
    import { CudaMachine } from ${from("machines/cuda")};
    import { program } from ${from("program")};
    const print = (value) => console.log(JSON.stringify(value));
    const failure = (error) => ({ name: error.name, code: error.code, message: error.message, hint: error.hint });
    // GPU 0 to GPU 1, pushed by GPU 0.
    const push = (bytes = 64) => program().buffer("src", { gpu: 0, bytes }).buffer("dst", { gpu: 1, bytes }).stream("s", { gpu: 0 })
      .copy("s", "src", "dst").sync("s");
    // Through page-locked memory, both copies on the stream of GPU 0.
    const staged = (bytes = 64) => program().buffer("src", { gpu: 0, bytes }).buffer("stage", { host: "pinned", bytes })
      .buffer("dst", { gpu: 1, bytes }).stream("s", { gpu: 0 }).copy("s", "src", "stage").copy("s", "stage", "dst").sync("s");
    const quick = { budgetMs: 20, minSamples: 10, maxSamples: 40 };
    ${script}`;
  const child = spawnSync(process.execPath, ["--input-type=module", "-e", body], {
    encoding: "utf8",
    env: fakeEnvironment(settings),
    timeout: 120_000,
  });
  return {
    ...child,
    lines: child.stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  };
}

/** The same, where no process may leave anything in the driver; gives the calls of the script's own, and how many children it had. */
export function inLabLeavingNothing(
  script: string,
  settings: Record<string, string> = {},
): { lines: ChildResult["lines"]; calls: Record<string, number>; children: number } {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-counts-"));
  try {
    const child = inLab(script, { ...settings, P2PLAB_FAKE_COUNTS: join(folder, "%p.json") });
    assert.is(child.status, 0, child.stderr);
    const { calls, children, left } = countsIn(folder, child.pid);
    assert.equal(left, []);
    return { lines: child.lines, calls, children };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
