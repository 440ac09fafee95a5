/** How bytes get from one place to another on a topology: engines, what the flow shares, and latencies. */
import type { Place } from "../../operations.js";
import { peerCopyGbps, type Topology } from "../../topology/topology.js";
import type { Costs } from "./constants.js";
import type { FlowPath } from "./links.js";

/** One passage of bytes by one copy engine. */
export interface Leg extends FlowPath {
  /** Index in {@link Ways.engines}. */
  readonly engine: number;
  /** Engine time beside the bytes: the engine's own and the latency of the path. */
  readonly fixedNs: number;
}

/** Ways on a topology; numbers engines and shared resources as it meets them. */
export class Ways {
  readonly #topology: Topology;
  readonly #costs: Costs;
  readonly #engines: string[] = [];
  readonly #gbps: number[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(topology: Topology, costs: Costs) {
    this.#topology = topology;
    this.#costs = costs;
  }

  /** Lane of each engine. */
  get engines(): readonly string[] {
    return this.#engines;
  }

  /** GB/s of each resource that flows share. */
  get capacities(): Float64Array {
    return Float64Array.from(this.#gbps);
  }

  /** A copy by copy engine: one leg, or two (to the host and from it) where the driver stages it. */
  copy(
    from: Place,
    to: Place,
    bytes: number,
    streamGpu: number,
    peerAccess: boolean,
  ): readonly [Leg] | readonly [Leg, Leg] {
    const pageable = [from, to].some((place) => "host" in place && place.host === "pageable");
    const hostCap = pageable ? this.#costs.pageableGbps.value : Infinity;
    if ("gpu" in from && "gpu" in to) {
      if (from.gpu === to.gpu) return [this.#local(from.gpu)];
      if (peerAccess) return [this.#peer(from.gpu, to.gpu, streamGpu)];
      return [this.#toHost(from.gpu, Infinity), this.#fromHost(to.gpu, Infinity, bytes)];
    }
    if ("gpu" in from) return [this.#toHost(from.gpu, hostCap)];
    if ("gpu" in to) return [this.#fromHost(to.gpu, hostCap, bytes)];
    return [
      {
        engine: this.#engine("host memcpy"),
        // Read and written: twice through the memory, which its one thread does not come near to.
        resources: [this.#memory(this.#hostOf(streamGpu))],
        capGbps: this.#costs.hostCopyGbps.value,
        fixedNs: 0,
      },
    ];
  }

  /** What a kernel on `gpu` moves between its own memory and another place, or within its own. */
  kernel(gpu: number, from: Place, to: Place): FlowPath {
    const writes = "gpu" in from && from.gpu === gpu;
    const { kernelWriteShare, kernelReadShare, kernelHostWriteShare, kernelHostReadShare } = this.#costs;
    const other = writes ? to : from;
    if ("gpu" in other && other.gpu === gpu) {
      return { resources: [this.#memory(`gpu${gpu}`)], capGbps: this.#topology.gpu.localCopy.value };
    }
    const [first, last] = [this.#nodeOf(from, gpu), this.#nodeOf(to, gpu)];
    const { copyGbps } = this.#topology.graph.route(first, last);
    const resources = this.#along(first, last);
    if (!("gpu" in other)) {
      resources.push(this.#memory(this.#hostOf(gpu)));
      return { resources, capGbps: copyGbps * (writes ? kernelHostWriteShare : kernelHostReadShare).value };
    }
    const byEngineGbps = peerCopyGbps(
      this.#topology,
      writes ? gpu : other.gpu,
      writes ? other.gpu : gpu,
      writes ? "write" : "read",
    );
    const share = (writes ? kernelWriteShare : kernelReadShare).value;
    return { resources, capGbps: Math.min(byEngineGbps * share, copyGbps) };
  }

  /** What a network card next to the GPU sends to a GPU of another computer, past both hosts' memories (GPUDirect RDMA). */
  network(from: number, to: number): FlowPath {
    const [source, target] = [`gpu${from}`, `gpu${to}`];
    return {
      resources: this.#along(source, target),
      capGbps: this.#topology.graph.route(source, target).copyGbps,
    };
  }

  /** One way from a GPU to a place, ns; 0 for its own memory. */
  latencyNs(gpu: number, place: Place): number {
    const to = this.#nodeOf(place, gpu);
    return to === `gpu${gpu}` ? 0 : this.#topology.graph.route(`gpu${gpu}`, to).latencyNs;
  }

  #toHost(gpu: number, capGbps: number): Leg {
    const node = `gpu${gpu}`;
    const host = this.#hostOf(gpu);
    return {
      engine: this.#engine(`GPU ${gpu} copy engine DtoH`),
      resources: [...this.#along(node, host), this.#memory(host)],
      capGbps,
      // Writes that the host's side acknowledges: there and back.
      fixedNs: this.#costs.engineNs.value + 2 * this.#topology.graph.route(node, host).latencyNs,
    };
  }

  #fromHost(gpu: number, capGbps: number, bytes: number): Leg {
    const node = `gpu${gpu}`;
    const host = this.#hostOf(gpu);
    return {
      engine: this.#engine(`GPU ${gpu} copy engine HtoD`),
      resources: [this.#memory(host), ...this.#along(host, node)],
      capGbps,
      // Reads: there and back; but few bytes come with the submission.
      fixedNs:
        this.#costs.engineNs.value +
        (bytes < this.#costs.inlineBytes.value ? 0 : 2 * this.#topology.graph.route(host, node).latencyNs),
    };
  }

  #peer(from: number, to: number, streamGpu: number): Leg {
    const reads = streamGpu === to;
    const [source, target] = [`gpu${from}`, `gpu${to}`];
    const { graph } = this.#topology;
    const route = graph.route(source, target);
    const acknowledged = route.hops.every(({ link }) =>
      ["nvlink", "xgmi"].includes(graph.links[link]?.kind ?? ""),
    );
    return {
      // The engine of the stream's GPU does it: the destination reads, otherwise the source writes.
      engine: this.#engine(reads ? `GPU ${to} copy engine peer read` : `GPU ${from} copy engine peer write`),
      resources: this.#along(source, target),
      capGbps: peerCopyGbps(this.#topology, from, to, reads ? "read" : "write"),
      // Reads, and writes that NVLink acknowledges: there and back. Over PCIe writes are posted.
      fixedNs: this.#costs.engineNs.value + (reads || acknowledged ? 2 : 1) * route.latencyNs,
    };
  }

  #local(gpu: number): Leg {
    return {
      engine: this.#engine(`GPU ${gpu} copy engine local`),
      resources: [this.#memory(`gpu${gpu}`)],
      capGbps: this.#topology.gpu.localCopy.value,
      fixedNs: this.#costs.engineNs.value,
    };
  }

  /** Host memory is that of the GPU's first CPU, where the submitting thread is taken to run and to have allocated. */
  #hostOf(gpu: number): string {
    return this.#topology.graph.memoryOf(gpu);
  }

  #nodeOf(place: Place, gpu: number): string {
    return "gpu" in place ? `gpu${place.gpu}` : this.#hostOf(gpu);
  }

  #engine(lane: string): number {
    const known = this.#engines.indexOf(lane);
    return known >= 0 ? known : this.#engines.push(lane) - 1;
  }

  /** Each direction of each link, and both together where they share a limit. */
  #along(from: string, to: string): number[] {
    const { graph } = this.#topology;
    return graph.route(from, to).hops.flatMap(({ link, forward }) => {
      const spec = graph.links[link] as (typeof graph.links)[number];
      const way = this.#shared(
        `${link}${forward ? ">" : "<"}`,
        forward ? spec.forwardGbps : spec.backwardGbps,
      );
      return spec.bothGbps === null ? [way] : [way, this.#shared(`${link}=`, spec.bothGbps)];
    });
  }

  #memory(node: string): number {
    const { gpu, hostMemory, graph } = this.#topology;
    return this.#shared(node, graph.kindOf(node) === "gpu" ? gpu.localCopy.value : hostMemory.value);
  }

  #shared(key: string, gbps: number): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#numbers.set(key, this.#gbps.length);
    return this.#gbps.push(gbps) - 1;
  }
}
