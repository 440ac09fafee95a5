/**
 * Imports a file and prints, as JSON, what it cost this process: the CPU and wall seconds of the import with its tables, and the
 * most memory, everything included.
 *
 *     node import-read.js FILE
 */
import { importFile } from "../../kernel/lab/import/index.js";

const before = process.cpuUsage();
const began = performance.now();
const imported = await importFile(process.argv[2] as string);
const wallS = (performance.now() - began) / 1e3;
const { user, system } = process.cpuUsage(before);
process.stdout.write(
  JSON.stringify({
    cpuS: (user + system) / 1e6,
    wallS,
    mostMb: process.resourceUsage().maxRSS / 1e3,
    spans: imported.timeline?.kind.length ?? 0,
    tables: Object.keys(imported.tables).length,
    tableRows: Object.values(imported.tables).reduce((sum, table) => sum + table.numRows(), 0),
    format: imported.format,
  }),
);
