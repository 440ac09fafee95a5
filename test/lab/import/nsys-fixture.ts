/** Exports of Nsight Systems in three of its schemas, with one and the same synthetic content. */
import { type FixtureTable, sqliteOf } from "./sqlite-fixture.js";

export type Schema = "2.9.1" | "3.4.0" | "3.25.0";
export const SCHEMAS: readonly Schema[] = ["2.9.1", "3.4.0", "3.25.0"];

export const PROCESS = 4321;
export const OTHER_PROCESS = 999;
export const THREAD = 77;

/** Hardware and virtual machine fill the upper bits, so that no double holds the number. */
function globalId(process: number, thread = 0): bigint {
  return (0x7f01n << 48n) | (BigInt(process) << 24n) | BigInt(thread);
}

const STRINGS: readonly (readonly [number, string])[] = [
  [1, "cudaMemcpyPeerAsync_v4000"],
  [2, "cudaLaunchKernel_ptsz_v7000"],
  [3, "cudaStreamSynchronize_v3020"],
  [4, "加法 kernel"],
  [5, "PATH=/bin\0SECRET_TOKEN=hunter2\0"],
  [6, `long ${"x".repeat(20_000)}`],
  [7, "cudaMemcpyAsync_v3020"],
  [8, "cudaGraphLaunch_v10000"],
  [9, "Buffer flush"],
  [10, "step"],
];

/** Name, then the columns that a schema adds; those left out of a row are NULL. */
function table(
  name: string,
  columns: readonly string[],
  rows: readonly Readonly<Record<string, unknown>>[],
): FixtureTable {
  const names = columns.map((column) => (column.split(" ")[0] as string).replaceAll('"', ""));
  return { name, columns, rows: rows.map((row) => names.map((own) => row[own] ?? null)) };
}

/**
 * Two GPUs, a peer copy of 1 MiB after a call of 5 µs; a second process whose numbers collide; a migration of unified
 * memory without a number; a graph of two kernels; a copy whose call began before the capture; a begin before zero; names with a
 * NUL, beyond ASCII, and on overflow pages.
 */
