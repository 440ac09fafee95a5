import type { Change } from "../../model.js";
import type { TopologyLink } from "../../topology/graph.js";
import type { LinkKind } from "../../topology/layout.js";
import type { Constants } from "./fit.js";
import { scaledHost, scaledPeerCopy, scaledRate, withLinks } from "./scale.js";

/** Line rate of sixteen lanes, GB/s: 8, 16, 32 GT/s by 128 of 130 bits; Gen6 STAS. */
const PCIE_GBPS: Readonly<Record<number, number>> = { 3: 15.75, 4: 31.5, 5: 63, 6: 121 };
const PCIE: readonly LinkKind[] = ["pcie", "host"];

/** The same machine with something else; rates keep the share of the line rate that they had. */
export function changed({ topology, costs }: Constants, change: Change): Constants {
  let links = topology.graph.links;
  let other = topology;
  if (change.nvlinks !== undefined) {
    const { nvlinks } = change;
    const widths = links.filter((link) => link.kind === "nvlink").map((link) => link.width);
    links = links.flatMap((link) => {
      if (link.kind !== "nvlink") return [link];
      if (nvlinks === 0) return [];
      return scaledRate([{ ...link, width: nvlinks }], ["nvlink"], nvlinks / link.width, true);
    });
    const widest = Math.max(0, ...widths);
    if (nvlinks > 0 && widest > 0) other = scaledPeerCopy(other, nvlinks / widest, `${nvlinks} NVLinks`);
  }
  if (change.pcieLanes !== undefined || change.pcieGeneration !== undefined) {
    links = links.flatMap((link) => {
      if (!PCIE.includes(link.kind)) return [link];
      const lanes = change.pcieLanes ?? link.width;
      const lane = change.pcieGeneration
        ? (PCIE_GBPS[change.pcieGeneration] as number) / 16
        : link.rawGbps / link.width;
      return scaledRate([{ ...link, width: lanes }], PCIE, (lane * lanes) / link.rawGbps, true);
    });
  }
  if (change.extraHops !== undefined) {
    const { extraHops } = change;
    links = links.map((link) =>
      endsAtGpu(link) ? { ...link, latencyNs: link.latencyNs * (1 + extraHops / 2) } : link,
    );
  }
  return {
    topology: withLinks(other, links),
    costs: change.hostFactor === undefined ? costs : scaledHost(costs, change.hostFactor, "what if"),
  };
}

/** A way between GPUs has two such links: half of a hop is added to each. */
function endsAtGpu(link: TopologyLink): boolean {
  return /^gpu\d+$/.test(link.from) !== /^gpu\d+$/.test(link.to);
}
