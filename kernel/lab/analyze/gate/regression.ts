import { P2pError, shown } from "../../errors.js";
import { interruptSignal } from "../../interrupt.js";
import type { Machine, Provenance, Run } from "../../machine.js";
import { expectMachine, expectNames, expectOptions } from "../../measure/expect.js";
import { provenanceFields, type Table, tableOf } from "../../measure/table.js";
import type { RecordedRun, Recording } from "../../recording/format.js";
import { type Displayable, type MimeBundle, richDisplay } from "../../rich.js";
import { median, quantileSorted } from "../../sampling.js";
import { type Modes, modesOf } from "../../series.js";
import { formatNs, nsToUs } from "../../units.js";
import { type Baseline, expectLive, isBaseline, labelOf, measureRounds, readBaseline } from "./baseline.js";
import { commoner, holm, largerByRanks, largerByStrata } from "./rank-test.js";
import { StoppedError } from "./stopped.js";
import { type GateCell, nameOf } from "./suite.js";

export interface RegressionOptions {
  /** Slowdown that is still no news, as a share; default 0.03. */
  tolerance?: number;
  /** Chance of even one false alarm in the whole check; default 0.001. */
  level?: number;
  signal?: AbortSignal;
}

export type CellVerdict = "worse" | "not-worse" | "not-measured";

export interface CellResult {
  readonly cell: GateCell;
  readonly verdict: CellVerdict;
  /** Why it was not measured; null when it was. */
  readonly reason: string | null;
  /** By quantile of the samples of a round; empty when it was not measured. */
  readonly quantiles: readonly QuantileResult[];
  readonly baselineRounds: number;
  readonly rounds: number;
  /** What the machine warned of during the rounds of now, such as throttling: look there first. */
  readonly taints: readonly string[];
}

export interface QuantileResult {
  readonly quantile: number;
  /** Medians over the rounds. */
  readonly baselineNs: number;
  readonly nowNs: number;
  /** Corrected for all cells, quantiles and looks: chance that rounds like these come about without a change. */
  readonly p: number;
  readonly worse: boolean;
}

/** Rounds of the first look, and more for each next look at what is suspicious. */
const ROUNDS_A_LOOK = 8;
const LOOKS = 6;
/** A cell whose p, uncorrected, is below this is looked at again. */
const SUSPICIOUS = 0.05;
/** The tail of a round counts only where it has this many samples above it. */
const QUANTILES = [
  { quantile: 0.5, least: 1, tolerances: 1 },
  // Interruptions of the host make the tail differ between quiet days: it must move further to be news.
  { quantile: 0.9, least: 50, tolerances: 3 },
];

/**
 * Runs the programs of a baseline again and finds those that became slower.
 *
 * What is compared are rounds: quantiles (the median, and the 90th percentile where a round has 50 samples) of each round's
 * samples, the baseline's against those of now, less the tolerance (for the tail three times it). Times of one program lie in
 * clusters that come and go between runs, so that three exact tests are made: by ranks over all rounds; by ranks within the two
 * clusters of all rounds pooled, where there are two; and whether the slower cluster became commoner. The best p counts three
 * times. All cells, quantiles and looks are corrected for by Holm and Bonferroni. A first look never alarms: what is suspicious
 * is measured again, up to 48 rounds.
 *
 * @param against what `lab.baseline` returned, or a baseline's file.
 * @throws P2pError `usage` for options that make no sense, `not-available` for a machine that cannot measure again, or that is
 * of another kind (a model is not held against a measurement); StoppedError (`cancelled`) with what the looks that were complete
 * found, where there was one: what was to be looked at again is then not measured, and says so.
 */
