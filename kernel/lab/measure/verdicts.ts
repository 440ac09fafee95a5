import { P2pError } from "../errors.js";
import type { Machine } from "../machine.js";
import { CudaMachine } from "../machines/cuda.js";
import { type MimeBundle, richDisplay } from "../rich.js";
import { ALLOCATORS, type VerdictOptions } from "../verdict.js";
import { expectMachine, expectNames, expectOptions } from "./expect.js";
import { provenanceFields, type Table, tableOf } from "./table.js";

const COLUMNS = [
  "from",
  "to",
  "allocator",
  "verdict",
  "stage",
  "reason",
  "next",
  "machine",
  "provenance",
  "date",
] as const;

/**
 * Whether GPUs reach each other's memory: the verdict ladder of every ordered pair and kind of memory, in a process of its
 * own with a deadline for each rung. A pair that is broken or hangs changes nothing for the others.
 *
 * @param machine an opened machine; left out, the GPUs of this one. On a recording or a simulation there is no link to
 * probe: `verdict` is null, and `reason` says so.
 * @returns a row a pair (data flows from → to) and allocator: `from`, `to`, `allocator`, `verdict` (`ok`, `no-p2p`,
 * `broken`, `mirror`, `hang`, `inconclusive`), `stage` (the rung where the ladder ended), `reason`, `next` (what to look at),
 * and the provenance columns. Empty where there is one GPU, and says so when shown.
 * @throws P2pError `usage` for pairs or allocators that do not exist, `not-available` without GPUs, `cancelled`.
 */
export async function verdicts(machine?: Machine, options: VerdictOptions = {}): Promise<Table> {
  if (machine === undefined) {
    const own = await CudaMachine.open();
    try {
      return await verdicts(own, options);
    } finally {
      await own.close();
    }
  }
  expectMachine(machine, "lab.verdicts");
  expectOptions(options, "lab.verdicts");
  expectNames(options, ["pairs", "allocators", "signal"], "lab.verdicts");
  const gpus = machine.info.gpus.length;
  const unknown = options.allocators?.find((allocator) => !ALLOCATORS.includes(allocator));
  if (unknown !== undefined) {
    throw new P2pError("usage", `no allocator "${String(unknown)}"`, `Use ${ALLOCATORS.join(", ")}.`);
  }
  for (const { from, to } of options.pairs ?? []) {
    const exists = (gpu: number) => Number.isInteger(gpu) && gpu >= 0 && gpu < gpus;
    if (exists(from) && exists(to) && from !== to) continue;
    throw new P2pError(
      "usage",
      `no pair GPU ${from} → GPU ${to} on a machine with ${gpus} ${gpus === 1 ? "GPU" : "GPUs"}`,
      "Name two different GPUs, counted from 0.",
    );
  }
  if (gpus < 2) return empty(`${machine.info.name} has one GPU: there is no pair to ask about`);
  const fields = provenanceFields({ ...machine.provenance, date: new Date().toISOString() });
  if (!machine.verdicts) {
    const { kind } = machine.provenance;
    const reason = `${kind}: there is no link here to probe`;
    const allocators = options.allocators ?? ALLOCATORS;
    const pairs = options.pairs ?? machine.info.pairs;
    const rows = pairs.flatMap(({ from, to }) =>
      allocators.map((allocator) => ({
        from,
        to,
        allocator,
        reason,
        next: 'Open the GPUs themselves: lab.open("cuda").',
        ...provenanceFields(machine.provenance),
      })),
    );
    return tableOf(rows, COLUMNS);
  }
  const found = await machine.verdicts(options);
  const rows = found.map(({ outcome, ...rest }) => ({ ...rest, verdict: outcome, ...fields }));
  return tableOf(rows, COLUMNS);
}

/** A table without rows that says why it has none. */
function empty(why: string): Table {
  const table = tableOf([], COLUMNS);
  const bundle: MimeBundle = { "text/plain": why, "text/html": `<p>${why}</p>` };
  return Object.assign(table, { [richDisplay]: () => bundle, toString: () => why });
}
