import { P2pError } from "../errors.js";

/** `cpu` is a NUMA node; `network` all that lies between network cards; `hidden` a part of the PCIe tree that nobody told of. */
export type NodeKind =
  | "gpu"
  | "nic"
  | "nvswitch"
  | "pcie-switch"
  | "root-port"
  | "cpu"
  | "network"
  | "hidden";

export interface TopologyNode {
  readonly name: string;
  readonly kind: NodeKind;
  /** Host bridge that a root port belongs to; left out where its CPU has only one. */
  readonly bridge?: string;
  /** Number of the computer it is in; left out for the first, 0. */
  readonly host?: number;
  /** PCI address, such as `0000:0f:00.0`. */
  readonly pci?: string;
  /** Name that its system knows it by, such as `mlx5_0`. */
  readonly label?: string;
  /** Number of a CPU's NUMA node. */
  readonly numa?: number;
}

/**
 * `nvlink` and AMD's `xgmi` between GPUs and their switches; `pcie` between two PCIe devices; `host` from a root port to host
 * memory; `c2c` from a GPU to its CPU (NVLink-C2C); `socket` between NUMA nodes; `network` from a network card outwards.
 */
export type LinkKind = "nvlink" | "xgmi" | "pcie" | "host" | "c2c" | "socket" | "network";

/** What is known of a link without its rate for copies. */
export interface LinkFacts {
  readonly kind: LinkKind;
  /** NVLinks bundled, or PCIe lanes; null where unknown. */
  readonly width: number | null;
  /** Line rate in one direction, GB/s = 1e9 bytes/s; null where unknown. */
  readonly rawGbps: number | null;
}

export interface LayoutLink extends LinkFacts {
  readonly from: string;
  readonly to: string;
}

/** One link in the direction that a route takes it. */
export interface Hop {
  /** Index in {@link Layout.links}. */
  readonly link: number;
  /** From the link's first node to its second. */
  readonly forward: boolean;
}

/** A way through a layout: one node more than hops. */
export interface Way {
  readonly nodes: readonly string[];
  readonly hops: readonly Hop[];
}

interface State {
  readonly hops: number;
  readonly costNs: number;
  readonly via: (Hop & { readonly previous: string }) | null;
}

/**
 * What is joined to what in a machine, and the way between two nodes; rates may be unknown. Immutable once built.
 * GPUs are the nodes `gpu0`, `gpu1`, … in the order of their numbers, network cards `nic0`, `nic1`, …
 */
export class Layout<Link extends LayoutLink = LayoutLink> {
  readonly nodes: readonly TopologyNode[];
  readonly links: readonly Link[];
  readonly #nodes: ReadonlyMap<string, TopologyNode>;
  readonly #neighbours: ReadonlyMap<string, readonly (Hop & { readonly node: string })[]>;
  readonly #ways = new Map<string, Way | null>();

