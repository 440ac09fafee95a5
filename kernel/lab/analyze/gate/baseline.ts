import { messageOf, P2pError, shown } from "../../errors.js";
import { readRegularFile, writeFileAtomic } from "../../files.js";
import { interruptSignal } from "../../interrupt.js";
import type { Machine, Run } from "../../machine.js";
import { expectMachine, expectNames, expectOptions } from "../../measure/expect.js";
import { reportProgress } from "../../progress.js";
import { Random } from "../../random.js";
import {
  decodeRecording,
  encodeRecording,
  type RecordedRun,
  type Recording,
} from "../../recording/format.js";
import { samplingOf, stop } from "../../sampling.js";
import { formatBytes } from "../../units.js";
import { StoppedError } from "./stopped.js";
import { type GateCell, nameOf, type ProgramSet, ROUND, suiteOf } from "./suite.js";

export interface BaselineOptions {
  /** Default all of `latency`, `bandwidth`, `setup`; what the machine cannot run is left out, with the reason. */
  programs?: readonly ProgramSet[];
  /** How often every program is run anew; default 20. */
  rounds?: number;
  signal?: AbortSignal;
}

/** What later measurements are held against. */
export interface Baseline {
  /** In the recording format; each run holds the samples of all its rounds, one after the other. */
  readonly recording: Recording;
  /** Programs that could not be run, and why. */
  readonly missing: readonly { readonly name: string; readonly reason: string }[];
}

const ROUNDS = 20;
/** Fewer cannot tell a change from what differs between rounds anyway. */
export const LEAST_ROUNDS = 8;
const MOST_ROUNDS = 1000;

/** Errors that say that a cell could not be had on this machine. */
const CELL_ERRORS: readonly string[] = ["not-available", "verification"];

/**
 * Measures a baseline: a suite of programs, each run anew in many short rounds, in an order shuffled each round. Times of the
 * same program differ more from run to run than within one (real machines have clusters 15 % apart), so that only rounds say
 * what is usual.
 * @throws P2pError `usage` for options that make no sense, `not-available` where no program could be run; StoppedError
 * (`cancelled`) with the baseline of the rounds that were complete, where these are enough for one.
 */
export async function baseline(machine: Machine, options: BaselineOptions = {}): Promise<Baseline> {
  expectMachine(machine, "lab.baseline");
  expectOptions(options, "lab.baseline");
  expectNames(options, ["programs", "rounds", "signal"], "lab.baseline");
  expectLive(machine);
  const { rounds = ROUNDS } = options;
  if (!Number.isInteger(rounds) || rounds < LEAST_ROUNDS || rounds > MOST_ROUNDS) {
    throw new P2pError(
      "usage",
      `a baseline of ${shown(rounds)} rounds`,
      `Give a whole number from ${LEAST_ROUNDS} to ${MOST_ROUNDS}.`,
    );
  }
  const cells = suiteOf(machine, options.programs);
  const { runs, missing, complete, stoppedBy } = await measureRounds(machine, cells, rounds, options.signal);
  const where = `in round ${complete + 1} of ${rounds}`;
  if (stoppedBy && complete < LEAST_ROUNDS) {
    const why = `A baseline needs ${LEAST_ROUNDS} rounds, and ${complete} were complete: there is none.`;
    throw new StoppedError<Baseline>("lab.baseline", where, null, why, stoppedBy.cause);
  }
  const kept = runs.flatMap((own, i) =>
    own.length > 0 ? [joined((cells[i] as GateCell).program, own)] : [],
  );
  if (kept.length === 0) {
    throw new P2pError(
      "not-available",
      `none of the programs can be run on ${machine.provenance.machine}: ${missing[0]?.reason ?? "it has no pair of GPUs"}`,
      "Choose other programs, or a machine with two GPUs.",
    );
  }
  const made: Baseline = {
    recording: { provenance: machine.provenance, info: machine.info, runs: kept },
    missing: missing.map(({ cell, reason }) => ({ name: labelOf(cell), reason })),
  };
  if (!stoppedBy) return made;
  const whole = `The error's partial is the baseline of the ${complete} rounds that were complete.`;
  throw new StoppedError<Baseline>("lab.baseline", where, made, whole, stoppedBy.cause);
}

/** @throws P2pError `output` when the file cannot be written; `usage` for what is no baseline. */
export function saveBaseline(file: string, made: Baseline): void {
  if (typeof file !== "string" || !isBaseline(made?.recording)) {
    throw new P2pError(
      "usage",
      `lab.saveBaseline was given ${shown(made)} to write to ${shown(file)}`,
      "Give a file's name, and what lab.baseline returned.",
    );
  }
  writeFileAtomic(file, encodeRecording(made.recording));
}

/** @throws P2pError `recording` when it cannot be read, or holds no rounds. */
export function readBaseline(file: string): Recording {
  let bytes: Uint8Array;
  try {
    bytes = readRegularFile(String(file));
  } catch (error) {
    throw new P2pError(
      "recording",
      `cannot read ${String(file)}: ${messageOf(error)}`,
      "Give a file made by p2plab record --out FILE.",
      { cause: error },
    );
  }
  const recording = decodeRecording(bytes, file);
  if (isBaseline(recording)) return recording;
  throw new P2pError(
    "recording",
    `${file} is a recording, but no baseline: its programs were not run in rounds`,
    "Make a baseline with p2plab record --out FILE, without a notebook.",
  );
}

