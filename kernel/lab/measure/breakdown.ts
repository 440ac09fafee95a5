import { P2pError, shown } from "../errors.js";
import { interruptSignal } from "../interrupt.js";
import type { Machine, Run } from "../machine.js";
import type { SyncMethod } from "../program.js";
import { reportProgress } from "../progress.js";
import { Random } from "../random.js";
import { median, type SamplingOptions } from "../sampling.js";
import { type Modes, shapeOf } from "../series.js";
import { type Bytes, formatBytes, formatNs, nsToUs, parseBytes, sizes } from "../units.js";
import { listOf } from "./axes.js";
import { expectMachine, expectNames, expectOptions, expectSome } from "./expect.js";
import { type CurveFit, fitCurve, LEAST_POINTS, timeAt } from "./fit.js";
import { stopped } from "./partial.js";
import { PROVENANCE_COLUMNS, provenanceFields, type Table, tableOf } from "./table.js";
import { type Path, pathOf, transfer } from "./transfer.js";

export interface BreakdownOptions {
  from: number;
  to: number;
  /** Sizes to show. */
  bytes: Bytes | readonly Bytes[];
  /** Default `peer`. */
  path?: Path | readonly Path[];
  /** Ways in which the host learns that all is complete, which is what the receiver's part is about; default `spin`. */
  sync?: SyncMethod | readonly SyncMethod[];
  sampling?: SamplingOptions;
  /** Iterations of each traced pass; default 200. */
  traceIterations?: number;
  signal?: AbortSignal;
}

/** Sizes that the engine-time line is fitted over, beside those asked for: 8 B to 64 MiB in steps of 8. */
export const FIT_SIZES: readonly number[] = sizes("8 B", "64 MiB", { factor: 8 });

/** The engine's share of a size is flagged where the fit misses it by more than this. */
const MISS = 0.015;
/**
 * Larger sizes do not take less engine time. One that takes more than the larger ones by this share ran in a slower mode all
 * along, and is kept out of the fit.
 */
const FALLING = 0.1;
/** An engine that starts this much later than for the smallest size, and by this share of the total, was not seen starting. */
const LATE_NS = 10_000;
const LATE_SHARE = 0.1;

const CELL_ERRORS: readonly string[] = ["not-available", "not-recorded"];

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
 * Where engine time has two modes (copies through the host are taken over late now and then), the parts, `engine_us` and
 * `traced_us` are of the iterations in the faster one, `mode_share` says how many these are, and `slow_engine_us` what the others
 * took; without modes they are 1 and null. `flags` says what to mind: two modes, a size that the fit misses. What the tracer did
 * not see, or cannot be had, is null with its `reason`; so are parts of a copy of which it shows only the last pieces, as it
 * does of what the driver stages.
 *
 * @returns a row a path, way to sync (column `sync`, only where asked for) and size, with `from`, `to`, `bytes`, `api_us`
 * (untraced), `n` (iterations the parts are of) and the provenance columns beside those above.
 * @throws P2pError `usage`; `not-available` or `not-recorded` where not one row could be had; `cancelled`, after which
 * `lab.partial()` gives the rows of the sizes that were done.
 */
