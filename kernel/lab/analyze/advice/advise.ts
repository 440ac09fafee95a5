import { P2pError, shown } from "../../errors.js";
import type { Machine } from "../../machine.js";
import { openTwin } from "../../machines/twin.js";
import { expectMachine, expectNames, expectOptions } from "../../measure/expect.js";
import { stopped } from "../../measure/partial.js";
import { type SamplingOptions, samplingOf } from "../../sampling.js";
import { Advice, tableOfCandidates } from "./advice.js";
import { naiveOf, type PlanChoice, type SpaceChoice, spaceOf } from "./plan.js";
import { Search } from "./search.js";
import { WORKLOAD_OPTIONS, type Workload, type WorkloadOptions, workloadOf } from "./workload.js";

export interface AdviseOptions extends WorkloadOptions {
  /**
   * The plan that gains are stated against, where it departs from the usual one: peer copies (staged by the driver without
   * access) by copy engine, whole, in one stream, each submitted by a call, waited for by spinning.
   */
  naive?: PlanChoice;
  /** Values of an axis that may be used; default all that the workload and machine know. */
  space?: SpaceChoice;
  /** Of each finalist, all visits together; default 100 to 800 samples. */
  sampling?: SamplingOptions;
  /** Ratios of medians within 1 ± this are the same for the reader's purpose; default 0.02. */
  tolerance?: number;
  /** Of the order in which candidates are measured; default 1. */
  seed?: number;
  signal?: AbortSignal;
}

const OTHERS = ["naive", "space", "sampling", "tolerance", "seed", "signal"];
const WHO = "lab.advise";
/** What the source of a recorded machine begins with. */
const RECORDED = "recorded:";

/**
 * Finds out how to move a workload fastest on a machine, by trying it there:
 *
 *     const advice = await lab.advise(machine, { from: 0, to: 1, bytes: "8 B", count: 32 });
 *     advice                                   // the plan, its gain and why
 *     await machine.run(advice.program)        // one iteration of it
 *
 * Probes of a few copies give a model (α and rate of each path and engine, cost of a call, of another piece, of passing on
 * between streams, of each way to wait). It leaves the plans worth measuring, of which successive halving on the machine
 * leaves few (in random order, each round with twice the samples). What differs from the best on one axis is measured too.
 * The last few and the naive plan are visited in turn and compared as `lab.compare` does; of plans that cannot be told
 * apart the simpler is advised.
 *
 * @returns the advice: `plan`, `program`, `gain` (predicted, measured and its 95 % interval), `ties`, `why`, `excluded`, and
 * `table`: a row a plan tried with a column an open axis (`chunk_bytes` null: not cut), `choice` (`advised`, `naive`, `tie`),
 * `predicted_us`, `total_us` (median of an iteration; of a steady stream the slower of device and submitting host),
 * `ci_low_us`, `ci_high_us` (95 % interval of the median), `gain` (over the naive plan), `gbps` (delivered bytes / median),
 * `n`, `stage` (how far it got), `taints`, `reason` (why it was refused), and the provenance columns. A recording
 * advises among the programs that it holds; where it lacks the naive one its twin answers, and the advice says so.
 * @throws P2pError `usage` for a workload that makes no sense, `cancelled` with the plans tried so far, and what
 * {@link Machine.run} throws of the naive plan.
 */
export async function advise(machine: Machine, options: AdviseOptions): Promise<Advice> {
  expectMachine(machine, WHO);
  expectOptions(options, WHO);
  expectNames(options, [...WORKLOAD_OPTIONS, ...OTHERS], WHO);
  const workload = workloadOf(options, WHO);
  requireGpus(machine, workload.routes);
  const { tolerance = 0.02, seed = 1, sampling = {} } = options;
  requireNumbers(tolerance, seed);
  expectOptions(sampling, `${WHO}, sampling`);
  samplingOf(sampling);
  requireSignal(options.signal);
  const settings: Settings = { ...options, tolerance, seed, sampling };
  // Plans are held against each other: one source answers for all of them.
  const { alone, model } = machine.backedBy ?? { alone: machine, model: null };
  try {
    return await adviseOn(alone, workload, settings, null);
  } catch (error) {
    if (!(error instanceof P2pError && error.code === "not-recorded")) throw error;
    const { source } = alone.provenance;
    const twin = model ? model() : twinOf(source, error);
    const note = `${source} holds no run of the naive plan: this is the answer of a model fitted to it, and not measured.`;
    return await adviseOn(twin, workload, settings, note);
  }
}

type Settings = AdviseOptions & Required<Pick<AdviseOptions, "tolerance" | "seed" | "sampling">>;

/** @param note what a reader must know before all else; null when nothing. */
async function adviseOn(
  machine: Machine,
  workload: Workload,
  options: Settings,
  note: string | null,
): Promise<Advice> {
  const { space, excluded } = spaceOf(workload, machine.info, options.space);
  const search = new Search(machine, workload, space, options, options.signal);
  try {
    const found = await search.find(naiveOf(space, options.naive));
    const left = [...excluded, ...found.excluded];
    return new Advice(found, workload, space, search.trials.tried, left, machine.provenance, note);
  } catch (error) {
    if (!(error instanceof P2pError && error.code === "cancelled")) throw error;
    const { tried } = search.trials;
    const table = tableOfCandidates(tried, workload, space, machine.provenance, null);
    throw stopped(WHO, table, { done: tried.length, total: search.plans }, error, true);
  }
}

/** @throws what `cause` was, where the machine is no recording or no twin can be fitted to it. */
function twinOf(source: string, cause: P2pError): Machine {
  if (!source.startsWith(RECORDED)) throw cause;
  try {
    return openTwin(source.slice(RECORDED.length));
  } catch (error) {
    throw error instanceof P2pError ? cause : error;
  }
}

/** @throws P2pError `usage` for a GPU that the machine does not have. */
function requireGpus(machine: Machine, routes: Workload["routes"]): void {
  const { gpus, name } = machine.info;
  const missing = routes
    .flatMap(({ from, to }) => [from, to])
    .find((end) => end !== "host" && end >= gpus.length);
  if (missing === undefined) return;
  throw new P2pError(
    "usage",
    `${WHO}: GPU ${missing} does not exist (${name} has ${gpus.length})`,
    gpus.length < 2
      ? 'Ask for a workload of one GPU, such as { from: "host", to: 0, … }, or open a machine with more.'
      : `Name GPUs from 0 to ${gpus.length - 1}.`,
  );
}

function requireNumbers(tolerance: unknown, seed: unknown): void {
  if (!(typeof tolerance === "number" && tolerance >= 0 && tolerance < 1)) {
    throw new P2pError(
      "usage",
      `tolerance is ${shown(tolerance)}`,
      "Give a share from 0 up to 1, such as 0.02.",
    );
  }
  if (!Number.isSafeInteger(seed))
    throw new P2pError("usage", `a seed of ${shown(seed)}`, "Give a whole number.");
}

function requireSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw new P2pError("usage", `signal is ${shown(signal)}`, "Give that of a new AbortController().");
}
