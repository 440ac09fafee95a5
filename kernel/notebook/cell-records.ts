/**
 * What cells that were run one by one, in JupyterLab or any other front end, tell of themselves: the kernel leaves a record in the
 * metadata of an output that shows nothing. A record is believed while its cell's source is what ran.
 */
import { addProvenance, type LedgerRow, type lab } from "../lab/index.js";
import {
  type Activity,
  CELL_RECORD,
  type CellRecord,
  type Environment,
  sourceDigest,
} from "../session/activity.js";
import type { Notebook, NotebookCell } from "./nbformat.js";

export interface CellByCell {
  /** All records together, as if one run had left them. */
  readonly run: Activity & {
    readonly executed: string;
    readonly version: string;
    readonly environment: Environment;
  };
  /** When the first of the cells ended (ISO 8601). */
  readonly began: string;
  /** Code cells that ran, and those of them with a record; the others neither measured nor entered anything, or it is not known. */
  readonly ran: number;
  readonly recorded: number;
  /** Programs that ran and that the records do not list. */
  readonly morePrograms: number;
  /** Why the whole is less sure than its parts, in two languages, a line each. */
  readonly doubts: readonly string[];
}

/**
 * Null when no cell has a record that can be believed.
 * @param before when p2plab ran the notebook as a whole, if it did; it was changed since.
 */
export function cellByCell(notebook: Notebook, before: string | null): CellByCell | null {
  const ran = notebook.cells.filter((cell) => cell.cell_type === "code" && hasRun(cell));
  const told = ran
    .map((cell) => ({ cell, records: recordsOf(cell) }))
    .filter(({ records }) => records.length > 0);
  const kept = told.filter(({ cell, records }) =>
    records.every(({ source }) => source === sourceDigest(cell.source)),
  );
  const records = distinct(kept.flatMap(({ records }) => records));
  const [first, last] = [records[0], records.at(-1)];
  if (!first || !last) return null;
  const machines: lab.Provenance[] = [];
  for (const record of records) for (const one of record.machines) addProvenance(machines, one);
  return {
    run: {
      executed: last.executed,
      version: last.version,
      environment: last.environment,
      machines,
      opened: records.flatMap(({ opened }) => opened),
      programs: together(records.flatMap(({ programs }) => programs)),
      ledger: latest(records.flatMap(({ ledger }) => ledger)),
    },
    began: first.executed,
    ran: ran.length,
    recorded: kept.length,
    morePrograms: records.reduce((sum, { morePrograms }) => sum + morePrograms, 0),
    doubts: doubts(ran, records, told.length - kept.length, before),
  };
}

export function hasRecords(notebook: Notebook): boolean {
  return notebook.cells.some((cell) => recordsOf(cell).length > 0);
}

function hasRun({ execution_count, outputs }: NotebookCell): boolean {
  return typeof execution_count === "number" || (outputs?.length ?? 0) > 0;
}

/** Records of a cell's outputs; what is none, as after a change by hand, is passed over. */
function recordsOf(cell: NotebookCell): CellRecord[] {
  return (cell.outputs ?? []).flatMap((output) => {
    const record = "metadata" in output ? output.metadata?.[CELL_RECORD] : undefined;
    if (typeof record !== "object" || record === null) return [];
    const {
      process,
      executed,
      version,
      source,
      environment,
      machines,
      opened,
      programs,
      morePrograms,
      ledger,
    } = record as Partial<CellRecord>;
    if (typeof process !== "string" || typeof executed !== "string" || typeof source !== "string") return [];
    return {
      process,
      executed,
      source,
      version: String(version ?? ""),
      environment: (typeof environment === "object" && environment !== null
        ? environment
        : {}) as Environment,
      machines: listOf(machines).filter(isProvenance),
      opened: listOf(opened),
      programs: listOf(programs),
      morePrograms: Number(morePrograms) || 0,
      ledger: listOf(ledger),
    };
  });
}

/** The objects of what should be a list of them. */
export function listOf<T>(value: readonly T[] | null | undefined): readonly T[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null) : [];
}

export function isProvenance(value: unknown): value is lab.Provenance {
  return (
    typeof value === "object" &&
    value !== null &&
    ["kind", "machine", "date", "source"].every(
      (field) => typeof (value as Record<string, unknown>)[field] === "string",
    )
  );
}

/** In the order in which the cells ran; a cell that was copied with its outputs counts once. */
function distinct(records: readonly CellRecord[]): CellRecord[] {
  const byRun = new Map(
    records.map((record) => [`${record.process} ${record.executed} ${record.source}`, record]),
  );
  return [...byRun.values()].sort((a, b) => (a.executed < b.executed ? -1 : a.executed > b.executed ? 1 : 0));
}

/** A program that ran in several cells, once. */
function together(programs: readonly lab.RanProgram[]): lab.RanProgram[] {
  const all = new Map<string, lab.RanProgram>();
  for (const program of programs) {
    const key = [program.hash, program.mode, program.source].join(" ");
    all.set(key, { ...program, runs: (all.get(key)?.runs ?? 0) + program.runs });
  }
  return [...all.values()];
}

/** Of the entries of one kind, id and machine the last; a prediction that was held against a measurement is no longer open. */
function latest(rows: readonly LedgerRow[]): LedgerRow[] {
  return rows.filter(
    (row, at) =>
      !rows
        .slice(at + 1)
        .some(
          (later) =>
            later.kind === row.kind &&
            later.id === row.id &&
            (later.machine === row.machine || (row.kind === "prediction" && row.result === "open")),
        ),
  );
}

function doubts(
  ran: readonly NotebookCell[],
  records: readonly CellRecord[],
  changed: number,
  before: string | null,
): string[] {
  const counts = ran.flatMap(({ execution_count }) => execution_count ?? []);
  const processes = new Set(records.map((record) => record.process)).size;
  const versions = [...new Set(records.map((record) => record.version))];
  return [
    ...(changed > 0
      ? [
          `${changed}个单元在执行之后被改动，它们做过什么不明 ${changed} cell(s) changed since they ran: what they did is not known`,
        ]
      : []),
    ...(processes > 1 ? [`单元来自${processes}个内核进程 cells ran in ${processes} kernel processes`] : []),
    ...(counts.some((count, at) => at > 0 && count <= (counts[at - 1] as number))
      ? ["单元不是从上到下依次执行的 cells did not run from top to bottom"]
      : []),
    ...(versions.length > 1
      ? [`p2plab的版本不止一个 several versions of p2plab: ${versions.join(", ")}`]
      : []),
    ...(before === null
      ? []
      : [
          `p2plab在${before.slice(0, 10)}整体执行过，之后又有改动 executed as a whole by p2plab on ${before.slice(0, 10)}, changed since`,
        ]),
  ];
}
