import { P2pError } from "../errors.js";
import type { Machine, Run, RunOptions } from "../machine.js";
import { expectMachine } from "../measure/expect.js";
import { type Memory, memorySpec } from "../measure/probe-cells.js";
import { provenanceFields, type Table, tableOf } from "../measure/table.js";
import { transfer } from "../measure/transfer.js";
import { type Program, program } from "../program.js";
import { reportProgress } from "../progress.js";
import { median } from "../sampling.js";
import { formatNs } from "../units.js";
import { compare } from "./compare.js";

/** What a check comes to; `ok` is null where it cannot be made, and `detail` says why. */
interface Outcome {
  readonly expected: string;
  readonly measured: string | null;
  readonly ok: boolean | null;
  readonly detail: string;
}

interface Check {
  readonly name: string;
  readonly expected: string;
  run(bench: Bench): Promise<Omit<Outcome, "expected">>;
}

const SHORT_NS = 1_000_000;
const LONG_NS = 2_000_000;
/** Long enough that a microsecond in it is 25 parts per million. */
const BASELINE_NS = 40_000_000;
/**
 * By how much the host clock and the GPU's timer, two free oscillators, may differ: a tenth of the 1 % to which figures of the
 * two are compared. Crystals differ by some 100 parts per million; counters that a virtual machine calibrated, by several 100.
 */
const MOST_APART = 1e-3;
/** A clock whose reading costs more, or which steps wider, is no clock for single copies of microseconds. */
const HOST_CLOCK_NS = 200;
/** The widest step of a global timer known (Volta); intervals of fewer than 1000 steps are timed by the SM's clock. */
const TIMER_STEP_NS = 1100;
/** Two events with nothing between them: more would hide a small copy. */
const EVENT_FLOOR_NS = 10_000;

/**
 * Whether this machine's measurements can be trusted: what is known must be recovered, what must differ must differ, the
 * same measured twice must be the same, and every clock's floor is measured. A few seconds on real GPUs.
 *
 * @returns a row a check: `check`, `expected`, `measured`, `ok` (null: cannot be made here, `detail` says why), `detail`, and
 * the provenance columns. On a recording or a simulation every check says that there is nothing to check.
 */
export async function selfCheck(machine: Machine, options: { signal?: AbortSignal } = {}): Promise<Table> {
  expectMachine(machine, "lab.selfCheck");
  const bench = new Bench(machine, options.signal);
  const rows: Record<string, unknown>[] = [];
  for (const check of CHECKS) {
    reportProgress({ label: `self-check: ${check.name}`, done: rows.length, total: CHECKS.length });
    rows.push({
      check: check.name,
      expected: check.expected,
      ...(await outcomeOf(check, bench)),
      ...provenanceFields(machine.provenance),
    });
  }
  reportProgress({ label: "self-check", done: CHECKS.length, total: CHECKS.length });
  return tableOf(rows);
}

async function outcomeOf(check: Check, bench: Bench): Promise<Omit<Outcome, "expected">> {
  const { kind } = bench.machine.provenance;
  if (kind !== "measured") {
    return {
      measured: null,
      ok: null,
      detail: `not available: numbers here are ${kind}, nothing is measured`,
    };
  }
  try {
    return await check.run(bench);
  } catch (error) {
    if (!(error instanceof P2pError) || error.code === "cancelled") throw error;
    const missing = error.code === "not-available";
    return {
      measured: null,
      ok: missing ? null : false,
      detail: `${missing ? "not available: " : ""}${error.message} → ${error.hint}`,
    };
  }
}

/** The least and the greatest of so many differences hold their median at 1 - 2 / 2^6 = 96.9 %. */
const VISITS = 6;

interface InTurns {
  readonly difference: number;
  /** Interval of at least 95 %. */
  readonly low: number;
  readonly high: number;
  /** Of the short kernel, of all visits. */
  readonly shortestNs: number;
  readonly samples: number;
}

/** The machine, and the runs that several checks look at. */
class Bench {
  readonly machine: Machine;
  readonly #signal: AbortSignal | undefined;
  readonly #runs = new Map<string, Run>();
  readonly #turns = new Map<number, InTurns>();

  constructor(machine: Machine, signal: AbortSignal | undefined) {
    this.machine = machine;
    this.#signal = signal;
  }

