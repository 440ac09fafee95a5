/**
 * What a span on a timeline stands for. `sync` is the host waiting; such spans may lie in one another, a driver call's in that
 * of the whole wait.
 */
export type SpanKind = "api" | "copy" | "kernel" | "memset" | "sync" | "iteration";

/**
 * The one model of a timeline, whoever made it: the CUPTI pass, an imported trace, the simulator.
 * Columns of equal length, one row a span; times in nanoseconds from a zero that all rows share.
 */
export interface Timeline {
  /** Where the spans come from, such as `cupti` or `simulator`. */
  readonly source: string;
  readonly kind: readonly SpanKind[];
  /** What is drawn in one row: `host`, `GPU 0 stream s`. */
  readonly lane: readonly string[];
  readonly name: readonly string[];
  readonly startNs: Float64Array;
  readonly endNs: Float64Array;
  /** Payload of a copy or memory set, otherwise 0. */
  readonly bytes: Float64Array;
  /** Joins an API call to the work it submitted; 0 where unknown. */
  readonly correlation: Float64Array;
  /** Iteration of the program that the span belongs to, from 0; -1 where unknown. */
  readonly iteration: Int32Array;
}

export interface Span {
  kind: SpanKind;
  lane: string;
  name: string;
  startNs: number;
  endNs: number;
  bytes: number;
  correlation: number;
  iteration: number;
}

/** Columns from rows. */
export function timelineOf(source: string, spans: readonly Span[]): Timeline {
  return {
    source,
    kind: spans.map((span) => span.kind),
    lane: spans.map((span) => span.lane),
    name: spans.map((span) => span.name),
    startNs: Float64Array.from(spans, (span) => span.startNs),
    endNs: Float64Array.from(spans, (span) => span.endNs),
    bytes: Float64Array.from(spans, (span) => span.bytes),
    correlation: Float64Array.from(spans, (span) => span.correlation),
    iteration: Int32Array.from(spans, (span) => span.iteration),
  };
}

/** Row `index` of a timeline. */
export function spanAt(timeline: Timeline, index: number): Span {
  return {
    kind: timeline.kind[index] as SpanKind,
    lane: timeline.lane[index] as string,
    name: timeline.name[index] as string,
    startNs: timeline.startNs[index] as number,
    endNs: timeline.endNs[index] as number,
    bytes: timeline.bytes[index] as number,
    correlation: timeline.correlation[index] as number,
    iteration: timeline.iteration[index] as number,
  };
}
