/** What probes and set-up work give on the model: closed forms of the same constants, no events. */
import type { ProbeFacts, Samples } from "../../machine.js";
import type { Place, ProbeOperation, SetupOperation } from "../../operations.js";
import type { Program } from "../../program.js";
import { probeBuffers } from "../../program-arguments.js";
import type { Random } from "../../random.js";
import { type Sampling, stop } from "../../sampling.js";
import type { Topology } from "../../topology/topology.js";
import type { Costs } from "./costs.js";
import type { Turns } from "./turns.js";
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
      if (operation.store === "atomic") return { lacks: "flags stored by atomics" };
      const other = gpuOf(program, operation.other);
      return {
        ns: ways.latencyNs(gpu, { gpu: other }) + costs.flagSeenNs.value,
        accesses: operation.rounds,
      };
    }
    case "fence": {
      const latencyNs = ways.latencyNs(gpu, place);
      if (operation.scope !== "system" || operation.stores === 0 || latencyNs === 0) {
        return {
          lacks:
            "fences but those of system scope behind stores to a peer or to the host: no figure is published",
        };
      }
      // M5: a fence behind a store to host memory takes the way there and back, and the store next to nothing.
      return { ns: 2 * latencyNs, accesses: operation.accesses };
    }
    case "atomic":
      return { lacks: "atomics: no latency of one over a link is published" };
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
  const cost = costs.setup[operation.kind];
  if (!cost) return { lacks: `cost of ${operation.kind}: no figure of a machine of this kind is published` };
  return { ns: cost.ns.value, firstNs: (cost.firstNs ?? cost.ns).value };
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
