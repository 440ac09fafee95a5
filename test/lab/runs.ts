/** Runs made by hand, for tests of what is computed from runs. */
import type { Run } from "../../kernel/lab/machine.js";
import { transfer } from "../../kernel/lab/measure/transfer.js";
import { median } from "../../kernel/lab/sampling.js";

/** A run of an 8-byte peer copy with these totals. */
export function peerRun(totalNs: Float64Array): Run {
  const medianNs = median(totalNs);
  return {
    program: transfer({ from: 0, to: 1, bytes: 8 }),
    mode: "latency",
    provenance: { kind: "measured", machine: "test machine", date: "2026-01-02", source: "test" },
    samples: {
      totalNs,
      apiNs: totalNs.map((ns) => ns / 2),
      convergence: {
        n: totalNs.length,
        medianNs,
        ciLowNs: medianNs,
        ciHighNs: medianNs,
        converged: true,
        ended: "target",
      },
    },
    trace: null,
    traceReason: null,
    verification: { state: "ok", checkedBytes: 8, wrongBytes: 0, sentinelBytes: 0, detail: "" },
    warnings: [],
  };
}
