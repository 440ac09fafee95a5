/** What a run leaves in a notebook's metadata under `p2plab`, and what of it a report may believe. */
import type { lab } from "../lab/index.js";
import { type Activity, type Environment, environment, p2plabVersion } from "../session/activity.js";
import { digestOf } from "./canonical.js";
import { type CellByCell, cellByCell, hasRecords, isProvenance, listOf } from "./cell-records.js";
import type { Notebook } from "./nbformat.js";

export interface RunMetadata extends Activity {
  /** When it was executed (ISO 8601). */
  executed: string;
  /** Version of p2plab. */
  version: string;
  /** Kind and name of the machine opened last; absent when none was. */
  provenance?: string;
  machine?: string;
  /** The specification that the whole was run with, so that it can be again; null when each cell had this machine's own choice. */
  asked?: string | null;
  environment: Environment;
  /** Code cells with a text, and how many of them ran to their ends, in success or failure; absent in what earlier versions wrote. */
  cells?: number;
  cellsRan?: number;
  /** Digest of cells and outputs as they were written. */
  digest: string;
}

export function runMetadata(notebook: Notebook, activity: Activity, asked: string | null): RunMetadata {
  const toRun = notebook.cells.filter((cell) => cell.cell_type === "code" && cell.source.trim() !== "");
  const last = activity.machines.at(-1);
  return {
    executed: new Date().toISOString(),
    version: p2plabVersion(),
    ...(last ? { provenance: last.kind, machine: last.machine } : {}),
    asked,
    environment: environment(),
    ...activity,
    cells: toRun.length,
    cellsRan: toRun.filter((cell) => typeof cell.execution_count === "number").length,
    digest: digestOf(notebook.cells),
  };
}

/** Of cells run one by one: `executed` is when the last ended, and there is no digest of the whole. */
export type BelievedRun = Omit<RunMetadata, "digest"> & { readonly digest: string | null };

/** What a report may believe of a notebook: a whole run, what cells run one by one tell of themselves, or nothing and why. */
export type Origin =
  | { readonly run: BelievedRun; readonly reason: null; readonly cells: CellByCell | null }
  | { readonly run: null; readonly reason: "not-executed" | "changed"; readonly cells: null };

/**
 * A whole run is believed only while the digest holds. Parts that earlier versions did not write are empty.
 * @param digest of the cells and outputs as they were read; asked for only where a run left one.
 */
export function originOf(notebook: Notebook, digest: () => string): Origin {
  const run = notebook.metadata.p2plab as Partial<RunMetadata> | null | undefined;
  const isRun =
    typeof run === "object" &&
    run !== null &&
    typeof run.executed === "string" &&
    areProvenances(run.machines);
  if (isRun && run.digest === digest()) {
    const whole = {
      ...(run as RunMetadata),
      version: String(run.version ?? ""),
      opened: listOf(run.opened),
      programs: Array.isArray(run.programs) ? listOf(run.programs) : null,
      ledger: listOf(run.ledger),
    };
    return { run: whole, reason: null, cells: null };
  }
  const cells = cellByCell(notebook, isRun ? (run.executed as string) : null);
  if (cells) return { run: { ...cells.run, digest: null }, reason: null, cells };
  return { run: null, reason: isRun || hasRecords(notebook) ? "changed" : "not-executed", cells: null };
}

function areProvenances(machines: unknown): machines is readonly lab.Provenance[] {
  return Array.isArray(machines) && machines.every(isProvenance);
}
