import { P2pError } from "../errors.js";
import type { Machine } from "../machine.js";
import { reportProgress } from "../progress.js";
import { Random } from "../random.js";
import type { SamplingOptions } from "../sampling.js";
import { type Axes, type AxisCell, cellsOf } from "./axes.js";
import { expectMachine, expectNames, expectOptions } from "./expect.js";
import { METRICS, type Metric, summaryFields } from "./summary.js";
import { type Table, tableOf } from "./table.js";
import { OPTIONS, pathOf, transfer } from "./transfer.js";

export type SweepOptions = Axes & {
  /** Default `latency`. */
  metric?: Metric;
  sampling?: SamplingOptions;
  signal?: AbortSignal;
};

/**
 * Times a transfer for each combination of its options: sizes, paths, engines, ways to sync, streams, pieces, pairs of GPUs, …
 * (see {@link TransferOptions}), each a value or a list. Cells run in random order (fixed seed), so that a drift of the
 * machine does not become a trend.
 *
 * `metric: "latency"` is host-observed completion, from the first submit call until the last sync has returned;
 * `"bandwidth"` the time of one transfer in a batch of them back to back, by events on the device.
 *
 * @returns a row a cell, ordered by path, pair, the other axes and size: `path` (`host-staged` where P2PLAB_P2P=off took the
 * place of `peer`), `from`, `to` (data flows from → to), a column for each other axis asked for (`engine`, `initiator`,
 * `direction`, `streams`, `chunk_bytes` (null: not cut), `submit`, `sync`, `allocator`), `bytes` (each way), `metric`,
 * `total_us` (median), `p99_us`, `ci_low_us`, `ci_high_us` (95 % interval of the median), `api_us` (median time in submit
 * calls), `gbps` (bytes / median; both ways together), `n`, `converged`, `ended` (why sampling ended), `flags` (what the
 * series is like beside its median: drift, jump, two modes; empty when nothing), `taints` (what the machine warned of),
 * `verified`, and the provenance columns.
 * @throws P2pError `usage` for options that do not exist or exclude each other; what {@link Machine.run} throws.
 */
export async function sweep(machine: Machine, options: SweepOptions): Promise<Table> {
  expectMachine(machine, "lab.sweep");
  expectOptions(options, "lab.sweep");
  expectNames(options, [...OPTIONS, "pair", "metric", "sampling", "signal"], "lab.sweep");
  const metric = metricOf(options.metric);
  const cells = cellsOf(options, "lab.sweep").map((cell) => ({ ...cell, program: transfer(cell.options) }));
  const order = new Random(cells.length).shuffle(cells.map((_, index) => index));
  const rows: Record<string, unknown>[] = new Array(cells.length);
  let done = 0;
  for (const index of order) {
    const cell = cells[index] as (typeof cells)[number];
    reportProgress({ label: cell.label, done: done++, total: cells.length });
    const run = await machine.run(cell.program, {
      ...(metric === "bandwidth" ? { mode: "throughput" as const } : {}),
      ...(options.sampling ? { sampling: options.sampling } : {}),
      ...(options.signal ? { signal: options.signal } : {}),
    });
    const { from, to, bytes, path = "peer" } = cell.options;
    rows[index] = {
      path: pathOf(run, path),
      from,
      to,
      ...cell.columns,
      bytes,
      metric,
      ...summaryFields(run, movedBytes(cell)),
    };
  }
  reportProgress({ label: "sweep", done: cells.length, total: cells.length });
  return tableOf(rows);
}

/** Bytes that one transfer moves, both ways together. */
function movedBytes({ options }: AxisCell): number {
  return options.direction === "both-ways" ? 2 * options.bytes : options.bytes;
}

function metricOf(asked: Metric = "latency"): Metric {
  if (METRICS.includes(asked)) return asked;
  throw new P2pError("usage", `no metric "${String(asked)}"`, `Choose one of: ${METRICS.join(", ")}.`);
}
