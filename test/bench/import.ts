/** Importing large files of other tools, each in a process of its own: how long it takes, and how much memory. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "../../kernel/lab/sampling.js";
import { ROWS } from "./import-nsys.js";
import { TEXT_ROWS } from "./import-text.js";
import { type BenchRow, failed, measured } from "./row.js";
import type { BenchOptions, BenchResult } from "./run.js";

const ROUNDS = 3;

const NAMES = {
  time: "summary of an Nsight Systems SQLite file of 1,000,000 rows, time",
  memory: "summary of an Nsight Systems SQLite file of 1,000,000 rows, memory of the process",
} as const;
const BARS = { time: { max: 5 }, memory: { max: 500 } } as const;

/** Text of 1,000,000 lines, and the tables' rows that must come of it. */
const TEXTS = [
  { kind: "nvprof", what: "CSV of nvprof", bars: { time: { max: 20 }, memory: { max: 900 } } },
  { kind: "nccl", what: "log of NCCL", bars: { time: { max: 20 }, memory: { max: 500 } } },
] as const;

type Text = (typeof TEXTS)[number];

function textNames({ what }: Text): { time: string; memory: string } {
  const name = `${what} of 1,000,000 lines`;
  return { time: `${name}, time`, memory: `${name}, memory of the process` };
}

interface Cost {
  readonly cpuS: number;
  readonly wallS: number;
  readonly mostMb: number;
  readonly spans: number;
}

export async function importBench(options: BenchOptions): Promise<BenchResult> {
  const wanted = ({ time, memory }: { time: string; memory: string }) =>
    options.wants(time) || options.wants(memory);
  const rows = [
    ...(wanted(NAMES) ? nsysRows(options) : []),
    ...TEXTS.filter((text) => wanted(textNames(text))).flatMap((text) => textRows(text, options)),
  ];
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

function textRows(text: Text, { rounds, say }: BenchOptions): BenchRow[] {
  const names = textNames(text);
  const folder = mkdtempSync(join(tmpdir(), "p2plab-bench-"));
  try {
    say(`writing a ${text.what} of 1,000,000 lines`);
    const file = join(folder, "large.txt");
    run("import-text.js", text.kind, file);
    const costs = Array.from({ length: rounds ?? ROUNDS }, () => {
      say(names.time);
      const cost = JSON.parse(run("import-read.js", file)) as Cost & { format: string; tableRows: number };
      const all =
        text.kind === "nvprof"
          ? cost.spans === TEXT_ROWS
          : cost.format === "nccl-log" && cost.tableRows > 2048;
      if (!all) throw new Error(`not all lines were read: ${JSON.stringify(cost)}`);
      return cost;
    });
    const detail = {
      file_mb: statSync(file).size / 1e6,
      rounds: costs.length,
      wall_s: median(costs.map(({ wallS }) => wallS)),
      definition: "import; CPU time, median of the rounds; the most memory of any round",
    };
    return [
      measured(names.time, median(costs.map(({ cpuS }) => cpuS)), "s", text.bars.time, detail),
      measured(names.memory, Math.max(...costs.map(({ mostMb }) => mostMb)), "MB", text.bars.memory, detail),
    ];
  } catch (error) {
    return [
      failed(names.time, "s", text.bars.time, error),
      failed(names.memory, "MB", text.bars.memory, error),
    ];
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
