import { interruptSignal } from "../interrupt.js";
import type { Machine } from "../machine.js";
import { Turns } from "../turns.js";
import { type Axes, type AxisCell, axisColumns, cellsOf } from "./axes.js";
import { expectMachine, expectNames, expectOptions, expectWord } from "./expect.js";
import { isLack } from "./missing.js";
import { stopped } from "./partial.js";
import { METRICS, type Metric, modeOf, SUMMARY_COLUMNS, summaryFields } from "./summary.js";
import { PROVENANCE_COLUMNS, provenanceFields, type Table, tableOf } from "./table.js";
import { OPTIONS, pathOf, transfer } from "./transfer.js";
import { type Cell, type VisitedCells, type VisitOptions, visit } from "./visits.js";

export type SweepOptions = Axes &
  Omit<VisitOptions, "mode" | "report"> & {
    /** Default `latency`. */
    metric?: Metric;
    /**
     * `keep`: a cell that fails stays in the table, null with its `reason`, and only where all failed and not for want of
     * something the first error is thrown; default `throw`: it ends the sweep.
     */
    failing?: "throw" | "keep";
  };

const OTHERS = ["pair", "metric", "failing", "rounds", "sampling", "signal"];

/**
 * Times a transfer for each combination of its options: sizes, paths, engines, ways to sync, streams, pieces, pairs of GPUs, …
 * (see {@link TransferOptions}), each a value or a list. Each cell is visited several times (`rounds`, default 2), in another
 * random order each time (fixed seed), so that a drift of the machine becomes a flag and not a trend.
 *
 * `metric: "latency"` is host-observed completion, from the first submit call until the last sync has returned;
 * `"bandwidth"` the time of one transfer in a batch of them back to back, by events on the device.
 *
 * @returns a row a cell, ordered by path, pair, the other axes and size: `path` (`host-staged` where P2PLAB_P2P=off took the
 * place of `peer`), `from`, `to` (data flows from → to), a column for each other axis asked for (`engine`, `api`, `initiator`,
 * `direction`, `streams`, `chunk_bytes` (null: not cut), `submit`, `sync`, `allocator`), `bytes` (each way), `metric`,
 * `total_us` (median), `p99_us`, `ci_low_us`, `ci_high_us` (95 % interval of the median), `api_us` (median time in submit
 * calls), `gbps` (bytes / median; both ways together), `n`, `converged`, `ended` (why sampling ended), `warmup` (iterations
 * thrown away first; null where it is not known), `flags` (what the series is like beside its median: a warm-up that did not
 * end, visits that differ, drift, a jump, two modes; empty when nothing), `taints` (what the machine warned of; empty when
 * nothing), `verified`, `reason` (with `failing: "keep"`), and the provenance columns.
 * @throws P2pError `usage` for options that do not exist or exclude each other, `cancelled` before the first cell;
 * CancelledError with the cells that were done;
 * what {@link Machine.run} throws, after which `lab.partial()` gives the cells that were done.
 */
export async function sweep(machine: Machine, options: SweepOptions): Promise<Table> {
  expectMachine(machine, "lab.sweep");
  expectOptions(options, "lab.sweep");
  expectNames(options, [...OPTIONS, ...OTHERS], "lab.sweep");
  const metric = expectWord("metric", options.metric ?? "latency", METRICS);
  const failing = expectWord("failing", options.failing ?? "throw", ["throw", "keep"] as const);
  // Tens of thousands of programs take seconds to make.
  const turns = new Turns(options.signal ?? interruptSignal() ?? undefined);
  const cells: (AxisCell & Cell)[] = [];
  for (const cell of cellsOf(options, "lab.sweep")) {
    await turns.next();
    cells.push({ ...cell, program: transfer(cell.options) });
  }
  const visited = await visit(machine, cells, { ...options, mode: modeOf(metric) }, failing);
  const table = () => tableOfCells(machine, cells, visited, options, metric, failing);
  const { stoppedBy } = visited;
  if (stoppedBy) {
    const done = cells.filter((_, index) => visited.cells[index] || visited.errors[index]).length;
    const progress = { done, total: cells.length };
    throw stopped("lab.sweep", table, progress, stoppedBy.cause, stoppedBy.cancelled);
  }
  const failure = visited.errors.find((error) => error !== null && !isLack(error));
  if (failure && visited.cells.every((cell) => cell === null)) throw failure;
  return table();
}

/** A row a cell that was visited. */
function tableOfCells(
  machine: Machine,
  cells: readonly AxisCell[],
  visited: VisitedCells,
  options: SweepOptions,
  metric: Metric,
  failing: "throw" | "keep",
): Table {
  const rows = cells.flatMap((cell, index) => {
    const own = visited.cells[index];
    const error = visited.errors[index];
    if (!own && !error) return [];
    const { from, to, bytes, path = "peer" } = cell.options;
    const head = { from, to, ...cell.columns, bytes, metric };
    if (!own)
      return [
        { path, ...head, reason: error?.message.split("\n")[0], ...provenanceFields(machine.provenance) },
      ];
    return [{ path: pathOf(own.run, path), ...head, ...summaryFields(own, movedBytes(cell)) }];
  });
  return tableOf(rows, [
    ...["path", "from", "to", ...axisColumns(options), "bytes", "metric", ...SUMMARY_COLUMNS],
    ...(failing === "keep" ? ["reason"] : []),
    ...PROVENANCE_COLUMNS,
  ]);
}

/** Bytes that one transfer moves, both ways together. */
function movedBytes({ options }: AxisCell): number {
  return options.direction === "both-ways" ? 2 * options.bytes : options.bytes;
}
