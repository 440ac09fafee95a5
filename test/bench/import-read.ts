/**
 * Imports a file and prints, as JSON, what it cost this process: the CPU and wall seconds of the import with its tables, and the
 * most memory, everything included.
 *
 *     node import-read.js FORMAT FILE
 */
import { createReadStream, readFileSync, statSync } from "node:fs";
import type { Importer } from "../../kernel/lab/import/importer.js";

const [format, file] = process.argv.slice(2) as [string, string];
const { importer } = (await import(`../../kernel/lab/import/${format}.js`)) as { importer: Importer };
const before = process.cpuUsage();
const began = performance.now();
const imported = await importer.read({
  name: file,
  path: file,
  sizeBytes: statSync(file).size,
  bytes: async () => readFileSync(file),
  chunks: () => createReadStream(file),
});
const wallS = (performance.now() - began) / 1e3;
const { user, system } = process.cpuUsage(before);
process.stdout.write(
  JSON.stringify({
    cpuS: (user + system) / 1e6,
    wallS,
    mostMb: process.resourceUsage().maxRSS / 1e3,
    spans: imported.timeline?.kind.length ?? 0,
    tables: Object.keys(imported.tables).length,
  }),
);