export async function regressions(
  machine: Machine,
  against: Baseline | Recording | string,
  options: RegressionOptions = {},
): Promise<Regressions> {
  expectMachine(machine, "lab.regressions");
  expectOptions(options, "lab.regressions");
  expectNames(options, ["tolerance", "level", "signal"], "lab.regressions");
  const baseline = recordingOf(against);
  const { tolerance = 0.03, level = 0.001, signal = interruptSignal() ?? undefined } = options;
  for (const [name, value, most] of [
    ["tolerance", tolerance, 1],
    ["level", level, 0.5],
  ] as const) {
    if (typeof value === "number" && value > 0 && value < most) continue;
    throw new P2pError("usage", `the ${name} is ${shown(value)}`, `Give a number between 0 and ${most}.`);
  }
  expectLive(machine);
  if (machine.provenance.kind !== baseline.provenance.kind) {
    throw new P2pError(
      "not-available",
      `the baseline is ${baseline.provenance.kind} (${baseline.provenance.machine}), this machine is ${machine.provenance.kind}`,
      "Hold a machine against a baseline of its own kind: name it with --machine, or record a new baseline.",
    );
  }
  const cells = baseline.runs.map(
    (run): State => ({
      cell: { program: run.program, mode: run.mode },
      baseline: roundsOf(run),
      now: [],
      taints: new Set(),
      reason: null,
      ps: [],
    }),
  );
  let looked = cells;
  let results: CellResult[] = [];
  for (let look = 1; look <= LOOKS && looked.length > 0; look++) {
    const { runs, missing, stoppedBy } = await measureRounds(
      machine,
      looked.map((state) => state.cell),
      ROUNDS_A_LOOK,
      signal,
    );
    // Half a look is none: the levels are spent by whole ones.
    if (stoppedBy)
      throw stoppedIn(look, { cells, looked, results }, { machine, baseline, tolerance }, stoppedBy.cause);
    looked.forEach((state, i) => {
      for (const run of runs[i] as Run[]) {
        state.now.push(run.samples.totalNs);
        for (const warning of run.warnings) state.taints.add(warning);
      }
      state.reason = missing.find(({ cell }) => cell === state.cell)?.reason ?? state.reason;
      state.ps = state.reason === null ? psOf(state, tolerance) : [];
    });
    results = judged(cells, level);
    const settled = new Set(results.filter(({ verdict }) => verdict !== "not-worse").map(({ cell }) => cell));
    looked = looked.filter((state) => !settled.has(state.cell) && state.ps.some(({ p }) => p < SUSPICIOUS));
  }
  return new Regressions(results, machine, baseline, tolerance);
}

/** The error of a check that was stopped in one of its looks. */
function stoppedIn(
  look: number,
  {
    cells,
    looked,
    results,
  }: { cells: readonly State[]; looked: readonly State[]; results: readonly CellResult[] },
  of: { machine: Machine; baseline: Recording; tolerance: number },
  cause: unknown,
): StoppedError<Regressions> {
  if (look === 1) {
    const why = `A first look takes ${ROUNDS_A_LOOK} rounds of each program, and was not complete: nothing can be said.`;
    return new StoppedError<Regressions>("lab.regressions", "in its first look", null, why, cause);
  }
  const open = new Set(looked);
  const kept = results.map((result, i): CellResult => {
    if (!open.has(cells[i] as State)) return result;
    const reason = `suspicious after ${result.rounds} rounds, and stopped before it was looked at again`;
    return { ...result, verdict: "not-measured", reason };
  });
  return new StoppedError(
    "lab.regressions",
    `in its look ${look} of at most ${LOOKS}`,
    new Regressions(kept, of.machine, of.baseline, of.tolerance),
    `The error's partial is what ${look === 2 ? "the first look" : `the first ${look - 1} looks`} found.`,
    cause,
  );
}

function recordingOf(against: Baseline | Recording | string): Recording {
  if (typeof against === "string") return readBaseline(against);
  const made = (against as Baseline | null | undefined)?.recording ?? against;
  if (isBaseline(made)) return made;
  throw new P2pError(
    "usage",
    `lab.regressions was given ${shown(against)} as a baseline`,
    "Give what lab.baseline returned, or the file that lab.saveBaseline wrote.",
  );
}

