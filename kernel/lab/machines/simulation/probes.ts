/** What probes and set-up work give on the model: closed forms of the same constants, no events. */
import type { ProbeFacts, Samples } from "../../machine.js";
import type { Place, ProbeOperation, SetupOperation } from "../../operations.js";
import type { Program } from "../../program.js";
import { probeBuffers } from "../../program-arguments.js";
import type { Random } from "../../random.js";
import { type Sampling, stop } from "../../sampling.js";
import type { Topology } from "../../topology/topology.js";
import type { Turns } from "../../turns.js";
import type { Costs } from "./constants.js";
import { Ways } from "./ways.js";

/** One access (load, atomic, fence) or one way (ping-pong), ns; or why the model has none. */
export type ProbeResult = { readonly ns: number; readonly accesses: number } | { readonly lacks: string };

export function probeOf(
  program: Program,
  operation: ProbeOperation,
  topology: Topology,
  costs: Costs,
): ProbeResult {
  const ways = new Ways(topology, costs);
  const gpu = gpuOf(program, operation.stream);
  const place = program.bufferOf(probeBuffers(operation)[0] as string).place;
  switch (operation.kind) {
    case "load":
      return load(operation, gpu, place, ways, costs);
    case "ping-pong": {
      const other = gpuOf(program, operation.other);
      const { flagSeenNs, ownFlagSeenNs, fences } = costs;
      const oneWayNs = ways.latencyNs(gpu, { gpu: other });
      const seenNs = (other === gpu ? ownFlagSeenNs : flagSeenNs).value;
      // OWN-LAB: a release takes 559 ns more than a volatile store on one GPU, a fence with nothing outstanding 576.
      const fenceNs = operation.store === "release" ? Math.max(fences.system.idleNs.value, 2 * oneWayNs) : 0;
      return { ns: oneWayNs + seenNs + fenceNs, accesses: operation.rounds };
    }
    case "fence": {
      const { idleNs, oneStoreNs, storeNs } = costs.fences[operation.scope];
      const { stores, accesses } = operation;
      const ownNs = stores === 0 ? idleNs.value : oneStoreNs.value + (stores - 1) * storeNs.value;
      const awayNs = stores === 0 ? 0 : 2 * ways.latencyNs(gpu, place);
      if (operation.scope !== "system" && awayNs > 0) {
        return { lacks: `fence of scope ${operation.scope} behind stores that leave the GPU` };
      }
      // M5: a fence behind a store to host memory takes the way there and back, and the store next to nothing.
      return { ns: Math.max(ownNs, awayNs), accesses };
    }
    case "atomic":
      if ("host" in place)
        return { lacks: "atomics on host memory: no latency of one over PCIe is published" };
      // The owner's cache does it, and the answer comes back, as for a load.
      return {
        ns: costs.atomicNs[operation.operation].value + 2 * ways.latencyNs(gpu, place),
        accesses: operation.accesses,
      };
    case "message-passing":
      return { lacks: "order in which stores become visible" };
  }
}

/** The cache holds what fits into it, and of what does not a share at random. */
function load(
  { footprintBytes, strideBytes, accesses, cold }: Extract<ProbeOperation, { kind: "load" }>,
  gpu: number,
  place: Place,
  ways: Ways,
  costs: Costs,
): ProbeResult {
  const { cache, memory } = costs.loadNs;
  const nodes = Math.floor(footprintBytes / strideBytes);
  const lines = cold ? Math.min(accesses, nodes) : accesses;
  const roundTripNs = 2 * ways.latencyNs(gpu, place);
  // Lines of host memory stay in the host's cache or memory, which the way there includes.
  if ("host" in place) return { ns: cache.value + roundTripNs, accesses: lines };
  const hits = cold ? 0 : Math.min(1, costs.cacheBytes.value / (nodes * Math.min(strideBytes, LINE_BYTES)));
  return { ns: roundTripNs + hits * cache.value + (1 - hits) * memory.value, accesses: lines };
}

const LINE_BYTES = 128;

function gpuOf(program: Program, stream: string): number {
  return (program.data.streams.find(({ name }) => name === stream) as { gpu: number }).gpu;
}

/** Facts of a simulated probe: no loop to take out, no clock to read. */
export function probeFacts(
  program: Program,
  operation: ProbeOperation,
  accesses: number,
  n: number,
  costs: Costs,
): ProbeFacts {
  const ghz = costs.clockGhz.value;
  return {
    accesses,
    clockGhz: { median: ghz, low: ghz, high: ghz },
    timedBy: "global-timer",
    overheadNs: 0,
    timerStepNs: 0,
    timerCostNs: 0,
    clockCostNs: 0,
    sm: new Array<number>(n).fill(0),
    owners: probeBuffers(operation).map((buffer) => {
      const { place } = program.bufferOf(buffer);
      return { buffer, gpu: "gpu" in place ? place.gpu : null };
    }),
  };
}

/** Host time of set-up work, ns, and of its first call; or why the model has none. */
export function setupOf(
  operation: SetupOperation,
  costs: Costs,
): { readonly ns: number; readonly firstNs: number } | { readonly lacks: string } {
  const { kind, bytes = 0, nodes = 0 } = operation;
  const cost = costs.setup[kind];
  if (!cost) return { lacks: `cost of ${kind}: no figure of it is published` };
  const ns =
    cost.ns.value + (bytes / 2 ** 20) * (cost.perMibNs?.value ?? 0) + nodes * (cost.perNodeNs?.value ?? 0);
  return { ns, firstNs: Math.max(ns, cost.firstNs?.value ?? 0) };
}

/** A series around one value, spread as log-normal. */
export async function sampleAround(
  ns: number,
  sigma: number,
  random: Random,
  sampling: Sampling,
  turns: Turns,
): Promise<Samples> {
  const totalNs: number[] = [];
  let elapsedNs = 0;
  for (;;) {
    await turns.next();
    const value = ns * random.logNormal(sigma);
    totalNs.push(value);
    elapsedNs += value;
    if (totalNs.length < Math.min(sampling.minSamples, sampling.maxSamples)) continue;
    const samples = Float64Array.from(totalNs);
    const convergence = stop(samples, elapsedNs / 1e6, sampling);
    if (convergence) return { totalNs: samples, apiNs: new Float64Array(0), convergence };
  }
}
