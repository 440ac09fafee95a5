import type { Machine } from "../machine.js";
import { expectMachine, expectTable } from "../measure/expect.js";
import { type Table, tableOf } from "../measure/table.js";

/**
 * Holds the rates of a sweep against the raw rate of the link between the two GPUs.
 * @param curve a table of `lab.sweep` of the same machine.
 * @returns the table with three more columns: `raw_gbps` (both directions together where the transfer goes both ways),
 * `of_raw_pct` (achieved share), and `raw_reason` (why they are null: the rate is not known, or the copy does not take that
 * link). The provenance columns stay last.
 * @throws P2pError `usage` when it is no such table.
 */
export function achieved(machine: Machine, curve: Table): Table {
  expectMachine(machine, "lab.achieved");
  expectTable(curve, ["path", "from", "to", "gbps", "machine", "provenance", "date"], "lab.achieved");
  const rows = (curve.objects() as Record<string, unknown>[]).map((row) => {
    const { machine: name, provenance, date, ...rest } = row;
    const { rawGbps, reason } = rawOf(machine, row);
    const raw = rawGbps === null ? null : rawGbps * (row.direction === "both-ways" ? 2 : 1);
    const known = raw !== null && typeof row.gbps === "number" && Number.isFinite(row.gbps);
    return {
      ...rest,
      raw_gbps: raw,
      of_raw_pct: known ? (100 * (row.gbps as number)) / raw : null,
      raw_reason: raw !== null && !known ? "the row has no rate" : reason,
      machine: name,
      provenance,
      date,
    };
  });
  return tableOf(rows);
}

function rawOf(
  machine: Machine,
  { path, from, to, machine: name }: Record<string, unknown>,
): { rawGbps: number | null; reason: string | null } {
  const none = (reason: string) => ({ rawGbps: null, reason });
  if (name !== machine.provenance.machine) return none(`measured on another machine: ${String(name)}`);
  if (path !== "peer") return none(`path ${String(path)} goes through host memory, not over this link`);
  const pair = machine.info.pairs.find((candidate) => candidate.from === from && candidate.to === to);
  if (!pair) return none(`the machine has no pair ${String(from)} → ${String(to)}`);
  return pair.rawGbps === null
    ? none("the raw rate of this link is not known: neither NVML nor the recording tells it")
    : { rawGbps: pair.rawGbps, reason: null };
}
