import type { Simulation } from "./engine.js";

/** What a flow passes through (indices of capacities) and the rate it takes at most by itself, GB/s. */
export interface FlowPath {
  readonly resources: readonly number[];
  readonly capGbps: number;
}

/** Equal shares may differ in their last bits: what is this close counts as equal. */
const SLACK = 1e-12;
/** A resource with less than this share of its capacity left is used up. */
const FULL = 1e-9;

/**
 * Max–min fair rates by progressive filling (Bertsekas & Gallager, Data Networks, 6.5.2): all flows grow alike until one is
 * held by its own cap or by a resource that is used up; those are fixed, the others go on.
 * @param capacities GB/s of each resource.
 * @returns GB/s, one a flow.
 */
export function fairRates(flows: readonly FlowPath[], capacities: ArrayLike<number>): Float64Array {
  return new Filling(capacities).rates(flows);
}

/** Progressive filling with its working memory, so that it can be done again and again. */
class Filling {
  readonly #capacities: ArrayLike<number>;
  readonly #leftGbps: Float64Array;
  readonly #sharing: Int32Array;

  constructor(capacities: ArrayLike<number>) {
    this.#capacities = capacities;
    this.#leftGbps = new Float64Array(capacities.length);
    this.#sharing = new Int32Array(capacities.length);
  }

  rates(flows: readonly FlowPath[]): Float64Array {
    const left = this.#leftGbps;
    const sharing = this.#sharing;
    for (const { resources } of flows) for (const resource of resources) sharing[resource] = 0;
    for (const { resources } of flows) {
      for (const resource of resources) {
        left[resource] = this.#capacities[resource] as number;
        sharing[resource] = (sharing[resource] as number) + 1;
      }
    }
    const rates = new Float64Array(flows.length);
    const limits = new Float64Array(flows.length);
    let open = Array.from(flows, (_, index) => index);
    while (open.length > 0) {
      let level = Infinity;
      for (const i of open) {
        const { capGbps, resources } = flows[i] as FlowPath;
        let limit = capGbps;
        for (const resource of resources) {
          const share = (left[resource] as number) / (sharing[resource] as number);
          if (share < limit) limit = share;
        }
        limits[i] = limit;
        if (limit < level) level = limit;
      }
      const held = level * (1 + SLACK);
      const still: number[] = [];
      for (const i of open) {
        if ((limits[i] as number) > held) {
          still.push(i);
          continue;
        }
        rates[i] = level;
        for (const resource of (flows[i] as FlowPath).resources) {
          left[resource] = Math.max(0, (left[resource] as number) - level);
          sharing[resource] = (sharing[resource] as number) - 1;
        }
      }
      open = still;
    }
    return rates;
  }
}

class Flow implements FlowPath {
  leftBytes: number;
  rateGbps = 0;
  /** When `leftBytes` was last brought up to date. */
  sinceNs: number;
  /** Counts changes of the rate: an end that was entered under an earlier one is void. */
  version = 0;
  /** Number of the last search that met it. */
  seen = 0;

  constructor(
    readonly resources: readonly number[],
    readonly capGbps: number,
    bytes: number,
    nowNs: number,
    readonly done: () => void,
  ) {
    this.leftBytes = bytes;
    this.sinceNs = nowNs;
  }
}

/**
 * Flows in progress. When one starts or ends, only the flows that share a resource with it, directly or over others, get new
 * rates, once for all that happens at one moment; and none do where nobody has to give way: a flow that fits into what is left changes nobody's share, and neither
 * does the end of one on whose resources nobody was held back.
 */
export class Network {
  readonly #simulation: Simulation;
  readonly #capacities: ArrayLike<number>;
  /** Flows on each resource that has or had any. */
  readonly #on: (Set<Flow> | undefined)[];
  readonly #usedGbps: Float64Array;
  readonly #peakShare: Float64Array;
  readonly #carriedBytes: Float64Array;
  readonly #filling: Filling;
  #search = 0;
  /** Resources whose flows are to be given new rates before time goes on. */
  #unshared: (readonly number[])[] = [];

  /** @param capacities GB/s of each resource. */
  constructor(simulation: Simulation, capacities: ArrayLike<number>) {
    this.#simulation = simulation;
    this.#capacities = capacities;
    this.#filling = new Filling(capacities);
    this.#on = new Array<Set<Flow> | undefined>(capacities.length).fill(undefined);
    this.#usedGbps = new Float64Array(capacities.length);
    this.#peakShare = new Float64Array(capacities.length);
    this.#carriedBytes = new Float64Array(capacities.length);
  }

