/** What the driver says of every ordered pair of GPUs before anything is measured. */
import { P2pError } from "../errors.js";
import type { Machine, PairInfo } from "../machine.js";
import { expectMachine } from "../measure/expect.js";
import { provenanceFields, type Table, tableOf } from "../measure/table.js";
import { peer } from "./devices.js";

const COLUMNS = [
  ...["from", "to", "access", "native_atomics", "array_access", "performance_rank", "link", "raw_gbps"],
  ...["reason", "note", "machine", "provenance", "date"],
];

/**
 * The attributes of each ordered pair (cuDeviceCanAccessPeer, cuDeviceGetP2PAttribute): of real GPUs as the driver answers now,
 * else what the recording or the model holds of the pair.
 *
 * @returns a row a pair: `from` (which accesses), `to` (whose memory), `access`, `native_atomics`, `array_access`,
 * `performance_rank` (0 is the fastest way of the machine; a number of the driver's own), `link`, `raw_gbps`, `reason` (why
 * there is no access; empty where there is), `note` (why an attribute is null; empty where none is), and the provenance
 * columns. A machine of one GPU has no rows.
 */
export function peerAttributes(machine: Machine): Table {
  expectMachine(machine, "lab.peerAttributes");
  const rows = machine.info.pairs.map((pair) => ({
    from: pair.from,
    to: pair.to,
    access: pair.peerAccess,
    native_atomics: pair.nativeAtomics,
    ...driverSays(machine, pair),
    link: pair.link,
    raw_gbps: pair.rawGbps,
    reason: pair.reason ?? "",
    ...provenanceFields(machine.provenance),
  }));
  return tableOf(rows, COLUMNS);
}

function driverSays(machine: Machine, { from, to }: PairInfo): Record<string, unknown> {
  const { kind } = machine.provenance;
  if (kind !== "measured") {
    return { note: `${kind}: array access and performance rank are not held, only a driver tells them` };
  }
  try {
    const { cudaArrayAccess, performanceRank } = peer(from, to);
    return { array_access: cudaArrayAccess, performance_rank: performanceRank, note: "" };
  } catch (error) {
    if (error instanceof P2pError) return { note: error.message };
    throw error;
  }
}
