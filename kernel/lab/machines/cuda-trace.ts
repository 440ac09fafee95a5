import { P2pError } from "../errors.js";
import type { RunOptions, Trace } from "../machine.js";
import { type NativeExecutor, type NativeTrace, translate } from "../native.js";
import type { Program } from "../program.js";
import { type Span, timelineOf } from "../timeline.js";
import { DEADLINE_MS, throwIfCancelled } from "./cuda-calls.js";

const TRACE_ITERATIONS = 200;

/** Kinds of records, as the addon numbers them. */
const API = 1;
const COPY = 2;

/** Or why the traced pass is of no use. */
export type TraceResult = { trace: Trace; warnings: string[] } | { reason: string };

/** The traced pass; a reason in its place where there is no tracer. */
export async function trace(
  executor: NativeExecutor,
  program: Program,
  options: RunOptions,
): Promise<TraceResult> {
  throwIfCancelled(options.signal);
  try {
    const iterations = options.traceIterations ?? TRACE_ITERATIONS;
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
 * [t0, t4] it starts. With several copies in an iteration, the engine's time runs from the first start to the last end.
 * An iteration in which the tracer saw no copy is left out, and said.
 */
export function traceOf(program: Program, native: NativeTrace): TraceResult {
  if (native.dropped > 0) return { reason: `the tracer dropped ${native.dropped} records` };
  const launch: number[] = [];
  const engine: number[] = [];
  const receiver: number[] = [];
  const total: number[] = [];
  const api: number[] = [];
  const spans: Span[] = [];
  const names = copyNames(program);
  const seesCalls = native.kind.includes(API);
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
    const copies: Span[] = [];
    for (; next < native.kind.length && (native.startNs[next] as number) <= t4; next++) {
      const span = spanOf(native, next, i);
      spans.push(span);
      if (span.kind === "copy") copies.push(span);
    }
    if (copies.length === 0) continue;
    nameCopies(copies, names);
    const start = Math.min(...copies.map((copy) => copy.startNs));
    const end = Math.max(...copies.map((copy) => copy.endNs));
    launch.push(start - t0);
    engine.push(end - start);
    receiver.push(t4 - end);
    total.push(t4 - t0);
    api.push(apiEnd - t0);
  }
  if (total.length === 0) return { reason: "the tracer recorded no copy of the program" };
  const missed = native.t0.length - total.length;
  return {
    trace: {
      launchNs: Float64Array.from(launch),
      engineNs: Float64Array.from(engine),
      receiverNs: Float64Array.from(receiver),
      totalNs: Float64Array.from(total),
      apiNs: Float64Array.from(api),
      timeline: timelineOf("cupti", spans),
    },
    warnings:
      missed > 0 ? [`the tracer saw no copy in ${missed} of ${native.t0.length} traced iterations`] : [],
  };
}

function spanOf(native: NativeTrace, record: number, iteration: number): Span {
  const kind = native.kind[record] as number;
  return {
    kind: kind === API ? "api" : kind === COPY ? "copy" : "kernel",
    lane: kind === API ? "host" : `GPU ${native.device[record]} stream ${native.stream[record]}`,
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
    o.op === "copy"
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
