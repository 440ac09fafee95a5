import { arch, cpus, release, type } from "node:os";
import { P2pError } from "../errors.js";
import type {
  Machine,
  MachineInfo,
  PairInfo,
  Provenance,
  Run,
  RunOptions,
  Samples,
  Verification,
} from "../machine.js";
import {
  loadAddon,
  type NativeAddon,
  type NativeAvailability,
  type NativeDevice,
  type NativeExecutor,
  translate,
} from "../native.js";
import type { Program } from "../program.js";
import { median, type Sampling, samplingOf, stop } from "../sampling.js";
import { nativeProgramOf, orderedPairs } from "./cuda-program.js";
import { type TraceResult, traceOf } from "./cuda-trace.js";

/** How long one iteration may take before it counts as hung. */
const DEADLINE_MS = 10_000;
/** How long one batch of iterations should take: often enough asked whether to stop, seldom enough to cost nothing. */
const BATCH_MS = 50;
const TRACE_ITERATIONS = 200;

/** The GPUs of this machine, by the native addon. Runs programs one at a time; a second run waits for the first. */
export class CudaMachine implements Machine {
  readonly provenance: Provenance;
  readonly info: MachineInfo;
  readonly #addon: NativeAddon;
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(addon: NativeAddon, availability: NativeAvailability) {
    this.#addon = addon;
    const devices = addon.devices();
    const name = nameOf(devices);
    this.provenance = { kind: "measured", machine: name, date: new Date().toISOString(), source: "cuda" };
    this.info = {
      name,
      gpus: devices.map((device) => ({
        index: device.index,
        name: device.name,
        memoryBytes: device.memoryBytes,
        computeCapability: `${device.computeMajor}.${device.computeMinor}`,
        pci: device.pci,
        copyEngines: device.copyEngines,
      })),
      pairs: devices.flatMap((a) =>
        devices.filter((b) => b !== a).map((b) => pairOf(addon, a.index, b.index)),
      ),
      facts: factsOf(addon, availability),
    };
  }

  /** @throws P2pError `not-available` with the reason when there is no addon, no driver or no GPU. */
  static async open(): Promise<CudaMachine> {
    const addon = loadAddon();
    const availability = addon.availability();
    if (!availability.cuda.available) {
      throw new P2pError(
        "not-available",
        `no GPU can be used: ${availability.cuda.reason}`,
        'Use a recording or a simulation instead, such as lab.open("recorded:h200x2")',
      );
    }
    try {
      return new CudaMachine(addon, availability);
    } catch (error) {
      throw translate(error);
    }
  }

  /** Verifies the program's bytes, then times it, then traces it if asked. See {@link Machine.run}. */
  run(program: Program, options: RunOptions = {}): Promise<Run> {
    const turn = this.#queue.then(() => this.#run(program, options));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#queue;
  }

  async #run(program: Program, options: RunOptions): Promise<Run> {
    if (this.#closed) throw new P2pError("usage", "the machine is closed", "Open it again with lab.open().");
    program.validate();
    const sampling = samplingOf(options.sampling);
    this.#requireGpus(program);
    throwIfCancelled(options.signal);
    try {
      const executor = await this.#addon.prepare(
        nativeProgramOf(program, (from, to) => this.#addon.peer(from, to).access),
      );
      const cancel = () => executor.cancel();
      options.signal?.addEventListener("abort", cancel);
      try {
        return await this.#measure(executor, program, sampling, options);
      } finally {
        options.signal?.removeEventListener("abort", cancel);
        executor.close();
      }
    } catch (error) {
      throw translate(error);
    }
  }

  async #measure(
    executor: NativeExecutor,
    program: Program,
    sampling: Sampling,
    options: RunOptions,
  ): Promise<Run> {
    const verification = await verify(executor, program);
    throwIfCancelled(options.signal);
    const samples = await sample(executor, sampling, options.signal);
    const traced = options.trace ? await trace(executor, program, options) : null;
    const warnings = profilerWarnings();
    if (traced && "trace" in traced) warnings.push(...traced.warnings);
    return {
      program,
      mode: "latency",
      provenance: { ...this.provenance, date: new Date().toISOString() },
      samples,
      trace: traced && "trace" in traced ? traced.trace : null,
      traceReason: traced && "reason" in traced ? traced.reason : null,
      verification,
      warnings,
    };
  }

  /** The GPUs exist and, where the program wants it, the driver grants peer access; asked anew for every run. */
  #requireGpus(program: Program): void {
    const missing = program.gpus.find((gpu) => gpu >= this.info.gpus.length);
    if (missing !== undefined) {
      throw new P2pError(
        "not-available",
        `the program uses GPU ${missing}, but this machine has ${this.info.gpus.length} (${this.info.name})`,
        "Use GPU numbers from 0, or open a machine with more GPUs, such as a recorded or simulated one.",
      );
    }
    if (!program.data.peerAccess) return;
    for (const { from, to } of orderedPairs(program)) {
      const { reason } = pairOf(this.#addon, from, to);
      if (reason) {
        throw new P2pError(
          "not-available",
          `no peer access: ${reason}`,
          "Run the staged path, or let the driver stage the copy with .peerAccess(false); nvidia-smi topo -p2p r shows why.",
        );
      }
    }
  }
}

