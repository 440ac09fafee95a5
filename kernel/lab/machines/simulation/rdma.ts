/** What network cards do for a GPU on the model: closed forms of the topology's links, no events. */
import type { RdmaCard } from "../../model.js";
import { NETWORK_NDR, PCIE_HOP_NS } from "../../topology/figures.js";
import type { Topology } from "../../topology/topology.js";

/**
 * Cards of the GPU's computer, the nearest first. The other end is taken to look the same: its memory as far from its card.
 *
 * The source of a write is read by its card, a way there and back, and its destination written, one way: a way that is longer
 * than one PCIe hop counts three times. What a card next to its memory takes is measured (M5, STAS: see NETWORK_NDR).
 */
export function rdmaCards({ graph }: Topology, gpu: number): RdmaCard[] {
  const name = `gpu${gpu}`;
  const host = graph.hostOf(name);
  const cards = graph.named("nic").filter((nic) => graph.hostOf(nic) === host && graph.way(name, nic));
  return cards
    .map((nic) => ({ nic, route: graph.route(name, nic) }))
    .sort((a, b) => a.route.latencyNs - b.route.latencyNs)
    .map(({ nic, route }): RdmaCard => {
      const port = graph.links.find((link) => link.kind === "network" && [link.from, link.to].includes(nic));
      const { latencyNs, forwardGbps } = port ?? NETWORK_NDR;
      const besideNs = 2 * (latencyNs + PCIE_HOP_NS);
      return {
        nic,
        pciClass: graph.classOf(name, nic),
        gpu: {
          latencyNs: besideNs + 3 * Math.max(0, route.latencyNs - PCIE_HOP_NS),
          gbps: Math.min(route.copyGbps, forwardGbps),
        },
        host: { latencyNs: besideNs, gbps: forwardGbps },
      };
    });
}
