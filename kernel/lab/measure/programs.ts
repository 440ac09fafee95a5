/** Times programs of the caller's own, side by side. */
import { P2pError, shown } from "../errors.js";
import type { Machine } from "../machine.js";
import { Program } from "../program.js";
import { expectMachine, expectNames, expectOptions, expectWord } from "./expect.js";
import { stopped } from "./partial.js";
import { METRICS, type Metric, modeOf, SUMMARY_COLUMNS, summaryFields } from "./summary.js";
import { PROVENANCE_COLUMNS, provenanceFields, type Table, tableOf } from "./table.js";
import { type VisitOptions, visit } from "./visits.js";

export interface TimeProgramsOptions extends Omit<VisitOptions, "mode" | "report"> {
  /** Default `latency`. */
  metric?: Metric;
}

const OPTIONS = ["metric", "rounds", "sampling", "signal"];

/**
 * Times programs in turns, as `lab.sweep` does transfers: `lab.timePrograms(machine, { one: programA, other: programB })`.
 *
 * @param programs by the name that each has in the table.
 * @returns a row a program: `program`, `copied_bytes` (by its copies in one iteration), `metric`, the columns of `lab.sweep` from
 * `total_us` on, `reason` (why a row is null: not recorded, not available, bytes that did not arrive), and the provenance columns.
 * @throws P2pError `usage` for what are no programs; CancelledError with the rows that were done.
 */
export async function timePrograms(
  machine: Machine,
  programs: Readonly<Record<string, Program>>,
  options: TimeProgramsOptions = {},
): Promise<Table> {
  expectMachine(machine, "lab.timePrograms");
  expectOptions(programs, "lab.timePrograms");
  expectOptions(options, "lab.timePrograms");
  expectNames(options, OPTIONS, "lab.timePrograms");
  const metric = expectWord("metric", options.metric ?? "latency", METRICS);
  const cells = Object.entries(programs).map(([label, program]) => {
    if (program instanceof Program) return { label, program };
    throw new P2pError(
      "usage",
      `lab.timePrograms was given ${shown(program)} as program "${label}"`,
      "Make one with lab.program() or lab.transfer().",
    );
  });
  if (cells.length === 0) {
    throw new P2pError("usage", "lab.timePrograms was given no program", "Give { name: program }.");
  }
  const visited = await visit(machine, cells, { ...options, mode: modeOf(metric) }, "keep");
  const rows = cells.flatMap(({ label, program }, index): Record<string, unknown>[] => {
    const copied = copiedBytes(program);
    const head = { program: label, copied_bytes: copied, metric };
    const own = visited.cells[index];
    const error = visited.errors[index];
    if (own) return [{ ...head, ...summaryFields(own, copied), reason: "" }];
    if (!error) return [];
    return [{ ...head, reason: error.message.split("\n")[0], ...provenanceFields(machine.provenance) }];
  });
  const columns = ["program", "copied_bytes", "metric", ...SUMMARY_COLUMNS, "reason", ...PROVENANCE_COLUMNS];
  const table = tableOf(rows, columns);
  const { stoppedBy } = visited;
  if (stoppedBy) {
    const progress = { done: rows.length, total: cells.length };
    throw stopped("lab.timePrograms", table, progress, stoppedBy.cause, stoppedBy.cancelled);
  }
  return table;
}

function copiedBytes({ data }: Program): number {
  return data.operations.reduce((sum, o) => sum + (o.op === "copy" || o.op === "put" ? o.bytes : 0), 0);
}
