import { P2pError } from "../errors.js";

export type NodeKind = "gpu" | "nvswitch" | "pcie-switch" | "root-port" | "cpu";

export interface TopologyNode {
  readonly name: string;
  readonly kind: NodeKind;
  /** Host bridge that a root port belongs to; left out where its CPU has only one. */
  readonly bridge?: string;
}

/** `nvlink`; `pcie` between two PCIe devices; `host` from a root port to host memory; `socket` between CPUs. */
export type LinkKind = "nvlink" | "pcie" | "host" | "socket";

/** What one link between two nodes does; rates in GB/s = 1e9 bytes/s, and so in bytes per nanosecond. */
export interface LinkSpec {
  readonly kind: LinkKind;
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
  /** One way. */
  readonly latencyNs: number;
  /** Where these figures come from: a key of the list of sources in the README here, or a named assumption. */
  readonly source: string;
}

export interface TopologyLink extends LinkSpec {
  readonly from: string;
  readonly to: string;
}

/** One link in the direction that a route takes it. */
export interface Hop {
  /** Index in {@link Graph.links}. */
  readonly link: number;
  /** From the link's first node to its second. */
  readonly forward: boolean;
}

export interface Route {
  readonly nodes: readonly string[];
  readonly hops: readonly Hop[];
  /** One way. */
  readonly latencyNs: number;
  /** The narrowest hop, for copy engines. */
  readonly copyGbps: number;
  /** The narrowest hop's line rate. */
  readonly rawGbps: number;
}

/**
 * Nodes and links of a machine, and the way between two of them. Immutable once built.
 * GPUs are the nodes `gpu0`, `gpu1`, … in the order of their numbers.
 */
export class Graph {
  readonly nodes: readonly TopologyNode[];
  readonly links: readonly TopologyLink[];
  readonly #nodes: ReadonlyMap<string, TopologyNode>;
  readonly #neighbours: ReadonlyMap<string, readonly (Hop & { readonly node: string })[]>;
  readonly #routes = new Map<string, Route>();

  /** @throws P2pError `usage` for a name used twice, a link to a node that is not there, or a rate that is not positive. */
  constructor(nodes: readonly TopologyNode[], links: readonly TopologyLink[]) {
    this.nodes = nodes;
    this.links = links;
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    if (this.#nodes.size !== nodes.length) {
      throw new P2pError("usage", "two nodes of a topology have the same name", "Name each node once.");
    }
    const neighbours = new Map(nodes.map((node) => [node.name, [] as (Hop & { node: string })[]]));
    links.forEach((link, index) => {
      for (const end of [link.from, link.to]) {
        if (!neighbours.has(end)) {
          throw new P2pError("usage", `a link ends at "${end}", which is no node`, "Declare the node first.");
        }
      }
      const rates = [link.rawGbps, link.forwardGbps, link.backwardGbps, link.bothGbps ?? 1];
      if (!rates.every((rate) => rate > 0) || !(link.latencyNs >= 0)) {
        throw new P2pError(
          "usage",
          `link ${link.from} – ${link.to} has a rate or latency that cannot be`,
          "Give rates above 0 GB/s and a latency of at least 0 ns.",
        );
      }
      neighbours.get(link.from)?.push({ link: index, forward: true, node: link.to });
      neighbours.get(link.to)?.push({ link: index, forward: false, node: link.from });
    });
    this.#neighbours = neighbours;
  }

  kindOf(node: string): NodeKind {
    const found = this.#nodes.get(node);
    if (!found) throw new P2pError("usage", `no node "${node}" in this topology`, "See graph.nodes.");
    return found.kind;
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
    this.kindOf(from);
    this.kindOf(to);
    const found =
      this.#search(from, to, (link) => link.kind === "nvlink") ?? this.#search(from, to, () => true);
    if (!found) throw new P2pError("usage", `no way from "${from}" to "${to}"`, "Add the missing link.");
    this.#routes.set(key, found);
    return found;
  }

  #search(from: string, to: string, allowed: (link: TopologyLink) => boolean): Route | null {
    type State = { hops: number; latencyNs: number; via: (Hop & { previous: string }) | null };
    const best = new Map<string, State>([[from, { hops: 0, latencyNs: 0, via: null }]]);
    // Breadth first over the hop count: a node's state is final before the next ring begins.
    let ring = [from];
    while (ring.length > 0 && !best.has(to)) {
      const next: string[] = [];
      for (const node of ring) {
        if (node !== from && this.kindOf(node) === "gpu") continue;
        const here = best.get(node) as State;
        for (const { node: neighbour, link, forward } of this.#neighbours.get(node) ?? []) {
          const spec = this.links[link] as TopologyLink;
          if (!allowed(spec)) continue;
          const latencyNs = here.latencyNs + spec.latencyNs;
          const before = best.get(neighbour);
          if (before && (before.hops <= here.hops || before.latencyNs <= latencyNs)) continue;
          if (!before) next.push(neighbour);
          best.set(neighbour, { hops: here.hops + 1, latencyNs, via: { link, forward, previous: node } });
        }
      }
      ring = next;
    }
    const end = best.get(to);
    if (!end) return null;
    const nodes = [to];
    const hops: Hop[] = [];
    for (let state = end; state.via; state = best.get(state.via.previous) as State) {
      nodes.unshift(state.via.previous);
      hops.unshift({ link: state.via.link, forward: state.via.forward });
    }
    const narrowest = (rate: (link: TopologyLink, hop: Hop) => number) =>
      Math.min(...hops.map((hop) => rate(this.links[hop.link] as TopologyLink, hop)));
    return {
      nodes,
      hops,
      latencyNs: end.latencyNs,
      copyGbps: narrowest((link, hop) => (hop.forward ? link.forwardGbps : link.backwardGbps)),
      rawGbps: narrowest((link) => link.rawGbps),
    };
  }

  /**
   * Class of the way between two GPUs as `nvidia-smi topo -m` names it: `NV#` with the number of NVLinks, `PIX` one PCIe
   * switch, `PXB` several without a host bridge, `PHB` through one host bridge, `NODE` through two of the same CPU, `SYS`
   * between CPUs.
   */
  pairClass(from: number, to: number): string {
    const route = this.route(`gpu${from}`, `gpu${to}`);
    const links = route.hops.map((hop) => this.links[hop.link] as TopologyLink);
    if (links.every((link) => link.kind === "nvlink")) {
      return `NV${Math.min(...links.map((link) => link.width))}`;
    }
    if (links.some((link) => link.kind === "socket")) return "SYS";
    const kinds = route.nodes.map((node) => this.kindOf(node));
    if (kinds.some((kind) => kind === "cpu" || kind === "root-port")) {
      const ports = route.nodes.filter((node) => this.kindOf(node) === "root-port");
      return new Set(ports.map((port) => this.#nodes.get(port)?.bridge)).size > 1 ? "NODE" : "PHB";
    }
    return kinds.filter((kind) => kind === "pcie-switch").length > 1 ? "PXB" : "PIX";
  }
}
