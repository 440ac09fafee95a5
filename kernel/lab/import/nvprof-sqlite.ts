import { P2pError } from "../errors.js";
import type { Table } from "../measure/table.js";
import type { Timeline } from "../timeline.js";
import { copyKindOf, endsOf, isHostSync, memoryOf } from "./cuda-names.js";
import { capabilityOf, type Device, deviceTable, finite, machineOf, textOf } from "./devices.js";
import { Imported, type Importer } from "./importer.js";
import { Lanes } from "./lanes.js";
import { callName } from "./nvprof-calls.js";
import { Skipped } from "./skipped.js";
import { type Cell, openSqlite, quoted, type SqliteFile } from "./sqlite.js";
import { sqliteHead } from "./sqlite-head.js";
import { scanNumbers, setCall, setWork, stringsOf } from "./sqlite-rows.js";
import { Draft, TimelineBuilder } from "./timeline-builder.js";
import { timelineTables } from "./timeline-tables.js";

const FORMAT = "nvprof-sqlite";
const TITLE = "file of nvprof (SQLite, nvprof -o)";
const MOST_ROWS = 5_000_000;
const KIND = "CUPTI_ACTIVITY_KIND_";

/** Tables that become spans. */
const TABLES = {
  copies: `${KIND}MEMCPY`,
  peerCopies: `${KIND}MEMCPY2`,
  kernels: `${KIND}KERNEL`,
  concurrentKernels: `${KIND}CONCURRENT_KERNEL`,
  memsets: `${KIND}MEMSET`,
  runtime: `${KIND}RUNTIME`,
  driver: `${KIND}DRIVER`,
  syncs: `${KIND}SYNCHRONIZATION`,
  markers: `${KIND}MARKER`,
  overheads: `${KIND}OVERHEAD`,
} as const;

/**
 * nvprof, for Volta and older: a timeline of calls, copies (peer copies in a table of their own), kernels, memory sets, NVTX
 * ranges and overheads. The file holds numbers of calls, not names: those that matter here are known, the others keep theirs.
 */
