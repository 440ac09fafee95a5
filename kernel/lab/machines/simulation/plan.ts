import type { BufferSpec, Program } from "../../program.js";
import { peerCopyGbps, type Topology } from "../../topology/topology.js";
import type { Costs } from "./costs.js";
import type { FlowPath } from "./links.js";
import type { ModelledOperation, ModelledSync } from "./modelled.js";

/** One passage of bytes by one engine. */
export interface Leg extends FlowPath {
  /** Index in {@link Plan.engines}. */
  readonly engine: number;
  /** Engine time beside the bytes: the engine's own and the latency of the path. */
  readonly fixedNs: number;
}

export interface CopyStep {
  readonly op: "copy";
  readonly stream: number;
  readonly name: string;
  readonly call: string;
  readonly bytes: number;
  /** One leg, or two (to the host and from it) where the driver stages. */
  readonly legs: readonly [Leg] | readonly [Leg, Leg];
  readonly submitNs: number;
  /** The driver's own work before the first byte of a copy that it stages. */
  readonly extraNs: number;
  /** The submit call returns only when the bytes have arrived. */
  readonly blocking: boolean;
}

export type Step =
  | CopyStep
  | { readonly op: "record" | "wait"; readonly stream: number; readonly event: string }
  | { readonly op: "sync"; readonly stream: number; readonly method: ModelledSync };

/** A program on a machine: names resolved, ways found, costs looked up. Made once a run. */
export interface Plan {
  readonly steps: readonly Step[];
  readonly streams: readonly string[];
  /** Lane of each engine. */
  readonly engines: readonly string[];
  /** GB/s of each resource that flows share. */
  readonly capacities: Float64Array;
  readonly costs: Costs;
}

/**
 * @param slowMode whether copies that the driver stages between an ordered pair are in the slower of its two modes.
 * @param program one that {@link requireModelled} let pass.
 * @returns what {@link execute} runs; GPU numbers must be known to exist, peer access to be granted.
 */
