import type { Figure } from "./figure.js";
import type { Graph } from "./graph.js";

/** Architectures of NVIDIA GPUs, in the order they came. */
export type Generation = "pascal" | "volta" | "turing" | "ampere" | "ada" | "hopper" | "blackwell";

export interface GpuModel {
  readonly name: string;
  readonly memoryBytes: number;
  readonly computeCapability: string;
  /** Asynchronous copy engines that deviceQuery reports; null where nobody published it. */
  readonly copyEngines: number | null;
  /** Payload rate of a copy within the GPU, GB/s. */
  readonly localCopy: Figure;
}

/** Why the driver grants no peer access. */
export interface PeerRefusal {
  readonly reason: string;
  readonly source: string;
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
  /**
   * Rate of one peer copy by a copy engine of the source (`write`) or of the destination (`read`), GB/s; `throughCpu` is the
   * most that is left of it where the way passes a CPU.
   */
  readonly peerCopy: { readonly write: Figure; readonly read: Figure; readonly throughCpu: Figure | null };
  /** All traffic of one CPU's memory, GB/s. */
  readonly hostMemory: Figure;
  /** Of pairs without NVLink; null where it refuses none. */
  readonly peerRefused: PeerRefusal | null;
  /** Which set of host and engine costs applies. */
  readonly generation: Generation;
  /** What nobody told and had to be assumed, a sentence each; empty for a machine that is known. */
  readonly unknown: readonly string[];
}

/** Rate of one peer copy by a copy engine over the way between two GPUs, GB/s, before links are shared. */
export function peerCopyGbps(topology: Topology, from: number, to: number, by: "write" | "read"): number {
  const { graph, peerCopy } = topology;
  const gbps = peerCopy[by].value;
  const { nodes } = graph.route(`gpu${from}`, `gpu${to}`);
  const throughCpu = nodes.some((node) => graph.kindOf(node) === "cpu");
  return throughCpu && peerCopy.throughCpu ? Math.min(gbps, peerCopy.throughCpu.value) : gbps;
}

/** Why there is no peer access from one GPU to another; null where there is. */
export function peerRefusal(topology: Topology, from: number, to: number): PeerRefusal | null {
  const { graph, peerRefused } = topology;
  const way = graph.way(`gpu${from}`, `gpu${to}`);
  const byNvlink = way?.hops.every((hop) => ["nvlink", "xgmi"].includes(graph.links[hop.link]?.kind ?? ""));
  if (byNvlink) return null;
  if (graph.hostOf(`gpu${from}`) !== graph.hostOf(`gpu${to}`)) {
    return {
      reason: "they are in two computers without NVLink between them",
      source: "peer access is within a computer or an NVLink domain (CUDA C++ Programming Guide)",
    };
  }
  return peerRefused;
}
