import { P2pError } from "../errors.js";
import type { ProbeFacts, Provenance, Run, RunOptions, Samples, Verification } from "../machine.js";
import { type NativeAddon, translate } from "../native.js";
import type { NativeProbe, NativeProbeCheck, NativeProbeRun, NativeProbeSide } from "../native-probe.js";
import type { ProbeOperation } from "../operations.js";
import type { Program } from "../program.js";
import { probeBuffers } from "../program-arguments.js";
import { median, type Sampling, StoppingRule, samplingOf, stop } from "../sampling.js";
import { DEADLINE_MS, throwIfCancelled } from "./cuda-calls.js";
import { launchesOf, probeRowsOf } from "./cuda-probe-rows.js";
import { RECENT_MS, runState, type StateReader } from "./cuda-state.js";
import { taints } from "./cuda-taint.js";
import { profilerWarnings } from "./profiler.js";

/** How long one call of the addon should take: often enough asked whether to stop, seldom enough to cost nothing. */
const BATCH_MS = 50;
/** A sample is a mean of thousands of accesses: fewer are needed than of single iterations. */
const SAMPLING = { warmup: 2, minSamples: 30 } as const;
/** No access takes longer, over any link: what it adds to the deadline. */
const SLOWEST_ACCESS_MS = 0.02;
/** Clocks that differ by more than this within a run are said. */
const CLOCK_TOLERANCE = 0.02;

/** Names of the outcomes of a round of message passing, in the addon's order. */
const OUTCOMES = ["flagOldDataOld", "flagOldDataNew", "flagNewDataOld", "flagNewDataNew"] as const;

/**
 * Runs a program of one probe: what it touches is proven to lie where the program says and to hold what it must, then it is
 * repeated until the stopping rule ends it (message passing: for as many rounds as it asks for).
 * @throws P2pError `verification` when memory is wrong, or a flag or a kernel did not come.
 */
export async function runProbe(
  addon: NativeAddon,
  reader: StateReader,
  program: Program,
  options: RunOptions,
  provenance: Provenance,
): Promise<Run> {
  const operation = program.data.operations[0] as ProbeOperation;
  try {
    // What takes long to read is read while the memory is made.
    const read = reader.read(program.gpus, RECENT_MS);
    const rows = probeRowsOf(program, operation, (from, to) => addon.peer(from, to).access);
    const probe = await addon.prepareProbe(rows);
    const cancel = () => probe.cancel();
    options.signal?.addEventListener("abort", cancel);
    try {
      const series = new Series(probe, operation, options.signal);
      // A chain is checked before it is followed: a broken one would lead to an illegal address.
      if (operation.kind !== "load") await series.warm(1);
      const checks = await probe.check(series.deadlineMs);
      const verification = verificationOf(program, operation, checks);
      const sampling = samplingFor(options, addon, program, operation);
      const before = reader.withClocks(await read);
      const samples = await (operation.kind === "message-passing"
        ? series.run(launchesOf(operation.rounds).launches, sampling)
        : series.sample(sampling));
      const after = await reader.read(program.gpus);
      if (operation.kind !== "load") verificationOf(program, operation, await probe.check(series.deadlineMs));
      const facts = series.facts(ownersOf(program, operation, checks));
      return {
        program,
        mode: "probe",
        provenance: { ...provenance, date: new Date().toISOString() },
        samples,
        trace: null,
        traceReason: options.trace ? "a probe times itself on the GPU; there is nothing to trace" : null,
        verification,
        ...(operation.kind === "message-passing" && { counts: series.counts() }),
        probe: facts,
        ...runState(before, after),
        warnings: [...profilerWarnings(), ...clockWarnings(facts), ...stateWarnings(before, after)],
      };
    } finally {
      options.signal?.removeEventListener("abort", cancel);
      probe.close();
    }
  } catch (error) {
    throw translate(error);
  }
}

/** Repetitions of one probe, and what they said. */
class Series {
  readonly deadlineMs: number;
  readonly #probe: NativeProbe;
  readonly #operation: ProbeOperation;
  readonly #signal: AbortSignal | undefined;
  readonly #runs: NativeProbeRun[] = [];

  constructor(probe: NativeProbe, operation: ProbeOperation, signal: AbortSignal | undefined) {
    this.#probe = probe;
    this.#operation = operation;
    this.#signal = signal;
    const accesses = "rounds" in operation ? operation.rounds : operation.accesses;
    this.deadlineMs = DEADLINE_MS + accesses * SLOWEST_ACCESS_MS;
  }

