/** Real files, which the repository does not hold: the suite runs where P2PLAB_SAMPLES names a folder of them. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import { importFile } from "../../../kernel/lab/import/index.js";

/** Folders, and the formats that the files in them are of. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  "gpu-copy": ["bandwidthTest", "gpu_copy"],
  hwloc: ["hwloc"],
  "nccl-logs": ["nccl-log", "nccl-tests"],
  "nccl-tests": ["nccl-tests"],
  "nccl-topo-xml": ["nccl-topology", "nccl-graph"],
  ncu: ["ncu-csv"],
  "nsys-stats": ["nsys-stats"],
  nvbandwidth: ["nvbandwidth"],
  "nvidia-smi-nvlink": ["nvidia-smi"],
  "nvidia-smi-topo": ["nvidia-smi"],
  "nvidia-smi-xml": ["nvidia-smi-xml"],
  nvprof: ["nvprof-csv"],
  p2pBandwidthLatencyTest: ["p2pBandwidthLatencyTest"],
  perftest: ["perftest"],
  ucx_perftest: ["ucx_perftest"],
};

/** Files that are refused, and what is wrong with them. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  "d2d_write_ce_h100x8.txt": /a matrix without its title/,
};

const test = suite("real files of other tools");
const samples = process.env.P2PLAB_SAMPLES;

if (!samples) {
  test.skip("skipped (optional): no folder of sample files is named by P2PLAB_SAMPLES", () => {});
} else {
  test("each is imported as what it is, or refused for what is wrong with it", async () => {
    const there = new Set(readdirSync(samples));
    let imported = 0;
    for (const [folder, formats] of Object.entries(FOLDERS)) {
      if (!there.has(folder)) continue;
      for (const name of readdirSync(join(samples, folder))) {
        if (/^(?:README|SOURCES)/.test(name) || name.endsWith(".sqlite")) continue;
        const file = `${folder}/${name}`;
        try {
          const content = await importFile(join(samples, folder, name));
          assert.ok(formats.includes(content.format), `${file} as ${content.format}`);
          assert.not(name in REFUSED, `${file} was read`);
          for (const table of Object.values(content.tables)) assert.ok(table.numRows() > 0, file);
          imported++;
        } catch (error) {
          if (!(error instanceof P2pError)) throw error;
          assert.match(error.message, REFUSED[name] ?? /damaged|cut off|malformed|missing|no row/, file);
        }
      }
    }
    assert.ok(imported >= 60, `${imported} files`);
  });
}

test.run();