  /** Highest use of each resource so far, as a share of its capacity. */
  get peakShare(): Float64Array {
    return this.#peakShare;
  }

  /** Bytes that went through each resource. */
  get carriedBytes(): Float64Array {
    return this.#carriedBytes;
  }

  /** Starts a flow now; `done` is called when its last byte is through. */
  start(path: FlowPath, bytes: number, done: () => void): void {
    const { resources } = path;
    // No share of a resource is more than all of it.
    const capGbps = resources.reduce(
      (least, resource) => Math.min(least, this.#capacities[resource] as number),
      path.capGbps,
    );
    const flow = new Flow(resources, capGbps, bytes, this.#simulation.nowNs, done);
    for (const resource of resources) {
      let on = this.#on[resource];
      if (!on) {
        on = new Set();
        this.#on[resource] = on;
      }
      on.add(flow);
      this.#carriedBytes[resource] = (this.#carriedBytes[resource] as number) + bytes;
    }
    const fits = resources.every(
      (resource) => (this.#usedGbps[resource] as number) + capGbps <= (this.#capacities[resource] as number),
    );
    if (fits) {
      this.#give(flow, capGbps);
      this.#notePeaks(flow);
    } else {
      this.#shareSoon(resources);
    }
  }

  #end(flow: Flow): void {
    const held = flow.resources.some((resource) => {
      const capacity = this.#capacities[resource] as number;
      return (
        (this.#on[resource] as Set<Flow>).size > 1 &&
        (this.#usedGbps[resource] as number) >= capacity * (1 - FULL)
      );
    });
    for (const resource of flow.resources) {
      (this.#on[resource] as Set<Flow>).delete(flow);
      // Sums of rates would keep rounding errors: an empty resource is exactly unused.
      const left = (this.#usedGbps[resource] as number) - flow.rateGbps;
      this.#usedGbps[resource] = (this.#on[resource] as Set<Flow>).size === 0 ? 0 : Math.max(0, left);
    }
    if (held) this.#shareSoon(flow.resources);
    flow.done();
  }

  /** Once for all that starts and ends at this moment. */
  #shareSoon(resources: readonly number[]): void {
    if (this.#unshared.push(resources) > 1) return;
    this.#simulation.after(0, () => {
      const waiting = this.#unshared;
      this.#unshared = [];
      this.#shareAround(waiting);
    });
  }

  /** New rates for every flow joined to these resources, directly or over other flows. */
  #shareAround(ways: readonly (readonly number[])[]): void {
    const search = ++this.#search;
    const flows: Flow[] = [];
    const visit = (resource: number) => {
      for (const flow of this.#on[resource] ?? []) {
        if (flow.seen === search) continue;
        flow.seen = search;
        flows.push(flow);
      }
    };
    for (const way of ways) for (const resource of way) visit(resource);
    // The list grows while it is gone through.
    for (const flow of flows) for (const resource of flow.resources) visit(resource);
    const rates = this.#filling.rates(flows);
    for (let i = 0; i < flows.length; i++) this.#give(flows[i] as Flow, rates[i] as number);
    for (const flow of flows) this.#notePeaks(flow);
  }

  #notePeaks({ resources }: Flow): void {
    for (const resource of resources) {
      const share = (this.#usedGbps[resource] as number) / (this.#capacities[resource] as number);
      if (share > (this.#peakShare[resource] as number)) this.#peakShare[resource] = share;
    }
  }

  #give(flow: Flow, rateGbps: number): void {
    const nowNs = this.#simulation.nowNs;
    if (rateGbps === flow.rateGbps) return;
    flow.leftBytes = Math.max(0, flow.leftBytes - flow.rateGbps * (nowNs - flow.sinceNs));
    flow.sinceNs = nowNs;
    for (const resource of flow.resources) {
      this.#usedGbps[resource] = (this.#usedGbps[resource] as number) + rateGbps - flow.rateGbps;
    }
    flow.rateGbps = rateGbps;
    const version = ++flow.version;
    this.#simulation.at(nowNs + flow.leftBytes / rateGbps, () => {
      if (version === flow.version) this.#end(flow);
    });
  }
}
