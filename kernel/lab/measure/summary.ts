/** The columns that summarise a run in a table of transfers. */
import type { Run } from "../machine.js";
import { median, quantileSorted } from "../sampling.js";
import { flagsOf, shapeOf } from "../series.js";
import { gbps, nsToUs } from "../units.js";
import { provenanceFields } from "./table.js";

/** `latency`: one transfer at a time. `bandwidth`: transfers back to back behind a gate (mode `throughput`). */
export type Metric = "latency" | "bandwidth";

export const METRICS: readonly Metric[] = ["latency", "bandwidth"];

/** @param movedBytes by one iteration, all directions together. */
export function summaryFields(run: Run, movedBytes: number): Record<string, unknown> {
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
    flags: flagsOf(shapeOf(run.samples.totalNs)).join("; "),
    taints: run.warnings.join("; "),
    verified: run.verification.state,
    ...provenanceFields(run.provenance),
  };
}
