import {
  columnFromArray,
  float64,
  int32,
  list,
  tableFromColumns,
  tableFromIPC,
  tableToIPC,
  utf8,
} from "@uwdata/flechette";
import { messageOf, P2pError } from "../errors.js";
import type {
  GraphCosts,
  MachineInfo,
  ProbeFacts,
  Provenance,
  RunMode,
  RunOptions,
  RunState,
  Throughput,
  Trace,
  Verification,
} from "../machine.js";
import { Program, type ProgramData } from "../program.js";
import type { Convergence } from "../sampling.js";
import { type SpanKind, spanAt, type Timeline, timelineOf } from "../timeline.js";
import { CHECKSUM_KEY, requireSealed, seal, UNSEALED } from "./checksum.js";

/**
 * The recording format, version 1: one Arrow IPC file, a row a program. Series are list columns of whole nanoseconds, so
 * that pandas, polars and DuckDB read them too. What describes the machine is JSON in the schema's metadata under
 * `p2plab`, with a SHA-256 of the file: a damaged one is refused before it is parsed, never half-read.
 */
export const SCHEMA = "p2plab-recording/1";

/** Of a timeline, the spans of the first iterations are kept; the traced series themselves are kept whole. */
export const TIMELINE_ITERATIONS = 16;

export type TraceKind = NonNullable<RunOptions["trace"]>;

/** The same program in another mode, with and without a traced pass, or with another kind of one, are runs of their own. */
export function runKey(programHash: string, trace: TraceKind | null | undefined, mode: RunMode): string {
  return `${programHash} ${trace ?? "untraced"}${mode === "throughput" ? " throughput" : ""}`;
}

/** A program that was run, and what came of it. */
export interface RecordedRun {
  readonly program: Program;
  readonly mode: RunMode;
  readonly totalNs: Float64Array;
  readonly apiNs: Float64Array;
  readonly convergence: Convergence;
  /** Which traced pass was asked for beside the timing pass. */
  readonly traceKind: TraceKind | null;
  readonly trace: Trace | null;
  readonly traceReason: string | null;
  readonly verification: Verification;
  readonly throughput?: Throughput;
  readonly graph?: GraphCosts;
  readonly counts?: Readonly<Record<string, number>>;
  readonly probe?: ProbeFacts;
  readonly state?: RunState | null;
  readonly stateReason?: string | null;
  readonly firstNs?: number;
  /** Of a baseline: the program was run so many times anew, and so many samples are of each run, in this order. */
  readonly rounds?: readonly number[];
  readonly warnings: readonly string[];
}

export interface Recording {
  /** Of the machine that was measured; `kind` is `measured`, or `simulated` in the baseline of a model. */
  readonly provenance: Provenance;
  readonly info: MachineInfo;
  readonly runs: readonly RecordedRun[];
}

const SERIES = [
  "total_ns",
  "api_ns",
  "trace_launch_ns",
  "trace_engine_ns",
  "trace_receiver_ns",
  "trace_total_ns",
  "trace_api_ns",
  "span_start_ns",
  "span_end_ns",
  "span_bytes",
  "span_correlation",
  "span_iteration",
] as const;
type SeriesName = (typeof SERIES)[number];
type Row = { hash: string; run_json: string } & Record<SeriesName, Float64Array>;

interface RunJson {
  program: ProgramData;
  convergence: Convergence;
  traceKind: TraceKind | null;
  traceReason: string | null;
  verification: Verification;
  warnings: readonly string[];
  /** Absent in recordings made before there were other modes. */
  mode?: RunMode;
  throughput?: Omit<Throughput, "streams"> & {
    streams: readonly { name: string; gpu: number; totalNs: readonly number[] }[];
  };
  graph?: { nodes: number; captureNs: number[]; instantiateNs: number[]; updateNs: number[] };
  counts?: Readonly<Record<string, number>>;
  probe?: ProbeFacts;
  /** Both absent in recordings made before GPUs were asked for their state. */
  state?: RunState | null;
  stateReason?: string | null;
  firstNs?: number;
  /** In baselines only. */
  rounds?: readonly number[];
  /** Null without a trace. Spans: kind, lane, name. */
  timeline: { source: string; spans: readonly (readonly [SpanKind, string, string])[] } | null;
}

