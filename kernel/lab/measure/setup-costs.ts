import type { Machine } from "../machine.js";
import { SETUP_KINDS, type SetupKind } from "../operations.js";
import { type Program, program } from "../program.js";
import { OPENED_ELSEWHERE, SETUP_NEEDS } from "../program-checks.js";
import { reportProgress } from "../progress.js";
import { quantileSorted, type SamplingOptions } from "../sampling.js";
import { type Bytes, nsToUs, parseBytes } from "../units.js";
import { listOf } from "./axes.js";
import { expectMachine, expectNames, expectOptions, expectWord } from "./expect.js";
import { isCellError, reasonOf } from "./missing.js";
import { provenanceFields, type Table, tableOf } from "./table.js";

export interface SetupCostsOptions {
  /** GPU that the work is done on; default 0. */
  gpu?: number;
  /** The other GPU of kinds that need one; default the first other one. IPC takes the same GPU where there is no other. */
  peer?: number;
  /** Sizes of the kinds that have one; default 64 KiB, 1 MiB and 64 MiB. */
  bytes?: Bytes | readonly Bytes[];
  /** Graph sizes, in empty kernel nodes; default 1 and 32. */
  nodes?: number | readonly number[];
  /** Default all of SETUP_KINDS. */
  kinds?: SetupKind | readonly SetupKind[];
  sampling?: SamplingOptions;
  signal?: AbortSignal;
}

const OPTIONS = ["gpu", "peer", "bytes", "nodes", "kinds", "sampling", "signal"] as const;

/**
 * What set-up work costs the host, call by call: memory of each kind, access of a peer, IPC between two processes, events,
 * streams, graphs, modules. The work is done and undone again and again; a sample is the time in the named call alone.
 *
 * @returns a row a kind and size: `kind`, `gpu`, `peer`, `bytes`, `nodes` (null where the kind has none), `median_us`,
 * `p05_us`, `p95_us`, `first_us` (the very first repetition, not among the samples), `n`, `reason` (why a cell is null; empty
 * for one that is not), `note` (the same, or what was checked), and the provenance columns.
 */
export async function setupCosts(machine: Machine, options: SetupCostsOptions = {}): Promise<Table> {
  expectMachine(machine, "lab.setupCosts");
  expectOptions(options, "lab.setupCosts");
  expectNames(options, OPTIONS, "lab.setupCosts");
  const { gpu = 0 } = options;
  const kinds = listOf(options.kinds ?? SETUP_KINDS).map((kind) =>
    expectWord("set-up work", kind, SETUP_KINDS),
  );
  const nodes = listOf(options.nodes ?? [1, 32]);
  const other = machine.info.gpus.find((candidate) => candidate.index !== gpu)?.index;
  const sizes = listOf(options.bytes ?? ["64 KiB", "1 MiB", "64 MiB"]).map(parseBytes);
  const cells = kinds.flatMap((kind): Cell[] => {
    const peer = SETUP_NEEDS.peer.includes(kind)
      ? (options.peer ?? other ?? (OPENED_ELSEWHERE.includes(kind) ? gpu : undefined))
      : null;
    const base = { kind, gpu, peer };
    if (SETUP_NEEDS.bytes.includes(kind)) return sizes.map((bytes) => ({ ...base, bytes, nodes: null }));
    if (SETUP_NEEDS.nodes.includes(kind))
      return nodes.map((count) => ({ ...base, bytes: null, nodes: count }));
    return [{ ...base, bytes: null, nodes: null }];
  });
  const rows: Record<string, unknown>[] = [];
  for (const cell of cells) {
    reportProgress({ label: `set-up ${cell.kind}`, done: rows.length, total: cells.length });
    rows.push({ ...cell, peer: cell.peer ?? null, ...(await measure(machine, cell, options)) });
  }
  reportProgress({ label: "set-up costs", done: cells.length, total: cells.length });
  return tableOf(rows, COLUMNS);
}

const COLUMNS = [
  "kind",
  "gpu",
  "peer",
  "bytes",
  "nodes",
  "median_us",
  "p05_us",
  "p95_us",
  "first_us",
  "n",
  "reason",
  "note",
  "machine",
  "provenance",
  "date",
] as const;

interface Cell {
  readonly kind: SetupKind;
  readonly gpu: number;
  /** Null: the kind has none. Undefined: it needs one that is not there. */
  readonly peer: number | null | undefined;
  readonly bytes: number | null;
  readonly nodes: number | null;
}

function programOf({ kind, gpu, peer, bytes, nodes }: Cell): Program {
  return program().setup(kind, {
    gpu,
    ...(peer === null || peer === undefined ? {} : { peer }),
    ...(bytes === null ? {} : { bytes }),
    ...(nodes === null ? {} : { nodes }),
  });
}

async function measure(
  machine: Machine,
  cell: Cell,
  options: SetupCostsOptions,
): Promise<Record<string, unknown>> {
  const none = { median_us: null, p05_us: null, p95_us: null, first_us: null, n: null };
  if (cell.peer === undefined) {
    const reason = "this machine has no other GPU";
    return { ...none, reason, note: reason, ...provenanceFields(machine.provenance) };
  }
  try {
    const run = await machine.run(programOf(cell), {
      ...(options.sampling ? { sampling: options.sampling } : {}),
      ...(options.signal ? { signal: options.signal } : {}),
    });
    const sorted = run.samples.totalNs.slice().sort();
    return {
      median_us: nsToUs(quantileSorted(sorted, 0.5)),
      p05_us: nsToUs(quantileSorted(sorted, 0.05)),
      p95_us: nsToUs(quantileSorted(sorted, 0.95)),
      first_us: run.firstNs === undefined ? null : nsToUs(run.firstNs),
      n: run.samples.totalNs.length,
      reason: "",
      note: run.verification.detail,
      ...provenanceFields(run.provenance),
    };
  } catch (error) {
    if (!isCellError(error)) throw error;
    const reason = reasonOf(error);
    return { ...none, reason, note: reason, ...provenanceFields(machine.provenance) };
  }
}