interface State {
  readonly cell: GateCell;
  readonly baseline: readonly Float64Array[];
  readonly now: Float64Array[];
  readonly taints: Set<string>;
  reason: string | null;
  ps: readonly { readonly quantile: number; readonly p: number }[];
}

/** Samples of each round of a baseline. */
function roundsOf(run: RecordedRun): Float64Array[] {
  let end = 0;
  return (run.rounds ?? []).map((length) => {
    end += length;
    return run.totalNs.slice(end - length, end);
  });
}

function quantilesOf(rounds: readonly Float64Array[], quantile: number): number[] {
  return rounds.map((samples) => quantileSorted(samples.slice().sort(), quantile));
}

/** Uncorrected, per quantile. */
function psOf({ baseline, now }: State, tolerance: number): { quantile: number; p: number }[] {
  const least = Math.min(...[...baseline, ...now].map((samples) => samples.length));
  return QUANTILES.filter((entry) => least >= entry.least).map(({ quantile, tolerances }) => {
    const before = quantilesOf(baseline, quantile);
    return { quantile, p: largerP(before, quantilesOf(now, quantile), tolerance * tolerances) };
  });
}

/** The best of three tests, paid for threefold. `tolerance` is a share. */
function largerP(before: readonly number[], after: readonly number[], tolerance: number): number {
  const lowered = after.map((ns) => ns / (1 + tolerance));
  const ps = [largerByRanks(before, lowered)];
  // Clusters are found without asking whose a round is, so that rounds stay exchangeable within and between them.
  const within = clustersOf([...before, ...lowered]);
  if (within) {
    const part = (low: boolean) => ({
      first: before.filter((ns) => isLow(ns, within) === low),
      second: lowered.filter((ns) => isLow(ns, within) === low),
    });
    ps.push(largerByStrata([part(true), part(false)]));
  }
  const between = clustersOf([...before, ...after]);
  if (between && between.highNs > between.lowNs * (1 + tolerance)) {
    const slow = (rounds: readonly number[]) => ({
      have: rounds.filter((ns) => !isLow(ns, between)).length,
      of: rounds.length,
    });
    ps.push(commoner(slow(before), slow(after)));
  }
  return Math.min(1, 3 * Math.min(...ps));
}

function clustersOf(values: readonly number[]): Modes | null {
  const sorted = Float64Array.from(values).sort();
  return modesOf(sorted, quantileSorted(sorted, 0.5));
}

function isLow(ns: number, { lowNs, highNs }: Modes): boolean {
  return ns * ns <= lowNs * highNs;
}

/** Verdicts so far; none is worse after one look. */
function judged(cells: readonly State[], level: number): CellResult[] {
  const tests = cells.flatMap((state) => state.ps.map(({ quantile, p }) => ({ state, quantile, p })));
  // Each look may spend its share of the level.
  const corrected = holm(tests.map(({ p }) => p)).map((p) => Math.min(1, p * LOOKS));
  return cells.map((state) => {
    const quantiles = tests.flatMap((test, i): QuantileResult[] => {
      if (test.state !== state) return [];
      const p = corrected[i] as number;
      return [
        {
          quantile: test.quantile,
          baselineNs: median(quantilesOf(state.baseline, test.quantile)),
          nowNs: median(quantilesOf(state.now, test.quantile)),
          p,
          worse: state.now.length > ROUNDS_A_LOOK && p < level,
        },
      ];
    });
    const worse = quantiles.some((entry) => entry.worse);
    return {
      cell: state.cell,
      verdict: state.reason !== null ? "not-measured" : worse ? "worse" : "not-worse",
      reason: state.reason,
      quantiles,
      baselineRounds: state.baseline.length,
      rounds: state.now.length,
      taints: [...state.taints],
    };
  });
}

