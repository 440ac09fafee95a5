/** What cells did, in the words that a notebook keeps: on what, with which machines, programs and entries of the ledger. */
import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { arch, cpus, release, type } from "node:os";
import { type LedgerRow, lab, packagePath, takeActivity } from "../lab/index.js";

/** On what the cells ran. No host name, no user, no path: an executed notebook is handed on. */
export interface Environment {
  readonly node: string;
  /** Such as `Linux 6.1.0 x64`. */
  readonly os: string;
  readonly cpu: string;
  readonly kernel: string;
}

/** A machine that the cells opened. */
export interface MachineFacts {
  readonly source: string;
  readonly kind: lab.Provenance["kind"];
  readonly name: string;
  /** See {@link lab.fingerprint}. */
  readonly fingerprint: string;
  readonly gpus: readonly string[];
  readonly facts: Readonly<Record<string, string | number | null>>;
}

export interface Activity {
  readonly machines: readonly lab.Provenance[];
  readonly opened: readonly MachineFacts[];
  /** Null when the cells' process ended before it could tell. */
  readonly programs: readonly lab.RanProgram[] | null;
  readonly ledger: readonly LedgerRow[];
}

/** What one cell did, as the kernel leaves it in the metadata of an output under {@link CELL_RECORD}. */
export interface CellRecord extends Activity {
  /** The same in all cells that one kernel process ran. */
  readonly process: string;
  /** When the cell ended (ISO 8601). */
  readonly executed: string;
  /** Version of p2plab. */
  readonly version: string;
  readonly environment: Environment;
  /** See {@link sourceDigest}. */
  readonly source: string;
  readonly programs: readonly lab.RanProgram[];
  /** Programs that ran and are not listed, at most: some may be the same as one that is. */
  readonly morePrograms: number;
}

export const CELL_RECORD = "p2plab_cell";

/** A cell of a matrix runs hundreds of programs of one shape: a notebook need not hold them all. */
const MOST_PROGRAMS = 200;
/** Not made when this file is read: a start-up snapshot would give it to every kernel. */
let processId: string | null = null;

/** What was done since the last record, for the cell that ran; null when nothing was. */
export function takeCellRecord(code: string): CellRecord | null {
  const recent = takeActivity(MOST_PROGRAMS);
  if (recent === null) return null;
  processId ??= randomUUID().slice(0, 8);
  return {
    process: processId,
    executed: new Date().toISOString(),
    version: p2plabVersion(),
    environment: environment(),
    source: sourceDigest(code),
    machines: recent.provenances,
    opened: recent.machines.map(machineFacts),
    programs: recent.programs,
    morePrograms: recent.morePrograms,
    ledger: recent.entered,
  };
}

/** By which a cell is known to be as it was when it ran; front ends may change the ends of lines. */
export function sourceDigest(code: string): string {
  return createHash("sha256").update(code.replace(/\r\n/g, "\n").trim()).digest("hex").slice(0, 16);
}

export function environment(): Environment {
  const processors = cpus();
  return {
    node: process.versions.node,
    os: `${type()} ${release()} ${arch()}`,
    cpu: `${processors.length} × ${processors[0]?.model.trim() ?? "unknown"}`,
    kernel: `P2P Lab (TypeScript), p2plab ${p2plabVersion()}`,
  };
}

export function p2plabVersion(): string {
  return (JSON.parse(readFileSync(packagePath("package.json"), "utf8")) as { version: string }).version;
}

export function machineFacts({ provenance, info }: lab.OpenedMachine): MachineFacts {
  return {
    source: provenance.source,
    kind: provenance.kind,
    name: info.name,
    fingerprint: lab.fingerprint(info),
    gpus: info.gpus.map((gpu) => gpu.name),
    facts: info.facts,
  };
}
