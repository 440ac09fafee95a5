import { P2pError } from "../errors.js";
import type { Machine, Run } from "../machine.js";
import type { Allocator, CopyEngine, SyncMethod } from "../program.js";
import { reportProgress } from "../progress.js";
import { quantileSorted, samplingOf, THROUGHPUT_SAMPLING } from "../sampling.js";
import { type Bytes, formatBytes, parseBytes } from "../units.js";
import { ALLOCATORS } from "../verdict.js";
import { expectMachine, expectNames, expectOptions, expectWord } from "./expect.js";
import {
  expectGpus,
  MATRIX_METRICS,
  type MatrixCell,
  type MatrixMetric,
  type MatrixPlan,
  matrixCell,
  pairKey,
  type Verdicts,
} from "./matrix-cells.js";
import { interferenceOf, roundsOf, shareOfRound, together } from "./matrix-rounds.js";
import { stopped } from "./partial.js";
import { type Metric, modeOf, SUMMARY_COLUMNS, summaryFields } from "./summary.js";
import { PROVENANCE_COLUMNS, provenanceFields, type Table, tableOf } from "./table.js";
import { type Direction, type Initiator, type Path, pathOf, WORDS } from "./transfer.js";
import { type Visited, type VisitedCells, type VisitOptions, visit } from "./visits.js";

export interface MatrixOptions extends Omit<VisitOptions, "mode" | "report"> {
  /** Default `latency`. */
  metric?: MatrixMetric;
  /** Payload of a copy, or length of the chain of loads; default 8 B, 64 MiB and 2 MiB by metric. */
  bytes?: Bytes;
  /** Default all. */
  gpus?: readonly number[];
  /** Of copies; see {@link TransferOptions}. */
  path?: Path;
  engine?: CopyEngine;
  initiator?: Initiator;
  direction?: Direction;
  sync?: SyncMethod;
  allocator?: Allocator;
  /** `keep`: a matrix none of whose cells could be had is a table of reasons; default `throw`. */
  failing?: "throw" | "keep";
  /** Bandwidth one way: whether disjoint pairs may be measured at once; default true. */
  together?: boolean;
}

const NAMES = [
  ...["metric", "bytes", "gpus", "path", "engine", "initiator", "direction", "sync", "allocator"],
  ...["failing", "together", "rounds", "sampling", "signal"],
];
const BYTES = { latency: 8, bandwidth: 64 * 2 ** 20, "load-latency": 2 * 2 ** 20 } as const;

/** How a cell was measured: with others of its round, or alone and perhaps why. */
interface Measured {
  readonly visited: Visited | null;
  readonly how: string | null;
  readonly reason: string | null;
}

/**
 * Every ordered pair of GPUs, and each GPU with itself (its own memory), by one metric:
 * - `latency`: one copy at a time, host-observed completion. One pair at a time, since one host thread submits.
 * - `bandwidth`: copies back to back, by events on the device. Pairs that share no GPU are measured at once, in rounds of a
 *   1-factorisation; the slowest of each round is measured alone too, and where the 95 % intervals do not meet (and the medians
 *   differ by more than 1 %), that round and all after it are measured one pair at a time.
 * - `load-latency`: dependent loads by GPU `to` from memory of GPU `from`.
 *
 * Data flows from → to. `direction: "both-ways"` runs a second copy of the same size to → from at the same time; `total_us` is
 * then that of both, `gbps` their sum. Where the direct path of a pair is not `ok`, its cell is the copy that the driver stages
 * through the host, and is called so; kernels and loads have no such cell.
 *
 * @returns a row a cell: `from`, `to`, `arrow`, `metric`, `path` (`local`, `peer`, `host-staged`, …), `verdict` (null where the
 * machine has no links to probe), `initiator_gpu`, `engine`, `direction`, `bytes` (each way), then `load_ns`, `ci_low_ns`,
 * `ci_high_ns` of loads, or the columns of `lab.sweep` from `total_us` on; `measured` (alone, or with how many other pairs),
 * `definition` (what the figure is, in words), `reason` (why a cell is null or staged), and the provenance columns.
 * @throws P2pError `usage` for options that do not exist or exclude each other, CancelledError with the cells that were done,
 * and what the first cell failed with when none could be had, unless `failing` is `keep`.
 */
export async function matrix(machine: Machine, options: MatrixOptions = {}): Promise<Table> {
  expectMachine(machine, "lab.matrix");
  expectOptions(options, "lab.matrix");
  expectNames(options, NAMES, "lab.matrix");
  const plan = planOf(options);
  const gpus = expectGpus(machine, options.gpus);
  const verdicts = await verdictsOf(machine, plan, gpus, options.signal);
  const cells = gpus.flatMap((from) => gpus.map((to) => matrixCell(machine, plan, from, to, verdicts)));
  const run = new MatrixRun(machine, plan, options, cells);
  if (plan.metric === "bandwidth" && plan.direction === "one-way" && options.together !== false) {
    await run.inRounds(roundsOf(gpus));
  }
  await run.alone();
  return run.table();
}