export const importer: Importer = {
  format: FORMAT,
  title: TITLE,
  detect: (head) => sqliteHead(head, /\bStringTable\b|CUPTI_ACTIVITY_KIND_\w+\s*\(\s*_id_\b/),
  async read(source) {
    const file = await openSqlite(source);
    let content: Content;
    try {
      content = contentOf(file, source.name);
    } finally {
      file.close();
    }
    const { timeline, tables, notes } = content;
    return new Imported({
      format: FORMAT,
      title: TITLE,
      tables: { ...timelineTables(timeline), ...tables },
      timeline,
      notes,
      source,
    });
  },
};

interface Content {
  readonly timeline: Timeline;
  readonly tables: Readonly<Record<string, Table>>;
  readonly notes: readonly string[];
}

interface Reading {
  readonly file: SqliteFile;
  readonly mostRows: number;
  readonly builder: TimelineBuilder;
  readonly skipped: Skipped;
  readonly strings: ReadonlyMap<number, string>;
  readonly lanes: Lanes;
  /** Begin and end, less the begin of the capture: nanoseconds since 1970 are exact in SQL only. */
  readonly times: readonly [start: string, end: string];
  readonly zero: string;
}

function contentOf(file: SqliteFile, name: string): Content {
  const present = Object.values(TABLES).filter((table) => file.tables.has(table));
  if (present.length === 0) {
    const others = [...file.tables.keys()].slice(0, 8).join(", ");
    throw new P2pError(
      "import",
      `${name} is a SQLite file without the tables of nvprof; it has ${others || "none"}`,
      "Make one with: nvprof -o FILE PROGRAM",
    );
  }
  const rows = present.map((table) => [table, file.count(table)] as const);
  const zero = zeroOf(file);
  const reading: Reading = {
    file,
    mostRows: MOST_ROWS,
    builder: new TimelineBuilder(
      Math.min(
        MOST_ROWS,
        rows.reduce((sum, [, count]) => sum + count, 0),
      ),
    ),
    skipped: new Skipped(),
    strings: stringsOf({ file, mostRows: MOST_ROWS }, "StringTable", "_id_"),
    lanes: new Lanes(false),
    times: [`start - ${zero}`, `"end" - ${zero}`],
    zero,
  };
  readCopies(reading, TABLES.copies);
  readCopies(reading, TABLES.peerCopies);
  readKernels(reading, TABLES.kernels);
  readKernels(reading, TABLES.concurrentKernels);
  readMemsets(reading);
  const waits = readCalls(reading, TABLES.runtime, "runtime") + readCalls(reading, TABLES.driver, "driver");
  if (waits === 0) readSyncs(reading);
  readMarkers(reading);
  readOverheads(reading);
  const devices = devicesOf(reading);
  const origin = { machine: machineOf(devices), date: dateOf(zero) };
  return {
    timeline: reading.builder.build("nvprof", origin),
    tables: { devices: deviceTable(devices, origin) },
    notes: [
      ...(file.tables.has("P2PLAB_SYNTHETIC")
        ? ["synthetic: made to test a parser, not captured on a machine"]
        : []),
      ...rows
        .filter(([, count]) => count > MOST_ROWS)
        .map(([table, count]) => `only the first ${MOST_ROWS} of ${count} rows of ${table} were read`),
      ...(reading.builder.length === 0
        ? ["nothing was captured: an empty capture says nothing about health"]
        : []),
      ...reading.skipped.notes(),
      ...file.damage,
    ],
  };
}

/** The first time in the file, as a number of SQL. */
function zeroOf(file: SqliteFile): string {
  let zero: bigint | null = null;
  for (const table of Object.values(TABLES)) {
    if (!file.tables.get(table)?.has("start")) continue;
    file.scan(`SELECT CAST(min(start) AS TEXT) FROM ${quoted(table)} WHERE start > 0`, ([first]) => {
      if (typeof first !== "string" || !/^\d{1,18}$|^\d{19}$/.test(first)) return;
      const own = BigInt(first);
      if (zero === null || own < zero) zero = own;
    });
  }
  return String(zero ?? 0n);
}

/** nvprof's clock counts nanoseconds since 1970. */
function dateOf(zero: string): string | null {
  const ms = Number(zero) / 1e6;
  return ms > Date.UTC(2008, 0) && ms < Date.UTC(2100, 0) ? new Date(ms).toISOString() : null;
}

/** What all work on a GPU has; one process writes a file, so that its number is in no row. */
function workOf({ times }: Reading): string[] {
  return [...times, "NULL", "correlationId", "deviceId", "streamId", "graphNodeId"];
}
const WORK_CELLS = 7;

function readCopies(reading: Reading, table: string): void {
  const draft = new Draft("copy");
  const columns = ["bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId"];
  scanNumbers(reading, table, [...workOf(reading), ...columns], (cells) => {
    setWork(draft, cells, reading.lanes);
    const [bytes, kind, source, destination, from, to] = cells.slice(WORK_CELLS);
    // A peer copy within a GPU keeps its number; what tells it is that both ends are the same.
    const peer = table === TABLES.peerCopies && from !== to;
    draft.copyKind = peer ? "PtoP" : copyKindOf(kind ?? -1);
    draft.name = draft.copyKind === null ? `Memcpy of kind ${kind ?? "unknown"}` : `Memcpy ${draft.copyKind}`;
    draft.bytes = bytes ?? 0;
    draft.memory = memoryOf(source ?? -1, destination ?? -1);
    const ends = endsOf(draft.copyKind, draft.device, from ?? -1, to ?? -1);
    draft.from = ends.from;
    draft.to = ends.to;
    if (!reading.builder.add(draft)) reading.skipped.add("copies without a begin or end");
  });
}

function readKernels(reading: Reading, table: string): void {
  const draft = new Draft("kernel");
  scanNumbers(reading, table, [...workOf(reading), "name"], (cells) => {
    setWork(draft, cells, reading.lanes);
    draft.name = reading.strings.get(cells[WORK_CELLS] ?? -1) ?? "unnamed kernel";
    if (!reading.builder.add(draft)) reading.skipped.add("kernels without a begin or end");
  });
}

function readMemsets(reading: Reading): void {
  const draft = new Draft("memset");
  draft.name = "Memset";
  scanNumbers(reading, TABLES.memsets, [...workOf(reading), "bytes"], (cells) => {
    setWork(draft, cells, reading.lanes);
    draft.bytes = cells[WORK_CELLS] ?? 0;
    if (!reading.builder.add(draft)) reading.skipped.add("memory sets without a begin or end");
  });
}

/** @returns how many of the calls make the host wait. */
function readCalls(reading: Reading, table: string, face: "runtime" | "driver"): number {
  const draft = new Draft("api");
  const names = new Map<number, string>();
  let waits = 0;
  scanNumbers(reading, table, [...reading.times, "NULL", "threadId", "cbid", "correlationId"], (cells) => {
    const number = setCall(draft, cells, reading.lanes);
    const name = names.get(number) ?? callName(face, number);
    names.set(number, name);
    draft.name = name;
    draft.kind = isHostSync(name) ? "sync" : "api";
    if (draft.kind === "sync") waits++;
    draft.correlation = cells[5] ?? 0;
    if (!reading.builder.add(draft)) reading.skipped.add("calls without a begin or end");
  });
  return waits;
}

function readSyncs(reading: Reading): void {
  const draft = new Draft("sync");
  draft.name = "synchronisation";
  scanNumbers(reading, TABLES.syncs, [...reading.times, "NULL", "NULL", "NULL", "correlationId"], (cells) => {
    setCall(draft, cells, reading.lanes);
    draft.correlation = cells[5] ?? 0;
    if (!reading.builder.add(draft)) reading.skipped.add("synchronisations without a begin or end");
  });
}

/** CUPTI's flags of a marker: a range is a begin and an end with the same number. */
const [BEGIN, END] = [2, 4];
const MOST_OPEN = 1_000_000;

function readMarkers({ file, mostRows, builder, skipped, strings, lanes, zero }: Reading): void {
  const columns = file.tables.get(TABLES.markers);
  if (!["timestamp", "id", "flags", "name"].every((name) => columns?.has(name))) return;
  const draft = new Draft("range");
  const open = new Map<number, { name: string; startNs: number; lane: string }>();
  // Process and thread, 32 bits each, lie in a blob.
  const thread = columns?.has("objectId") ? "hex(substr(objectId, 5, 4))" : "NULL";
  const numbers = [`timestamp - ${zero}`, "id", "flags", "name"].map((column) => `CAST(${column} AS REAL)`);
  const sql = `SELECT ${[...numbers, thread].join(", ")} FROM ${TABLES.markers} LIMIT ${mostRows}`;
  file.scan(sql, ([time, id, flags, name, owner]) => {
    if (typeof time !== "number" || typeof id !== "number" || typeof flags !== "number") return;
    const begun = open.get(id);
    if (flags & BEGIN && open.size < MOST_OPEN) {
      const text = strings.get(typeof name === "number" ? name : -1) ?? "unnamed range";
      open.set(id, { name: text, startNs: time, lane: lanes.host(-1, littleEndian(owner)) });
    } else if (flags & END && begun) {
      open.delete(id);
      Object.assign(draft, begun, { endNs: time });
      if (!builder.add(draft)) skipped.add("NVTX ranges that end before they begin");
    }
  });
  if (open.size > 0) skipped.add("NVTX ranges that were not closed before the capture ended", open.size);
}

/** Four bytes in hexadecimal, the lowest first. */
function littleEndian(hex: Cell | undefined): number {
  if (typeof hex !== "string" || !/^[0-9A-F]{8}$/.test(hex)) return -1;
  return Number.parseInt(hex.match(/../g)?.reverse().join("") ?? "", 16);
}

/** CUPTI's `CUpti_ActivityOverheadKind`: the profiler's own begin at 65536. */
const OVERHEADS: Readonly<Record<number, string>> = {
  1: "driver JIT compiler",
  [1 << 16]: "profiler buffer flush",
  [2 << 16]: "profiler instrumentation",
  [3 << 16]: "profiler resources",
  [4 << 16]: "runtime module loading",
  [5 << 16]: "lazy function loading",
};

function readOverheads({ file, mostRows, builder, skipped, lanes, times }: Reading): void {
  const draft = new Draft("overhead");
  scanNumbers({ file, mostRows }, TABLES.overheads, [...times, "NULL", "NULL", "overheadKind"], (cells) => {
    const kind = setCall(draft, cells, lanes);
    draft.name = OVERHEADS[kind] ?? `overhead ${kind}`;
    if (!builder.add(draft)) skipped.add("overheads without a begin or end");
  });
}

function devicesOf({ file, strings }: Reading): Device[] {
  const table = `${KIND}DEVICE`;
  const columns = file.tables.get(table);
  if (!columns) return [];
  const names = [
    "id",
    "name",
    "globalMemorySize",
    "numMultiprocessors",
    "computeCapabilityMajor",
    "computeCapabilityMinor",
  ];
  const devices: Device[] = [];
  const wanted = names.map((name) => (columns.has(name) ? quoted(name) : "NULL"));
  file.scan(
    `SELECT ${wanted.join(", ")} FROM ${table} LIMIT 1024`,
    ([id, name, memory, count, major, minor]) => {
      devices.push({
        gpu: finite(id),
        name: typeof name === "number" ? (strings.get(name) ?? null) : textOf(name),
        pci: null,
        copyEngines: null,
        memoryBytes: finite(memory),
        multiprocessors: finite(count),
        computeCapability: capabilityOf(major, minor),
      });
    },
  );
  return devices;
}