  /** @throws P2pError `usage` for a name used twice, a link to a node that is not there, or GPUs that are not numbered from 0. */
  constructor(nodes: readonly TopologyNode[], links: readonly Link[]) {
    this.nodes = nodes;
    this.links = links;
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    if (this.#nodes.size !== nodes.length) {
      throw new P2pError("usage", "two nodes of a topology have the same name", "Name each node once.");
    }
    for (const kind of ["gpu", "nic"] as const) {
      this.named(kind).forEach((name, index) => {
        if (this.#nodes.get(`${kind}${index}`)?.kind === kind) return;
        throw new P2pError(
          "usage",
          `a topology has the ${kind} "${name}" but no ${kind} "${kind}${index}"`,
          `Number them from ${kind}0 on without gaps.`,
        );
      });
    }
    const neighbours = new Map(nodes.map((node) => [node.name, [] as (Hop & { node: string })[]]));
    links.forEach((link, index) => {
      for (const end of [link.from, link.to]) {
        if (!neighbours.has(end)) {
          throw new P2pError("usage", `a link ends at "${end}", which is no node`, "Declare the node first.");
        }
      }
      neighbours.get(link.from)?.push({ link: index, forward: true, node: link.to });
      neighbours.get(link.to)?.push({ link: index, forward: false, node: link.from });
    });
    this.#neighbours = neighbours;
  }

  /** Names of the nodes of a kind, in order. */
  named(kind: NodeKind): string[] {
    return this.nodes.filter((node) => node.kind === kind).map((node) => node.name);
  }

  get gpuCount(): number {
    return this.named("gpu").length;
  }

  /** @throws P2pError `usage` for a name that is no node's. */
  node(name: string): TopologyNode {
    const found = this.#nodes.get(name);
    if (!found) throw new P2pError("usage", `no node "${name}" in this topology`, "See graph.nodes.");
    return found;
  }

  kindOf(name: string): NodeKind {
    return this.node(name).kind;
  }

  /** Number of the computer that a node is in. */
  hostOf(name: string): number {
    return this.node(name).host ?? 0;
  }

  /** CPU whose memory serves a GPU where nobody says otherwise: the first of its own computer. */
  memoryOf(gpu: number): string {
    const host = this.hostOf(`gpu${gpu}`);
    const found = this.nodes.find((node) => node.kind === "cpu" && (node.host ?? 0) === host);
    if (!found) throw new P2pError("usage", `no CPU in the computer of GPU ${gpu}`, "Add a cpu node.");
    return found.name;
  }

  /** Like {@link Graph.route}, without rates; null where there is none. */
  way(from: string, to: string): Way | null {
    const key = `${from}>${to}`;
    const known = this.#ways.get(key);
    if (known !== undefined) return known;
    this.node(from);
    this.node(to);
    // Inside a computer nothing goes out and in again.
    const away = this.hostOf(from) !== this.hostOf(to);
    const found =
      this.#search(from, to, isPeerLink) ?? this.#search(from, to, (link) => away || link.kind !== "network");
    this.#ways.set(key, found);
    return found;
  }

  /** What a link adds to a way, which decides between ways with as many hops. */
  protected costNs(_link: Link): number {
    return 0;
  }

  #search(from: string, to: string, allowed: (link: Link) => boolean): Way | null {
    const best = new Map<string, State>([[from, { hops: 0, costNs: 0, via: null }]]);
    // Breadth first over the hop count: a node's state is final before the next ring begins.
    let ring = [from];
    while (ring.length > 0 && !best.has(to)) {
      const next: string[] = [];
      for (const node of ring) {
        if (node !== from && this.kindOf(node) === "gpu") continue;
        const here = best.get(node) as State;
        for (const { node: neighbour, link, forward } of this.#neighbours.get(node) ?? []) {
          const spec = this.links[link] as Link;
          if (!allowed(spec)) continue;
          const costNs = here.costNs + this.costNs(spec);
          const before = best.get(neighbour);
          if (before && (before.hops <= here.hops || before.costNs <= costNs)) continue;
          if (!before) next.push(neighbour);
          best.set(neighbour, { hops: here.hops + 1, costNs, via: { link, forward, previous: node } });
        }
      }
      ring = next;
    }
    const end = best.get(to);
    if (!end) return null;
    const nodes = [to];
    const hops: Hop[] = [];
    for (let state = end; state.via; state = best.get(state.via.previous) as State) {
      nodes.push(state.via.previous);
      hops.push({ link: state.via.link, forward: state.via.forward });
    }
    return { nodes: nodes.reverse(), hops: hops.reverse() };
  }

  /** {@link classOf} of two GPUs by their numbers. */
  pairClass(from: number, to: number): string | null {
    return this.classOf(`gpu${from}`, `gpu${to}`);
  }

  /**
   * Class of the way between two devices as `nvidia-smi topo -m` names it: `NV#` with the number of NVLinks (`XGMI` for AMD's),
   * `PIX` one PCIe switch, `PXB` several without a host bridge, `PHB` through one host bridge, `NODE` through two of the same
   * NUMA node, `SYS` between NUMA nodes. Null where a part of the way is hidden, or where it leaves the computer.
   */
  classOf(from: string, to: string): string | null {
    const way = this.way(from, to);
    if (!way) return null;
    const links = way.hops.map((hop) => this.links[hop.link] as Link);
    if (links.length > 0 && links.every(isPeerLink)) {
      const widths = links.map((link) => link.width);
      if (links.some((link) => link.kind === "xgmi")) return "XGMI";
      return widths.includes(null) ? null : `NV${Math.min(...(widths as number[]))}`;
    }
    const kinds = way.nodes.map((node) => this.kindOf(node));
    if (kinds.includes("network")) return null;
    // A GPU on C2C is a NUMA node of its own: topo -m of a GB200 tray says SYS for all of its network cards (T17).
    if (links.some((link) => link.kind === "socket" || link.kind === "c2c")) return "SYS";
    if (kinds.includes("hidden")) return null;
    if (kinds.some((kind) => kind === "cpu" || kind === "root-port")) {
      const ports = way.nodes.filter((node) => this.kindOf(node) === "root-port");
      return new Set(ports.map((port) => this.node(port).bridge)).size > 1 ? "NODE" : "PHB";
    }
    return kinds.filter((kind) => kind === "pcie-switch").length > 1 ? "PXB" : "PIX";
  }
}

/** Links that GPUs reach each other by without PCIe. */
function isPeerLink(link: LinkFacts): boolean {
  return link.kind === "nvlink" || link.kind === "xgmi";
}
