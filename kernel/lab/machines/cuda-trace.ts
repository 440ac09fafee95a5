import { P2pError } from "../errors.js";
import type { RunOptions, Trace } from "../machine.js";
import { type NativeExecutor, type NativeTrace, translate } from "../native.js";
import type { Program } from "../program.js";
import { median } from "../sampling.js";
import { type Span, type SpanKind, timelineOf } from "../timeline.js";
import { DEADLINE_MS, throwIfCancelled } from "./cuda-calls.js";

const TRACE_ITERATIONS = 200;
/** More would be no better for a median, and the tracer keeps every record. */
const MOST_ITERATIONS = 100_000;

/** Kinds of records, as the addon numbers them. */
const API = 1;
const KINDS: Readonly<Record<number, SpanKind>> = {
  [API]: "api",
  2: "copy",
  3: "kernel",
  4: "memset",
  5: "sync",
};

/** Operations that run a kernel. */
const KERNELS: readonly string[] = ["compute", "launch", "put", "receive"];

/** Or why the traced pass is of no use. */
export type TraceResult = { trace: Trace; warnings: string[] } | { reason: string };

/** @throws P2pError `usage` when it is no number of iterations. */
export function traceIterationsOf({ traceIterations = TRACE_ITERATIONS }: RunOptions): number {
  if (Number.isSafeInteger(traceIterations) && traceIterations >= 1 && traceIterations <= MOST_ITERATIONS) {
    return traceIterations;
  }
  throw new P2pError(
    "usage",
    `traceIterations is ${traceIterations}`,
    `Give a whole number from 1 to ${MOST_ITERATIONS}.`,
  );
}

/** The traced pass; a reason in its place where there is no tracer. */
export async function trace(
  executor: NativeExecutor,
  program: Program,
  options: RunOptions,
): Promise<TraceResult> {
  throwIfCancelled(options.signal);
  try {
    const iterations = traceIterationsOf(options);
    const native = await executor.trace(iterations, options.trace === "full", DEADLINE_MS);
    if (native.cancelled) throwIfCancelled(options.signal, true);
    return traceOf(program, native);
  } catch (error) {
    const failure = translate(error);
    if (failure instanceof P2pError && failure.code === "not-available") {
      return { reason: `${failure.message} → ${failure.hint}` };
    }
    throw failure;
  }
}

/**
 * Turns the records of a traced pass into parts per iteration and a timeline. A record belongs to the iteration in whose
 * [t0, t4] it starts. Engine time runs from the first start to the last end of an iteration's copies, and of its kernels
 * where the program runs any. An iteration in which the tracer saw less than was moved is left out, and said; where that is
 * the rule, there is no trace: of a copy that the driver stages in pieces the tracer shows only the last, so that neither
 * launch nor engine would mean what they say.
 */
export function traceOf(program: Program, native: NativeTrace): TraceResult {
  if (native.dropped > 0) return { reason: `the tracer dropped ${native.dropped} records` };
  const parts = new Parts();
  const spans: Span[] = [];
  const names = copyNames(program);
  const wanted = requestedOf(program);
  const seesCalls = native.kind.includes(API);
  const short: number[] = [];
  let next = 0;
  for (let i = 0; i < native.t0.length; i++) {
    const t0 = native.t0[i] as number;
    const apiEnd = native.apiEnd[i] as number;
    const t4 = native.t4[i] as number;
    const iteration = { lane: "host", bytes: 0, correlation: 0, iteration: i };
    spans.push({ ...iteration, kind: "iteration", name: `iteration ${i}`, startNs: t0, endNs: t4 });
    if (!seesCalls) spans.push({ ...iteration, kind: "api", name: "submit", startNs: t0, endNs: apiEnd });
    spans.push({ ...iteration, kind: "sync", name: "sync", startNs: apiEnd, endNs: t4 });
    while (next < native.kind.length && (native.startNs[next] as number) < t0) next++;
    const seen: Span[] = [];
    for (; next < native.kind.length && (native.startNs[next] as number) <= t4; next++) {
      const span = spanOf(native, next, i);
      spans.push(span);
      if (span.kind === "copy" || span.kind === "kernel") seen.push(span);
    }
    const copies = seen.filter((span) => span.kind === "copy");
    const work = wanted.kernels > 0 ? seen : copies;
    if (work.length === 0) continue;
    const bytes = copies.reduce((sum, copy) => sum + copy.bytes, 0);
    if (bytes < wanted.bytes || seen.length - copies.length < wanted.kernels) {
      short.push(bytes);
      continue;
    }
    nameCopies(copies, names);
    parts.add(t0, apiEnd, t4, work);
  }
  if (short.length > parts.count) {
    return {
      reason:
        `the tracer shows ${Math.round(median(short))} of the ${wanted.bytes} bytes that an iteration copies` +
        `${wanted.kernels > 0 ? ` and not all of its ${wanted.kernels} kernels` : ""}: the driver stages the copy in pieces, ` +
        "and only the last of them are recorded",
    };
  }
  if (parts.count === 0) return { reason: "the tracer recorded no copy of the program" };
  const missed = native.t0.length - parts.count;
  return {
    trace: { ...parts.arrays(), timeline: timelineOf("cupti", spans) },
    warnings:
      missed > 0 ? [`the tracer saw no copy in ${missed} of ${native.t0.length} traced iterations`] : [],
  };
}

