import { P2pError } from "../errors.js";
import { Layout, type LayoutLink, type LinkFacts, type TopologyNode, type Way } from "./layout.js";

/** What one link between two nodes does; rates in GB/s = 1e9 bytes/s, and so in bytes per nanosecond. */
export interface LinkSpec extends LinkFacts {
  /** NVLinks bundled, or PCIe lanes. */
  readonly width: number;
  /** Line rate in one direction. */
  readonly rawGbps: number;
  /** Payload rate that copy engines reach, towards the second node of the link. */
  readonly forwardGbps: number;
  /** The same, towards the first node. */
  readonly backwardGbps: number;
  /** Payload of both directions together where they share a limit; null where each has its own. */
  readonly bothGbps: number | null;
  /** One way; of a link to host memory with the access itself. */
  readonly latencyNs: number;
  /** Part of `latencyNs` that the access to host memory takes: a way that only passes the CPU does not have it. Default 0. */
  readonly memoryNs?: number;
  /** Where these figures come from: a key of the list of sources in the README here, or a named assumption. */
  readonly source: string;
}

export interface TopologyLink extends LinkSpec, LayoutLink {
  readonly width: number;
  readonly rawGbps: number;
}

export interface Route extends Way {
  /** One way. */
  readonly latencyNs: number;
  /** The narrowest hop, for copy engines. */
  readonly copyGbps: number;
  /** The narrowest hop's line rate. */
  readonly rawGbps: number;
}

/** A layout whose links all have rates and latencies. */
export class Graph extends Layout<TopologyLink> {
  readonly #routes = new Map<string, Route>();

  /** @throws P2pError `usage` as {@link Layout}, and for a rate that is not positive or a latency below 0. */
  constructor(nodes: readonly TopologyNode[], links: readonly TopologyLink[]) {
    super(nodes, links);
    for (const link of links) {
      const rates = [link.rawGbps, link.forwardGbps, link.backwardGbps, link.bothGbps ?? 1];
      const memoryNs = link.memoryNs ?? 0;
      if (rates.every((rate) => rate > 0) && memoryNs >= 0 && link.latencyNs >= memoryNs) continue;
      throw new P2pError(
        "usage",
        `link ${link.from} – ${link.to} has a rate or latency that cannot be`,
        "Give rates above 0 GB/s and a latency of at least 0 ns.",
      );
    }
  }

  protected override costNs(link: TopologyLink): number {
    return link.latencyNs;
  }

  /**
   * The way by NVLink alone where there is one, as the driver takes it; otherwise the way with the fewest hops, of equal
   * ones the one with less latency, of those the one whose links were declared first. It passes through no other GPU:
   * GPUs forward nothing.
   * @throws P2pError `usage` where there is none.
   */
  route(from: string, to: string): Route {
    const key = `${from}>${to}`;
    const known = this.#routes.get(key);
    if (known) return known;
    const way = this.way(from, to);
    if (!way) throw new P2pError("usage", `no way from "${from}" to "${to}"`, "Add the missing link.");
    const specs = way.hops.map((hop) => this.links[hop.link] as TopologyLink);
    const toMemory = this.kindOf(from) === "cpu" || this.kindOf(to) === "cpu";
    const route: Route = {
      ...way,
      latencyNs: specs.reduce((sum, link) => sum + link.latencyNs - (toMemory ? 0 : (link.memoryNs ?? 0)), 0),
      copyGbps: Math.min(
        ...specs.map((link, i) => (way.hops[i]?.forward ? link.forwardGbps : link.backwardGbps)),
      ),
      rawGbps: Math.min(...specs.map((link) => link.rawGbps)),
    };
    this.#routes.set(key, route);
    return route;
  }
}