export function encodeRecording(recording: Recording): Uint8Array {
  const rows = recording.runs.map(rowOf);
  const head = { schema: SCHEMA, provenance: recording.provenance, info: recording.info };
  const text = JSON.stringify(head);
  const series = (name: SeriesName) => list(fitsInt32(rows, name) ? int32() : float64());
  const table = tableFromColumns([
    [
      "hash",
      columnFromArray(
        rows.map((row) => row.hash),
        utf8(),
      ),
    ],
    [
      "run_json",
      columnFromArray(
        rows.map((row) => row.run_json),
        utf8(),
      ),
    ],
    ...SERIES.map(
      (name) =>
        [name, columnFromArray(rows.map((row) => row[name]) as unknown as number[][], series(name))] as [
          string,
          ReturnType<typeof columnFromArray>,
        ],
    ),
  ]);
  table.schema.metadata = new Map([
    ["p2plab", text],
    [CHECKSUM_KEY, UNSEALED],
  ]);
  const bytes = tableToIPC(table, { format: "file" });
  if (!bytes) throw new P2pError("recording", "the recording could not be encoded", "Report this as a bug.");
  return seal(bytes);
}

/**
 * Reads a recording.
 * @param origin the file's name, for messages.
 * @throws P2pError `recording` when it is not one, of another version, truncated or changed.
 */
export function decodeRecording(bytes: Uint8Array, origin: string): Recording {
  let head: { schema: string; provenance: Provenance; info: MachineInfo };
  let rows: Row[];
  try {
    if (new TextDecoder().decode(bytes.subarray(0, 6)) !== "ARROW1")
      throw new Error("it is not an Arrow IPC file");
    requireSealed(bytes);
    const table = tableFromIPC(bytes);
    const text = table.schema.metadata?.get("p2plab");
    if (text === undefined) throw new Error("it is an Arrow file, but holds no p2plab recording");
    head = JSON.parse(text);
    if (head.schema !== SCHEMA)
      throw new Error(`it has schema ${JSON.stringify(head.schema)}, this version reads ${SCHEMA}`);
    const column = (name: string) => {
      const found = table.getChild(name);
      if (!found) throw new Error(`column ${name} is missing`);
      return found;
    };
    const texts = { hash: column("hash"), run_json: column("run_json") };
    const series = SERIES.map((name) => [name, column(name)] as const);
    rows = Array.from({ length: table.numRows }, (_, index) => {
      const row: Record<string, unknown> = { hash: texts.hash.at(index), run_json: texts.run_json.at(index) };
      for (const [name, values] of series)
        row[name] = Float64Array.from(values.at(index) as Iterable<number>);
      return row as Row;
    });
  } catch (error) {
    throw new P2pError(
      "recording",
      `${origin} cannot be read as a recording: ${messageOf(error)}`,
      "The file is damaged or of another kind: fetch it again, or record anew with p2plab record.",
      { cause: error },
    );
  }
  return { provenance: head.provenance, info: head.info, runs: rows.map(runOf) };
}

/** Whole nanoseconds under two seconds, as nearly all are: stored in half the space, without loss. */
function fitsInt32(rows: readonly Row[], name: SeriesName): boolean {
  return rows.every((row) => row[name].every((value) => value === (value | 0)));
}

function rowOf(run: RecordedRun): Row {
  const trace = run.trace;
  const kept = trace ? firstIterations(trace.timeline) : null;
  const json: RunJson = {
    program: run.program.data,
    convergence: run.convergence,
    traceKind: run.traceKind,
    traceReason: run.traceReason,
    verification: run.verification,
    warnings: run.warnings,
    ...(run.mode === "latency" ? {} : { mode: run.mode }),
    ...extrasToJson(run),
    timeline: kept && {
      source: kept.source,
      spans: kept.kind.map((kind, i) => [kind, kept.lane[i] as string, kept.name[i] as string]),
    },
  };
  const none = new Float64Array();
  return {
    hash: run.program.hash,
    run_json: JSON.stringify(json),
    total_ns: run.totalNs,
    api_ns: run.apiNs,
    trace_launch_ns: trace?.launchNs ?? none,
    trace_engine_ns: trace?.engineNs ?? none,
    trace_receiver_ns: trace?.receiverNs ?? none,
    trace_total_ns: trace?.totalNs ?? none,
    trace_api_ns: trace?.apiNs ?? none,
    span_start_ns: kept?.startNs ?? none,
    span_end_ns: kept?.endNs ?? none,
    span_bytes: kept?.bytes ?? none,
    span_correlation: kept?.correlation ?? none,
    span_iteration: Float64Array.from(kept?.iteration ?? []),
  };
}

