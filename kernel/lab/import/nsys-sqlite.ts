import { P2pError } from "../errors.js";
import type { Table } from "../measure/table.js";
import type { Timeline } from "../timeline.js";
import { capabilityOf, type Device, deviceTable, finite, machineOf, textOf } from "./devices.js";
import { Imported, type Importer, type ImportOrigin, importedTable } from "./importer.js";
import {
  type Reading,
  readCalls,
  readCopies,
  readGraphs,
  readKernels,
  readMemsets,
  readOverheads,
  readRanges,
  readSyncs,
  TABLES,
} from "./nsys-rows.js";
import { Skipped } from "./skipped.js";
import { openSqlite, quoted, type SqliteFile } from "./sqlite.js";
import { sqliteHead } from "./sqlite-head.js";
import { scanNumbers, stringsOf } from "./sqlite-rows.js";
import { TimelineBuilder } from "./timeline-builder.js";
import { timelineTables } from "./timeline-tables.js";

const FORMAT = "nsys-sqlite";
const TITLE = "SQLite export of Nsight Systems";
/** The newest schema whose description was read (Nsight Systems 2026.4). */
const NEWEST_SCHEMA = [3, 28] as const;
/** More spans than this fit no notebook's memory: some 100 bytes each. */
const MOST_ROWS = 5_000_000;

/** What an absent table may mean; the others are of no use to a timeline. */
const MEANS: Readonly<Record<string, string>> = {
  [TABLES.copies]: "copies by the driver; kernels that reach a peer's memory, NCCL among them, are none",
  [TABLES.kernels]: "kernels",
  [TABLES.memsets]: "memory sets",
  [TABLES.graphs]: "whole graphs, where nodes are not traced one by one",
  [TABLES.calls]: "runtime and driver calls",
  [TABLES.syncs]: "waiting, as CUPTI records it",
  [TABLES.overheads]: "overhead of the driver and CUPTI",
  [TABLES.profiler]: "overhead of the profiler",
  [TABLES.ranges]: "NVTX ranges",
};

/**
 * Nsight Systems, `nsys export --type sqlite`, of all versions from 2022 on: a timeline of calls, copies, kernels, memory
 * sets, graphs, NVTX ranges and overheads, and tables made of it. Environments and command lines, which these files hold with
 * whatever secrets stand in them, are not read.
 */
