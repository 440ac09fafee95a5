import { P2pError } from "../errors.js";
import type { Machine, Run } from "../machine.js";
import { reportProgress } from "../progress.js";
import { median, type SamplingOptions } from "../sampling.js";
import { type Bytes, formatBytes, nsToUs, parseBytes, sizes } from "../units.js";
import { expectMachine, expectOptions, expectSome } from "./expect.js";
import { fitCurve, timeAt } from "./fit.js";
import { provenanceFields, type Table, tableOf } from "./table.js";
import { type Path, pathOf, transfer } from "./transfer.js";

export interface BreakdownOptions {
  from: number;
  to: number;
  /** Sizes to show. */
  bytes: Bytes | readonly Bytes[];
  /** Default `peer`. */
  path?: Path | readonly Path[];
  sampling?: SamplingOptions;
  /** Iterations of each traced pass; default 200. */
  traceIterations?: number;
  signal?: AbortSignal;
}

/** Sizes that the engine-time line is fitted over, beside those asked for: 8 B to 64 MiB in steps of 8. */
export const FIT_SIZES: readonly number[] = sizes("8 B", "64 MiB", { factor: 8 });

/**
 * Splits the latency of a transfer into four parts that add up, each the median over the traced iterations:
 *
 * - `launch_us`   t0 → t1: submit call entered until the engine starts
 * - `setup_us`    size-independent part of engine time: the intercept of engine time against bytes (first segment of the fit)
 * - `link_us`     size-dependent part: fitted engine time less the intercept; bytes / rate where one line fits
 * - `receiver_us` t3 → t4: engine end until the host's sync has returned
 *
 * `sum_us` is held against `traced_us`, the total by the host's own stamps in the traced pass (`closure_traced_pct`), and,
 * less the tracer's own cost `observer_us` = traced − untraced, against the untraced `total_us` (`closure_pct`).
 * `engine_us` is the median engine time as measured; `rate_gbps` is the rate of the fit's
 * last segment, `fit_worst_pct` its largest residual: where that is large, so is the doubt in setup and link.
 *
 * @throws P2pError `not-available` where the machine has no tracer.
 */
export async function breakdown(machine: Machine, options: BreakdownOptions): Promise<Table> {
  expectMachine(machine, "lab.breakdown");
  expectOptions(options, "lab.breakdown");
  const named = (Array.isArray(options.path) ? options.path : [options.path ?? "peer"]) as readonly Path[];
  const paths = [...new Set(named)];
  const wanted: readonly Bytes[] = Array.isArray(options.bytes) ? options.bytes : [options.bytes];
  const shown = [...new Set(wanted.map(parseBytes))];
  expectSome(paths, "path", "lab.breakdown");
  expectSome(shown, "bytes", "lab.breakdown");
  const ladder = [...new Set([...FIT_SIZES, ...shown])].sort((a, b) => a - b);
  const rows: Record<string, unknown>[] = [];
  for (const [p, path] of paths.entries()) {
    const runs = new Map<number, Run>();
    for (const [i, bytes] of ladder.entries()) {
      reportProgress({
        label: `breakdown ${path} ${formatBytes(bytes)}`,
        done: p * ladder.length + i,
        total: paths.length * ladder.length,
      });
      runs.set(bytes, await traced(machine, options, path, bytes));
    }
    const engineNs = (bytes: number) => median(traceOf(runs.get(bytes)).engineNs);
    const curve = fitCurve(ladder.map((bytes) => ({ bytes, ns: engineNs(bytes) })));
    for (const bytes of shown) {
      const run = runs.get(bytes) as Run;
      const trace = traceOf(run);
      const launchNs = median(trace.launchNs);
      const setupNs = (curve.segments[0] as { alphaNs: number }).alphaNs;
      const linkNs = timeAt(curve, bytes) - setupNs;
      const receiverNs = median(trace.receiverNs);
      const sumNs = launchNs + setupNs + linkNs + receiverNs;
      const tracedNs = median(trace.totalNs);
      const totalNs = run.samples.convergence.medianNs;
      rows.push({
        path: pathOf(run, path),
        from: options.from,
        to: options.to,
        bytes,
        launch_us: nsToUs(launchNs),
        setup_us: nsToUs(setupNs),
        link_us: nsToUs(linkNs),
        receiver_us: nsToUs(receiverNs),
        sum_us: nsToUs(sumNs),
        traced_us: nsToUs(tracedNs),
        total_us: nsToUs(totalNs),
        observer_us: nsToUs(tracedNs - totalNs),
        closure_traced_pct: (100 * (sumNs - tracedNs)) / tracedNs,
        closure_pct: (100 * (sumNs - tracedNs)) / totalNs,
        api_us: nsToUs(median(run.samples.apiNs)),
        engine_us: nsToUs(engineNs(bytes)),
        rate_gbps: (curve.segments.at(-1) as { rateGbps: number }).rateGbps,
        fit_worst_pct: 100 * curve.worstResidual,
        n: trace.totalNs.length,
        ...provenanceFields(run.provenance),
      });
    }
  }
  reportProgress({ label: "breakdown", done: 1, total: 1 });
  return tableOf(rows);
}

async function traced(machine: Machine, options: BreakdownOptions, path: Path, bytes: number): Promise<Run> {
  const run = await machine.run(transfer({ from: options.from, to: options.to, bytes, path }), {
    trace: "copies",
    ...(options.traceIterations ? { traceIterations: options.traceIterations } : {}),
    ...(options.sampling ? { sampling: options.sampling } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
  });
  if (!run.trace) {
    throw new P2pError(
      "not-available",
      `no breakdown on ${machine.provenance.machine}: ${run.traceReason ?? "it has no tracer"}`,
      "A breakdown needs CUPTI (part of the CUDA toolkit, or pip's nvidia-cuda-cupti), a recording with traces, or a simulated machine.",
    );
  }
  return run;
}

function traceOf(run: Run | undefined): NonNullable<Run["trace"]> {
  return (run as Run).trace as NonNullable<Run["trace"]>;
}