/** What a check found. */
export class Regressions implements Displayable {
  readonly cells: readonly CellResult[];
  readonly tolerance: number;
  readonly #machine: Machine;
  readonly #baseline: Recording;

  constructor(cells: readonly CellResult[], machine: Machine, baseline: Recording, tolerance: number) {
    this.cells = cells;
    this.tolerance = tolerance;
    this.#machine = machine;
    this.#baseline = baseline;
  }

  /** Where the numbers of now and those of the baseline come from. */
  get provenances(): { readonly now: Provenance; readonly baseline: Provenance } {
    return { now: this.#machine.provenance, baseline: this.#baseline.provenance };
  }

  get worse(): readonly CellResult[] {
    return this.cells.filter(({ verdict }) => verdict === "worse");
  }

  get notMeasured(): readonly CellResult[] {
    return this.cells.filter(({ verdict }) => verdict === "not-measured");
  }

  /**
   * A row a cell and quantile: `metric` (latency, bandwidth, setup), `from`, `to`, `path` (or kind of set-up work), `bytes`,
   * `quantile` (of the samples of a round), `baseline_us` and `now_us` (median over rounds), `ratio` (now over baseline), `p`
   * (corrected for all cells, quantiles and looks), `verdict`, `reason`, `taints` (what the machine warned of), `baseline_rounds`,
   * `rounds`, `baseline_date`, and the provenance columns of now. What was not measured is null and says why.
   */
  table(): Table {
    const rows = this.cells.flatMap((result) => {
      const { cell, quantiles, verdict, reason, baselineRounds, rounds } = result;
      const values =
        quantiles.length > 0
          ? quantiles.map(({ quantile, baselineNs, nowNs, p, worse }) => ({
              quantile,
              baseline_us: nsToUs(baselineNs),
              now_us: nsToUs(nowNs),
              ratio: nowNs / baselineNs,
              p,
              verdict: verdict === "not-measured" ? verdict : worse ? "worse" : "not-worse",
            }))
          : [{ quantile: null, baseline_us: null, now_us: null, ratio: null, p: null, verdict }];
      return values.map((value) => ({
        ...nameOf(cell),
        ...value,
        reason,
        taints: result.taints.join("; "),
        baseline_rounds: baselineRounds,
        rounds,
        baseline_date: this.#baseline.provenance.date.slice(0, 10),
        ...provenanceFields(this.#machine.provenance),
      }));
    });
    return tableOf(rows);
  }

  toString(): string {
    const { worse, notMeasured } = this;
    const count = (n: number) => `${n} of ${this.cells.length} programs`;
    const lines = worse.flatMap(({ cell, quantiles, taints }) => [
      ...quantiles
        .filter((entry) => entry.worse)
        .map(
          ({ quantile, baselineNs, nowNs, p }) =>
            `  ${labelOf(cell)}, ${quantile === 0.5 ? "median" : `p${quantile * 100}`}: ` +
            `${formatNs(baselineNs)} → ${formatNs(nowNs)} (× ${(nowNs / baselineNs).toFixed(3)}, p ${p.toExponential(0)})`,
        ),
      ...taints.map((taint) => `    ${taint}`),
    ]);
    const missing = notMeasured.map(({ cell, reason }) => `  ${labelOf(cell)}: ${reason}`);
    const [before, now] = [this.#baseline.provenance.machine, this.#machine.provenance.machine];
    return [
      ...(before === now ? [] : [`the baseline is of another machine: ${before}, not ${now}`]),
      worse.length === 0
        ? `none worse by more than ${Number((this.tolerance * 100).toPrecision(3))} %`
        : `${count(worse.length)} worse:`,
      ...lines,
      ...(missing.length > 0 ? [`${count(missing.length)} not measured:`, ...missing] : []),
    ].join("\n");
  }

  [richDisplay](): MimeBundle {
    const { kind, machine, date } = this.#machine.provenance;
    return { "text/plain": `${this}\n[${kind}, ${machine}, ${date.slice(0, 10)}]` };
  }
}