export async function breakdown(machine: Machine, options: BreakdownOptions): Promise<Table> {
  expectMachine(machine, "lab.breakdown");
  expectOptions(options, "lab.breakdown");
  expectNames(options, NAMES, "lab.breakdown");
  const { traceIterations = 1 } = options;
  if (!Number.isSafeInteger(traceIterations) || traceIterations < 1) {
    throw new P2pError(
      "usage",
      `lab.breakdown over ${shown(traceIterations)} traced iterations`,
      "Give a whole number from 1.",
    );
  }
  const paths = unique(listOf(options.path ?? "peer"), "path");
  const syncs = unique(listOf(options.sync ?? "spin"), "sync");
  const asked = unique(listOf(options.bytes), "bytes").map(parseBytes);
  const ladder = [...new Set([...FIT_SIZES, ...asked])].sort((a, b) => a - b);
  const cells = paths.flatMap((path) =>
    syncs.flatMap((sync) => ladder.map((bytes): Cell => ({ path, sync, bytes }))),
  );
  const seen = new Map<Cell, Observed>();
  const signal = options.signal ?? interruptSignal();
  const told = { ...options, ...(signal && { signal }) };
  /** @returns what ended it early; null when nothing did. */
  const observeAll = async (on: Machine, part: readonly Cell[]): Promise<{ cause: unknown } | null> => {
    for (const cell of new Random(part.length).shuffle(part)) {
      reportProgress({
        label: `breakdown ${cell.path}${syncs.length > 1 ? ` ${cell.sync}` : ""} ${formatBytes(cell.bytes)}`,
        done: seen.size,
        total: cells.length,
      });
      try {
        if (signal?.aborted) throw new P2pError("cancelled", "stopped on request", "Run it again.");
        seen.set(cell, await observe(on, told, cell));
      } catch (cause) {
        return { cause };
      }
    }
    return null;
  };
  let stop = await observeAll(machine, cells);
  if (!stop && machine.backedBy) {
    const more = cellsBehind(seen);
    cells.push(...more);
    if (more.length > 0) stop = await observeAll(machine.backedBy.model(), more);
  }
  if (!stop) reportProgress({ label: "breakdown", done: cells.length, total: cells.length });
  const rows = paths.flatMap((path) =>
    syncs.flatMap((sync) => {
      const own = cells.filter((cell) => cell.path === path && cell.sync === sync && seen.has(cell));
      return rowsOf(
        machine,
        options,
        own.map((cell) => ({ ...(seen.get(cell) as Observed), cell })),
        asked,
      );
    }),
  );
  if (stop) {
    const done = tableOf(
      rows.filter((row) => row.total_us !== null),
      COLUMNS.filter((name) => name !== "sync" || options.sync !== undefined),
    );
    const cancelled = stop.cause instanceof P2pError && stop.cause.code === "cancelled";
    throw stopped("lab.breakdown", done, { done: seen.size, total: cells.length }, stop.cause, cancelled);
  }
  if (rows.every((row) => row.launch_us === null)) throw nothing(machine, [...seen.values()]);
  return tableOf(rows);
}

const NAMES = ["from", "to", "bytes", "path", "sync", "sampling", "traceIterations", "signal"] as const;

const COLUMNS = [
  ...["path", "from", "to", "sync", "bytes", "launch_us", "setup_us", "link_us", "receiver_us", "sum_us"],
  ...["traced_us", "total_us", "observer_us", "closure_traced_pct", "closure_pct", "api_us", "engine_us"],
  ...["rate_gbps", "fit_worst_pct", "mode_share", "slow_engine_us", "n", "flags", "reason"],
  ...PROVENANCE_COLUMNS,
];

interface Cell {
  readonly path: Path;
  readonly sync: SyncMethod;
  readonly bytes: number;
  /** Observed on the model behind the machine, for the fit of sizes that only the model answers. */
  readonly behind?: true;
}

/** Where sizes of a path were answered by two sources, what the model needs for a fit of its own: the other sizes. */
function cellsBehind(seen: ReadonlyMap<Cell, Observed>): Cell[] {
  const modelled = (cell: Cell) => seen.get(cell)?.run?.provenance.kind === "simulated";
  const all = [...seen.keys()];
  return all.flatMap((cell): Cell[] => {
    const alike = all.some(
      (other) => other.path === cell.path && other.sync === cell.sync && modelled(other),
    );
    return alike && !modelled(cell) ? [{ ...cell, behind: true }] : [];
  });
}

/** What came of a cell: its run, the parts that the tracer saw of it, and otherwise why not. */
interface Observed {
  readonly run: Run | null;
  readonly parts: Parts | null;
  readonly reason: string | null;
  readonly error: P2pError | null;
}

/** Medians over the iterations of one mode, nanoseconds. */
interface Parts {
  readonly launchNs: number;
  readonly engineNs: number;
  readonly receiverNs: number;
  readonly totalNs: number;
  readonly n: number;
  readonly modes: Modes | null;
}

function unique<T>(list: readonly T[], what: string): T[] {
  return [...new Set(expectSome(list, what, "lab.breakdown"))];
}

