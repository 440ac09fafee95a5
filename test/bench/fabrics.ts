/** Machines of many equal GPUs on one switch, for which theory is exact. */
import { collective } from "../../kernel/lab/machines/simulation/collective.js";
import { COSTS } from "../../kernel/lab/machines/simulation/costs.js";
import { Builder } from "../../kernel/lab/topology/build.js";
import { NVLINK4_H100 } from "../../kernel/lab/topology/figures.js";
import { TOPOLOGIES } from "../../kernel/lab/topology/presets.js";
import type { Topology } from "../../kernel/lab/topology/topology.js";

/** GPUs on one NVSwitch that has no limit of its own. */
export function flatFabric(gpuCount: number): Topology {
  const base = TOPOLOGIES.find(({ name }) => name === "hgx-h100-8") as Topology;
  const into = new Builder();
  const fabric = into.add("nvswitch");
  for (let i = 0; i < gpuCount; i++) into.join(into.add("gpu"), fabric, NVLINK4_H100);
  return { ...base, title: `${gpuCount} GPUs on one switch`, gpuCount, graph: into.graph() };
}

/**
 * How far a simulated ring all-reduce is from 2 (n − 1) (α + S / (n β)), relative; α and β are those of one message between
 * neighbours: its way, fence, flag and look, and the rate of stores.
 */
export function ringError(ranks: number, bytes: number): number {
  const topology = flatFabric(ranks);
  const costs = COSTS[topology.generation];
  const { latencyNs, copyGbps } = topology.graph.route("gpu0", "gpu1");
  const alphaNs = 3 * latencyNs + costs.flagSeenNs.value;
  const betaGbps = Math.min(topology.peerCopy.write.value * costs.kernelWriteShare.value, copyGbps);
  const theoryNs = 2 * (ranks - 1) * (alphaNs + bytes / ranks / betaGbps);
  const gpus = [...Array(ranks).keys()];
  const { ns } = collective(topology, costs, { operation: "all-reduce", algorithm: "ring", gpus, bytes });
  return Math.abs(ns / theoryNs - 1);
}
