/** The columns that summarise a cell in a table of transfers. */
import type { Run } from "../machine.js";
import { type Convergence, median, quantileSorted } from "../sampling.js";
import { flagsOf, shapeOf, visitsFlag } from "../series.js";
import { gbps, nsToUs } from "../units.js";
import { provenanceFields } from "./table.js";
import type { Visited } from "./visits.js";

/** `latency`: one transfer at a time. `bandwidth`: transfers back to back behind a gate (mode `throughput`). */
export type Metric = "latency" | "bandwidth";

export const METRICS: readonly Metric[] = ["latency", "bandwidth"];

export function modeOf(metric: Metric): "latency" | "throughput" {
  return metric === "bandwidth" ? "throughput" : "latency";
}

/** What {@link summaryFields} gives, before the provenance columns. */
export const SUMMARY_COLUMNS = [
  "total_us",
  "p99_us",
  "ci_low_us",
  "ci_high_us",
  "api_us",
  "gbps",
  "n",
  "converged",
  "ended",
  "warmup",
  "flags",
  "taints",
  "verified",
] as const;

/** @param movedBytes by one iteration, all directions together. */
export function summaryFields({ run, visits }: Visited, movedBytes: number): Record<string, unknown> {
  const sorted = run.samples.totalNs.slice().sort();
  const { convergence } = run.samples;
  return {
    total_us: nsToUs(convergence.medianNs),
    p99_us: nsToUs(quantileSorted(sorted, 0.99)),
    ci_low_us: nsToUs(convergence.ciLowNs),
    ci_high_us: nsToUs(convergence.ciHighNs),
    api_us: nsToUs(median(run.samples.apiNs)),
    gbps: gbps(movedBytes, convergence.medianNs),
    n: convergence.n,
    converged: convergence.converged,
    ended: convergence.ended,
    warmup: convergence.warmup?.iterations ?? null,
    flags: flagsOfCell(run, visits, sorted).join("; "),
    taints: run.warnings.join("; "),
    verified: run.verification.state,
    ...provenanceFields(run.provenance),
  };
}

/** What a reader must know of the series beside its median. */
function flagsOfCell(run: Run, visits: readonly Convergence[], sorted: Float64Array): string[] {
  const { warmup } = run.samples.convergence;
  const changed = visitsFlag(visits);
  return [
    ...(warmup && warmup.iterations > 1 && !warmup.stable
      ? [`warm-up: not stable after ${warmup.iterations} iterations`]
      : []),
    // A change between visits would be told again as a jump of the merged series.
    ...(changed ? [changed] : flagsOf(shapeOf(run.samples.totalNs, sorted))),
  ];
}
