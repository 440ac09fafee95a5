import { P2pError } from "../errors.js";
import type { Machine, RunOptions } from "../machine.js";
import { type Change, describeChange } from "../model.js";
import { Program } from "../program.js";
import { nsToUs } from "../units.js";
import { expectMachine, expectNames, expectOptions } from "./expect.js";
import { provenanceFields, type Table, tableOf } from "./table.js";

export interface WhatIfOptions {
  /** Programs by the name that they have in the table. */
  programs: Readonly<Record<string, Program>>;
  /** One change, or several that are tried one at a time; each may change several things at once. */
  change: Change | readonly Change[];
  mode?: RunOptions["mode"];
  sampling?: RunOptions["sampling"];
  signal?: AbortSignal;
}

const OPTIONS = ["programs", "change", "mode", "sampling", "signal"] as const;

/**
 * What would be if a machine were another: each program on the model as it is, and on each changed one, with the same seed.
 *
 * @returns a row a program and machine: `program`, `change` (`none` for the machine as it is), `total_us` (median), `ratio` (to
 * the machine as it is), `note` (why there is no number), and the provenance columns.
 * @throws P2pError `not-available` for a machine that is no model; `usage` for a change that makes no sense.
 */
export async function whatIf(machine: Machine, options: WhatIfOptions): Promise<Table> {
  expectMachine(machine, "lab.whatIf");
  expectOptions(options, "lab.whatIf");
  expectNames(options, OPTIONS, "lab.whatIf");
  // The machine as it is answers as the changed ones do.
  const model = machine.backedBy?.model() ?? machine;
  const change = model.with?.bind(model);
  if (!change) {
    throw new P2pError(
      "not-available",
      `${machine.info.name} is no model, and cannot be another machine`,
      'Open a model: lab.open("sim:hgx-h100-8"), or a twin of the machine: lab.open("twin:h200x2").',
    );
  }
  const changes = [options.change].flat() as Change[];
  const machines = [
    { name: "none", machine: model },
    ...changes.map((wanted) => ({ name: describeChange(wanted), machine: change(wanted) })),
  ];
  const rows: Record<string, unknown>[] = [];
  for (const [name, program] of Object.entries(options.programs ?? {})) {
    if (!(program instanceof Program)) {
      throw new P2pError("usage", `"${name}" is no program`, "Make it with lab.program() or lab.transfer().");
    }
    let asIs: number | null = null;
    for (const { name: what, machine: one } of machines) {
      const { medianNs, note } = await medianOf(one, program, options);
      if (what === "none") asIs = medianNs;
      rows.push({
        program: name,
        change: what,
        total_us: medianNs === null ? null : nsToUs(medianNs),
        ratio: medianNs === null || asIs === null ? null : medianNs / asIs,
        note,
        ...provenanceFields(one.provenance),
      });
    }
  }
  if (rows.length === 0) {
    throw new P2pError("usage", "lab.whatIf without programs", "Give { programs: { name: program } }.");
  }
  return tableOf(rows);
}

async function medianOf(
  machine: Machine,
  program: Program,
  { mode, sampling, signal }: WhatIfOptions,
): Promise<{ medianNs: number | null; note: string | null }> {
  try {
    const run = await machine.run(program, {
      ...(mode && { mode }),
      ...(sampling && { sampling }),
      ...(signal && { signal }),
    });
    return { medianNs: run.samples.convergence.medianNs, note: run.warnings.join("; ") || null };
  } catch (error) {
    // A machine that cannot run it is an answer; a wrong program or a wish to stop is not.
    if (error instanceof P2pError && error.code === "not-available")
      return { medianNs: null, note: error.message };
    throw error;
  }
}
