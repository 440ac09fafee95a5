/** Runs the cells of a table: in random order, several times over, and merges what each visit gave. */
import { P2pError } from "../errors.js";
import { interruptSignal } from "../interrupt.js";
import type { Machine, Run, RunOptions } from "../machine.js";
import type { Program } from "../program.js";
import { reportProgress } from "../progress.js";
import { Random } from "../random.js";
import { keepRun } from "../recording/recorder.js";
import {
  type Convergence,
  mergedConvergence,
  type Sampling,
  type SamplingOptions,
  samplingOf,
  shareOf,
  THROUGHPUT_SAMPLING,
} from "../sampling.js";
import { Turns } from "../turns.js";

/** Visits to each cell of a table, where nothing else is said. */
const ROUNDS = 2;
const MOST_ROUNDS = 16;

export interface VisitOptions {
  mode?: "latency" | "throughput";
  /**
   * How often each cell is visited, in another order each time, with a share of its samples; default 2. What drifts between
   * two visits becomes a flag instead of a difference between cells. Once where the machine gives the same samples again.
   */
  rounds?: number;
  sampling?: SamplingOptions;
  signal?: AbortSignal;
  /** Takes the place of the progress that is reported before each visit. */
  report?: (label: string) => void;
}

/** A cell that was visited: one run, made of all its visits. */
export interface Visited {
  readonly run: Run;
  /** How each visit ended. */
  readonly visits: readonly Convergence[];
}

export interface Cell {
  readonly label: string;
  readonly program: Program;
}

/** What came of the cells, in the order given; null for a cell that was not visited or failed. */
export interface VisitedCells {
  readonly cells: readonly (Visited | null)[];
  /** Why a cell failed, where that ended nothing. */
  readonly errors: readonly (P2pError | null)[];
  /** What ended the visits before all were made; null when nothing did. */
  readonly stoppedBy: { readonly cause: unknown; readonly cancelled: boolean } | null;
}

/** Errors that are about one cell; others are about the call itself. */
const CELL_ERRORS: readonly string[] = ["not-available", "not-recorded", "cuda", "verification", "program"];

/**
 * Every cell is verified anew at each visit, for its memory is another.
 * @param failing `throw`: the first cell that fails ends the visits; `keep`: it is left out of the later rounds.
 */
export async function visit(
  machine: Machine,
  cells: readonly Cell[],
  options: VisitOptions,
  failing: "throw" | "keep",
): Promise<VisitedCells> {
  const { mode = "latency" } = options;
  const signal = options.signal ?? interruptSignal() ?? undefined;
  const rounds = roundsOf(machine, options.rounds);
  const whole = samplingOf({ ...(mode === "throughput" && THROUGHPUT_SAMPLING), ...options.sampling });
  const sampling = rounds > 1 ? shareOf(whole, rounds) : options.sampling;
  const runOptions: RunOptions = {
    ...(mode === "throughput" && { mode }),
    ...(sampling && { sampling }),
    ...(signal && { signal }),
  };
  const runs: Run[][] = cells.map(() => []);
  const errors: (P2pError | null)[] = cells.map(() => null);
  let stoppedBy: VisitedCells["stoppedBy"] = null;
  const turns = new Turns(signal);
  const random = new Random(cells.length);
  const order = Array.from({ length: rounds }, () => random.shuffle(cells.map((_, index) => index))).flat();
  for (const [done, index] of order.entries()) {
    if (errors[index]) continue;
    const { label, program } = cells[index] as Cell;
    if (options.report) options.report(label);
    else reportProgress({ label, done, total: order.length });
    try {
      await turns.next();
      (runs[index] as Run[]).push(await machine.run(program, runOptions));
    } catch (error) {
      const cancelled = signal?.aborted === true || (error instanceof P2pError && error.code === "cancelled");
      if (!cancelled && failing === "keep" && error instanceof P2pError && CELL_ERRORS.includes(error.code)) {
        errors[index] = error;
        continue;
      }
      stoppedBy = { cause: error, cancelled };
      break;
    }
  }
  if (!stoppedBy && !options.report)
    reportProgress({ label: "done", done: order.length, total: order.length });
  return {
    cells: runs.map((own, index) =>
      own.length === 0 || errors[index] ? null : merged(machine, own, whole, rounds),
    ),
    errors,
    stoppedBy,
  };
}

/** @throws P2pError `usage` */
function roundsOf(machine: Machine, asked = ROUNDS): number {
  if (!Number.isInteger(asked) || asked < 1 || asked > MOST_ROUNDS) {
    throw new P2pError(
      "usage",
      `rounds is ${String(asked)}`,
      `Give a whole number of visits from 1 to ${MOST_ROUNDS}.`,
    );
  }
  return machine.deterministic ? 1 : asked;
}

function merged(machine: Machine, runs: readonly Run[], sampling: Sampling, rounds: number): Visited {
  const visits = runs.map((run) => run.samples.convergence);
  const [first, last] = [runs[0] as Run, runs.at(-1) as Run];
  if (rounds === 1) return { run: first, visits };
  const totalNs = joined(runs.map((run) => run.samples.totalNs));
  const apiNs = joined(runs.map((run) => run.samples.apiNs));
  const run: Run = {
    ...last,
    samples: { totalNs, apiNs, convergence: mergedConvergence(totalNs, visits, sampling) },
    warnings: [...new Set(runs.flatMap((one) => one.warnings))],
    ...(first.state && last.state && { state: { before: first.state.before, after: last.state.after } }),
    ...(last.throughput && {
      throughput: {
        ...last.throughput,
        gateTimeouts: runs.reduce((sum, one) => sum + (one.throughput?.gateTimeouts ?? 0), 0),
        streams: last.throughput.streams.map((stream, index) => ({
          ...stream,
          totalNs: joined(runs.map((one) => one.throughput?.streams[index]?.totalNs ?? new Float64Array(0))),
        })),
      },
    }),
  };
  // A recording holds the whole series, not that of the last visit.
  keepRun(machine, run, null);
  return { run, visits };
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const whole = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
