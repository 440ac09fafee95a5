import type { PairInfo } from "../machine.js";
import type { NvmlFacts, NvmlPair } from "../native-nvml.js";
import type { StateReader } from "./cuda-state.js";

/** What NVML tells of an ordered pair: class and raw rate of the link. */
export type PairLink = Pick<PairInfo, "link" | "rawGbps">;

const UNKNOWN: PairLink = { link: null, rawGbps: null };

/** How `nvidia-smi topo -m` writes where the PCIe paths of two GPUs meet. */
const MEETING: Readonly<Record<string, string>> = {
  internal: "PIX",
  single: "PIX",
  multiple: "PXB",
  hostbridge: "PHB",
  node: "NODE",
  system: "SYS",
};

/**
 * GB/s of one lane in one direction, by PCIe generation: transfers a second × what the line code leaves. 8b/10b (PCI Express
 * Base Specification 1.0 and 2.0, 2.5 and 5 GT/s), 128b/130b (3.0 to 5.0, 8, 16 and 32 GT/s), flits of 256 bytes of which 242
 * carry packets or what they need (6.0, 64 GT/s).
 */
const LANE_GBPS: readonly number[] = [
  Number.NaN,
  (2.5 * 8) / 10 / 8,
  (5 * 8) / 10 / 8,
  (8 * 128) / 130 / 8,
  (16 * 128) / 130 / 8,
  (32 * 128) / 130 / 8,
  (64 * 242) / 256 / 8,
];

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
    const lane = maxPcieGeneration === null ? undefined : LANE_GBPS[maxPcieGeneration];
    return lane === undefined || maxPcieWidth === null ? null : lane * maxPcieWidth;
  });
  const known = rates.flatMap((rate) => rate ?? []);
  return {
    link: pair.commonAncestor === null ? null : (MEETING[pair.commonAncestor] ?? null),
    rawGbps: known.length < rates.length ? null : rounded(Math.min(...known)),
  };
}

function rounded(gbps: number): number {
  return Math.round(gbps * 1000) / 1000;
}
