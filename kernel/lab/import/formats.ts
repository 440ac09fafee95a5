import { bandwidthTestImporter as bandwidthTest, gpuCopyImporter as gpuCopy } from "./gpu-copy.js";
import { importer as hwloc } from "./hwloc.js";
import type { Importer } from "./importer.js";
import { importer as kineto } from "./kineto.js";
import { importer as ncclLog } from "./nccl-log.js";
import { importer as ncclTests } from "./nccl-tests.js";
import { graphImporter as ncclGraph, topologyImporter as ncclTopology } from "./nccl-xml.js";
import { importer as ncuCsv } from "./ncu-csv.js";
import { importer as nsysSqlite } from "./nsys-sqlite.js";
import { importer as nsysStats } from "./nsys-stats.js";
import { importer as nvbandwidth } from "./nvbandwidth.js";
import { importer as nvidiaSmiQ } from "./nvidia-smi-q.js";
import { importer as nvidiaSmiText } from "./nvidia-smi-text.js";
import { importer as nvidiaSmiXml } from "./nvidia-smi-xml.js";
import { importer as nvprofCsv } from "./nvprof-csv.js";
import { importer as nvprofSqlite } from "./nvprof-sqlite.js";
import { importer as ownTrace } from "./own-trace.js";
import { importer as p2pTest } from "./p2p-test.js";
import { importer as perftest } from "./perftest.js";
import { importer as ucxPerftest } from "./ucx-perftest.js";

/** Every format that can be imported. */
export const IMPORTERS: readonly Importer[] = [
  bandwidthTest,
  gpuCopy,
  hwloc,
  kineto,
  ncclGraph,
  ncclLog,
  ncclTests,
  ncclTopology,
  ncuCsv,
  nsysSqlite,
  nsysStats,
  nvbandwidth,
  nvidiaSmiQ,
  nvidiaSmiText,
  nvidiaSmiXml,
  nvprofCsv,
  nvprofSqlite,
  ownTrace,
  p2pTest,
  perftest,
  ucxPerftest,
];