export async function nsysFixture(schema: Schema): Promise<Uint8Array> {
  const modern = schema === "3.25.0";
  const context = modern ? ["contextId INTEGER", "greenContextId INTEGER"] : ["contextId INTEGER"];
  const work = [
    "start INTEGER",
    '"end" INTEGER',
    "deviceId INTEGER",
    ...context,
    "streamId INTEGER",
    "correlationId INTEGER",
    "globalPid INTEGER",
  ];
  const own = { globalPid: globalId(PROCESS), contextId: 1, streamId: 7 };
  const call = { eventClass: 0, globalTid: globalId(PROCESS, THREAD), returnValue: 0 };
  const meta = schema === "3.4.0" || modern ? "META_DATA_EXPORT" : "EXPORT_META_DATA";
  return sqliteOf([
    { name: "StringIds", columns: ["id INTEGER NOT NULL PRIMARY KEY", "value TEXT NOT NULL"], rows: STRINGS },
    table(
      "CUPTI_ACTIVITY_KIND_MEMCPY",
      [
        ...work,
        "bytes INTEGER",
        "copyKind INTEGER",
        "srcKind INTEGER",
        "dstKind INTEGER",
        "srcDeviceId INTEGER",
        "srcContextId INTEGER",
        "dstDeviceId INTEGER",
        "dstContextId INTEGER",
        "graphNodeId INTEGER",
        ...(modern ? ["copyCount INTEGER"] : []),
      ],
      [
        {
          ...own,
          start: 15_000,
          end: 18_000,
          deviceId: 0,
          correlationId: 1,
          bytes: 1_048_576,
          copyKind: 10,
          srcKind: 2,
          dstKind: 2,
          srcDeviceId: 0,
          srcContextId: 1,
          dstDeviceId: 1,
          dstContextId: 2,
        },
        {
          ...own,
          start: 40_000,
          end: 50_000,
          deviceId: 1,
          correlationId: 3,
          bytes: 4096,
          copyKind: 1,
          srcKind: 0,
          dstKind: 2,
        },
        // A call before the capture.
        {
          ...own,
          start: -2000,
          end: 1000,
          deviceId: 0,
          correlationId: 500,
          bytes: 64,
          copyKind: 2,
          srcKind: 2,
          dstKind: 1,
        },
        // A migration of unified memory.
        { ...own, start: 60_000, end: 61_000, deviceId: 0, streamId: 0, bytes: 65_536, copyKind: 11 },
        // Another process with the same number.
        {
          ...own,
          start: 70_000,
          end: 71_000,
          deviceId: 0,
          globalPid: globalId(OTHER_PROCESS),
          correlationId: 1,
          bytes: 8,
          copyKind: 8,
          srcKind: 2,
          dstKind: 2,
        },
      ],
    ),
    table(
      "CUPTI_ACTIVITY_KIND_KERNEL",
      [...work, "demangledName INTEGER", "shortName INTEGER", "graphNodeId INTEGER"],
      [
        { ...own, start: 30_000, end: 34_000, deviceId: 0, correlationId: 2, demangledName: 6, shortName: 4 },
        {
          ...own,
          start: 80_000,
          end: 81_000,
          deviceId: 0,
          correlationId: 9,
          shortName: 4,
          graphNodeId: 5_000_000_001,
        },
        {
          ...own,
          start: 82_000,
          end: 83_000,
          deviceId: 0,
          correlationId: 9,
          shortName: 6,
          graphNodeId: 5_000_000_002,
        },
      ],
    ),
    table(
      "CUPTI_ACTIVITY_KIND_RUNTIME",
      [
        "start INTEGER",
        '"end" INTEGER',
        "eventClass INTEGER",
        "globalTid INTEGER",
        "correlationId INTEGER",
        "nameId INTEGER",
        "returnValue INTEGER",
        "callchainId INTEGER",
      ],
      [
        { ...call, start: 10_000, end: 12_000, correlationId: 1, nameId: 1 },
        { ...call, start: 20_000, end: 25_000, correlationId: 2, nameId: 2 },
        // Returns only when the copy is done.
        { ...call, start: 36_000, end: 52_000, correlationId: 3, nameId: 7 },
        { ...call, start: 53_000, end: 58_000, correlationId: 4, nameId: 3 },
        { ...call, start: 76_000, end: 79_000, correlationId: 9, nameId: 8 },
        { ...call, start: 84_000, end: 90_000, correlationId: 10, nameId: 3 },
      ],
    ),
    table(
      "NVTX_EVENTS",
      [
        "start INTEGER",
        '"end" INTEGER',
        "eventType INTEGER",
        "text TEXT",
        "globalTid INTEGER",
        "textId INTEGER",
      ],
      [
        { start: 9000, end: 26_000, eventType: 59, globalTid: call.globalTid, text: "exchange 交换" },
        { start: 35_000, end: 59_000, eventType: 59, globalTid: call.globalTid, textId: 10 },
        { start: 35_500, eventType: 59, globalTid: call.globalTid, textId: 10 },
        { start: 35_600, eventType: 34, globalTid: call.globalTid, text: "a mark" },
      ],
    ),
    table(
      "PROFILER_OVERHEAD",
      [
        "start INTEGER",
        '"end" INTEGER',
        "globalTid INTEGER",
        "nameId INTEGER",
        modern ? "overheadType INTEGER" : "returnValue INTEGER",
      ],
      [{ start: 85_000, end: 86_000, globalTid: call.globalTid, nameId: 9, overheadType: 3 }],
    ),
    table(
      "TARGET_INFO_GPU",
      [
        "id INTEGER",
        "name TEXT",
        "busLocation TEXT",
        "totalMemory INTEGER",
        "smCount INTEGER",
        "cuDevice INTEGER",
        "uuid TEXT",
      ],
      [
        {
          id: 0,
          name: "synthetic GPU",
          busLocation: "0000:01:00.0",
          totalMemory: 2n ** 40n,
          smCount: 10,
          cuDevice: 0,
          uuid: "secret",
        },
        {
          id: 1,
          name: "synthetic GPU",
          busLocation: "0000:02:00.0",
          totalMemory: 2n ** 40n,
          smCount: 10,
          cuDevice: 1,
          uuid: "secret",
        },
      ],
    ),
    table(
      "TARGET_INFO_SESSION_START_TIME",
      ["utcEpochNs INTEGER"],
      [{ utcEpochNs: 1_750_000_000_123_456_789n }],
    ),
    table(
      "DIAGNOSTIC_EVENT",
      ["timestamp INTEGER", "timestampType INTEGER", "source INTEGER", "severity INTEGER", "text TEXT"],
      [
        { timestamp: 0, severity: 1, text: "nothing of note" },
        { timestamp: 1, severity: 2, text: "buffers were dropped" },
      ],
    ),
    ...(modern
      ? [
          table(
            "META_DATA_CAPTURE",
            ["name TEXT", "value TEXT"],
            [{ name: "PROCESS_0:ENVIRONMENT_VARIABLE", value: "SECRET_TOKEN=hunter2" }],
          ),
        ]
      : []),
    table(
      meta,
      ["name TEXT", "value TEXT"],
      [
        { name: "EXPORT_SCHEMA_VERSION", value: schema },
        { name: "EXPORT_PRODUCT_VERSION", value: "0.0.0 synthetic" },
        { name: "P2PLAB_SYNTHETIC", value: "rows made by a test" },
      ],
    ),
  ]);
}

/** A file of one table, for what a real export never holds. */
export function nsysTable(
  name: string,
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
): Promise<Uint8Array> {
  return sqliteOf([
    { name: "StringIds", columns: ["id INTEGER PRIMARY KEY", "value TEXT"], rows: STRINGS },
    { name, columns, rows },
  ]);
}
