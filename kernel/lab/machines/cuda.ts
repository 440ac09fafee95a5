import { readdirSync } from "node:fs";
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
import { type Sampling, samplingOf, THROUGHPUT_SAMPLING } from "../sampling.js";
import { ALLOCATORS, type Verdict, type VerdictOptions } from "../verdict.js";
import type { KillableChild } from "./children/killable-child.js";
import { throwIfCancelled } from "./cuda-calls.js";
import { makeContexts } from "./cuda-contexts.js";
import { ForeignBuffers } from "./cuda-foreign.js";
import { graphCosts } from "./cuda-graph.js";
import { Guard } from "./cuda-guard.js";
import { infoOf } from "./cuda-info.js";
import { noPeerReason } from "./cuda-no-peer.js";
import { runProbe } from "./cuda-probe.js";
import { nativeProgramOf } from "./cuda-program.js";
import { sample } from "./cuda-sample.js";
import { runSetup } from "./cuda-setup.js";
import { RECENT_MS, type Readings, runState, StateReader } from "./cuda-state.js";
import { taints } from "./cuda-taint.js";
import { throughput } from "./cuda-throughput.js";
import { trace, traceIterationsOf } from "./cuda-trace.js";
import { verify } from "./cuda-verify.js";
import { Waker } from "./cuda-wake.js";
import { profilerAttached, profilerWarnings } from "./profiler.js";
import { Gate, pairsOf, peerAccessOff } from "./verdict/gate.js";
import { Prober, probeProcess } from "./verdict/prober.js";

/** How long after its last work a machine keeps page-locked memory for the next. */
const IDLE_MS = 1000;

/** The GPUs of this machine, by the native addon. Runs programs one at a time; a second run waits for the first. */
export class CudaMachine implements Machine {
  readonly provenance: Provenance;
  readonly info: MachineInfo;
  readonly #addon: NativeAddon;
  readonly #reader: StateReader;
  readonly #waker: Waker;
  readonly #prober: Prober;
  readonly #gate: Gate;
  #queue: Promise<unknown> = Promise.resolve();
  readonly #made = new Set<number>();
  #closed = false;
  /** A call never came back; nothing can be measured beside it. */
  #hung = false;
  #idle: NodeJS.Timeout | undefined;