class MatrixRun {
  readonly #machine: Machine;
  readonly #plan: MatrixPlan;
  readonly #options: MatrixOptions;
  readonly #cells: readonly MatrixCell[];
  readonly #results = new Map<MatrixCell, Measured>();
  /** Why cells that are left are measured alone, where they need not have been. */
  #apart: string | null = null;
  #stoppedBy: VisitedCells["stoppedBy"] = null;
  #failure: unknown = null;

  constructor(machine: Machine, plan: MatrixPlan, options: MatrixOptions, cells: readonly MatrixCell[]) {
    this.#machine = machine;
    this.#plan = plan;
    this.#options = options;
    this.#cells = cells;
    for (const cell of cells) {
      if (!cell.program) this.#results.set(cell, { visited: null, how: null, reason: cell.reason });
    }
  }

  /** Disjoint pairs at once, as long as they do not disturb each other. */
  async inRounds(rounds: ReturnType<typeof roundsOf>): Promise<void> {
    const byPair = new Map(this.#cells.map((cell) => [pairKey(cell.from, cell.to), cell]));
    for (const round of rounds) {
      const cells = round
        .map(([from, to]) => byPair.get(pairKey(from, to)) as MatrixCell)
        .filter((cell) => cell.path === "peer");
      if (cells.length < 2 || this.#apart || this.#stoppedBy) continue;
      await this.#round(cells);
    }
  }

  async #round(cells: readonly MatrixCell[]): Promise<void> {
    const others = `${cells.length - 1} other ${cells.length === 2 ? "pair" : "pairs"}`;
    const programs = cells.map((cell) => cell.program as NonNullable<MatrixCell["program"]>);
    const whole = await this.#single(`${cells.length} pairs at once`, together(programs));
    if (!whole) return;
    const sampling = samplingOf({ ...THROUGHPUT_SAMPLING, ...this.#options.sampling });
    const shares = programs.map((own, index) => shareOfRound(whole.run, index, own, sampling));
    if (shares.some((share) => share === null)) return;
    const medianNs = (run: Run | null) => (run as Run).samples.convergence.medianNs;
    const slowest = shares.reduce((a, b, i) => (medianNs(b) > medianNs(shares[a] as Run) ? i : a), 0);
    const slow = cells[slowest] as MatrixCell;
    const alone = await this.#single(labelOf(slow), programs[slowest] as (typeof programs)[number]);
    if (!alone) return;
    const change = interferenceOf(shares[slowest] as Run, alone.run);
    if (change !== null) {
      const percent = `${Number((Math.abs(change) * 100).toPrecision(2))} %`;
      this.#apart = `${slow.from} → ${slow.to} is ${percent} ${change > 0 ? "slower" : "faster"} beside ${others}`;
      this.#results.set(slow, { visited: alone, how: `alone: ${this.#apart}`, reason: null });
      return;
    }
    for (const [index, cell] of cells.entries()) {
      const visited = { run: shares[index] as Run, visits: [] };
      this.#results.set(cell, { visited, how: `with ${others}`, reason: null });
    }
  }

  /** One program, once; null when it cannot be had, so that its cells are measured alone. */
  async #single(label: string, program: Run["program"]): Promise<Visited | null> {
    const { cells, stoppedBy } = await visit(
      this.#machine,
      [{ label, program }],
      { ...this.#options, mode: "throughput", rounds: 1, report: () => this.#report(label) },
      "keep",
    );
    this.#stoppedBy = stoppedBy;
    return cells[0] ?? null;
  }

  #report(label: string): void {
    reportProgress({ label, done: this.#results.size, total: this.#cells.length });
  }

  /** Every cell that is left, one at a time. */
  async alone(): Promise<void> {
    const left = this.#cells.filter((cell) => !this.#results.has(cell));
    if (this.#stoppedBy || left.length === 0) return;
    const load = this.#plan.metric === "load-latency";
    const { cells, errors, stoppedBy } = await visit(
      this.#machine,
      left.map((cell) => ({ label: labelOf(cell), program: cell.program as Run["program"] })),
      // Probes have a sampling of their own, which shares of the usual one would replace.
      load
        ? { ...this.#options, rounds: 1 }
        : { ...this.#options, mode: modeOf(this.#plan.metric as Metric) },
      "keep",
    );
    this.#stoppedBy = stoppedBy;
    for (const [index, cell] of left.entries()) {
      const error = errors[index];
      const visited = cells[index] ?? null;
      if (!visited && !error) continue;
      this.#failure ??= error;
      const how = this.#apart && cell.path === "peer" ? `alone: ${this.#apart}` : "alone";
      this.#results.set(
        cell,
        visited ? { visited, how, reason: cell.reason } : { visited, how: null, reason: firstLine(error) },
      );
    }
  }

  table(): Table {
    const rows = this.#cells.flatMap((cell) => {
      const result = this.#results.get(cell);
      return result ? [this.#row(cell, result)] : [];
    });
    const { metric } = this.#plan;
    const table = tableOf(rows, [
      ...[
        "from",
        "to",
        "arrow",
        "metric",
        "path",
        "verdict",
        "initiator_gpu",
        "engine",
        "direction",
        "bytes",
      ],
      ...(metric === "load-latency" ? LOAD_COLUMNS : SUMMARY_COLUMNS),
      ...["measured", "definition", "reason"],
      ...PROVENANCE_COLUMNS,
    ]);
    if (this.#stoppedBy) {
      const progress = { done: rows.length, total: this.#cells.length };
      throw stopped("lab.matrix", table, progress, this.#stoppedBy.cause, this.#stoppedBy.cancelled);
    }
    const keeps = this.#options.failing === "keep" && this.#failure instanceof P2pError;
    if (this.#failure && !keeps && [...this.#results.values()].every((result) => result.visited === null)) {
      throw this.#failure;
    }
    return table;
  }

  #row(cell: MatrixCell, { visited, how, reason }: Measured): Record<string, unknown> {
    const { metric, bytes, engine, direction } = this.#plan;
    const { from, to, path, verdict } = cell;
    const load = metric === "load-latency";
    const both = direction === "both-ways" && from !== to;
    return {
      from,
      to,
      arrow: `${from} → ${to}`,
      metric,
      path: visited && path === "peer" ? pathOf(visited.run, "peer") : path,
      verdict,
      initiator_gpu: cell.initiatorGpu,
      engine: load ? "load" : engine,
      direction: load || from === to ? "one-way" : direction,
      bytes,
      ...(visited && (load ? loadFields(visited.run) : summaryFields(visited, both ? 2 * bytes : bytes))),
      ...(!visited && provenanceFields(this.#machine.provenance)),
      measured: how,
      definition: definitionOf(this.#plan),
      reason,
    };
  }
}

const LOAD_COLUMNS = [
  "load_ns",
  "ci_low_ns",
  "ci_high_ns",
  "p99_ns",
  "n",
  "converged",
  "ended",
  "taints",
  "verified",
] as const;

function loadFields(run: Run): Record<string, unknown> {
  const { medianNs, ciLowNs, ciHighNs, n, converged, ended } = run.samples.convergence;
  return {
    load_ns: medianNs,
    ci_low_ns: ciLowNs,
    ci_high_ns: ciHighNs,
    p99_ns: quantileSorted(run.samples.totalNs.slice().sort(), 0.99),
    n,
    converged,
    ended,
    taints: run.warnings.join("; "),
    verified: run.verification.state,
    ...provenanceFields(run.provenance),
  };
}

function definitionOf({ metric, bytes, direction }: MatrixPlan): string {
  const size = formatBytes(bytes);
  if (metric === "load-latency") {
    return `one dependent load by GPU "to" from ${size} of GPU "from"'s memory, by the GPU's clock`;
  }
  const both = direction === "both-ways";
  const what = `a copy of ${size} from → to${both ? ` and one of ${size} to → from at the same time` : ""}`;
  return metric === "latency"
    ? `${what}, one at a time: first submit call until the host knows that all is complete`
    : `${what}, back to back: time by device events, payload${both ? " of both ways together" : ""} per time`;
}

/** Messages may go on with a program's text, which is no matter of a table. */
function firstLine(error: Error | null | undefined): string | null {
  return error?.message.split("\n")[0]?.replace(/:$/, "") ?? null;
}

function labelOf({ from, to }: MatrixCell): string {
  return `${from} → ${to}`;
}

/** @throws P2pError `usage` */
function planOf(options: MatrixOptions): MatrixPlan {
  if (options.failing !== undefined) expectWord("failing", options.failing, ["throw", "keep"] as const);
  const metric = expectWord("metric", options.metric ?? "latency", MATRIX_METRICS);
  return {
    metric,
    bytes: parseBytes(options.bytes ?? BYTES[metric]),
    path: expectWord("path", options.path ?? "peer", WORDS.path),
    engine: expectWord("engine", options.engine ?? "copy-engine", WORDS.engine),
    initiator: options.initiator && expectWord("initiator", options.initiator, WORDS.initiator),
    direction: expectWord("direction", options.direction ?? "one-way", WORDS.direction),
    sync: expectWord("sync", options.sync ?? "spin", WORDS.sync),
    allocator: expectWord("allocator", options.allocator ?? "malloc", ALLOCATORS),
  };
}

async function verdictsOf(
  machine: Machine,
  plan: MatrixPlan,
  gpus: readonly number[],
  signal: AbortSignal | undefined,
): Promise<Verdicts> {
  const direct = plan.path === "peer" || plan.metric === "load-latency";
  const pairs = gpus.flatMap((from) => gpus.filter((to) => to !== from).map((to) => ({ from, to })));
  if (!machine.verdicts || !direct || pairs.length === 0) return new Map();
  const found = await machine.verdicts({ pairs, allocators: [plan.allocator], ...(signal && { signal }) });
  return new Map(found.map((verdict) => [pairKey(verdict.from, verdict.to), verdict]));
}
