import type { Simulation } from "./engine.js";

/** What a flow passes through (indices of capacities) and the rate it takes at most by itself, GB/s. */
export interface FlowPath {
  readonly resources: readonly number[];
  readonly capGbps: number;
}

/**
 * Max–min fair rates by progressive filling (Bertsekas & Gallager, Data Networks, 6.5.2): all flows grow alike until one is
 * held by its own cap or by a resource that is used up; those are fixed, the others go on.
 * @param capacities GB/s of each resource.
 * @returns GB/s, one a flow.
 */
export function fairRates(flows: readonly FlowPath[], capacities: ArrayLike<number>): Float64Array {
  const rates = new Float64Array(flows.length);
  const left = new Map<number, { gbps: number; flows: number }>();
  for (const flow of flows) {
    for (const resource of flow.resources) {
      const entry = left.get(resource);
      if (entry) entry.flows++;
      else left.set(resource, { gbps: capacities[resource] as number, flows: 1 });
    }
  }
  const limitOf = (flow: number): number => {
    const { capGbps, resources } = flows[flow] as FlowPath;
    let least = capGbps;
    for (const resource of resources) {
      const entry = left.get(resource) as { gbps: number; flows: number };
      least = Math.min(least, entry.gbps / entry.flows);
    }
    return least;
  };
  let open = [...flows.keys()];
  while (open.length > 0) {
    const limits = open.map(limitOf);
    const level = Math.min(...limits);
    // Equal shares may differ in their last bits; the slack keeps them together, and at least one flow is fixed a round.
    const held = new Set(open.filter((_, i) => (limits[i] as number) <= level * (1 + 1e-12)));
    for (const flow of held) {
      rates[flow] = level;
      for (const resource of (flows[flow] as FlowPath).resources) {
        const entry = left.get(resource) as { gbps: number; flows: number };
        entry.gbps = Math.max(0, entry.gbps - level);
        entry.flows--;
      }
    }
    open = open.filter((flow) => !held.has(flow));
  }
  return rates;
}

interface Flow extends FlowPath {
  leftBytes: number;
  rateGbps: number;
  readonly done: () => void;
}

/** Flows in progress. Whenever one starts or ends, the rates of all are shared anew. */
export class Network {
  readonly #simulation: Simulation;
  readonly #capacities: ArrayLike<number>;
  #flows: Flow[] = [];
  #sinceNs = 0;
  #version = 0;

  /** @param capacities GB/s of each resource. */
  constructor(simulation: Simulation, capacities: ArrayLike<number>) {
    this.#simulation = simulation;
    this.#capacities = capacities;
  }

  /** Starts a flow now; `done` is called when its last byte is through. */
  start(path: FlowPath, bytes: number, done: () => void): void {
    this.#advance();
    this.#flows.push({ ...path, leftBytes: bytes, rateGbps: 0, done });
    this.#share();
  }

  #advance(): void {
    const passedNs = this.#simulation.nowNs - this.#sinceNs;
    for (const flow of this.#flows) flow.leftBytes -= flow.rateGbps * passedNs;
    this.#sinceNs = this.#simulation.nowNs;
  }

  #share(): void {
    const version = ++this.#version;
    if (this.#flows.length === 0) return;
    const rates = fairRates(this.#flows, this.#capacities);
    let ending = this.#flows[0] as Flow;
    let endNs = Infinity;
    for (const [i, flow] of this.#flows.entries()) {
      flow.rateGbps = rates[i] as number;
      const leftNs = Math.max(0, flow.leftBytes) / flow.rateGbps;
      if (leftNs < endNs) {
        endNs = leftNs;
        ending = flow;
      }
    }
    this.#simulation.at(this.#simulation.nowNs + endNs, () => {
      // A later start or end has shared anew and entered an end of its own.
      if (version !== this.#version) return;
      this.#advance();
      this.#flows = this.#flows.filter((flow) => flow !== ending);
      this.#share();
      ending.done();
    });
  }
}
