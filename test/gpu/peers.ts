/** The public tools beside which the library is measured: where they are, and one run of each. */
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { type Nvbandwidth, readNvbandwidth } from "../../kernel/lab/import/nvbandwidth-output.js";
import { type P2pTest, readP2pTest } from "../../kernel/lab/import/p2p-test.js";
import { packagePath } from "../../kernel/lab/index.js";

export type Peer = "nvbandwidth" | "p2pBandwidthLatencyTest";

const VARIABLES = { nvbandwidth: "P2PLAB_NVBANDWIDTH", p2pBandwidthLatencyTest: "P2PLAB_P2PTEST" } as const;

/** Where the tool is, or why it cannot be run. */
export type Found = { readonly path: string } | { readonly reason: string };

/** The binary that the environment names, otherwise the one that build-peers.mjs left. */
export function findPeer(peer: Peer): Found {
  const variable = VARIABLES[peer];
  const path = process.env[variable] || join(packagePath(".p2plab/peers/bin"), peer);
  try {
    accessSync(path, constants.X_OK);
    return { path };
  } catch {
    return {
      reason: `no ${peer} at ${path}; build it with node test/gpu/build-peers.mjs, or name one in ${variable}`,
    };
  }
}

export interface Timed<T> {
  readonly output: T;
  /** From the start of its process to its end. */
  readonly wallMs: number;
}

/** Runs testcases of nvbandwidth by name, in its default conditions. */
export async function runNvbandwidth(
  path: string,
  testcases: readonly string[],
  options: { timeoutMs?: number } = {},
): Promise<Timed<Nvbandwidth>> {
  const { stdout, wallMs } = await execute(path, ["-j", "-t", ...testcases], options.timeoutMs ?? 180_000);
  const output = readNvbandwidth(stdout);
  const broken = output.testcases.find((testcase) => testcase.status === "error");
  if (output.error ?? broken) {
    throw new Error(`nvbandwidth: ${output.error ?? `testcase ${broken?.name} failed`}`);
  }
  return { output, wallMs };
}

/** Runs p2pBandwidthLatencyTest in its default conditions. */
export async function runP2pTest(
  path: string,
  options: { timeoutMs?: number } = {},
): Promise<Timed<P2pTest>> {
  const { stdout, wallMs } = await execute(path, [], options.timeoutMs ?? 180_000);
  return { output: readP2pTest(stdout), wallMs };
}

/** Runs a program to its end; `stdout` is all it printed. @throws Error when it fails or takes too long. */
export function execute(
  path: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<{ stdout: string; wallMs: number }> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const child = spawn(path, args, { stdio: ["ignore", "pipe", "pipe"] });
    // Not spawn's own timeout: its timer goes on, and keeps the process, where the program cannot be started.
    const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(new Error(`${path} cannot be run: ${error.message}`));
    });
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      const wallMs = performance.now() - began;
      if (code === 0) return resolve({ stdout, wallMs });
      const why = signal
        ? `${signal}${wallMs >= timeoutMs ? ` after ${timeoutMs / 1000} s` : ""}`
        : `code ${code}`;
      reject(
        new Error(`${[path, ...args].join(" ")} ended with ${why}: ${(stderr + stdout).trim().slice(-600)}`),
      );
    });
  });
}