  /** Repetitions that are thrown away; the time that one takes, milliseconds. */
  async warm(repetitions: number): Promise<number> {
    const begin = performance.now();
    await this.#measure(Math.max(1, repetitions));
    this.#runs.length = 0;
    return (performance.now() - begin) / Math.max(1, repetitions);
  }

  async sample(sampling: Sampling): Promise<Samples> {
    await this.warm(sampling.warmup);
    // Timed anew, for the first repetitions pay for waking the GPU.
    let oneMs = await this.warm(1);
    const begin = performance.now();
    const rule = new StoppingRule(sampling);
    for (let done = 0; ; ) {
      const batch = Math.min(Math.max(1, Math.round(BATCH_MS / oneMs)), rule.wanted(done));
      const before = performance.now();
      await this.#measure(batch);
      oneMs = (performance.now() - before) / batch;
      done += batch;
      const totalNs = this.#totalNs();
      const convergence = rule.ended(totalNs, performance.now() - begin);
      if (convergence) return { totalNs, apiNs: new Float64Array(0), convergence };
      if (done >= sampling.maxSamples) {
        throw new P2pError("usage", "the stopping rule wants more than maxSamples", "Raise maxSamples.");
      }
    }
  }

  /** A given number of repetitions, whatever they say. */
  async run(repetitions: number, sampling: Sampling): Promise<Samples> {
    for (let done = 0; done < repetitions; ) {
      const batch = Math.min(10, repetitions - done);
      await this.#measure(batch);
      done += batch;
    }
    const totalNs = this.#totalNs();
    const ended = { ...sampling, minSamples: 1, maxSamples: totalNs.length };
    const convergence = stop(totalNs, 0, ended) as Samples["convergence"];
    return { totalNs, apiNs: new Float64Array(0), convergence };
  }

  counts(): Record<string, number> {
    const total = (index: number) => this.#runs.reduce((sum, run) => sum + (run.counts[index] as number), 0);
    return Object.fromEntries(OUTCOMES.map((name, index) => [name, total(index)]));
  }

