/** Copies of a topology and of its costs in which some figures are others. */
import type { Figure } from "../../topology/figure.js";
import { Graph, type TopologyLink } from "../../topology/graph.js";
import type { LinkKind } from "../../topology/layout.js";
import type { Topology } from "../../topology/topology.js";
import type { Costs } from "./constants.js";

export function scaledFigure(figure: Figure, factor: number, why: string): Figure {
  return factor === 1 ? figure : { value: figure.value * factor, source: `${figure.source}; ${why}` };
}

/** All links of some kinds with other rates; `raw` where the line rate itself changes. */
export function scaledRate(
  links: readonly TopologyLink[],
  kinds: readonly LinkKind[],
  factor: number,
  raw: boolean,
): TopologyLink[] {
  return links.map((link) =>
    kinds.includes(link.kind)
      ? {
          ...link,
          rawGbps: raw ? link.rawGbps * factor : link.rawGbps,
          forwardGbps: link.forwardGbps * factor,
          backwardGbps: link.backwardGbps * factor,
          bothGbps: link.bothGbps === null ? null : link.bothGbps * factor,
        }
      : link,
  );
}

export function withLinks(topology: Topology, links: readonly TopologyLink[]): Topology {
  return { ...topology, graph: new Graph(topology.graph.nodes, links) };
}

export function scaledPeerCopy(topology: Topology, factor: number, why: string): Topology {
  const { write, read, throughCpu } = topology.peerCopy;
  const scaled = (figure: Figure) => scaledFigure(figure, factor, why);
  return {
    ...topology,
    peerCopy: {
      write: scaled(write),
      read: scaled(read),
      throughCpu: throughCpu && scaled(throughCpu),
    },
  };
}

/** All that the host itself takes. */
export function scaledHost(costs: Costs, factor: number, why: string): Costs {
  const scaled = (figure: Figure) => scaledFigure(figure, factor, why);
  const { receiverNs } = costs;
  return {
    ...costs,
    submitNs: scaled(costs.submitNs),
    stagedSubmitNs: scaled(costs.stagedSubmitNs),
    batchSubmitNs: scaled(costs.batchSubmitNs),
    batchEntryNs: scaled(costs.batchEntryNs),
    kernelSubmitNs: scaled(costs.kernelSubmitNs),
    wordSubmitNs: scaled(costs.wordSubmitNs),
    graphSubmitNs: scaled(costs.graphSubmitNs),
    eventNs: scaled(costs.eventNs),
    doorbellNs: scaled(costs.doorbellNs),
    pollNs: scaled(costs.pollNs),
    networkSendNs: scaled(costs.networkSendNs),
    receiverNs: {
      spin: scaled(receiverNs.spin),
      yield: scaled(receiverNs.yield),
      block: scaled(receiverNs.block),
      "poll-event": scaled(receiverNs["poll-event"]),
      "poll-flag": scaled(receiverNs["poll-flag"]),
    },
  };
}