  private constructor(addon: NativeAddon, availability: NativeAvailability, prober: KillableChild | null) {
    this.#addon = addon;
    this.#reader = new StateReader(addon);
    this.#waker = new Waker(this.#reader);
    this.info = infoOf(addon, availability, this.#reader);
    const uuids = addon.devices().map((device) => device.uuid);
    const ground = {
      uuid: (gpu: number) => uuids[gpu] ?? "",
      denied: (from: number, to: number) => this.#denied(from, to),
    };
    this.#prober = new Prober(ground);
    if (prober) this.#prober.adopt(prober);
    this.#gate = new Gate(ground, this.#prober, uuids.length);
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
    // Where pairs are likely to be asked about, their process starts beside this one: that takes as long as all the rest.
    const prober = deviceNodes() > 1 && !peerAccessOff() ? probeProcess() : null;
    const availability = addon.availability();
    if (!availability.cuda.available) {
      await prober?.kill();
      throw new P2pError(
        "not-available",
        `no GPU can be used: ${availability.cuda.reason}`,
        'Use a recording or a simulation instead, such as lab.open("recorded:h200x2")',
      );
    }
    try {
      return new CudaMachine(addon, availability, prober);
    } catch (error) {
      await prober?.kill();
      throw translate(error);
    }
  }

  /** Verifies the program's bytes, then times it, then traces it if asked. See {@link Machine.run}. */
  run(program: Program, options: RunOptions = {}): Promise<Run> {
    return this.#inTurn(() => this.#run(program, options));
  }

  /** One after the other; when nothing is left to do, the machine rests after a while. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    const turn = this.#queue.then(work);
    const queue = turn.catch(() => undefined);
    this.#queue = queue;
    void queue.then(() => {
      if (this.#queue === queue && !this.#closed)
        this.#idle = setTimeout(() => this.#rest(), IDLE_MS).unref();
    });
    return turn;
  }

  /** Page-locked memory is kept from run to run; a machine that has nothing to do gives it back. */
  #rest(): void {
    // Where a call hangs, the driver would wait for it, and every later run with it.
    if (this.#hung) return;
    this.#queue = this.#queue.then(() => this.#addon.releaseKeptMemory()).catch(() => undefined);
  }

  /** See {@link Machine.verdicts}. Waits for its turn, as a run does. */
  verdicts(options: VerdictOptions = {}): Promise<readonly Verdict[]> {
    return this.#inTurn(async () => {
      this.#requireOpen();
      const { pairs = pairsOf(this.info.gpus.length), allocators = ALLOCATORS, signal } = options;
      const cells = pairs.flatMap(({ from, to }) => allocators.map((allocator) => ({ from, to, allocator })));
      const verdicts = await this.#prober.verdicts(cells, signal);
      await this.#prober.ended();
      return verdicts;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    await this.#queue;
    await this.#prober.close();
    if (!this.#hung) await this.#addon.releaseKeptMemory();
  }

  async #run(program: Program, options: RunOptions): Promise<Run> {
    this.#requireOpen();
    program.validate();
    // Before the ladder, which takes seconds. Set-up work and probes have a sampling of their own.
    if (program.kind === "transfer") checkedOptions(options);
    this.#requireGpus(program);
    const contexts = this.#contextsOf(program);
    const admitted = await this.#gate.admit(program, options.signal);
    await contexts;
    const run = await this.#runAdmitted(admitted.program, options);
    if (admitted.warnings.length === 0) return run;
    return { ...run, warnings: [...admitted.warnings, ...run.warnings] };
  }

  /** Makes the contexts of a program's GPUs, the first time, while its pairs are asked about. */
  async #contextsOf(program: Program): Promise<void> {
    const gpus = program.gpus.filter((gpu) => !this.#made.has(gpu));
    if (program.kind !== "transfer" || program.pairs.length === 0 || gpus.length === 0) return;
    for (const gpu of gpus) this.#made.add(gpu);
    // What fails here fails again, and is said, when the program is prepared.
    await makeContexts(this.#addon, gpus).catch(() => undefined);
  }

  async #runAdmitted(program: Program, options: RunOptions): Promise<Run> {
    // Of a transfer the contexts and memory can be made meanwhile.
    if (program.kind !== "transfer") await this.#prober.ended();
    if (program.kind === "setup") return await runSetup(this.#addon, program, options, this.provenance);
    throwIfCancelled(options.signal);
    if (program.kind === "probe")
      return await runProbe(this.#addon, this.#reader, program, options, this.provenance);
    const sampling = checkedOptions(options);
    // What takes long to read is read while memory is made, and again while it is given back.
    const before = this.#reader.read(program.gpus, RECENT_MS);
    let measured: Measured;
    let foreign: ForeignBuffers | null = null;
    try {
      foreign = await ForeignBuffers.of(this.#addon, program);
      const executor = await this.#addon.prepare(
        nativeProgramOf(program, (from, to) => this.#addon.peer(from, to).access, foreign.handles),
      );
      const cancel = () => executor.cancel();
      options.signal?.addEventListener("abort", cancel);
      const guard = new Guard();
      try {
        await this.#prober.ended();
        measured = await this.#measure(
          guard.watch(executor, program),
          program,
          sampling,
          options,
          before,
          foreign,
        );
      } finally {
        options.signal?.removeEventListener("abort", cancel);
        this.#hung = guard.hung;
        if (!guard.hung) executor.close();
      }
    } catch (error) {
      throw translate(error);
    } finally {
      await foreign?.close();
    }
    const [early, late] = [measured.early, await measured.late];
    const states = typeof early !== "string" && typeof late !== "string" ? taints(early, late) : [];
    const { run, taken } = measured;
    return { ...run, ...runState(early, late), warnings: [...run.warnings, ...states, ...taken] };
  }

  async #measure(
    executor: NativeExecutor,
    program: Program,
    sampling: Sampling,
    options: RunOptions,
    before: Promise<Readings>,
    foreign: ForeignBuffers,
  ): Promise<Measured> {
    const verification = await foreign.seenByOwner(await verify(executor, program));
    const counted = await before;
    throwIfCancelled(options.signal);
    const graph = program.data.submit === "graph" ? await graphCosts(executor) : null;
    const unsettled = await this.#waker.wake(executor, program.gpus, options.signal);
    const early = this.#reader.withClocks(counted);
    const batches =
      options.mode === "throughput"
        ? await throughput(
            executor,
            program,
            sampling,
            options.batch,
            profilerAttached() !== null,
            options.signal,
          )
        : null;
    const samples = batches?.samples ?? (await sample(executor, sampling, options.signal));
    const late = this.#reader.read(program.gpus);
    // Nothing may go on beside a trace.
    if (options.trace) await late;
    const traced = options.trace ? await trace(executor, program, options) : null;
    const taken = [batches, graph, traced].flatMap((part) =>
      part && "warnings" in part ? part.warnings : [],
    );
    const run: Run = {
      program,
      mode: batches ? "throughput" : "latency",
      provenance: { ...this.provenance, date: new Date().toISOString() },
      samples,
      trace: traced && "trace" in traced ? traced.trace : null,
      traceReason: traced && "reason" in traced ? traced.reason : null,
      verification,
      ...(batches && { throughput: batches.throughput }),
      ...(graph && { graph: graph.costs }),
      warnings: [...profilerWarnings(), ...unsettled],
    };
    return { run, early, late, taken };
  }

  #requireOpen(): void {
    if (this.#closed) throw new P2pError("usage", "the machine is closed", "Open it again with lab.open().");
    if (this.#hung) {
      throw new P2pError(
        "not-available",
        "an earlier run hangs in a blocking sync that cannot be given up",
        "Restart the kernel.",
      );
    }
  }

  /** Why the driver grants no access one way or the other; null when it grants both. Asked anew each time. */
  #denied(from: number, to: number): string | null {
    for (const [a, b] of [
      [from, to],
      [to, from],
    ] as const) {
      if (this.#addon.peer(a, b).access) continue;
      return noPeerReason(this.#reader, this.info.gpus[a] as GpuInfo, this.info.gpus[b] as GpuInfo);
    }
    return null;
  }

  #requireGpus(program: Program): void {
    const missing = program.gpus.find((gpu) => gpu >= this.info.gpus.length);
    if (missing !== undefined) {
      throw new P2pError(
        "not-available",
        `the program uses GPU ${missing}, but this machine has ${this.info.gpus.length} (${this.info.name})`,
        "Use GPU numbers from 0, or open a machine with more GPUs, such as a recorded or simulated one.",
      );
    }
  }
}

/** A run without the state of its GPUs, which may still be being read. */
interface Measured {
  readonly run: Run;
  readonly early: Readings;
  readonly late: Promise<Readings>;
  /** Warnings of how it was measured. */
  readonly taken: readonly string[];
}

/** How many GPUs the system has device nodes of: known without starting the driver, and 0 where they have other names. */
function deviceNodes(): number {
  try {
    return readdirSync("/dev").filter((name) => /^nvidia\d+$/.test(name)).length;
  } catch {
    return 0;
  }
}

/** @throws P2pError `usage` naming the option that makes no sense. */
function checkedOptions(options: RunOptions): Sampling {
  const { mode = "latency", batch } = options;
  if (mode !== "latency" && mode !== "throughput") {
    throw new P2pError("usage", `there is no mode "${mode}"`, 'Use "latency" or "throughput".');
  }
  if (batch !== undefined && (mode !== "throughput" || !Number.isSafeInteger(batch) || batch < 1)) {
    throw new P2pError(
      "usage",
      mode === "throughput" ? `batch is ${batch}` : "batch is of throughput mode only",
      'Give a whole number of iterations from 1, with { mode: "throughput" }.',
    );
  }
  traceIterationsOf(options);
  return samplingOf(
    mode === "throughput" ? { ...THROUGHPUT_SAMPLING, ...options.sampling } : options.sampling,
  );
}
