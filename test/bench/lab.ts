/** The measurement library without GPUs: how long it takes over what it has, and how much memory. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packagePath } from "../../kernel/lab/index.js";
import { RecordedMachine } from "../../kernel/lab/machines/recorded.js";
import { SimulatedMachine } from "../../kernel/lab/machines/simulated.js";
import { matrix } from "../../kernel/lab/measure/matrix.js";
import { sweep } from "../../kernel/lab/measure/sweep.js";
import { median } from "../../kernel/lab/sampling.js";
import { PAIRS, SAMPLES, SIZES } from "./lab-recording.js";
import { type BenchRow, failed, measured } from "./row.js";
import type { BenchOptions, BenchResult } from "./run.js";

const ROUNDS = 3;
const MATRIX_MACHINE = "gb200-nvl72";
const MATRIX_GPUS = 64;

const NAMES = {
  sweep: "sweep of 10,000 recorded programs",
  open: "opening a recording of 10,000 programs",
  matrix: "matrix of 64 × 64, simulated",
  doctor: "p2plab doctor without a GPU",
  memory: "most memory of all of these",
} as const;

export async function labBench(options: BenchOptions): Promise<BenchResult> {
  const rounds = options.rounds ?? ROUNDS;
  const rows: BenchRow[] = [];
  if (options.wants(NAMES.sweep) || options.wants(NAMES.open))
    rows.push(...(await recorded(options, rounds)));
  if (options.wants(NAMES.matrix)) rows.push(await simulated(options, rounds));
  if (options.wants(NAMES.doctor)) rows.push(await doctor(options, rounds));
  if (options.wants(NAMES.memory) && rows.length > 0) {
    rows.push(measured(NAMES.memory, process.resourceUsage().maxRSS / 1e3, "MB", { max: 400 }));
  }
  return {
    machine: cpus()[0]?.model ?? "unknown CPU",
    rows: rows.filter((row) => options.wants(row.name)),
    warnings: [],
    facts: { node: process.version, cpus: cpus().length },
  };
}

/** The whole command, from its start to its end. */
async function doctor({ say }: BenchOptions, rounds: number): Promise<BenchRow> {
  const bar = { max: 1.5 };
  try {
    const { wallS, detail } = await repeated(rounds, async () => {
      say(NAMES.doctor);
      const main = packagePath("dist/kernel/cli/main.js");
      const { status, stderr } = spawnSync(process.execPath, [main, "doctor"], { encoding: "utf8" });
      if (status !== 3) throw new Error(`exit status ${status} where there is no GPU: ${stderr}`);
    });
    return measured(NAMES.doctor, wallS, "s", bar, detail);
  } catch (error) {
    return failed(NAMES.doctor, "s", bar, error);
  }
}

async function recorded(options: BenchOptions, rounds: number): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-bench-"));
  try {
    options.say("making a recording of 10,000 programs");
    const file = join(folder, "many.arrow");
    // In a process of its own, so that its memory is not counted.
    const maker = fileURLToPath(new URL("./lab-recording.js", import.meta.url));
    const made = spawnSync(process.execPath, [maker, file], { encoding: "utf8" });
    if (made.status !== 0) throw new Error(made.stderr);
    const began = performance.now();
    const machine = RecordedMachine.open(file);
    const openS = (performance.now() - began) / 1e3;
    const axes = { pair: PAIRS, bytes: SIZES };
    const timed = await repeated(rounds, async () => {
      options.say(NAMES.sweep);
      const table = await sweep(machine, axes);
      if (table.numRows() !== PAIRS.length * SIZES.length) throw new Error(`${table.numRows()} rows`);
    });
    const detail = { programs: PAIRS.length * SIZES.length, samples_each: SAMPLES };
    return [
      measured(NAMES.sweep, timed.wallS, "s", { max: 1 }, { ...detail, ...timed.detail }),
      measured(NAMES.open, openS, "s", null, detail),
    ];
  } catch (error) {
    return [failed(NAMES.sweep, "s", { max: 1 }, error)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function simulated(options: BenchOptions, rounds: number): Promise<BenchRow> {
  try {
    const machine = SimulatedMachine.open(MATRIX_MACHINE);
    const gpus = Array.from({ length: MATRIX_GPUS }, (_, gpu) => gpu);
    const timed = await repeated(rounds, async () => {
      options.say(NAMES.matrix);
      const table = await matrix(machine, { gpus });
      const missing =
        table.numRows() - (table.array("n") as (number | null)[]).filter((n) => n !== null).length;
      if (table.numRows() !== MATRIX_GPUS ** 2 || missing > 0)
        throw new Error(`${missing} cells are missing`);
    });
    const detail = { machine: `sim:${MATRIX_MACHINE}`, cells: MATRIX_GPUS ** 2 };
    return measured(NAMES.matrix, timed.wallS, "s", { max: 5 }, { ...detail, ...timed.detail });
  } catch (error) {
    return failed(NAMES.matrix, "s", { max: 5 }, error);
  }
}

/** Median wall time of the rounds; the first one, which finds nothing compiled, and the processor's time stand beside it. */
async function repeated(rounds: number, work: () => Promise<void>) {
  const walls: number[] = [];
  const cpuS: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const cpu = process.cpuUsage();
    const began = performance.now();
    await work();
    walls.push((performance.now() - began) / 1e3);
    const used = process.cpuUsage(cpu);
    cpuS.push((used.user + used.system) / 1e6);
  }
  return {
    wallS: median(walls),
    detail: { rounds, first_s: walls[0] as number, cpu_s: median(cpuS) },
  };
}