/** What only some runs have. */
type Extra = "throughput" | "graph" | "counts" | "probe" | "firstNs" | "rounds" | "state" | "stateReason";

function extrasToJson(run: RecordedRun): Pick<RunJson, Extra> {
  const { throughput, graph, counts, probe, firstNs, rounds, state, stateReason } = run;
  return {
    ...(throughput && {
      throughput: {
        ...throughput,
        streams: throughput.streams.map((stream) => ({ ...stream, totalNs: [...stream.totalNs] })),
      },
    }),
    ...(graph && {
      graph: {
        nodes: graph.nodes,
        captureNs: [...graph.captureNs],
        instantiateNs: [...graph.instantiateNs],
        updateNs: [...graph.updateNs],
      },
    }),
    ...(counts && { counts }),
    ...(probe && { probe }),
    ...(firstNs !== undefined && { firstNs }),
    ...(rounds && { rounds }),
    ...(state !== undefined && { state }),
    ...(stateReason !== undefined && { stateReason }),
  };
}

function extrasOf(json: RunJson): Pick<RecordedRun, Extra> {
  const { throughput, graph, counts, probe, firstNs, rounds, state, stateReason } = json;
  return {
    ...(throughput && {
      throughput: {
        ...throughput,
        streams: throughput.streams.map((stream) => ({
          ...stream,
          totalNs: Float64Array.from(stream.totalNs),
        })),
      },
    }),
    ...(graph && {
      graph: {
        nodes: graph.nodes,
        captureNs: Float64Array.from(graph.captureNs),
        instantiateNs: Float64Array.from(graph.instantiateNs),
        updateNs: Float64Array.from(graph.updateNs),
      },
    }),
    ...(counts && { counts }),
    ...(probe && { probe }),
    ...(state !== undefined && { state }),
    ...(stateReason !== undefined && { stateReason }),
    ...(firstNs !== undefined && { firstNs }),
    ...(rounds && { rounds }),
  };
}

function runOf(row: Row): RecordedRun {
  const json = JSON.parse(row.run_json) as RunJson;
  const timeline: Timeline | null = json.timeline && {
    source: json.timeline.source,
    kind: json.timeline.spans.map((span) => span[0]),
    lane: json.timeline.spans.map((span) => span[1]),
    name: json.timeline.spans.map((span) => span[2]),
    startNs: row.span_start_ns,
    endNs: row.span_end_ns,
    bytes: row.span_bytes,
    correlation: row.span_correlation,
    iteration: Int32Array.from(row.span_iteration),
  };
  return {
    program: new Program(json.program),
    mode: json.mode ?? "latency",
    totalNs: row.total_ns,
    apiNs: row.api_ns,
    convergence: json.convergence,
    traceKind: json.traceKind,
    trace: timeline && {
      launchNs: row.trace_launch_ns,
      engineNs: row.trace_engine_ns,
      receiverNs: row.trace_receiver_ns,
      totalNs: row.trace_total_ns,
      apiNs: row.trace_api_ns,
      timeline,
    },
    traceReason: json.traceReason,
    verification: json.verification,
    ...extrasOf(json),
    warnings: json.warnings,
  };
}

function firstIterations(timeline: Timeline): Timeline {
  const rows = timeline.kind
    .map((_, index) => index)
    .filter((index) => (timeline.iteration[index] as number) < TIMELINE_ITERATIONS);
  return timelineOf(
    timeline.source,
    rows.map((index) => spanAt(timeline, index)),
  );
}