/** What one iteration must leave with the tracer. */
function requestedOf(program: Program): { bytes: number; kernels: number } {
  let bytes = 0;
  let kernels = 0;
  for (const o of program.data.operations) {
    if (o.op === "copy" && o.engine === undefined) bytes += o.bytes;
    else if (KERNELS.includes(o.op) || o.op === "copy") kernels++;
  }
  return { bytes, kernels };
}

/** The parts of each iteration, nanoseconds. */
class Parts {
  readonly #launch: number[] = [];
  readonly #engine: number[] = [];
  readonly #receiver: number[] = [];
  readonly #total: number[] = [];
  readonly #api: number[] = [];

  get count(): number {
    return this.#total.length;
  }

  add(t0: number, apiEnd: number, t4: number, work: readonly Span[]): void {
    const start = Math.min(...work.map((span) => span.startNs));
    const end = Math.max(...work.map((span) => span.endNs));
    this.#launch.push(start - t0);
    this.#engine.push(end - start);
    this.#receiver.push(t4 - end);
    this.#total.push(t4 - t0);
    this.#api.push(apiEnd - t0);
  }

  arrays(): Omit<Trace, "timeline"> {
    return {
      launchNs: Float64Array.from(this.#launch),
      engineNs: Float64Array.from(this.#engine),
      receiverNs: Float64Array.from(this.#receiver),
      totalNs: Float64Array.from(this.#total),
      apiNs: Float64Array.from(this.#api),
    };
  }
}

function spanOf(native: NativeTrace, record: number, iteration: number): Span {
  const kind = KINDS[native.kind[record] as number] as SpanKind;
  return {
    kind,
    lane:
      kind === "api" || kind === "sync"
        ? "host"
        : `GPU ${native.device[record]} stream ${native.stream[record]}`,
    name: native.name[record] as string,
    startNs: native.startNs[record] as number,
    endNs: native.endNs[record] as number,
    bytes: native.bytes[record] as number,
    correlation: native.correlation[record] as number,
    iteration,
  };
}

/** Lane and name of each copy of an iteration, in the order submitted. */
function copyNames(program: Program): { lane: string; name: string }[] {
  const gpuOf = new Map(program.data.streams.map((stream) => [stream.name, stream.gpu]));
  return program.data.operations.flatMap((o) =>
    o.op === "copy" && o.engine === undefined
      ? [{ lane: `GPU ${gpuOf.get(o.stream)} stream ${o.stream}`, name: `${o.src} → ${o.dst}` }]
      : [],
  );
}

/**
 * Gives the records of an iteration the program's own names when there is one for each copy; the driver's own staging
 * makes more, and these keep what CUPTI calls them. Correlation numbers ascend in the order of submission.
 */
function nameCopies(copies: readonly Span[], names: readonly { lane: string; name: string }[]): void {
  if (copies.length !== names.length) return;
  const submitted = [...copies].sort((a, b) => a.correlation - b.correlation);
  for (const [index, copy] of submitted.entries()) Object.assign(copy, names[index]);
}