  facts(owners: ProbeFacts["owners"]): ProbeFacts {
    const ghz = Float64Array.from(this.#runs.flatMap((run) => [...run.clockGhz]));
    const last = this.#runs.at(-1) as NativeProbeRun;
    const repetitions = this.#runs.reduce((sum, run) => sum + run.ns.length, 0);
    const byTimer = this.#runs.reduce((sum, run) => sum + run.byTimer, 0);
    return {
      accesses: last.accesses,
      clockGhz: {
        median: median(ghz),
        low: ghz.reduce((a, b) => Math.min(a, b)),
        high: ghz.reduce((a, b) => Math.max(a, b)),
      },
      timedBy: byTimer === repetitions ? "global-timer" : "sm-clock",
      overheadNs: median(this.#runs.map((run) => run.overheadNs)),
      timerStepNs: last.timerStepNs,
      timerCostNs: last.timerCostNs,
      clockCostNs: last.clockCostNs,
      sm: this.#runs.flatMap((run) => [...run.sm]),
      owners,
    };
  }

  async #measure(repetitions: number): Promise<void> {
    throwIfCancelled(this.#signal);
    const run = await this.#probe.measure(repetitions, this.deadlineMs);
    const failure = failureOf(run.sides);
    if (failure)
      throw new P2pError("verification", `${this.#operation.kind}: ${failure}. No numbers are given.`, LOST);
    throwIfCancelled(this.#signal, run.cancelled);
    this.#runs.push(run);
  }

  #totalNs(): Float64Array {
    return Float64Array.from(this.#runs.flatMap((run) => [...run.ns]));
  }
}

const LOST =
  "Check the pair with lab.sweep(): if copies arrive and flags do not, stores of kernels are lost on the way; look at the IOMMU (iommu=pt), PCIe ACS, and whether the GPUs are passed into a VM.";

/**
 * What went wrong with the kernels of a probe, in a sentence; null when nothing did. Of two kernels that exchange flags it
 * says in which direction a flag was lost: side 0 sends first, side 1 answers each flag that it sees.
 */
export function failureOf(sides: readonly NativeProbeSide[]): string | null {
  if (sides.every((side) => side.state === "done")) return null;
  const [first, second] = sides as [NativeProbeSide, NativeProbeSide | undefined];
  const wrong = sides.findIndex((side) => side.state === "wrong");
  if (wrong >= 0) {
    const { value, expected } = sides[wrong] as NativeProbeSide;
    return `kernel ${wrong} ended with ${hex(value)}, where ${hex(expected)} must be`;
  }
  if (!second) {
    return first.state === "expired"
      ? `not finished at its deadline, after ${first.done} accesses`
      : `the kernel ended as "${first.state}"`;
  }
  const alone = sides.findIndex((side) => side.state === "alone");
  if (alone >= 0) {
    return `kernel ${alone} waited in vain for the other one to start: they were run one after the other (CUDA_LAUNCH_BLOCKING, a profiler that serialises kernels, or a busy GPU)`;
  }
  if (sides.some((side) => side.state === "never-ran")) return "a kernel did not run";
  // Side 1 answers what it sees: had it seen the flag that side 0 waits to be answered, it would be one round ahead.
  return second.done > first.done
    ? `the answer to round ${second.done} was lost on the way from kernel 1 to kernel 0`
    : `the flag of round ${first.done + 1} was lost on the way from kernel 0 to kernel 1`;
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}

function samplingFor(
  options: RunOptions,
  addon: NativeAddon,
  program: Program,
  operation: ProbeOperation,
): Sampling {
  const maxSamples = options.sampling?.maxSamples ?? samplingOf().maxSamples;
  const sampling = samplingOf({
    ...SAMPLING,
    minSamples: Math.min(SAMPLING.minSamples, maxSamples),
    ...options.sampling,
  });
  if (operation.kind !== "load" || operation.sm !== "each") return sampling;
  // Every SM has its turn, as often as every other.
  const { gpu } = program.data.streams.find((s) => s.name === operation.stream) as { gpu: number };
  const sms = addon.devices()[gpu]?.multiprocessors ?? 1;
  const n = sms * Math.ceil(sampling.minSamples / sms);
  return { ...sampling, minSamples: n, maxSamples: n, budgetMs: Number.MAX_SAFE_INTEGER };
}

function ownersOf(
  program: Program,
  operation: ProbeOperation,
  checks: readonly NativeProbeCheck[],
): ProbeFacts["owners"] {
  return probeBuffers(operation).map((name, index) => {
    const { place } = program.bufferOf(name);
    const { ownerGpu } = checks[index] as NativeProbeCheck;
    const declared = "gpu" in place ? place.gpu : -1;
    if (ownerGpu !== declared) {
      const say = (gpu: number) => (gpu < 0 ? "the host" : `GPU ${gpu}`);
      throw new P2pError(
        "verification",
        `buffer "${name}" was to lie on ${say(declared)}, but the driver says that ${say(ownerGpu)} owns its address. No numbers are given.`,
        "Report this as a bug, with the driver's version.",
      );
    }
    return { buffer: name, gpu: ownerGpu < 0 ? null : ownerGpu };
  });
}

const SEEN = {
  load: "every link of the chain, seen by the owner and by the GPU that follows it, and a lap that leads back",
  "ping-pong": "both flags hold the last round, seen by their owners and by a host read-back through them",
  atomic: "the word counted every access, seen by its owner and by a host read-back through it",
  fence: "the stores of the last access, seen by their owner and by a host read-back through it",
  "message-passing":
    "data and flag hold the last round, seen by their owners and by a host read-back through them",
} as const;

function verificationOf(
  program: Program,
  operation: ProbeOperation,
  checks: readonly NativeProbeCheck[],
): Verification {
  const names = probeBuffers(operation);
  const wrongOf = (check: NativeProbeCheck) =>
    Math.max(check.wrongByOwner, check.wrongByReader, check.wrongByReadBack);
  const failed = checks.find((check) => wrongOf(check) > 0);
  if (failed) {
    throw new P2pError(
      "verification",
      `${wrongOf(failed)} of ${failed.bytes} bytes of buffer "${names[failed.buffer]}" are wrong (owner counts ${failed.wrongByOwner}, ` +
        `the probing GPU ${failed.wrongByReader}, host read-back ${failed.wrongByReadBack}). No numbers are given.`,
      LOST,
    );
  }
  ownersOf(program, operation, checks);
  const checkedBytes = checks.reduce((sum, check) => sum + check.bytes, 0);
  const detail =
    checkedBytes === 0
      ? "nothing is stored that could be looked at"
      : `${checkedBytes} bytes right: ${SEEN[operation.kind]}`;
  return { state: "ok", checkedBytes, wrongBytes: 0, sentinelBytes: 0, detail };
}

function stateWarnings(...[before, after]: Parameters<typeof runState>): string[] {
  return typeof before === "string" || typeof after === "string" ? [] : taints(before, after);
}

function clockWarnings({ clockGhz }: ProbeFacts): string[] {
  const { low, high } = clockGhz;
  if (high <= low * (1 + CLOCK_TOLERANCE)) return [];
  return [
    `clock: the SM clock moved between ${low.toFixed(3)} and ${high.toFixed(3)} GHz during the samples`,
  ];
}
