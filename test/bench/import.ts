/** Importing large files of other tools, each in a process of its own: how long it takes, and how much memory. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "../../kernel/lab/sampling.js";
import { ROWS } from "./import-nsys.js";
import { type BenchRow, failed, measured } from "./row.js";
import type { BenchOptions, BenchResult } from "./run.js";

const ROUNDS = 3;

const NAMES = {
  time: "summary of an Nsight Systems SQLite file of 1,000,000 rows, time",
  memory: "summary of an Nsight Systems SQLite file of 1,000,000 rows, memory of the process",
} as const;
const BARS = { time: { max: 5 }, memory: { max: 500 } } as const;

interface Cost {
  readonly cpuS: number;
  readonly wallS: number;
  readonly mostMb: number;
  readonly spans: number;
}

export async function importBench(options: BenchOptions): Promise<BenchResult> {
  const rows = options.wants(NAMES.time) || options.wants(NAMES.memory) ? nsysRows(options) : [];
  return {
    machine: cpus()[0]?.model ?? "unknown CPU",
    rows: rows.filter((row) => options.wants(row.name)),
    warnings: [],
    facts: { node: process.version, cpus: cpus().length },
  };
}

function nsysRows({ rounds, say }: BenchOptions): BenchRow[] {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-bench-"));
  try {
    say("writing a file of 1,000,000 rows");
    const file = join(folder, "large.sqlite");
    run("import-nsys.js", file);
    const costs = Array.from({ length: rounds ?? ROUNDS }, () => {
      say(NAMES.time);
      const cost = JSON.parse(run("import-read.js", file)) as Cost;
      if (cost.spans !== ROWS) throw new Error(`${cost.spans} of ${ROWS} rows became spans`);
      return cost;
    });
    const detail = {
      file_mb: statSync(file).size / 1e6,
      rounds: costs.length,
      wall_s: median(costs.map(({ wallS }) => wallS)),
      definition: "import with its tables; CPU time, median of the rounds; the most memory of any round",
    };
    return [
      measured(NAMES.time, median(costs.map(({ cpuS }) => cpuS)), "s", BARS.time, detail),
      measured(NAMES.memory, Math.max(...costs.map(({ mostMb }) => mostMb)), "MB", BARS.memory, detail),
    ];
  } catch (error) {
    return [failed(NAMES.time, "s", BARS.time, error), failed(NAMES.memory, "MB", BARS.memory, error)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** In a process of its own, so that one's memory is not counted with another's. */
function run(script: string, ...args: string[]): string {
  const file = fileURLToPath(new URL(`./${script}`, import.meta.url));
  const done = spawnSync(process.execPath, [file, ...args], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
  return done.stdout;
}
