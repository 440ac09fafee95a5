import { P2pError } from "../../errors.js";
import { type DescribedGpu, Description } from "../description.js";
import type { Figure } from "../figure.js";
import { Graph, type TopologyLink } from "../graph.js";
import { SCHEMA } from "../json.js";
import { Layout, type LayoutLink, type LinkKind, type NodeKind, type TopologyNode } from "../layout.js";
import type { Generation, Topology } from "../topology.js";
import { JsonValue } from "./json-value.js";

const NODE_KINDS: readonly NodeKind[] = [
  "gpu",
  "nic",
  "nvswitch",
  "pcie-switch",
  "root-port",
  "cpu",
  "network",
  "hidden",
];
const LINK_KINDS: readonly LinkKind[] = ["nvlink", "xgmi", "pcie", "host", "c2c", "socket", "network"];
const GENERATIONS: readonly Generation[] = [
  "pascal",
  "volta",
  "turing",
  "ampere",
  "ada",
  "hopper",
  "blackwell",
];

/**
 * Reads what {@link topologyJson} writes.
 * @throws P2pError `topology` with line and column for what is no JSON, or not of this schema.
 */
export function readOwnJson(text: string): Description {
  const root = JsonValue.parse(text);
  const schema = root.need("schema");
  schema.need("name").oneOf([SCHEMA.name]);
  const version = schema.need("version");
  if (version.whole(1) > SCHEMA.version) {
    throw version.error(`is above ${SCHEMA.version}: a later version of this library wrote it`);
  }
  const nodesValue = root.need("nodes");
  const linksValue = root.need("links");
  const nodes = nodesValue.items().map(nodeOf);
  const unknown =
    root
      .member("unknown")
      ?.items()
      .map((item) => item.string()) ?? [];
  const model = root.member("model");
  const format = "p2plab topology JSON";
  try {
    if (model) {
      const graph = new Graph(nodes, linksValue.items().map(ratedLinkOf));
      const topology = topologyOf(root, model, graph, unknown);
      const { name, computeCapability } = topology.gpu;
      const gpus = graph.named("gpu").map(() => ({ name, computeCapability }));
      return new Description({ format, layout: graph, gpus, unknown, topology });
    }
    const layout = new Layout(nodes, linksValue.items().map(linkOf));
    const gpus = root.member("gpus")?.items().map(gpuOf);
    if (gpus && gpus.length !== layout.gpuCount) {
      throw root.need("gpus").error(`has ${gpus.length} entries for ${layout.gpuCount} gpu nodes`);
    }
    return new Description({ format, layout, unknown, ...(gpus ? { gpus } : {}) });
  } catch (error) {
    // What the layout as a whole finds wrong has no place of its own.
    if (error instanceof P2pError && error.code === "usage") throw nodesValue.error(`: ${error.message}`);
    throw error;
  }
}

function nodeOf(value: JsonValue): TopologyNode {
  const text = (name: string) => {
    const found = value.member(name)?.string();
    return found === undefined ? {} : { [name]: found };
  };
  const number = (name: string) => {
    const found = value.member(name)?.whole(0);
    return found === undefined ? {} : { [name]: found };
  };
  return {
    name: value.need("name").string(),
    kind: value.need("kind").oneOf(NODE_KINDS),
    ...text("bridge"),
    ...number("host"),
    ...text("pci"),
    ...text("label"),
    ...number("numa"),
  };
}

function linkOf(value: JsonValue): LayoutLink {
  return {
    from: value.need("from").string(),
    to: value.need("to").string(),
    kind: value.need("kind").oneOf(LINK_KINDS),
    width: value.member("width")?.whole(1) ?? null,
    rawGbps: value.member("raw_gbps")?.positive() ?? null,
  };
}

function ratedLinkOf(value: JsonValue): TopologyLink {
  const memoryNs = value.member("memory_ns")?.number(0);
  return {
    ...linkOf(value),
    width: value.need("width").whole(1),
    rawGbps: value.need("raw_gbps").positive(),
    forwardGbps: value.need("forward_gbps").positive(),
    backwardGbps: value.need("backward_gbps").positive(),
    bothGbps: value.member("both_gbps")?.positive() ?? null,
    latencyNs: value.need("latency_ns").number(0),
    ...(memoryNs === undefined ? {} : { memoryNs }),
    source: value.need("source").string(),
  };
}

function gpuOf(value: JsonValue): DescribedGpu {
  return {
    name: value.member("name")?.string() ?? null,
    computeCapability: value.member("compute_capability")?.string() ?? null,
  };
}

function figureOf(value: JsonValue): Figure {
  return { value: value.need("value").positive(), source: value.need("source").string() };
}

function topologyOf(root: JsonValue, model: JsonValue, graph: Graph, unknown: readonly string[]): Topology {
  const gpu = model.need("gpu");
  const refused = model.member("peer_refused");
  const throughCpu = model.member("peer_through_cpu_gbps");
  if (graph.gpuCount === 0) throw root.need("nodes").error("holds no gpu");
  return {
    name: root.need("name").string(),
    title: root.need("title").string(),
    describes: root.need("describes").string(),
    gpu: {
      name: gpu.need("name").string(),
      memoryBytes: gpu.need("memory_bytes").whole(1),
      computeCapability: gpu.need("compute_capability").string(),
      copyEngines: gpu.member("copy_engines")?.whole(1) ?? null,
      localCopy: figureOf(gpu.need("local_copy_gbps")),
    },
    gpuCount: graph.gpuCount,
    graph,
    peerCopy: {
      write: figureOf(model.need("peer_write_gbps")),
      read: figureOf(model.need("peer_read_gbps")),
      throughCpu: throughCpu ? figureOf(throughCpu) : null,
    },
    hostMemory: figureOf(model.need("host_memory_gbps")),
    peerRefused: refused
      ? { reason: refused.need("reason").string(), source: refused.need("source").string() }
      : null,
    generation: model.need("generation").oneOf(GENERATIONS),
    unknown,
  };
}
