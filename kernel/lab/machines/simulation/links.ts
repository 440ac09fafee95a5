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
  const rates = new Float64Array(flows.length).fill(Number.NaN);
  const leftGbps = Float64Array.from(capacities);
  const sharing = new Int32Array(capacities.length);
  for (const { resources } of flows) for (const resource of resources) bump(sharing, resource, 1);
  const limits = new Float64Array(flows.length);
  for (let open = flows.length; open > 0; ) {
    let level = Infinity;
    for (let i = 0; i < flows.length; i++) {
      if (!Number.isNaN(rates[i])) continue;
      const { capGbps, resources } = flows[i] as FlowPath;
      let limit = capGbps;
      for (const resource of resources) {
        limit = Math.min(limit, (leftGbps[resource] as number) / (sharing[resource] as number));
      }
      limits[i] = limit;
      level = Math.min(level, limit);
    }
    // Equal shares may differ in their last bits; the slack keeps them together, and at least one flow is fixed a round.
    const held = level * (1 + 1e-12);
    for (let i = 0; i < flows.length; i++) {
      if (!Number.isNaN(rates[i]) || (limits[i] as number) > held) continue;
      rates[i] = level;
      open--;
      for (const resource of (flows[i] as FlowPath).resources) {
        leftGbps[resource] = Math.max(0, (leftGbps[resource] as number) - level);
        bump(sharing, resource, -1);
      }
    }
  }
  return rates;
}

function bump(counts: Int32Array, index: number, by: number): void {
  counts[index] = (counts[index] as number) + by;
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
    const { resources, capGbps } = path;
    this.#flows.push({ resources, capGbps, leftBytes: bytes, rateGbps: 0, done });
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
