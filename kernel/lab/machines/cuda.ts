import { P2pError } from "../errors.js";
import type { GpuInfo, Machine, MachineInfo, Provenance, Run, RunOptions } from "../machine.js";
import {
  loadAddon,
  type NativeAddon,
  type NativeAvailability,
  type NativeExecutor,
  translate,
} from "../native.js";
import type { Program } from "../program.js";
import { type Sampling, samplingOf } from "../sampling.js";
import { throwIfCancelled } from "./cuda-calls.js";
import { infoOf } from "./cuda-info.js";
import { noPeerReason } from "./cuda-no-peer.js";
import { runProbe } from "./cuda-probe.js";
import { nativeProgramOf, orderedPairs } from "./cuda-program.js";
import { sample } from "./cuda-sample.js";
import { runSetup } from "./cuda-setup.js";
import { runState, StateReader } from "./cuda-state.js";
import { taints } from "./cuda-taint.js";
import { trace } from "./cuda-trace.js";
import { verify } from "./cuda-verify.js";
import { Waker } from "./cuda-wake.js";
import { profilerWarnings } from "./profiler.js";

/** The GPUs of this machine, by the native addon. Runs programs one at a time; a second run waits for the first. */
export class CudaMachine implements Machine {
  readonly provenance: Provenance;
  readonly info: MachineInfo;
  readonly #addon: NativeAddon;
  readonly #reader: StateReader;
  readonly #waker: Waker;
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;

  private constructor(addon: NativeAddon, availability: NativeAvailability) {
    this.#addon = addon;
    this.#reader = new StateReader(addon);
    this.#waker = new Waker(this.#reader);
    this.info = infoOf(addon, availability, this.#reader);
    this.provenance = {
      kind: "measured",
      machine: this.info.name,
      date: new Date().toISOString(),
      source: "cuda",
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
    if (program.kind === "setup") return await runSetup(this.#addon, program, options, this.provenance);
    throwIfCancelled(options.signal);
    if (program.kind === "probe")
      return await runProbe(this.#addon, this.#reader, program, options, this.provenance);
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
    const unsettled = await this.#waker.wake(executor, program.gpus, options.signal);
    const before = this.#reader.read(program.gpus);
    const samples = await sample(executor, sampling, options.signal);
    const after = this.#reader.read(program.gpus);
    const traced = options.trace ? await trace(executor, program, options) : null;
    const warnings = [...profilerWarnings(), ...unsettled];
    if (typeof before !== "string" && typeof after !== "string") warnings.push(...taints(before, after));
    if (traced && "trace" in traced) warnings.push(...traced.warnings);
    return {
      program,
      mode: "latency",
      provenance: { ...this.provenance, date: new Date().toISOString() },
      samples,
      trace: traced && "trace" in traced ? traced.trace : null,
      traceReason: traced && "reason" in traced ? traced.reason : null,
      verification,
      ...runState(before, after),
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
      if (this.#addon.peer(from, to).access) continue;
      const [a, b] = [this.info.gpus[from], this.info.gpus[to]] as [GpuInfo, GpuInfo];
      throw new P2pError(
        "not-available",
        `no peer access: ${noPeerReason(this.#reader, a, b)}`,
        "Run the staged path, or let the driver stage the copy with .peerAccess(false).",
      );
    }
  }
}