/** @throws P2pError `verification` when a byte did not arrive: then nothing is timed. */
async function verify(executor: NativeExecutor, program: Program): Promise<Verification> {
  const checks = await executor.verify(DEADLINE_MS);
  const checkedBytes = checks.reduce((sum, check) => sum + check.bytes, 0);
  const failed = checks.find((check) => check.wrongByOwner > 0 || check.wrongByReadBack > 0);
  if (!failed) {
    return {
      state: "ok",
      checkedBytes,
      wrongBytes: 0,
      sentinelBytes: 0,
      detail: `${checkedBytes} bytes right, seen by the owner of each destination and by a host read-back through it`,
    };
  }
  const buffer = program.data.buffers[failed.buffer]?.name;
  const wrong = Math.max(failed.wrongByOwner, failed.wrongByReadBack);
  const never =
    failed.sentinelBytes === failed.bytes ? "nothing arrived" : `${failed.sentinelBytes} were never written`;
  throw new P2pError(
    "verification",
    `${wrong} of ${failed.bytes} bytes of buffer "${buffer}" are wrong after one iteration (first at offset ${failed.firstWrong}; ` +
      `owner counts ${failed.wrongByOwner}, host read-back ${failed.wrongByReadBack}; ${never}). No numbers are given.`,
    "Run the same program with .peerAccess(false): if that passes, the direct path is broken; look at the IOMMU (iommu=pt), PCIe ACS, and whether the GPUs are passed into a VM.",
  );
}

async function sample(
  executor: NativeExecutor,
  sampling: Sampling,
  signal: AbortSignal | undefined,
): Promise<Samples> {
  // At least one, for its time sets the length of the first batch.
  const warmup = new Batch(Math.max(1, sampling.warmup));
  await warmup.run(executor, signal);
  let perIterationNs = Math.max(1, median(warmup.totalNs));
  let totalNs: Float64Array = new Float64Array(0);
  let apiNs: Float64Array = new Float64Array(0);
  const begin = performance.now();
  for (;;) {
    const wanted = Math.max(1, Math.round((BATCH_MS * 1e6) / perIterationNs));
    const batch = new Batch(Math.min(wanted, sampling.maxSamples - totalNs.length));
    await batch.run(executor, signal);
    totalNs = joined(totalNs, batch.totalNs);
    apiNs = joined(apiNs, batch.apiNs);
    const convergence = stop(totalNs, performance.now() - begin, sampling);
    if (convergence) return { totalNs, apiNs, convergence };
    if (totalNs.length >= sampling.maxSamples) {
      throw new P2pError("usage", "the stopping rule wants more than maxSamples", "Raise maxSamples.");
    }
    perIterationNs = Math.max(1, median(batch.totalNs));
  }
}

/** A number of iterations timed in one call of the addon. */
class Batch {
  readonly totalNs: Float64Array;
  readonly apiNs: Float64Array;

  constructor(iterations: number) {
    this.totalNs = new Float64Array(iterations);
    this.apiNs = new Float64Array(iterations);
  }

  async run(executor: NativeExecutor, signal: AbortSignal | undefined): Promise<void> {
    throwIfCancelled(signal);
    const { cancelled } = await executor.time(this.totalNs, this.apiNs, DEADLINE_MS);
    if (cancelled) throwIfCancelled(signal, true);
  }
}

async function trace(executor: NativeExecutor, program: Program, options: RunOptions): Promise<TraceResult> {
  throwIfCancelled(options.signal);
  try {
    const iterations = options.traceIterations ?? TRACE_ITERATIONS;
    const native = await executor.trace(iterations, options.trace === "full", DEADLINE_MS);
    if (native.cancelled) throwIfCancelled(options.signal, true);
    return traceOf(program, native);
  } catch (error) {
    const failure = translate(error);
    if (failure instanceof P2pError && failure.code === "not-available") {
      return { reason: `${failure.message} → ${failure.hint}` };
    }
    throw failure;
  }
}

function throwIfCancelled(signal: AbortSignal | undefined, cancelled = signal?.aborted ?? false): void {
  if (!cancelled) return;
  throw new P2pError(
    "cancelled",
    "the run was stopped on request",
    "Run it again when you want its numbers.",
  );
}

function joined(a: Float64Array, b: Float64Array): Float64Array {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

function pairOf(addon: NativeAddon, from: number, to: number): PairInfo {
  const { access, nativeAtomics } = addon.peer(from, to);
  return {
    from,
    to,
    peerAccess: access,
    nativeAtomics,
    link: null,
    rawGbps: null,
    reason: access ? null : `the driver does not let GPU ${from} access the memory of GPU ${to}`,
  };
}

/** `2 × NVIDIA H200`; different models joined by `+`. */
function nameOf(devices: readonly NativeDevice[]): string {
  const counts = new Map<string, number>();
  for (const { name } of devices) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${count} × ${name}`).join(" + ");
}

function factsOf(addon: NativeAddon, availability: NativeAvailability): MachineInfo["facts"] {
  const { cuda, cupti, kernelModule } = availability;
  const clock = addon.clock();
  return {
    driver: /\s(\d+\.\d+(?:\.\d+)?)\s/.exec(kernelModule ?? "")?.[1] ?? null,
    kernel_module: kernelModule,
    cuda_version:
      cuda.version === null
        ? null
        : `${Math.floor(cuda.version / 1000)}.${Math.floor((cuda.version % 1000) / 10)}`,
    cupti: cupti.available ? (cupti.path ?? "found") : `none: ${cupti.reason}`,
    clock: clock.name,
    clock_resolution_ns: clock.resolutionNs,
    clock_cost_ns: clock.costNs,
    operating_system: `${type()} ${release()} ${arch()}`,
    cpu: cpus()[0]?.model ?? null,
  };
}

/** A profiler that is injected into the process slows every driver call, and the samples would not tell. */
function profilerWarnings(): string[] {
  const injected = ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"].filter((name) => process.env[name]);
  return injected.length > 0 ? [`profiled: a profiler is attached (${injected.join(", ")} is set)`] : [];
}