  async measure(what: Program, options: RunOptions = {}): Promise<Run> {
    return this.machine.run(what, { ...options, ...(this.#signal ? { signal: this.#signal } : {}) });
  }

  /** The same, measured once for all checks. */
  async once(what: Program, options: RunOptions = {}): Promise<Run> {
    const key = `${what.hash} ${JSON.stringify(options)}`;
    let run = this.#runs.get(key);
    if (!run) {
      run = await this.measure(what, options);
      this.#runs.set(key, run);
    }
    return run;
  }

  /**
   * A short and a long kernel in turn, measured once for all checks: the difference of their medians at each visit. What varies
   * from one run to the next, such as which of two clusters most samples fall into, is in how the visits differ, not in the
   * samples of one.
   */
  async inTurns(longNs: number, sampling: RunOptions): Promise<InTurns> {
    let turns = this.#turns.get(longNs);
    if (!turns) {
      const shortest: number[] = [];
      const differences: number[] = [];
      let samples = 0;
      for (let visit = 0; visit < VISITS; visit++) {
        const short = (await this.measure(compute(SHORT_NS), sampling)).samples.totalNs;
        const long = (await this.measure(compute(longNs), sampling)).samples.totalNs;
        differences.push(median(long) - median(short));
        shortest.push(short.reduce((a, b) => Math.min(a, b)));
        samples += short.length;
      }
      turns = {
        difference: median(Float64Array.from(differences)),
        low: Math.min(...differences),
        high: Math.max(...differences),
        shortestNs: Math.min(...shortest),
        samples,
      };
      this.#turns.set(longNs, turns);
    }
    return turns;
  }

  /** What a second of the GPU's timer is in seconds of the host clock, less 1: the estimate and its 95 % interval. */
  async apart(): Promise<{ estimate: number; low: number; high: number }> {
    const step = await this.timerStepNs();
    const { difference, low, high } = await this.inTurns(BASELINE_NS, BASELINE);
    const lessOne = (ns: number) => ns / (BASELINE_NS - SHORT_NS) - 1;
    return { estimate: lessOne(difference), low: lessOne(low - step), high: lessOne(high + step) };
  }

  async timerStepNs(): Promise<number> {
    return (await this.once(chain({ gpu: 0 }))).probe?.timerStepNs ?? 0;
  }

  /** @throws P2pError `not-available` when no GPU reaches another. */
  get pair(): { from: number; to: number } {
    const pair = this.machine.info.pairs.find((p) => p.peerAccess);
    if (pair) return pair;
    const [first] = this.machine.info.pairs;
    throw new P2pError(
      "not-available",
      first ? `no pair with peer access: ${first.reason}` : "one GPU has no peer",
      "Use a machine with two GPUs that reach each other.",
    );
  }
}

const compute = (ns: number): Program => program().stream("s", { gpu: 0 }).compute("s", ns).sync("s");
const COMPUTED = {
  sampling: { minSamples: 40, maxSamples: 60, warmup: 5, budgetMs: 400, target: 0.0005 },
};

const BASELINE = {
  sampling: { minSamples: 8, maxSamples: 10, warmup: 1, budgetMs: 600, target: 1e-5 },
};

const chain = (memory: Memory, cold = false): Program =>
  program()
    .buffer("chain", { ...memorySpec(memory), bytes: "2 MiB" })
    .stream("s", { gpu: 0 })
    .probeLoad("s", "chain", { cold, accesses: 4000 });

/** The second takes longer than the first, beyond doubt. */
async function takesLonger(
  bench: Bench,
  first: Program,
  second: Program,
): Promise<Omit<Outcome, "expected">> {
  const compared = compare(await bench.once(first), await bench.once(second));
  return {
    measured: `× ${compared.ratio.toFixed(2)}`,
    ok: compared.answer === "slower",
    detail: String(compared),
  };
}

function atMost(value: number, limit: number, detail: string): Omit<Outcome, "expected"> {
  return { measured: formatNs(value), ok: value <= limit, detail };
}

function factOf(bench: Bench, name: string): number {
  const value = bench.machine.info.facts[name];
  if (typeof value === "number") return value;
  throw new P2pError("not-available", `the machine does not say its ${name}`, "Update p2plab.");
}

/** A share that the two clocks may differ by here: what was measured, or no more than is let pass. */
function allowed(share: number): number {
  return Math.min(Math.max(share, -MOST_APART), MOST_APART);
}

function formatPpm(share: number): string {
  return `${share > 0 ? "+" : ""}${(share * 1e6).toFixed(0)} ppm`;
}

const CHECKS: readonly Check[] = [
  {
    name: "the host clock and the GPU's timer keep step",
    expected: `the same within ± ${(1e6 * MOST_APART).toFixed(0)} ppm`,
    async run(bench) {
      const { estimate, low, high } = await bench.apart();
      return {
        measured: formatPpm(estimate),
        ok: low <= MOST_APART && high >= -MOST_APART,
        detail: `95 % interval ${formatPpm(low)} to ${formatPpm(high)}, the timer's step included; by kernels of ${formatNs(BASELINE_NS)} and of ${formatNs(SHORT_NS)}`,
      };
    },
  },
  {
    name: "a known duration is recovered",
    expected: "1 ms, the difference of kernels of 2 ms and of 1 ms",
    async run(bench) {
      const step = await bench.timerStepNs();
      const apart = await bench.apart();
      const { difference, low, high } = await bench.inTurns(LONG_NS, COMPUTED);
      const wanted = LONG_NS - SHORT_NS;
      const least = wanted * (1 + allowed(apart.low)) - step;
      const most = wanted * (1 + allowed(apart.high)) + step;
      return {
        measured: formatNs(difference),
        ok: high >= least && low <= most,
        detail: `95 % interval of the error ${formatNs(low - wanted)} to ${formatNs(high - wanted)}; ${formatNs(least - wanted)} to ${formatNs(most - wanted)} are the timer's step of ${formatNs(step)} and the clocks' difference of ${formatPpm(apart.low)} to ${formatPpm(apart.high)}`,
      };
    },
  },
  {
    name: "no sample is shorter than its work",
    expected: "at least 1 ms, every time",
    async run(bench) {
      const { shortestNs: shortest, samples } = await bench.inTurns(LONG_NS, COMPUTED);
      const step = await bench.timerStepNs();
      const { low } = await bench.apart();
      const least = SHORT_NS * (1 + allowed(low)) - step;
      return {
        measured: formatNs(shortest),
        ok: shortest >= least,
        detail: `the shortest of ${samples}; ${formatNs(least)} is 1 ms of the GPU's timer, less its step and the clocks' difference`,
      };
    },
  },
  {
    name: "the same measured twice is the same",
    expected: "same within ± 2 %",
    async run(bench) {
      // Short, so that what varies between runs is not drowned by the kernel's own time.
      const work = compute(20_000);
      const sampling = { minSamples: 500, maxSamples: 2000, target: 0.002, budgetMs: 500 };
      const compared = compare(
        await bench.measure(work, { sampling }),
        await bench.measure(work, { sampling }),
      );
      return {
        measured: `× ${compared.ratio.toFixed(4)}`,
        ok: compared.answer === "same",
        detail: String(compared),
      };
    },
  },
  {
    name: "host memory is further away than local memory",
    expected: "a load takes longer",
    run: (bench) => takesLonger(bench, chain({ gpu: 0 }), chain("host")),
  },
  {
    name: "flushed caches show",
    expected: "a load takes longer after a flush",
    run: (bench) => takesLonger(bench, chain({ gpu: 0 }), chain({ gpu: 0 }, true)),
  },
  {
    name: "a peer's memory is further away than local memory",
    expected: "a load takes longer",
    async run(bench) {
      const { from, to } = bench.pair;
      const load = (memory: Memory) =>
        program()
          .buffer("chain", { ...memorySpec(memory), bytes: "2 MiB" })
          .stream("s", { gpu: from })
          .probeLoad("s", "chain", { accesses: 4000 });
      return takesLonger(bench, load({ gpu: from }), load({ gpu: to }));
    },
  },
  {
    name: "staging through the host takes longer than the direct path",
    expected: "a copy of 8 B takes longer",
    async run(bench) {
      const { from, to } = bench.pair;
      const copy = (path: "peer" | "staged") => transfer({ from, to, bytes: 8, path });
      return takesLonger(bench, copy("peer"), copy("staged"));
    },
  },
  {
    name: "the host clock is cheap",
    expected: `a reading costs at most ${formatNs(HOST_CLOCK_NS)}`,
    async run(bench) {
      return atMost(factOf(bench, "clock_cost_ns"), HOST_CLOCK_NS, String(bench.machine.info.facts.clock));
    },
  },
  {
    name: "the host clock is fine",
    expected: `steps of at most ${formatNs(HOST_CLOCK_NS)}`,
    async run(bench) {
      const detail = `${bench.machine.info.facts.clock}: smallest step between two different readings`;
      return atMost(factOf(bench, "clock_resolution_ns"), HOST_CLOCK_NS, detail);
    },
  },
  {
    name: "the floor of events is known",
    expected: `two events with nothing between them: at most ${formatNs(EVENT_FLOOR_NS)}`,
    async run(bench) {
      const run = await bench.once(program().stream("s", { gpu: 0 }).launch("s").sync("s"), {
        mode: "throughput",
        sampling: { minSamples: 20, maxSamples: 50, budgetMs: 300, warmup: 2 },
      });
      if (!run.throughput) throw new P2pError("not-available", "the run says no floor", "Update p2plab.");
      return atMost(run.throughput.floorNs, EVENT_FLOOR_NS, "figures below it are not printed");
    },
  },
  {
    name: "the step of the GPU's timer is known",
    expected: `at most ${formatNs(TIMER_STEP_NS)}`,
    async run(bench) {
      const facts = (await bench.once(chain({ gpu: 0 }))).probe;
      if (!facts) throw new P2pError("not-available", "the run says nothing of its clocks", "Measure anew.");
      const costs = `a reading costs ${formatNs(facts.timerCostNs)}, of the SM's clock ${formatNs(facts.clockCostNs)}`;
      const used = `probes were timed by the ${facts.timedBy}, SM at ${facts.clockGhz.median.toFixed(3)} GHz`;
      return atMost(facts.timerStepNs, TIMER_STEP_NS, `${costs}; ${used}`);
    },
  },
];