export const importer: Importer = {
  format: FORMAT,
  title: TITLE,
  detect: (head) => sqliteHead(head, /\bStringIds\b|META_DATA_EXPORT|EXPORT_META_DATA|globalTid|globalPid/),
  async read(source) {
    const file = await openSqlite(source);
    let content: Content;
    try {
      content = contentOf(file, source.name);
    } finally {
      // Before the tables are made: the file lies in memory until then.
      file.close();
    }
    const { timeline, tables, version, notes } = content;
    return new Imported({
      format: FORMAT,
      title: TITLE,
      version,
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
  readonly version: string | null;
  readonly notes: readonly string[];
}

function contentOf(file: SqliteFile, name: string): Content {
  const known = file.tables.has("StringIds") || Object.values(TABLES).some((table) => file.tables.has(table));
  if (!known) {
    const others = [...file.tables.keys()].slice(0, 8).join(", ");
    throw new P2pError(
      "import",
      `${name} is a SQLite file without the tables of Nsight Systems; it has ${others || "none"}`,
      "Export the report with: nsys export --type sqlite REPORT.nsys-rep",
    );
  }
  const meta = metaOf(file);
  const counts = Object.fromEntries(Object.values(TABLES).map((table) => [table, file.count(table)]));
  const total = Object.values(counts).reduce((sum, rows) => sum + rows, 0);
  const builder = new TimelineBuilder(Math.min(total, MOST_ROWS));
  const skipped = new Skipped();
  const reading: Reading = {
    file,
    builder,
    skipped,
    strings: stringsOf({ file, mostRows: MOST_ROWS }, "StringIds", "id"),
    manyProcesses: processesOf(file).size > 1,
    processKnown: WORK_TABLES.every((table) => file.tables.get(table)?.has("globalPid") ?? true),
    mostRows: MOST_ROWS,
  };
  readCopies(reading);
  readKernels(reading);
  readMemsets(reading);
  readGraphs(reading);
  const { waits } = readCalls(reading);
  if (waits === 0) readSyncs(reading);
  readRanges(reading);
  readOverheads(reading);
  const devices = devicesOf(file);
  const origin = { machine: machineOf(devices), date: dateOf(file) };
  return {
    timeline: builder.build("nsys", origin),
    tables: { devices: deviceTable(devices, origin), manifest: manifestOf(file, counts, origin) },
    version: meta.get("EXPORT_PRODUCT_VERSION") ?? null,
    notes: [
      ...syntheticNote(meta),
      ...schemaNotes(meta.get("EXPORT_SCHEMA_VERSION") ?? null),
      ...Object.entries(counts)
        .filter(([, rows]) => rows > MOST_ROWS)
        .map(([table, rows]) => `only the first ${MOST_ROWS} of ${rows} rows of ${table} were read`),
      ...(total === 0
        ? ["no CUDA work, call or range was captured: an empty capture says nothing about health"]
        : []),
      ...skipped.notes(),
      ...diagnosticsOf(file),
      ...file.damage,
    ],
  };
}

function metaOf(file: SqliteFile): Map<string, string> {
  const meta = new Map<string, string>();
  for (const table of ["META_DATA_EXPORT", "EXPORT_META_DATA"]) {
    const columns = file.tables.get(table);
    if (!columns?.has("name") || !columns.has("value")) continue;
    // Never META_DATA_CAPTURE: it holds the environment of the profiled process, and the tokens in it.
    file.scan(`SELECT name, substr(value, 1, 200) FROM ${table} LIMIT 200`, ([name, value]) => {
      if (typeof name === "string" && typeof value === "string") meta.set(name, value);
    });
  }
  return meta;
}

function syntheticNote(meta: ReadonlyMap<string, string>): string[] {
  return meta.has("P2PLAB_SYNTHETIC") ? ["synthetic: made to test a parser, not captured on a machine"] : [];
}

function schemaNotes(version: string | null): string[] {
  if (version === null) return ["the file does not say the version of its schema"];
  const [major, minor] = version.split(".").map(Number) as [number, number];
  if (!Number.isFinite(major)) return [`the version of its schema is not understood: ${version}`];
  const [knownMajor, knownMinor] = NEWEST_SCHEMA;
  const newer = major > knownMajor || (major === knownMajor && minor > knownMinor);
  return newer
    ? [
        `schema ${version} is newer than ${NEWEST_SCHEMA.join(".")}, the newest known: columns that were renamed since are missing`,
      ]
    : [];
}

const WORK_TABLES = [TABLES.copies, TABLES.kernels, TABLES.memsets, TABLES.graphs] as const;

/** Processes with work on a GPU. */
function processesOf(file: SqliteFile): Set<number> {
  const processes = new Set<number>();
  for (const table of WORK_TABLES) {
    if (!file.tables.get(table)?.has("globalPid")) continue;
    const sql = `SELECT DISTINCT CAST((globalPid >> 24) & 16777215 AS REAL) FROM ${quoted(table)}`;
    file.scan(sql, ([process]) => {
      if (typeof process === "number") processes.add(process);
    });
  }
  return processes;
}

function devicesOf(file: SqliteFile): Device[] {
  const columns = file.tables.get("TARGET_INFO_GPU");
  if (!columns) return [];
  const devices: Device[] = [];
  const names = [
    "id",
    "cuDevice",
    "name",
    "busLocation",
    "totalMemory",
    "asyncEngines",
    "smCount",
    "computeMajor",
    "computeMinor",
  ];
  const wanted = names.map((name) => (columns.has(name) ? name : "NULL"));
  file.scan(`SELECT ${wanted.join(", ")} FROM TARGET_INFO_GPU LIMIT 1024`, (row) => {
    const [id, ordinal, name, pci, memory, engines, multiprocessors, major, minor] = row;
    devices.push({
      gpu: finite(ordinal) ?? finite(id),
      name: textOf(name),
      pci: textOf(pci),
      memoryBytes: finite(memory),
      copyEngines: finite(engines),
      multiprocessors: finite(multiprocessors),
      computeCapability: capabilityOf(major, minor),
    });
  });
  return devices;
}

/** The begin of the capture; whole milliseconds, divided in SQL, where nanoseconds since 1970 are exact. */
function dateOf(file: SqliteFile): string | null {
  let date: string | null = null;
  const table = "TARGET_INFO_SESSION_START_TIME";
  scanNumbers({ file, mostRows: 1 }, table, ["utcEpochNs / 1000000"], ([ms]) => {
    if (typeof ms === "number" && ms > 0 && ms < 8.64e15) date = new Date(ms).toISOString();
  });
  return date;
}

/** What was captured; an absent table and one where nothing happened look alike, so that neither is called healthy. */
function manifestOf(file: SqliteFile, counts: Readonly<Record<string, number>>, origin: ImportOrigin): Table {
  const tables = Object.keys(MEANS);
  return importedTable(
    {
      table: tables,
      holds: tables.map((table) => MEANS[table]),
      rows: tables.map((table) => (file.tables.has(table) ? counts[table] : null)),
      reason: tables.map((table) => (file.tables.has(table) ? null : "not captured, or none happened")),
    },
    origin,
  );
}

const [WARNING, ERROR] = [2, 3];
const MOST_DIAGNOSTICS = 20;

/** Warnings and errors of the capture. */
function diagnosticsOf(file: SqliteFile): string[] {
  const columns = file.tables.get("DIAGNOSTIC_EVENT");
  if (!columns?.has("text") || !columns.has("severity")) return [];
  const notes: string[] = [];
  const where = `severity IN (${WARNING}, ${ERROR})`;
  file.scan(
    `SELECT severity, substr(text, 1, 300) FROM DIAGNOSTIC_EVENT WHERE ${where} LIMIT ${MOST_DIAGNOSTICS}`,
    ([severity, message]) => {
      if (typeof message !== "string") return;
      notes.push(`the profiler's ${severity === ERROR ? "error" : "warning"}: ${message.trim()}`);
    },
  );
  return notes;
}
