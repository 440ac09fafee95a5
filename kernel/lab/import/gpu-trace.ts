import { type Span, type Timeline, timelineOf } from "../timeline.js";

/** Which columns of a trace hold what. */
export interface TraceColumns {
  /** In µs. */
  readonly start: string;
  readonly duration: string;
  readonly bytes: string;
  /** Such as `Tesla V100-SXM2-32GB (0)`. */
  readonly device: string;
  readonly stream: string;
  readonly name: string;
  readonly correlation: string;
}

/** The work of GPUs from a trace that nvprof or nsys stats printed; rows without start or duration are left out. */
export function gpuSpans(
  source: string,
  names: TraceColumns,
  columns: Readonly<Record<string, readonly (number | string | null)[]>>,
): Timeline | null {
  const numbers = (name: string) => columns[name];
  const spans: Span[] = [];
  (columns[names.start] ?? []).forEach((start, i) => {
    const duration = numbers(names.duration)?.[i];
    if (typeof start !== "number" || typeof duration !== "number") return;
    const name = String(columns[names.name]?.[i] ?? "?");
    const bytes = numbers(names.bytes)?.[i];
    const correlation = numbers(names.correlation)?.[i];
    const device = String(columns[names.device]?.[i] ?? "");
    spans.push({
      kind: /^\[CUDA memcpy/i.test(name) ? "copy" : /^\[CUDA memset/i.test(name) ? "memset" : "kernel",
      lane: `GPU ${/\((\d{1,4})\)$/.exec(device)?.[1] ?? (device || "?")} stream ${columns[names.stream]?.[i] ?? "?"}`,
      name,
      startNs: start * 1000,
      endNs: (start + duration) * 1000,
      bytes: typeof bytes === "number" ? Math.round(bytes) : 0,
      correlation: typeof correlation === "number" ? correlation : 0,
      iteration: -1,
    });
  });
  return spans.length > 0 ? timelineOf(source, spans) : null;
}