async function observe(machine: Machine, options: BreakdownOptions, cell: Cell): Promise<Observed> {
  const { from, to, traceIterations, sampling, signal } = options;
  const { path, sync, bytes } = cell;
  const program = transfer({ from, to, path, sync, bytes });
  try {
    const run = await machine.run(program, {
      trace: "copies",
      ...(traceIterations !== undefined && { traceIterations }),
      ...(sampling && { sampling }),
      ...(signal && { signal }),
    });
    const reason = run.trace ? null : (run.traceReason ?? "the machine has no tracer");
    return { run, parts: run.trace && partsOf(run.trace), reason, error: null };
  } catch (error) {
    if (!(error instanceof P2pError) || !CELL_ERRORS.includes(error.code)) throw error;
    return { run: null, parts: null, reason: error.message, error };
  }
}

function partsOf(trace: NonNullable<Run["trace"]>): Parts {
  const { modes } = shapeOf(trace.engineNs);
  const edgeNs = modes ? Math.sqrt(modes.lowNs * modes.highNs) : Number.POSITIVE_INFINITY;
  const kept = (series: Float64Array) => series.filter((_, i) => (trace.engineNs[i] as number) <= edgeNs);
  const medianOf = (series: Float64Array) => median(kept(series));
  return {
    launchNs: medianOf(trace.launchNs),
    engineNs: medianOf(trace.engineNs),
    receiverNs: medianOf(trace.receiverNs),
    totalNs: medianOf(trace.totalNs),
    n: kept(trace.totalNs).length,
    modes,
  };
}

type Seen = Observed & { readonly cell: Cell };

/** Rows of one path and way to sync. Sizes that different sources answered are fitted apart. */
function rowsOf(
  machine: Machine,
  options: BreakdownOptions,
  all: readonly Seen[],
  asked: readonly number[],
): Record<string, unknown>[] {
  const sources = new Set(all.map(({ run }) => run?.provenance.source));
  const groups = [...sources].map((source) => {
    const own = all.filter(({ run }) => run?.provenance.source === source);
    own.sort((a, b) => a.cell.bytes - b.cell.bytes);
    const judged = own.map((entry) => withoutUnseen(entry, own));
    return { judged, ...fitOf(judged) };
  });
  return asked.flatMap((bytes) => {
    const asAsked = ({ cell }: Seen) => cell.bytes === bytes && !cell.behind;
    const group = groups.find(({ judged }) => judged.some(asAsked));
    const entry = group?.judged.find(asAsked);
    // Not yet measured when it was stopped.
    if (!group || !entry) return [];
    const { judged, fit, leftOut } = group;
    const { run, parts, cell } = entry;
    const engine = parts && fit ? engineFields(fit, bytes, parts) : null;
    const sumNs = parts && engine ? parts.launchNs + engine.setupNs + engine.linkNs + parts.receiverNs : null;
    const totalNs = run?.samples.convergence.medianNs ?? null;
    const off = sumNs !== null && parts ? sumNs - parts.totalNs : null;
    return {
      path: run ? pathOf(run, cell.path) : cell.path,
      from: options.from,
      to: options.to,
      ...(options.sync === undefined ? {} : { sync: cell.sync }),
      bytes,
      launch_us: us(parts?.launchNs),
      setup_us: us(engine?.setupNs),
      link_us: us(engine?.linkNs),
      receiver_us: us(parts?.receiverNs),
      sum_us: us(sumNs),
      traced_us: us(parts?.totalNs),
      total_us: us(totalNs),
      observer_us: parts && totalNs !== null ? nsToUs(parts.totalNs - totalNs) : null,
      closure_traced_pct: parts && off !== null ? (100 * off) / parts.totalNs : null,
      closure_pct: off !== null && totalNs !== null ? (100 * off) / totalNs : null,
      api_us: run ? nsToUs(median(run.samples.apiNs)) : null,
      engine_us: us(parts?.engineNs),
      rate_gbps: engine?.rateGbps ?? null,
      fit_worst_pct: fit ? 100 * fit.worstResidual : null,
      mode_share: parts ? (parts.modes ? 1 - parts.modes.highShare : 1) : null,
      slow_engine_us: us(parts?.modes?.highNs),
      n: parts?.n ?? null,
      flags: parts ? flagsOf(parts, engine, leftOut.has(bytes)).join("; ") : "",
      reason:
        entry.reason ??
        (fit
          ? null
          : `setup and link need engine times of ${LEAST_POINTS} sizes, ${timed(judged).length} could be had`),
      ...provenanceFields(run?.provenance ?? machine.provenance),
    };
  });
}

