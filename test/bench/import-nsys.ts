/**
 * Writes a synthetic export of Nsight Systems, 1,000,000 rows: calls, peer copies of mixed sizes and kernels, a fifth of the calls waits.
 *
 *     node import-nsys.js FILE
 */
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Random } from "../../kernel/lab/random.js";
import { type FixtureTable, sqliteOf } from "../lab/import/sqlite-fixture.js";

export const ROWS = 1_000_000;
const COPIES = ROWS / 4;
const KERNELS = ROWS / 4;
const CALLS = ROWS - COPIES - KERNELS;

function* copies(random: Random): Generator<unknown[]> {
  for (let i = 0; i < COPIES; i++) {
    const start = 20_000 * i + 15_000;
    const bytes = 2 ** (3 + Math.floor(22 * random.uniform()));
    const took = 1500 + Math.round(bytes / 400);
    yield [
      start,
      start + took,
      0,
      1,
      null,
      7 + (i % 3),
      2 * i + 2,
      PROCESS,
      bytes,
      10,
      null,
      2,
      2,
      0,
      1,
      1,
      2,
      null,
      null,
      null,
      1,
    ];
  }
}

function* kernels(random: Random): Generator<unknown[]> {
  for (let i = 0; i < KERNELS; i++) {
    const start = 20_000 * i + 4000;
    const took = 1000 + Math.round(2000 * random.uniform());
    yield [
      start,
      start + took,
      0,
      1,
      null,
      7 + (i % 3),
      2 * i + 1,
      PROCESS,
      3,
      3,
      null,
      0,
      0,
      16,
      64,
      1,
      1,
      256,
      1,
      1,
      0,
      0,
      0,
      0,
      i,
      0,
      null,
    ];
  }
}

function* calls(): Generator<unknown[]> {
  for (let i = 0; i < CALLS; i++) {
    const name = i % 5 === 4 ? 4 : i % 2 === 1 ? 1 : 2;
    yield [10_000 * i, 10_000 * i + 3000, 0, PROCESS | BigInt(77 + (i % 2)), i + 1, name, 0, null];
  }
}

const PROCESS = (1n << 56n) | (4321n << 24n);
const NUMBERS = (names: string) => names.split(" ").map((name) => `${name} INTEGER`);
const WORK = 'start "end" deviceId contextId greenContextId streamId correlationId globalPid';

function tables(): FixtureTable[] {
  const random = new Random(1);
  return [
    {
      name: "StringIds",
      columns: ["id INTEGER NOT NULL PRIMARY KEY", "value TEXT NOT NULL"],
      rows: [
        [1, "cudaMemcpyPeerAsync_v4000"],
        [2, "cudaLaunchKernel_v7000"],
        [3, "synthetic_kernel"],
        [4, "cudaStreamSynchronize_v3020"],
      ],
    },
    {
      name: "CUPTI_ACTIVITY_KIND_MEMCPY",
      columns: NUMBERS(
        `${WORK} bytes copyKind deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId migrationCause graphNodeId virtualAddress copyCount`,
      ),
      rows: copies(random),
    },
    {
      name: "CUPTI_ACTIVITY_KIND_KERNEL",
      columns: NUMBERS(
        `${WORK} demangledName shortName mangledName launchType cacheConfig registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId sharedMemoryExecuted graphNodeId`,
      ),
      rows: kernels(random),
    },
    {
      name: "CUPTI_ACTIVITY_KIND_RUNTIME",
      columns: NUMBERS('start "end" eventClass globalTid correlationId nameId returnValue callchainId'),
      rows: calls(),
    },
    {
      name: "META_DATA_EXPORT",
      columns: ["name TEXT", "value TEXT"],
      rows: [
        ["EXPORT_SCHEMA_VERSION", "3.25.0"],
        ["P2PLAB_SYNTHETIC", "rows made for a benchmark"],
      ],
    },
  ];
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(process.argv[2] as string, await sqliteOf(tables()));
}
