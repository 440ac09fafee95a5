import type { PairInfo } from "../machine.js";
import type { NvmlFacts, NvmlPair } from "../native-nvml.js";
import { PCIE_GIGATRANSFERS, pcieClassOf, pcieLaneGbps } from "../topology/pcie.js";
import type { StateReader } from "./cuda-state.js";

/** What NVML tells of an ordered pair: class and raw rate of the link. */
export type PairLink = Pick<PairInfo, "link" | "rawGbps">;

const UNKNOWN: PairLink = { link: null, rawGbps: null };

/**
 * The link between two GPUs. NVLinks count when they end at the other GPU or, on both sides, at switches that NVML says carry
 * peer access; where there are none, the path is PCIe's.
 */
export function linkOf(reader: StateReader, from: number, to: number): PairLink {
  const [a, b, pair] = [reader.facts(from), reader.facts(to), reader.pair(from, to)];
  if (typeof a === "string" || typeof b === "string" || typeof pair === "string") return UNKNOWN;
  return nvlinkOf(a, b, pair) ?? pcieOf(a, b, pair);
}

function nvlinkOf(a: NvmlFacts, b: NvmlFacts, pair: NvmlPair): PairLink | null {
  const direct = a.links.filter((link) => link.active && link.remotePci !== null && link.remotePci === b.pci);
  const joined = direct.length > 0 ? [direct] : pair.nvlink === "OK" ? [switched(a), switched(b)] : [[]];
  const count = Math.min(...joined.map((links) => links.length));
  if (count === 0) return null;
  const speeds = joined.flat().flatMap((link) => link.speedMBps ?? []);
  return {
    link: `NV${count}`,
    rawGbps: speeds.length === 0 ? null : rounded((count * Math.min(...speeds)) / 1000),
  };
}

/** Active links that end at a switch; those whose other end NVML does not name count too, since the pair has NVLink. */
function switched(facts: NvmlFacts): NvmlFacts["links"] {
  return facts.links.filter((link) => link.active && link.remoteType !== "gpu" && link.remoteType !== "npu");
}

/** The narrower end sets the rate. An idle link runs slower than it can, so that what is possible counts, not what is now. */
function pcieOf(a: NvmlFacts, b: NvmlFacts, pair: NvmlPair): PairLink {
  const rates = [a, b].map(({ maxPcieGeneration, maxPcieWidth }) => {
    const transfers = maxPcieGeneration === null ? undefined : PCIE_GIGATRANSFERS[maxPcieGeneration - 1];
    return transfers === undefined || maxPcieWidth === null ? null : pcieLaneGbps(transfers) * maxPcieWidth;
  });
  const known = rates.flatMap((rate) => rate ?? []);
  return {
    link: pcieClassOf(pair.commonAncestor),
    rawGbps: known.length < rates.length ? null : rounded(Math.min(...known)),
  };
}

function rounded(gbps: number): number {
  return Math.round(gbps * 1000) / 1000;
}
