/** The tables of a Nsight Systems export that become spans of a timeline, read by the names of their columns. */
import { apiName, copyKindOf, endsOf, isHostSync, memoryOf, overheadName } from "./cuda-names.js";
import { Lanes } from "./lanes.js";
import type { Skipped } from "./skipped.js";
import type { Cell, SqliteFile } from "./sqlite.js";
import { asNumber, type NumberCell, scanNumbers, setCall, setWork } from "./sqlite-rows.js";
import { Draft, type TimelineBuilder } from "./timeline-builder.js";

/** What the readers of all tables share. */
export interface Reading {
  readonly file: SqliteFile;
  readonly builder: TimelineBuilder;
  readonly skipped: Skipped;
  readonly strings: ReadonlyMap<number, string>;
  /** Several processes worked on GPUs: lanes tell which. */
  readonly manyProcesses: boolean;
  /** Work says of which process it is; otherwise no call may either, or the two would not be joined. */
  readonly processKnown: boolean;
  /** Rows of a table that are read at most. */
  readonly mostRows: number;
}

export const TABLES = {
  copies: "CUPTI_ACTIVITY_KIND_MEMCPY",
  kernels: "CUPTI_ACTIVITY_KIND_KERNEL",
  memsets: "CUPTI_ACTIVITY_KIND_MEMSET",
  calls: "CUPTI_ACTIVITY_KIND_RUNTIME",
  graphs: "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
  syncs: "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
  overheads: "CUPTI_ACTIVITY_KIND_OVERHEAD",
  profiler: "PROFILER_OVERHEAD",
  ranges: "NVTX_EVENTS",
} as const;

/** In CUPTI's numbering, kinds of memory begin one later. */
const MEMORY_OFFSET = 1;
const [NVTX_PUSH_POP, NVTX_START_END] = [59, 60];
const NAME_LENGTH = 200;

function callColumns({ processKnown }: Reading): string[] {
  return ["start", '"end"', processKnown ? THREAD_PROCESS : "NULL", THREAD, "nameId"];
}

/** A process is 24 bits of a 64-bit number that no double holds: cut out in SQL. */
const PROCESS = "(globalPid >> 24) & 16777215";
const THREAD_PROCESS = "(globalTid >> 24) & 16777215";
const THREAD = "globalTid & 16777215";

const WORK = ["start", '"end"', PROCESS, "correlationId", "deviceId", "streamId", "graphNodeId"] as const;
/** Cells of a call. */
const CALL = 5;

export function readCopies(reading: Reading): void {
  const draft = new Draft("copy");
  const lanes = new Lanes(reading.manyProcesses);
  const columns = [...WORK, "bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId"];
  scanNumbers(reading, TABLES.copies, columns, (cells) => {
    setWork(draft, cells, lanes);
    const [bytes, kind, source, destination, from, to] = cells.slice(WORK.length);
    draft.copyKind = copyKindOf(kind ?? -1);
    draft.name = draft.copyKind === null ? `Memcpy of kind ${kind ?? "unknown"}` : `Memcpy ${draft.copyKind}`;
    draft.bytes = bytes ?? 0;
    draft.memory = memoryOf((source ?? -2) + MEMORY_OFFSET, (destination ?? -2) + MEMORY_OFFSET);
    const ends = endsOf(draft.copyKind, draft.device, from ?? -1, to ?? -1);
    draft.from = ends.from;
    draft.to = ends.to;
    if (!reading.builder.add(draft)) reading.skipped.add("copies without a begin or end");
  });
}

export function readKernels(reading: Reading): void {
  const draft = new Draft("kernel");
  const lanes = new Lanes(reading.manyProcesses);
  scanNumbers(reading, TABLES.kernels, [...WORK, "shortName", "demangledName"], (cells) => {
    setWork(draft, cells, lanes);
    draft.name =
      reading.strings.get(cells[WORK.length] ?? -1) ??
      reading.strings.get(cells[WORK.length + 1] ?? -1) ??
      "unnamed kernel";
    if (!reading.builder.add(draft)) reading.skipped.add("kernels without a begin or end");
  });
}

export function readMemsets(reading: Reading): void {
  const draft = new Draft("memset");
  draft.name = "Memset";
  const lanes = new Lanes(reading.manyProcesses);
  scanNumbers(reading, TABLES.memsets, [...WORK, "bytes"], (cells) => {
    setWork(draft, cells, lanes);
    draft.bytes = cells[WORK.length] ?? 0;
    if (!reading.builder.add(draft)) reading.skipped.add("memory sets without a begin or end");
  });
}

