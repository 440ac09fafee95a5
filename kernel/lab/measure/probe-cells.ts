/** What the tables of probes share: memories by name, cells run in random order, the columns that summarise a run. */
import { P2pError } from "../errors.js";
import type { Machine, Run } from "../machine.js";
import type { Program } from "../program.js";
import { reportProgress } from "../progress.js";
import { Random } from "../random.js";
import { quantileSorted, type SamplingOptions } from "../sampling.js";
import { isCellError, isLack, reasonOf } from "./missing.js";
import { provenanceFields } from "./table.js";

/** Memory of a GPU, or page-locked memory of the host. */
export type Memory = { readonly gpu: number } | "host";

export interface ProbeOptions {
  sampling?: SamplingOptions;
  signal?: AbortSignal;
}

/** `GPU 1` or `host`: how tables and figures name a memory. */
export function memoryName(memory: Memory): string {
  return memory === "host" ? "host" : `GPU ${memory.gpu}`;
}

/** What {@link Program.buffer} takes. */
export function memorySpec(memory: Memory): { gpu: number } | { host: "pinned" } {
  return memory === "host" ? { host: "pinned" } : memory;
}

/** @throws P2pError `usage` unless each is a memory. */
export function expectMemories(list: readonly unknown[], who: string): readonly Memory[] {
  for (const memory of list) {
    const gpu = (memory as { gpu?: unknown } | null)?.gpu;
    if (memory === "host" || (Number.isInteger(gpu) && (gpu as number) >= 0)) continue;
    throw new P2pError("usage", `${who}: no memory ${JSON.stringify(memory)}`, 'Give { gpu: 1 } or "host".');
  }
  return list as readonly Memory[];
}

export function listOf<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

export interface Cell {
  readonly label: string;
  readonly program: Program;
}

/** A cell that was run, or why there is no run. */
export type CellResult =
  | { readonly run: Run; readonly note: null }
  | { readonly run: null; readonly note: string };

/**
 * Runs the cells in random order (fixed seed), so that a drift of the machine does not become a trend. A cell that fails says
 * why and leaves the others alone; programs that are the same are run once.
 * @returns a result a cell, in the order given.
 * @throws P2pError what the first one failed with, when none could be had and not only because the machine lacks them.
 */
export async function runCells(
  machine: Machine,
  cells: readonly Cell[],
  options: ProbeOptions,
): Promise<CellResult[]> {
  const results = new Map<string, CellResult>();
  let failure: P2pError | null = null;
  const order = new Random(cells.length).shuffle([...cells]);
  for (const [done, { label, program }] of order.entries()) {
    if (results.has(program.hash)) continue;
    reportProgress({ label, done, total: cells.length });
    try {
      const run = await machine.run(program, {
        ...(options.sampling ? { sampling: options.sampling } : {}),
        ...(options.signal ? { signal: options.signal } : {}),
      });
      results.set(program.hash, { run: proven(run), note: null });
    } catch (error) {
      if (!isCellError(error)) throw error;
      if (!isLack(error)) failure ??= error;
      results.set(program.hash, { run: null, note: reasonOf(error) });
    }
  }
  reportProgress({ label: "probes", done: cells.length, total: cells.length });
  const found = cells.map((cell) => results.get(cell.program.hash) as CellResult);
  if (failure && found.every((result) => result.run === null)) throw failure;
  return found;
}

/**
 * The run, if the driver agrees that every buffer of it lies where the program says.
 * @throws P2pError `verification` when it does not, or does not say.
 */
function proven(run: Run): Run {
  const owners = run.probe?.owners;
  if (owners === undefined) {
    throw new P2pError(
      "verification",
      "the run does not say who owns the memory that it probed. No numbers are given.",
      "Measure it again.",
    );
  }
  for (const { buffer, gpu } of owners) {
    const { place } = run.program.bufferOf(buffer);
    if (("gpu" in place ? place.gpu : null) === gpu) continue;
    throw new P2pError(
      "verification",
      `buffer "${buffer}" does not lie where the program says: ${gpu === null ? "the host" : `GPU ${gpu}`} owns it. No numbers are given.`,
      "Measure it again.",
    );
  }
  return run;
}

/** Columns that every table of probes has; the median's is called `name`. */
export function probeFields(name: string, result: CellResult, machine: Machine): Record<string, unknown> {
  const { run, note } = result;
  const sorted = run?.samples.totalNs.slice().sort();
  const quantile = (q: number) => (sorted ? quantileSorted(sorted, q) : null);
  return {
    [name]: run?.samples.convergence.medianNs ?? null,
    ci_low_ns: run?.samples.convergence.ciLowNs ?? null,
    ci_high_ns: run?.samples.convergence.ciHighNs ?? null,
    p05_ns: quantile(0.05),
    p95_ns: quantile(0.95),
    mean_ns: sorted ? sorted.reduce((sum, ns) => sum + ns, 0) / sorted.length : null,
    n: run?.samples.convergence.n ?? null,
    converged: run?.samples.convergence.converged ?? null,
    clock_ghz: run?.probe?.clockGhz.median ?? null,
    verified: run?.verification.state ?? null,
    note: note ?? (run?.warnings.length ? run.warnings.join("; ") : null),
    ...provenanceFields(run?.provenance ?? machine.provenance),
  };
}