/** Whether a recording was made in rounds. */
export function isBaseline(value: unknown): value is Recording {
  const { runs, provenance } = (value ?? {}) as Partial<Recording>;
  return (
    provenance !== undefined &&
    Array.isArray(runs) &&
    runs.length > 0 &&
    runs.every((run: RecordedRun) => (run.rounds?.length ?? 0) >= LEAST_ROUNDS)
  );
}

/** @throws P2pError `not-available` for a machine that cannot measure again. */
export function expectLive(machine: Machine): void {
  if (machine.provenance.kind !== "recorded") return;
  throw new P2pError(
    "not-available",
    `${machine.provenance.source} is a recording: its programs cannot be run again`,
    "Name a machine that runs programs: --machine cuda, or sim:….",
  );
}

/** Rounds, or what there is of them when a wish to stop came. */
interface Rounds {
  /** Of each cell, those of complete rounds. */
  readonly runs: Run[][];
  readonly missing: { readonly cell: GateCell; readonly reason: string }[];
  readonly complete: number;
  readonly stoppedBy: { readonly cause: unknown } | null;
}

/** Runs each cell so many times, all cells once a round. A cell that cannot be run is missing from then on. */
export async function measureRounds(
  machine: Machine,
  cells: readonly GateCell[],
  rounds: number,
  signal = interruptSignal() ?? undefined,
): Promise<Rounds> {
  const runs: Run[][] = cells.map(() => []);
  const missing = new Map<number, string>();
  const random = new Random(cells.length);
  let complete = 0;
  let stoppedBy: Rounds["stoppedBy"] = null;
  for (; complete < rounds && !stoppedBy; complete++) {
    const round = complete;
    for (const [done, index] of random.shuffle(cells.map((_, i) => i)).entries()) {
      if (missing.has(index)) continue;
      if (signal?.aborted) {
        stoppedBy = { cause: signal.reason };
        break;
      }
      const cell = cells[index] as GateCell;
      reportProgress({
        label: `round ${round + 1} of ${rounds}: ${labelOf(cell)}`,
        done: round * cells.length + done,
        total: rounds * cells.length,
      });
      try {
        const mode = cell.mode === "throughput" ? { mode: cell.mode } : {};
        const run = await machine.run(cell.program, {
          ...mode,
          sampling: ROUND[cell.mode],
          ...(signal && { signal }),
        });
        runs[index]?.push(run);
      } catch (error) {
        if (error instanceof P2pError && error.code === "cancelled") {
          stoppedBy = { cause: error };
          break;
        }
        if (!(error instanceof P2pError) || !CELL_ERRORS.includes(error.code)) throw error;
        missing.set(index, error.message);
      }
    }
  }
  if (stoppedBy) {
    complete--;
    for (const own of runs) own.splice(complete);
  } else reportProgress({ label: "rounds", done: rounds * cells.length, total: rounds * cells.length });
  // Half a cell is none: what it measured before it failed says nothing about what it does now.
  for (const index of missing.keys()) runs[index] = [];
  return {
    runs,
    missing: [...missing].map(([index, reason]) => ({ cell: cells[index] as GateCell, reason })),
    complete,
    stoppedBy,
  };
}

/** The runs of one cell as one recorded run. */
function joined(program: RecordedRun["program"], runs: readonly Run[]): RecordedRun {
  const first = runs[0] as Run;
  const totalNs = concatenated(runs.map((run) => run.samples.totalNs));
  const n = totalNs.length;
  const convergence = stop(totalNs, 0, samplingOf({ minSamples: n, maxSamples: n }));
  if (!convergence) throw new P2pError("recording", "a series without an end", "Report this as a bug.");
  return {
    program,
    mode: first.mode,
    totalNs,
    apiNs: concatenated(runs.map((run) => run.samples.apiNs)),
    convergence,
    rounds: runs.map((run) => run.samples.totalNs.length),
    traceKind: null,
    trace: null,
    traceReason: null,
    verification: first.verification,
    ...(first.throughput && { throughput: first.throughput }),
    ...(first.firstNs !== undefined && { firstNs: first.firstNs }),
    ...(first.state !== undefined && { state: first.state }),
    ...(first.stateReason !== undefined && { stateReason: first.stateReason }),
    warnings: [...new Set(runs.flatMap((run) => run.warnings))],
  };
}

function concatenated(parts: readonly Float64Array[]): Float64Array {
  return Float64Array.from(parts.flatMap((part) => [...part]));
}

/** A cell in words, such as `latency peer 0 → 1 8 B`. */
export function labelOf(cell: GateCell): string {
  const { metric, from, to, path, bytes } = nameOf(cell);
  const where = to === null ? `GPU ${from}` : `${from} → ${to}`;
  return `${metric} ${path} ${where}${bytes === null ? "" : ` ${formatBytes(bytes)}`}`;
}