export function planOf(
  program: Program,
  topology: Topology,
  costs: Costs,
  slowMode: (from: number, to: number) => boolean,
): Plan {
  const resources = new Resources(topology);
  const engines: string[] = [];
  const engineOf = (lane: string): number => {
    const known = engines.indexOf(lane);
    return known >= 0 ? known : engines.push(lane) - 1;
  };
  const way = (from: string, to: string) => topology.graph.route(from, to);
  const engineNs = costs.engineNs.value;

  /** Host memory is that of the GPU's first CPU, where the submitting thread is taken to run and to have allocated. */
  const memoryOf = (gpu: number) => topology.graph.memoryOf(gpu);
  const toHost = (gpu: number, capGbps: number): Leg => {
    const host = memoryOf(gpu);
    const route = way(`gpu${gpu}`, host);
    return {
      engine: engineOf(`GPU ${gpu} copy engine DtoH`),
      resources: [...resources.along(`gpu${gpu}`, host), resources.memory(host)],
      capGbps,
      // Posted writes: done when they have arrived.
      fixedNs: engineNs + route.latencyNs,
    };
  };
  const fromHost = (gpu: number, capGbps: number): Leg => {
    const host = memoryOf(gpu);
    const route = way(host, `gpu${gpu}`);
    return {
      engine: engineOf(`GPU ${gpu} copy engine HtoD`),
      resources: [resources.memory(host), ...resources.along(host, `gpu${gpu}`)],
      capGbps,
      // Reads: there and back.
      fixedNs: engineNs + 2 * route.latencyNs,
    };
  };
  const peer = (from: number, to: number, streamGpu: number): Leg => {
    const reads = streamGpu === to;
    return {
      // The engine of the stream's GPU does it: the destination reads, otherwise the source writes.
      engine: engineOf(reads ? `GPU ${to} copy engine peer read` : `GPU ${from} copy engine peer write`),
      resources: resources.along(`gpu${from}`, `gpu${to}`),
      capGbps: peerCopyGbps(topology, from, to, reads ? "read" : "write"),
      // Reads, or writes that the peer acknowledges: there and back.
      fixedNs: engineNs + 2 * way(`gpu${from}`, `gpu${to}`).latencyNs,
    };
  };

  const legsOf = (from: BufferSpec, to: BufferSpec, streamGpu: number): CopyStep["legs"] => {
    const pageable = [from, to].some((b) => "host" in b.place && b.place.host === "pageable");
    const hostCap = pageable ? costs.pageableGbps.value : Infinity;
    const a = from.place;
    const b = to.place;
    if ("gpu" in a && "gpu" in b) {
      if (a.gpu === b.gpu) {
        return [
          {
            engine: engineOf(`GPU ${a.gpu} copy engine local`),
            resources: [resources.memory(`gpu${a.gpu}`)],
            capGbps: topology.gpu.localCopy.value,
            fixedNs: engineNs,
          },
        ];
      }
      if (program.data.peerAccess) return [peer(a.gpu, b.gpu, streamGpu)];
      return [toHost(a.gpu, Infinity), fromHost(b.gpu, Infinity)];
    }
    if ("gpu" in a) return [toHost(a.gpu, hostCap)];
    if ("gpu" in b) return [fromHost(b.gpu, hostCap)];
    return [
      {
        engine: engineOf("host memcpy"),
        // Read and written: twice through the memory, which its one thread does not come near to.
        resources: [resources.memory(memoryOf(0))],
        capGbps: costs.hostCopyGbps.value,
        fixedNs: 0,
      },
    ];
  };

  const streams = program.data.streams.map((stream) => stream.name);
  const stepOf = (o: ModelledOperation): Step => {
    const stream = streams.indexOf(o.stream);
    if (o.op === "sync") return { op: "sync", stream, method: o.method };
    if (o.op !== "copy") return { op: o.op, stream, event: o.event };
    const from = program.bufferOf(o.src);
    const to = program.bufferOf(o.dst);
    const legs = legsOf(from, to, (program.data.streams[stream] as { gpu: number }).gpu);
    const pageable = [from, to].some((b) => "host" in b.place && b.place.host === "pageable");
    const withoutGpu = "host" in from.place && "host" in to.place;
    const staged = legs.length === 2;
    const slow = staged && "gpu" in from.place && "gpu" in to.place && slowMode(from.place.gpu, to.place.gpu);
    return {
      op: "copy",
      stream,
      name: `${o.src} → ${o.dst}`,
      call: o.api === "peer" ? "cuMemcpyPeerAsync" : "cuMemcpyAsync",
      bytes: o.bytes,
      legs,
      submitNs: (staged ? costs.stagedSubmitNs : costs.submitNs).value,
      extraNs:
        (staged ? costs.stagedExtraNs.value + (slow ? costs.stagedSlowNs.value : 0) : 0) +
        (pageable && !withoutGpu ? costs.pageableNs.value : 0),
      blocking: pageable || withoutGpu,
    };
  };
  const steps = (program.data.operations as readonly ModelledOperation[]).map(stepOf);
  return { steps, streams, engines, capacities: resources.capacities(), costs };
}

/** Numbers of what flows share: each direction of each link, both together where limited, and memories. */
class Resources {
  readonly #topology: Topology;
  readonly #gbps: number[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(topology: Topology) {
    this.#topology = topology;
  }

  along(from: string, to: string): number[] {
    const { graph } = this.#topology;
    return graph.route(from, to).hops.flatMap(({ link, forward }) => {
      const spec = graph.links[link] as (typeof graph.links)[number];
      const way = this.#of(`${link}${forward ? ">" : "<"}`, forward ? spec.forwardGbps : spec.backwardGbps);
      return spec.bothGbps === null ? [way] : [way, this.#of(`${link}=`, spec.bothGbps)];
    });
  }

  memory(node: string): number {
    const { gpu, hostMemory, graph } = this.#topology;
    return this.#of(node, graph.kindOf(node) === "gpu" ? gpu.localCopy.value : hostMemory.value);
  }

  capacities(): Float64Array {
    return Float64Array.from(this.#gbps);
  }

  #of(key: string, gbps: number): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#numbers.set(key, this.#gbps.length);
    return this.#gbps.push(gbps) - 1;
  }
}
