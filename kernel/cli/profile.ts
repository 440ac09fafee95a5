/** Running a notebook under a profiler: the profiler is given this very command, without the option that asked for it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { makeFolder, P2pError } from "../lab/index.js";
import { progress } from "./command.js";

export const PROFILERS = ["nsys", "nvprof"] as const;
export type Profiler = (typeof PROFILERS)[number];

/** Where installers put the tools, beside PATH. */
const FOLDERS: readonly string[] = ["/usr/local/cuda/bin", ...versions("/opt/nvidia/nsight-systems", "bin")];

const MISSING: Readonly<Record<Profiler, string>> = {
  nsys: "Install Nsight Systems (package nsight-systems-cli, or with the CUDA toolkit) and put nsys on PATH.",
  nvprof:
    "nvprof comes with CUDA toolkits up to 12 and profiles GPUs up to Volta; for newer ones use --profile nsys.",
};

/** @throws P2pError `usage` for another word. */
export function profilerOf(word: string | undefined): Profiler | null {
  if (word === undefined) return null;
  const known = PROFILERS.find((name) => name === word);
  if (known) return known;
  throw new P2pError("usage", `no profiler "${word}"`, `Give --profile ${PROFILERS.join(" or ")}.`);
}

export interface Profiled {
  /** Exit code of the profiled command. */
  readonly status: number;
  /** What the profiler wrote, in the form that `p2plab import` reads. */
  readonly file: string;
}

/**
 * Runs a command under a profiler and exports what it wrote to SQLite.
 * @param base path of the report, without the ending that each profiler adds.
 * @throws P2pError `not-available` when the profiler is not installed, or wrote nothing.
 */
export async function profiled(
  profiler: Profiler,
  command: readonly string[],
  base: string,
): Promise<Profiled> {
  const tool = toolOf(profiler);
  makeFolder(join(base, ".."));
  return profiler === "nsys" ? withNsys(tool, command, base) : withNvprof(tool, command, base);
}

/** Sampling of the CPU and of context switches is left out: it costs time, needs rights, and says nothing of transfers. */
async function withNsys(tool: string, command: readonly string[], base: string): Promise<Profiled> {
  const report = `${base}.nsys-rep`;
  const file = `${base}.sqlite`;
  // What an earlier run left must not pass for what this one did.
  for (const earlier of [report, file]) rmSync(earlier, { force: true });
  const trace = ["--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none"];
  const status = await ran(tool, [
    "profile",
    ...trace,
    "--force-overwrite=true",
    `--output=${base}`,
    ...command,
  ]);
  if (!existsSync(report)) throw wroteNothing("nsys", report, status);
  const exported = await ran(tool, [
    "export",
    "--type=sqlite",
    "--force-overwrite=true",
    `--output=${file}`,
    report,
  ]);
  if (exported !== 0 || !existsSync(file)) throw wroteNothing("nsys export", file, exported);
  return { status, file };
}

/** nvprof writes SQLite itself, a file for each process; the one with the work is the largest. */
async function withNvprof(tool: string, command: readonly string[], base: string): Promise<Profiled> {
  const began = Date.now();
  const options = ["--profile-child-processes", "--force-overwrite", "--export-profile", `${base}-%p.nvprof`];
  const status = await ran(tool, [...options, ...command]);
  const [folder, prefix] = [join(base, ".."), `${basename(base)}-`];
  const [largest] = readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && name.endsWith(".nvprof"))
    .map((name) => join(folder, name))
    .map((file) => ({ file, facts: statSync(file) }))
    .filter(({ facts }) => facts.mtimeMs >= began - 1000)
    .sort((a, b) => b.facts.size - a.facts.size);
  if (!largest) throw wroteNothing("nvprof", `${base}-*.nvprof`, status);
  return { status, file: largest.file };
}

/** Its output goes to stderr, so that stdout keeps the paths of files; what the command itself prints comes with it. */
async function ran(tool: string, args: readonly string[]): Promise<number> {
  progress(`${basename(tool)} ${args.slice(0, 8).join(" ")}${args.length > 8 ? " …" : ""}`);
  const child = spawn(tool, args, { stdio: ["ignore", process.stderr, process.stderr] });
  const [code] = (await once(child, "close")) as [number | null];
  return code ?? 1;
}

function toolOf(profiler: Profiler): string {
  const folders = [
    ...(process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== ""),
    ...FOLDERS,
  ];
  const found = folders.map((folder) => join(folder, profiler)).find((file) => existsSync(file));
  if (found) return found;
  throw new P2pError("not-available", `${profiler} is not installed`, MISSING[profiler]);
}

function versions(folder: string, sub: string): string[] {
  try {
    return readdirSync(folder)
      .sort()
      .reverse()
      .map((version) => join(folder, version, sub));
  } catch {
    return [];
  }
}

function wroteNothing(what: string, file: string, status: number): P2pError {
  return new P2pError(
    "not-available",
    `${what} ended with ${status} and did not write ${file}`,
    "What it printed above says why; in a container it may need more rights, or another session is still open.",
  );
}
