/**
 * What a span on a timeline stands for. `sync` is the host waiting; such spans may lie in one another, a driver call's in that
 * of the whole wait. `graph` is a whole graph on a GPU, where its nodes were not recorded; `range` a stretch that the program
 * named (NVTX, an operator of PyTorch); `overhead` the profiler or the driver at work on its own behalf.
 */
export type SpanKind =
  | "api"
  | "copy"
  | "kernel"
  | "memset"
  | "graph"
  | "sync"
  | "iteration"
  | "range"
  | "overhead";

/** Direction of a copy as profilers name it; `PtoP` goes between two GPUs, `DtoD` stays on one. `A` is a CUDA array. */
export type CopyKind =
  | "HtoD"
  | "DtoH"
  | "DtoD"
  | "PtoP"
  | "HtoH"
  | "HtoA"
  | "AtoH"
  | "AtoA"
  | "AtoD"
  | "DtoA"
  | "UVM HtoD"
  | "UVM DtoH"
  | "UVM DtoD";

/**
 * The one model of a timeline, whoever made it: the CUPTI pass, an imported trace, the simulator.
 * Columns of equal length, one row a span; times in nanoseconds from a zero that all rows share.
 */
export interface Timeline {
  /** Where the spans come from, such as `cupti` or `simulator`. */
  readonly source: string;
  readonly kind: readonly SpanKind[];
  /** What is drawn in one row: `host`, `GPU 0 stream s`. Host spans of one lane are of one thread. */
  readonly lane: readonly string[];
  readonly name: readonly string[];
  readonly startNs: Float64Array;
  readonly endNs: Float64Array;
  /** Payload of a copy or memory set, otherwise 0. */
  readonly bytes: Float64Array;
  /** Joins an API call to the work it submitted, unique over all processes; 0 where unknown. */
  readonly correlation: Float64Array;
  /** Iteration of the program that the span belongs to, from 0; -1 where unknown. */
  readonly iteration: Int32Array;
  /** What a profiler's file tells beside; absent where the spans come from a run of this library, whose program tells it. */
  readonly details?: TimelineDetails;
  /** Of an imported timeline; that of a run has the run's provenance. */
  readonly origin?: TimelineOrigin;
}

/** Where the numbers of an imported timeline come from; null where the file does not say. */
export interface TimelineOrigin {
  readonly machine: string | null;
  /** Never one of the kinds that this library gives its own runs. */
  readonly provenance: "imported";
  /** ISO 8601, or the day alone. */
  readonly date: string | null;
}

/** Further columns, as long as the others. */
export interface TimelineDetails {
  /** CUDA ordinal of the GPU that the span ran on, as its process counts; -1 for the host. */
  readonly device: Int32Array;
  /** Process of the span, as the system numbers it; -1 where unknown. */
  readonly process: Int32Array;
  /** Direction of a copy; null for other spans, and where the file does not say. */
  readonly copyKind: readonly (CopyKind | null)[];
  /** GPU that a copy reads and the one that it writes; -1 for host memory, and where the file does not say. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** Kinds of memory of a copy, such as `Pageable → Device`; null where the file does not say. */
  readonly memory: readonly (string | null)[];
  /** 1 for a node of a graph: it shares its correlation with all nodes of the same launch. */
  readonly graphNode: Uint8Array;
  /** 1 for a `range` that may end on another thread than it began (NVTX start/end). */
  readonly crossThread: Uint8Array;
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