/** Takes away parts that begin with an engine start that the tracer did not see. */
function withoutUnseen(entry: Seen, all: readonly Seen[]): Seen {
  const first = all.find(({ parts }) => parts !== null)?.parts;
  const { parts } = entry;
  if (!first || !parts) return entry;
  const lateNs = parts.launchNs - first.launchNs;
  if (lateNs < LATE_NS || lateNs < LATE_SHARE * parts.totalNs) return entry;
  const reason =
    `the engine seems to start ${formatNs(lateNs)} later than for the smallest size: the tracer shows only the last pieces of ` +
    "the copy, so that neither launch nor engine time means what it says";
  return { ...entry, parts: null, reason };
}

/**
 * Engine time against size, without the sizes that ran in a slower mode all along, and without those that the tracer gave no
 * time: residuals are relative.
 */
function fitOf(all: readonly Seen[]): { fit: CurveFit | null; leftOut: ReadonlySet<number> } {
  const points = timed(all).map(({ cell, parts }) => ({ bytes: cell.bytes, ns: parts.engineNs }));
  const kept = points.filter(
    (point, i) => !points.slice(i + 1).some((larger) => point.ns > larger.ns * (1 + FALLING)),
  );
  const leftOut = new Set(points.filter((point) => !kept.includes(point)).map(({ bytes }) => bytes));
  return { fit: kept.length >= LEAST_POINTS ? fitCurve(kept) : null, leftOut };
}

/** Those whose engine took a time that the tracer could tell from none. */
function timed(all: readonly Seen[]): (Seen & { readonly parts: Parts })[] {
  return all.filter((entry): entry is Seen & { readonly parts: Parts } => (entry.parts?.engineNs ?? 0) > 0);
}

interface EngineFields {
  readonly setupNs: number;
  readonly linkNs: number;
  /** Null where time does not grow with size. */
  readonly rateGbps: number | null;
  /** Fitted over measured engine time, less 1; null where none was measured. */
  readonly miss: number | null;
}

function engineFields(fit: CurveFit, bytes: number, parts: Parts): EngineFields {
  const setupNs = (fit.segments[0] as { alphaNs: number }).alphaNs;
  const fittedNs = timeAt(fit, bytes);
  const { rateGbps } = fit.segments.at(-1) as { rateGbps: number };
  return {
    setupNs,
    linkNs: fittedNs - setupNs,
    rateGbps: Number.isFinite(rateGbps) ? rateGbps : null,
    miss: parts.engineNs > 0 ? fittedNs / parts.engineNs - 1 : null,
  };
}

function flagsOf({ modes }: Parts, engine: EngineFields | null, leftOut: boolean): string[] {
  const pct = (share: number) => `${Number((100 * share).toPrecision(2))} %`;
  return [
    ...(modes
      ? [
          `two modes of engine time: ${formatNs(modes.lowNs)} and ${formatNs(modes.highNs)} ` +
            `(${pct(modes.highShare)} of iterations); the parts are those of the faster`,
        ]
      : []),
    ...(leftOut ? ["slower than larger sizes, and so kept out of the fit"] : []),
    ...(engine && engine.miss === null ? ["the tracer shows an engine that took no time"] : []),
    ...(engine?.miss && Math.abs(engine.miss) > MISS
      ? [`the fit misses engine time by ${pct(engine.miss)}`]
      : []),
  ];
}

function us(ns: number | null | undefined): number | null {
  return ns === null || ns === undefined ? null : nsToUs(ns);
}

/** The error of a table that would hold nothing. */
function nothing(machine: Machine, seen: readonly Observed[]): P2pError {
  const error = seen.find((entry) => entry.error !== null)?.error;
  if (error) return error;
  return new P2pError(
    "not-available",
    `no breakdown on ${machine.provenance.machine}: ${seen.find(({ reason }) => reason !== null)?.reason ?? "nothing was traced"}`,
    "A breakdown needs CUPTI (part of the CUDA toolkit, or pip's nvidia-cuda-cupti), a recording with traces, or a simulated machine.",
  );
}
