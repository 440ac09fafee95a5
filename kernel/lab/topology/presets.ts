import * as figures from "./figures.js";
import { Graph, type LinkSpec, type TopologyLink, type TopologyNode } from "./graph.js";

export interface GpuModel {
  readonly name: string;
  readonly memoryBytes: number;
  readonly computeCapability: string;
  /** Asynchronous copy engines that deviceQuery reports. */
  readonly copyEngines: number;
  /** Payload rate of a copy within the GPU, GB/s. */
  readonly localCopy: figures.Figure;
}

/** A machine to be simulated: what is joined to what, and how fast. What software costs on it stands in simulation/costs. */
export interface Topology {
  readonly name: string;
  /** Name of the machine as a reader knows it. */
  readonly title: string;
  readonly describes: string;
  readonly gpu: GpuModel;
  readonly gpuCount: number;
  readonly graph: Graph;
  /** Rate of one peer copy by a copy engine of the source (`write`) or of the destination (`read`), GB/s. */
  readonly peerCopy: { readonly write: figures.Figure; readonly read: figures.Figure };
  /** All traffic of one CPU's memory, GB/s. */
  readonly hostMemory: figures.Figure;
  /** Why the driver grants no peer access; null where it does. */
  readonly peerRefused: { readonly reason: string; readonly source: string } | null;
  /** Which set of host and engine costs applies. */
  readonly generation: "hopper" | "ampere";
}

const GIB = 2 ** 30;

interface Plan {
  readonly gpus: number;
  readonly cpus: number;
  /** GPUs behind one PCIe switch and root port; 0 for GPUs right on root ports. */
  readonly gpusPerSwitch: number;
  readonly nvlink: LinkSpec | null;
  readonly pcie: LinkSpec;
  readonly host: LinkSpec;
}

/** GPUs, a fabric of NVSwitches or none, and the PCIe tree; the GPUs are spread over the CPUs in order. */
function build(plan: Plan): Graph {
  const nodes: TopologyNode[] = [];
  const links: TopologyLink[] = [];
  const join = (from: string, to: string, spec: LinkSpec) => links.push({ from, to, ...spec });
  for (let gpu = 0; gpu < plan.gpus; gpu++) nodes.push({ name: `gpu${gpu}`, kind: "gpu" });
  for (let cpu = 0; cpu < plan.cpus; cpu++) nodes.push({ name: `cpu${cpu}`, kind: "cpu" });
  if (plan.nvlink) {
    // The switches are one node: NVLink spreads a GPU's addresses over all of them, so that the fabric acts as one.
    nodes.push({ name: "nvswitch", kind: "nvswitch" });
    for (let gpu = 0; gpu < plan.gpus; gpu++) join(`gpu${gpu}`, "nvswitch", plan.nvlink);
  }
  const perPort = Math.max(1, plan.gpusPerSwitch);
  for (let port = 0; port * perPort < plan.gpus; port++) {
    const root = `root-port${port}`;
    const above = plan.gpusPerSwitch > 0 ? `pcie-switch${port}` : root;
    nodes.push({ name: root, kind: "root-port" });
    if (above !== root) {
      nodes.push({ name: above, kind: "pcie-switch" });
      join(above, root, plan.pcie);
    }
    for (let gpu = port * perPort; gpu < Math.min((port + 1) * perPort, plan.gpus); gpu++) {
      join(`gpu${gpu}`, above, plan.pcie);
    }
    join(root, `cpu${Math.floor((port * perPort * plan.cpus) / plan.gpus)}`, plan.host);
  }
  for (let cpu = 1; cpu < plan.cpus; cpu++) join("cpu0", `cpu${cpu}`, figures.SOCKET_LINK);
  return new Graph(nodes, links);
}

const H100: GpuModel = {
  name: "NVIDIA H100 80GB HBM3",
  memoryBytes: 80 * GIB,
  computeCapability: "9.0",
  copyEngines: 3,
  localCopy: figures.LOCAL_COPY_H100,
};

const A100: GpuModel = {
  name: "NVIDIA A100-SXM4-80GB",
  memoryBytes: 80 * GIB,
  computeCapability: "8.0",
  copyEngines: 3,
  localCopy: figures.LOCAL_COPY_A100,
};

/** T11: each GPU has a PCIe switch of its own, shared with one network card; four GPUs a socket. */
const HGX_HOPPER = { gpus: 8, cpus: 2, gpusPerSwitch: 1 } as const;

