/** What a run leaves in a notebook's metadata under `p2plab`, and what of it a report may believe. */
import { readFileSync } from "node:fs";
import { arch, cpus, release, type } from "node:os";
import { lab, packagePath } from "../lab/index.js";
import { digestOf } from "./canonical.js";
import type { Notebook } from "./nbformat.js";

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

/** A row of `lab.ledger()`. */
export type LedgerRow = Readonly<Record<string, string | number | null>>;

export interface RunMetadata {
  /** When it was executed (ISO 8601). */
  executed: string;
  /** Version of p2plab. */
  version: string;
  /** Every machine that the cells opened, in order. */
  machines: readonly lab.Provenance[];
  /** Kind and name of the machine opened last; absent when none was. */
  provenance?: string;
  machine?: string;
  environment: Environment;
  opened: readonly MachineFacts[];
  /** Null when the cells' process ended before it could tell. */
  programs: readonly lab.RanProgram[] | null;
  /** Predictions, claims and checks that the cells entered. */
  ledger: readonly LedgerRow[];
  /** Digest of cells and outputs as they were written. */
  digest: string;
}

/** What the cells' process tells of what it did. */
export interface Activity {
  readonly machines: readonly lab.Provenance[];
  readonly opened: readonly MachineFacts[];
  readonly programs: readonly lab.RanProgram[] | null;
  readonly ledger: readonly LedgerRow[];
}

export function runMetadata(notebook: Notebook, activity: Activity): RunMetadata {
  const last = activity.machines.at(-1);
  return {
    executed: new Date().toISOString(),
    version: p2plabVersion(),
    ...(last ? { provenance: last.kind, machine: last.machine } : {}),
    environment: environment(),
    ...activity,
    digest: digestOf(notebook.cells),
  };
}

function environment(): Environment {
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

/** What a report may believe of a notebook's metadata: all of it, or nothing and why. */
export type Origin =
  | { readonly run: RunMetadata; readonly reason: null }
  | { readonly run: null; readonly reason: "not-executed" | "changed" };

/**
 * The run is believed only while the digest holds. Parts that earlier versions did not write are empty.
 * @param digest of the cells and outputs as they were read.
 */
export function originOf(notebook: Notebook, digest: string): Origin {
  const run = notebook.metadata.p2plab as Partial<RunMetadata> | null | undefined;
  if (typeof run !== "object" || run === null || typeof run.executed !== "string") return NOT_EXECUTED;
  if (!areProvenances(run.machines)) return NOT_EXECUTED;
  if (run.digest !== digest) return { run: null, reason: "changed" };
  const list = <T>(value: readonly T[] | null | undefined): readonly T[] =>
    Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null) : [];
  return {
    run: {
      ...(run as RunMetadata),
      version: String(run.version ?? ""),
      opened: list(run.opened),
      programs: Array.isArray(run.programs) ? list(run.programs) : null,
      ledger: list(run.ledger),
    },
    reason: null,
  };
}

const NOT_EXECUTED = { run: null, reason: "not-executed" } as const;

function areProvenances(machines: unknown): machines is readonly lab.Provenance[] {
  const isOne = (value: unknown) =>
    typeof value === "object" &&
    value !== null &&
    ["kind", "machine", "date", "source"].every(
      (field) => typeof (value as Record<string, unknown>)[field] === "string",
    );
  return Array.isArray(machines) && machines.every(isOne);
}
