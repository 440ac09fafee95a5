import { P2pError } from "../errors.js";
import { Description } from "./description.js";
import type { Figure } from "./figure.js";
import type { TopologyLink } from "./graph.js";
import { Layout, type LayoutLink, type TopologyNode } from "./layout.js";
import type { Topology } from "./topology.js";

/** Of the library's own topology files. */
export const SCHEMA = { name: "p2plab-topology", version: 1 } as const;

/**
 * A topology as JSON text, one node and one link a line, which the reader takes back without loss. Rates are GB/s, latencies ns; what is
 * unknown is null.
 * @throws P2pError `usage` for what is no topology.
 */
export function topologyJson(of: Topology | Description): string {
  if (!(of instanceof Description || (of?.graph instanceof Layout && of.gpu))) {
    throw new P2pError(
      "usage",
      "topologyJson of what is no topology",
      "Give what lab.topology() or lab.readTopology() returned.",
    );
  }
  const topology = of instanceof Description ? of.topology : of;
  const layout: Layout | Topology["graph"] = of instanceof Description ? of.layout : of.graph;
  const head = {
    schema: SCHEMA,
    name: topology?.name ?? null,
    title: topology?.title ?? null,
    describes: topology?.describes ?? null,
    unknown: of.unknown,
    gpus: of instanceof Description ? of.gpus.map(gpuJson) : null,
    model: topology ? modelJson(topology) : null,
  };
  const links: readonly (LayoutLink | TopologyLink)[] = (topology?.graph ?? layout).links;
  const text = JSON.stringify(head, null, 1);
  const lines = (items: readonly object[]) => items.map((item) => `  ${JSON.stringify(item)}`).join(",\n");
  return `${text.slice(0, -2)},\n "nodes": [\n${lines(layout.nodes.map(nodeJson))}\n ],\n "links": [\n${lines(links.map(linkJson))}\n ]\n}\n`;
}

function gpuJson(gpu: Description["gpus"][number]): object {
  return { name: gpu.name, compute_capability: gpu.computeCapability };
}

/** In one order, whoever made the node. */
function nodeJson({ name, kind, bridge, host, pci, label, numa }: TopologyNode): object {
  return { name, kind, bridge, host, pci, label, numa };
}

function linkJson(link: LayoutLink | TopologyLink): object {
  const { from, to, kind, width } = link;
  const facts = { from, to, kind, width, raw_gbps: link.rawGbps };
  if (!("latencyNs" in link)) return facts;
  return {
    ...facts,
    forward_gbps: link.forwardGbps,
    backward_gbps: link.backwardGbps,
    both_gbps: link.bothGbps,
    latency_ns: link.latencyNs,
    memory_ns: link.memoryNs,
    source: link.source,
  };
}

function modelJson(topology: Topology): object {
  const { gpu, peerCopy, hostMemory, peerRefused, generation } = topology;
  return {
    generation,
    gpu: {
      name: gpu.name,
      memory_bytes: gpu.memoryBytes,
      compute_capability: gpu.computeCapability,
      copy_engines: gpu.copyEngines,
      local_copy_gbps: gpu.localCopy satisfies Figure,
    },
    peer_write_gbps: peerCopy.write,
    peer_read_gbps: peerCopy.read,
    peer_through_cpu_gbps: peerCopy.throughCpu,
    host_memory_gbps: hostMemory,
    peer_refused: peerRefused,
  };
}