/** All presets, in the order they are listed to the reader. */
export const TOPOLOGIES: readonly Topology[] = [
  {
    name: "hgx-h100-8",
    title: "HGX H100 8-GPU",
    describes: "8 × H100 SXM5 on NVSwitch (NV18), two sockets, PCIe Gen5",
    gpu: H100,
    gpuCount: 8,
    graph: build({
      ...HGX_HOPPER,
      nvlink: figures.NVLINK4_H100,
      pcie: figures.PCIE5_H100,
      host: figures.HOST_GEN5_H100,
    }),
    peerCopy: { write: figures.PEER_WRITE_H100, read: figures.PEER_READ_H100 },
    hostMemory: figures.HOST_MEMORY,
    peerRefused: null,
    generation: "hopper",
  },
  {
    name: "hgx-h200-8",
    title: "HGX H200 8-GPU",
    describes: "8 × H200 SXM on NVSwitch (NV18), two sockets, PCIe Gen5",
    gpu: { ...H100, name: "NVIDIA H200", memoryBytes: 141e9, localCopy: figures.LOCAL_COPY_H200 },
    gpuCount: 8,
    graph: build({
      ...HGX_HOPPER,
      nvlink: figures.NVLINK4_H200,
      pcie: figures.PCIE5_H200,
      host: figures.HOST_GEN5_H200,
    }),
    peerCopy: { write: figures.PEER_WRITE_H200, read: figures.PEER_READ_H200 },
    hostMemory: figures.HOST_MEMORY,
    peerRefused: null,
    generation: "hopper",
  },
  {
    name: "dgx-a100-8",
    title: "DGX A100 8-GPU",
    describes: "8 × A100 SXM4 on NVSwitch (NV12), two sockets, two GPUs a PCIe Gen4 switch",
    gpu: A100,
    gpuCount: 8,
    // T7: two GPUs (and two network cards) behind one switch; four NUMA nodes are taken as their two sockets.
    graph: build({
      gpus: 8,
      cpus: 2,
      gpusPerSwitch: 2,
      nvlink: figures.NVLINK3_A100,
      pcie: figures.PCIE4,
      host: figures.HOST_GEN4,
    }),
    peerCopy: { write: figures.PEER_WRITE_A100, read: figures.PEER_READ_A100 },
    hostMemory: figures.HOST_MEMORY,
    peerRefused: null,
    generation: "ampere",
  },
  {
    name: "pcie-gen4-2",
    title: "two A100 behind one PCIe Gen4 switch",
    describes: "2 × A100 without NVLink, peer access over one PCIe Gen4 switch (PIX)",
    gpu: { ...A100, name: "NVIDIA A100 80GB PCIe" },
    gpuCount: 2,
    graph: build({
      gpus: 2,
      cpus: 1,
      gpusPerSwitch: 2,
      nvlink: null,
      pcie: figures.PCIE4,
      host: figures.HOST_GEN4,
    }),
    peerCopy: { write: figures.PEER_WRITE_PCIE4, read: figures.PEER_READ_PCIE4 },
    hostMemory: figures.HOST_MEMORY,
    peerRefused: null,
    generation: "ampere",
  },
  {
    name: "rtx4090-2",
    title: "two RTX 4090 on one CPU",
    describes: "2 × GeForce RTX 4090 on PCIe Gen4 root ports (PHB), no peer access",
    gpu: {
      name: "NVIDIA GeForce RTX 4090",
      memoryBytes: 24 * GIB,
      computeCapability: "8.9",
      copyEngines: 2,
      localCopy: figures.LOCAL_COPY_4090,
    },
    gpuCount: 2,
    graph: build({
      gpus: 2,
      cpus: 1,
      gpusPerSwitch: 0,
      nvlink: null,
      pcie: figures.PCIE4_4090,
      host: figures.HOST_GEN4_4090,
    }),
    peerCopy: { write: figures.PEER_WRITE_PCIE4, read: figures.PEER_READ_PCIE4 },
    hostMemory: figures.HOST_MEMORY,
    peerRefused: {
      reason: "the driver refuses peer access between GeForce RTX 4090 (nvidia-smi topo -p2p: GNS)",
      source: "NUMBERS 1 GeForce pairs; T32",
    },
    generation: "ampere",
  },
];