/** Whole graphs; their nodes are not recorded then. */
export function readGraphs(reading: Reading): void {
  const draft = new Draft("graph");
  const lanes = new Lanes(reading.manyProcesses);
  scanNumbers(reading, TABLES.graphs, [...WORK, "graphId"], (cells) => {
    setWork(draft, cells, lanes);
    draft.name = `graph ${cells[WORK.length] ?? ""}`.trim();
    if (!reading.builder.add(draft)) reading.skipped.add("graphs without a begin or end");
  });
}

/** Runtime and driver calls. Those that make the host wait are `sync`: their own column of kinds is wrong in many versions. */
export function readCalls(reading: Reading): { waits: number } {
  const { builder, skipped, strings } = reading;
  const names = new Map<number, { name: string; waits: boolean }>();
  const lanes = new Lanes(reading.manyProcesses);
  const draft = new Draft("api");
  let waits = 0;
  scanNumbers(reading, TABLES.calls, [...callColumns(reading), "correlationId"], (cells) => {
    const id = setCall(draft, cells, lanes);
    let call = names.get(id);
    if (!call) {
      const name = apiName(strings.get(id) ?? "unnamed call");
      call = { name, waits: isHostSync(name) };
      names.set(id, call);
    }
    if (call.waits) waits++;
    draft.kind = call.waits ? "sync" : "api";
    draft.name = call.name;
    draft.correlation = cells[CALL] ?? 0;
    if (!builder.add(draft)) skipped.add("calls without a begin or end");
  });
  return { waits };
}

/** What CUPTI records of waiting; only where the calls themselves were not recorded, as it would count twice. */
export function readSyncs(reading: Reading): void {
  const draft = new Draft("sync");
  draft.name = "synchronisation";
  const lanes = new Lanes(reading.manyProcesses);
  scanNumbers(reading, TABLES.syncs, WORK, (cells) => {
    setWork(draft, cells, lanes);
    draft.lane = lanes.host(draft.process, -1);
    draft.device = -1;
    draft.graphNode = false;
    if (!reading.builder.add(draft)) reading.skipped.add("synchronisations without a begin or end");
  });
}

/** Names of what only the profiler causes begin with its word. */
export function readOverheads(reading: Reading): void {
  const draft = new Draft("overhead");
  const lanes = new Lanes(reading.manyProcesses);
  for (const table of [TABLES.overheads, TABLES.profiler]) {
    scanNumbers(reading, table, [...callColumns(reading), "overheadType"], (cells) => {
      const id = setCall(draft, cells, lanes);
      const type = cells[CALL];
      const name = typeof type === "number" ? overheadName(type) : (reading.strings.get(id) ?? "overhead");
      draft.name = table === TABLES.profiler && !name.startsWith("profiler") ? `profiler: ${name}` : name;
      if (!reading.builder.add(draft)) reading.skipped.add("overheads without a begin or end");
    });
  }
}

export function readRanges(reading: Reading): void {
  const { file, builder, skipped, strings, mostRows } = reading;
  const columns = file.tables.get(TABLES.ranges);
  if (!columns) return;
  const lanes = new Lanes(reading.manyProcesses);
  const draft = new Draft("range");
  const numbers = [...callColumns(reading).slice(0, 4), "textId", "eventType"].map((column) =>
    asNumber(columns, column),
  );
  const text = columns.has("text") ? `substr(text, 1, ${NAME_LENGTH})` : "NULL";
  const only = columns.has("eventType") ? `WHERE eventType IN (${NVTX_PUSH_POP}, ${NVTX_START_END})` : "";
  const sql = `SELECT ${[...numbers, text].join(", ")} FROM ${TABLES.ranges} ${only} LIMIT ${mostRows}`;
  file.scan(sql, (cells: readonly Cell[]) => {
    const id = setCall(draft, cells as readonly NumberCell[], lanes);
    if (cells[1] === null) {
      skipped.add("NVTX ranges that were not closed before the capture ended");
      return;
    }
    draft.crossThread = cells[5] === NVTX_START_END;
    draft.name = typeof cells[6] === "string" ? cells[6] : (strings.get(id) ?? "unnamed range");
    if (!builder.add(draft)) skipped.add("NVTX ranges without a begin or end");
  });
}
