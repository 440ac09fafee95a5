/** Rows that are measured together, and what they need. */
import { lab } from "../../../kernel/lab/index.js";
import { type Bar, type BenchRow, failed as failedRow, notRun } from "../../bench/row.js";
import type { Found } from "../peers.js";

export type Machine = Awaited<ReturnType<typeof lab.open>>;
export type Program = ReturnType<typeof lab.program>;
export type Run = Awaited<ReturnType<Machine["run"]>>;

export interface Bench {
  readonly machine: Machine;
  readonly nvbandwidth: Found;
  readonly p2pTest: Found;
  /** The hand-written loops, built, or why they cannot be. */
  readonly loops: Found;
  readonly rounds: number | null;
  /** What runs warned of, once each. */
  readonly warnings: Set<string>;
  say(line: string): void;
}

export interface RowSpec {
  readonly name: string;
  readonly unit: string;
  readonly bar: Bar | null;
  /** GPUs that it takes; two must reach each other's memory. */
  readonly gpus: 1 | 2;
  readonly needs: readonly ("nvbandwidth" | "p2pTest" | "loops")[];
}

export interface Group<Spec extends RowSpec = RowSpec> {
  readonly specs: readonly Spec[];
  /** Measures what is wanted, all of which can be measured here; a row each, in any order. */
  run(bench: Bench, wanted: readonly Spec[]): Promise<BenchRow[]>;
}

/** A run of the library whose warnings are kept. */
export async function measure(bench: Bench, program: Program, options: lab.RunOptions): Promise<Run> {
  const run = await bench.machine.run(program, options);
  for (const warning of run.warnings) bench.warnings.add(warning);
  const { gateTimeouts = 0 } = run.throughput ?? {};
  if (gateTimeouts > 0) bench.warnings.add(`a gate gave up ${gateTimeouts} times; its batch was halved`);
  return run;
}

/** Median time of an iteration on one stream, by its own events; nanoseconds. */
export function streamNs(run: Run, name: string): number {
  const stream = run.throughput?.streams.find((item) => item.name === name);
  if (!stream) throw new Error(`the run has no throughput figures of stream ${name}`);
  return lab.median(stream.totalNs);
}

export function failed(spec: RowSpec, error: unknown): BenchRow {
  return failedRow(spec.name, spec.unit, spec.bar, error);
}

/** Why a row cannot be measured here; null when it can. */
export function obstacle(spec: RowSpec, bench: Bench): string | null {
  const { gpus, pairs } = bench.machine.info;
  if (gpus.length < spec.gpus) return `needs ${spec.gpus} GPUs; this machine has ${gpus.length}`;
  if (spec.gpus === 2) {
    const pair = pairs.find(({ from, to }) => from === 0 && to === 1);
    if (!pair?.peerAccess) return `needs peer access: ${pair?.reason ?? "GPUs 0 and 1 are no pair"}`;
  }
  for (const need of spec.needs) {
    const found = bench[need];
    if ("reason" in found) return found.reason;
  }
  return null;
}

/** Runs a group: rows that cannot be measured say why, and one that fails leaves the others. */
export async function runGroup<Spec extends RowSpec>(
  group: Group<Spec>,
  bench: Bench,
  wants: (name: string) => boolean,
): Promise<BenchRow[]> {
  const specs = group.specs.filter((spec) => wants(spec.name));
  const rows = new Map<string, BenchRow>();
  const runnable: Spec[] = [];
  for (const spec of specs) {
    const reason = obstacle(spec, bench);
    if (reason === null) runnable.push(spec);
    else rows.set(spec.name, notRun(spec.name, spec.unit, spec.bar, reason));
  }
  if (runnable.length > 0) {
    try {
      for (const row of await group.run(bench, runnable)) rows.set(row.name, row);
    } catch (error) {
      for (const spec of runnable) if (!rows.has(spec.name)) rows.set(spec.name, failed(spec, error));
    }
  }
  return specs.map((spec) => rows.get(spec.name) ?? failed(spec, "its group gave no row"));
}

/** The path of a tool that {@link obstacle} has found. */
export function pathOf(found: Found): string {
  if ("reason" in found) throw new Error(found.reason);
  return found.path;
}
