import type { Machine, Run } from "../machine.js";
import { reportProgress } from "../progress.js";
import { Random } from "../random.js";
import { median, quantileSorted, type SamplingOptions } from "../sampling.js";
import { type Bytes, formatBytes, gbps, nsToUs, parseBytes } from "../units.js";
import { expectMachine, expectOptions, expectSome } from "./expect.js";
import { provenanceFields, type Table, tableOf } from "./table.js";
import { type Path, pathOf, transfer } from "./transfer.js";

export interface SweepOptions {
  from: number;
  to: number;
  bytes: Bytes | readonly Bytes[];
  /** Default `peer`. */
  path?: Path | readonly Path[];
  sampling?: SamplingOptions;
  signal?: AbortSignal;
}

/**
 * One-shot latency of a transfer for each size and path: host-observed completion, from the first submit call until the
 * sync has returned. Cells run in random order (fixed seed), so that a drift of the machine does not become a trend.
 *
 * @returns a row a cell, ordered by path and size: `path` (`host-staged` where P2PLAB_P2P=off took the place of `peer`),
 * `from`, `to` (data flows from → to, submitted by `from`), `bytes`, `total_us` (median), `p99_us`, `ci_low_us`,
 * `ci_high_us` (95 % interval of the median), `api_us` (median time in submit calls), `gbps` (bytes / median), `n`, `converged`, `verified`, and the provenance columns.
 */
export async function sweep(machine: Machine, options: SweepOptions): Promise<Table> {
  expectMachine(machine, "lab.sweep");
  expectOptions(options, "lab.sweep");
  const paths = [...new Set(expectSome(listOf(options.path ?? "peer"), "path", "lab.sweep"))];
  const sizes = [...new Set(expectSome(listOf(options.bytes), "bytes", "lab.sweep").map(parseBytes))];
  const cells = paths.flatMap((path) => sizes.map((bytes) => ({ path, bytes })));
  const order = new Random(cells.length).shuffle(cells.map((_, index) => index));
  const rows: Record<string, unknown>[] = new Array(cells.length);
  let done = 0;
  for (const index of order) {
    const cell = cells[index] as (typeof cells)[number];
    reportProgress({ label: `${cell.path} ${formatBytes(cell.bytes)}`, done: done++, total: cells.length });
    const run = await machine.run(transfer({ from: options.from, to: options.to, ...cell }), {
      ...(options.sampling ? { sampling: options.sampling } : {}),
      ...(options.signal ? { signal: options.signal } : {}),
    });
    rows[index] = {
      path: pathOf(run, cell.path),
      from: options.from,
      to: options.to,
      bytes: cell.bytes,
      ...latencyFields(run, cell.bytes),
    };
  }
  reportProgress({ label: "sweep", done: cells.length, total: cells.length });
  return tableOf(rows);
}

/** The columns that summarise a run's timing pass. */
export function latencyFields(run: Run, bytes: number): Record<string, unknown> {
  const sorted = run.samples.totalNs.slice().sort();
  const { convergence } = run.samples;
  return {
    total_us: nsToUs(convergence.medianNs),
    p99_us: nsToUs(quantileSorted(sorted, 0.99)),
    ci_low_us: nsToUs(convergence.ciLowNs),
    ci_high_us: nsToUs(convergence.ciHighNs),
    api_us: nsToUs(median(run.samples.apiNs)),
    gbps: gbps(bytes, convergence.medianNs),
    n: convergence.n,
    converged: convergence.converged,
    verified: run.verification.state,
    ...provenanceFields(run.provenance),
  };
}

function listOf<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}
