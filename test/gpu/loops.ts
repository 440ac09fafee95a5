/** The hand-written C++ loops of loops.cc: built once for each state of their sources, run in a process of their own. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { packagePath } from "../../kernel/lab/index.js";
import { execute } from "./peers.js";

const SOURCES = ["test/gpu/loops.cc", "test/gpu/bare_driver.h", "native/cuda_api.h"];
const CXX = process.env.CXX ?? "g++";

export interface OneShot {
  readonly bytes: number;
  readonly iterations: number;
  /** First submit call entered → the wait returned. */
  readonly medianNs: number;
  readonly p05Ns: number;
  readonly p95Ns: number;
  readonly apiMedianNs: number;
}

export interface Gated {
  readonly bytes: number;
  readonly copies: number;
  readonly repeats: number;
  /** Repeats thrown away because the gate gave up before all was queued. */
  readonly gateExpired: number;
  /** One copy of the queue, by events on the device. */
  readonly medianNs: number;
  readonly p05Ns: number;
  readonly p95Ns: number;
  readonly gbps: number;
}

export type End = number | "host";

/** Builds the loops, or finds them built. @throws Error when the compiler is missing or refuses. */
export function buildLoops(): string {
  const hash = createHash("sha256").update(CXX);
  for (const file of SOURCES) hash.update(readFileSync(packagePath(file)));
  const folder = join(packagePath("build/test-gpu"), hash.digest("hex").slice(0, 12));
  const program = join(folder, "loops");
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  const temporary = `${program}.${process.pid}`;
  const flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-I", "native"];
  const compiled = spawnSync(CXX, [...flags, "test/gpu/loops.cc", "-o", temporary, "-ldl"], {
    cwd: packagePath("."),
    encoding: "utf8",
  });
  if (compiled.error) throw new Error(`no ${CXX} to build the hand-written loops: ${compiled.error.message}`);
  if (compiled.status !== 0) throw new Error(`${CXX} refuses test/gpu/loops.cc: ${compiled.stderr}`);
  renameSync(temporary, program);
  return program;
}

/** One copy at a time, submit until a spin on cuStreamQuery (or cuStreamSynchronize) returns. */
export async function oneShot(
  program: string,
  from: End,
  to: End,
  options: { bytes: number; iterations: number; synchronize?: boolean },
): Promise<OneShot> {
  const wait = options.synchronize ? ["synchronize"] : [];
  return run(program, ["oneshot", from, to, options.bytes, options.iterations, ...wait]);
}

/** Peer copies back to back behind a gate kernel, the definition of p2pBandwidthLatencyTest's GPU figure. */
export async function pipelined(
  program: string,
  from: number,
  to: number,
  options: { bytes: number; copies: number; repeats: number },
): Promise<Gated> {
  return run(program, ["pipelined", from, to, options.bytes, options.copies, options.repeats]);
}

/** Copy-engine copies back to back behind a gate kernel, after 4 that warm up. */
export async function bandwidth(
  program: string,
  from: End,
  to: End,
  options: { bytes: number; copies: number; repeats: number },
): Promise<Gated> {
  return run(program, ["bandwidth", from, to, options.bytes, options.copies, options.repeats]);
}

async function run<T>(program: string, args: readonly (string | number)[]): Promise<T> {
  const { stdout } = await execute(program, args.map(String), 120_000);
  return JSON.parse(stdout) as T;
}
