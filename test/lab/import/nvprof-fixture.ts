/** A file of nvprof with synthetic content: begin of the capture at 1496933426915778221 ns since 1970. */
import { sqliteOf } from "./sqlite-fixture.js";

const ZERO = 1_496_933_426_915_778_221n;
const ID = "_id_ INTEGER PRIMARY KEY AUTOINCREMENT";

/** Process 1317533 and thread 1142654784, 32 bits each, the lowest byte first. */
function objectId(): Uint8Array {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32LE(1_317_533, 0);
  bytes.writeUInt32LE(1_142_654_784, 4);
  return bytes;
}

export async function nvprofFixture(): Promise<Uint8Array> {
  const at = (ns: number) => ZERO + BigInt(ns);
  const span = ["start INT NOT NULL", '"end" INT NOT NULL'];
  const place = ["deviceId INT", "contextId INT", "streamId INT"];
  const copy = [
    ID,
    "copyKind INT",
    "srcKind INT",
    "dstKind INT",
    "flags INT",
    "bytes INT",
    ...span,
    ...place,
  ];
  const call = [
    ID,
    "cbid INT",
    ...span,
    "processId INT",
    "threadId INT",
    "correlationId INT",
    "returnValue INT",
  ];
  return sqliteOf([
    { name: "P2PLAB_SYNTHETIC", columns: ["note TEXT"], rows: [["rows made by a test"]] },
    {
      name: "StringTable",
      columns: [ID, "value TEXT"],
      rows: [
        [1, "vectorAdd"],
        [2, "step"],
        [3, "synthetic P100"],
      ],
    },
    {
      name: "CUPTI_ACTIVITY_KIND_MEMCPY",
      columns: [...copy, "correlationId INT", "runtimeCorrelationId INT"],
      rows: [[1, 1, 1, 3, 0, 4096, at(20_000), at(22_000), 0, 1, 7, 11, 0]],
    },
    {
      name: "CUPTI_ACTIVITY_KIND_MEMCPY2",
      columns: [
        ...copy,
        "srcContextId INT",
        "srcDeviceId INT",
        "dstContextId INT",
        "dstDeviceId INT",
        "correlationId INT",
      ],
      rows: [[1, 8, 3, 3, 1, 65_536, at(30_000), at(34_000), 0, 1, 7, 1, 0, 2, 1, 12]],
    },
    {
      name: "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
      columns: [ID, ...span, ...place, "correlationId INT", "name INT"],
      rows: [[1, at(40_000), at(45_000), 0, 1, 7, 13, 1]],
    },
    {
      name: "CUPTI_ACTIVITY_KIND_RUNTIME",
      columns: call,
      rows: [
        [1, 31, at(10_000), at(23_000), 1, 1_142_654_784, 11, 0],
        [2, 161, at(26_000), at(28_000), 1, 1_142_654_784, 12, 0],
        [3, 211, at(36_000), at(38_000), 1, 1_142_654_784, 13, 0],
        [4, 165, at(39_000), at(46_000), 1, 1_142_654_784, 14, 0],
        [5, 9999, at(47_000), at(48_000), 1, 1_142_654_784, 15, 0],
      ],
    },
    {
      name: "CUPTI_ACTIVITY_KIND_MARKER",
      columns: [
        ID,
        "flags INT",
        "timestamp INT",
        "id INT",
        "objectKind INT",
        "objectId BLOB",
        "name INT",
        "domain INT",
      ],
      rows: [
        [1, 2, at(25_000), 1, 2, objectId(), 2, 0],
        [2, 4, at(35_000), 1, 2, objectId(), 0, 0],
        [3, 2, at(36_000), 2, 2, objectId(), 2, 0],
      ],
    },
    {
      name: "CUPTI_ACTIVITY_KIND_OVERHEAD",
      columns: [ID, "overheadKind INT", "objectKind INT", "objectId BLOB", ...span],
      rows: [[1, 2 << 16, 2, objectId(), at(0), at(1000)]],
    },
    {
      name: "CUPTI_ACTIVITY_KIND_DEVICE",
      columns: [
        ID,
        "id INT",
        "name INT",
        "globalMemorySize INT",
        "computeCapabilityMajor INT",
        "computeCapabilityMinor INT",
        "numMultiprocessors INT",
      ],
      rows: [
        [1, 0, 3, 2 ** 34, 6, 0, 56],
        [2, 1, 3, 2 ** 34, 6, 0, 56],
      ],
    },
  ]);
}
