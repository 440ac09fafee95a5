/**
 * Fetches the public tools that `npm run bench -- native` compares with, and builds them:
 *
 *     node test/gpu/build-peers.mjs [FOLDER]     default .p2plab/peers (ignored by git)
 *
 * Needs git, cmake, a CUDA toolkit (nvcc, nvml.h) and boost's program_options (Debian: libboost-program-options-dev). Their
 * source and binaries stay in FOLDER; nothing of them belongs into this repository.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Pinned, so that everyone compares with the same definitions: nvbandwidth before 0.8 names host latency device latency. */
const NVBANDWIDTH = { url: "https://github.com/NVIDIA/nvbandwidth", tag: "v0.8" };
const SAMPLES = { url: "https://github.com/NVIDIA/cuda-samples", tag: "v13.0" };
const P2P_TEST = "Samples/5_Domain_Specific/p2pBandwidthLatencyTest";
const CUDA = process.env.CUDA_HOME ?? "/usr/local/cuda";
const ARCHITECTURE = process.env.P2PLAB_CUDA_ARCH ?? "native";

function say(line) {
  process.stderr.write(`${line}\n`);
}

function run(command, args, options = {}) {
  say(`  ${[command, ...args].join(" ")}`);
  const done = spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"], ...options });
  if (done.error?.code === "ENOENT") throw new Error(`${command} is not installed`);
  if (done.status !== 0) throw new Error(`${command} ended with ${done.signal ?? `code ${done.status}`}`);
}

/** A shallow clone of one tag, only of some folders when they are named; made again when it was left half done. */
function clone({ url, tag }, folder, only = []) {
  if (existsSync(join(folder, ".git/complete"))) return;
  rmSync(folder, { recursive: true, force: true });
  const sparse = only.length > 0 ? ["--filter=blob:none", "--sparse"] : [];
  run("git", [
    "-c",
    "advice.detachedHead=false",
    "clone",
    "--quiet",
    "--depth",
    "1",
    "--branch",
    tag,
    ...sparse,
    url,
    folder,
  ]);
  if (only.length > 0) run("git", ["-C", folder, "sparse-checkout", "set", ...only]);
  mkdirSync(join(folder, ".git/complete"));
}

function nvcc() {
  const inToolkit = join(CUDA, "bin/nvcc");
  return existsSync(inToolkit) ? inToolkit : "nvcc";
}

function buildNvbandwidth(folder, bin) {
  const source = join(folder, "nvbandwidth");
  const build = join(folder, "nvbandwidth-build");
  clone(NVBANDWIDTH, source);
  const options = [`-DCMAKE_CUDA_ARCHITECTURES=${ARCHITECTURE}`, `-DCMAKE_CUDA_COMPILER=${nvcc()}`];
  run("cmake", ["-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", ...options]);
  run("cmake", ["--build", build, "--parallel"]);
  copyFileSync(join(build, "nvbandwidth"), join(bin, "nvbandwidth"));
}

function buildP2pTest(folder, bin) {
  const samples = join(folder, "cuda-samples");
  clone(SAMPLES, samples, ["Common", P2P_TEST]);
  const arch = /^\d+$/.test(ARCHITECTURE) ? `sm_${ARCHITECTURE}` : ARCHITECTURE;
  const source = join(samples, P2P_TEST, "p2pBandwidthLatencyTest.cu");
  const output = join(bin, "p2pBandwidthLatencyTest");
  run(nvcc(), ["-O3", "-std=c++17", `-arch=${arch}`, "-I", join(samples, "Common"), source, "-o", output]);
}

const folder = resolve(process.argv[2] ?? join(ROOT, ".p2plab/peers"));
const bin = join(folder, "bin");
mkdirSync(bin, { recursive: true });
let failed = false;
for (const build of [buildNvbandwidth, buildP2pTest]) {
  try {
    build(folder, bin);
  } catch (error) {
    failed = true;
    say(`${build.name}: ${error.message}`);
  }
}
const variables = { nvbandwidth: "P2PLAB_NVBANDWIDTH", p2pBandwidthLatencyTest: "P2PLAB_P2PTEST" };
for (const [name, variable] of Object.entries(variables)) {
  const file = join(bin, name);
  if (existsSync(file)) say(`${variable}=${file}`);
}
process.exitCode = failed ? 1 : 0;
