import { P2pError } from "../../errors.js";
import { Layout, type LayoutLink, type LinkFacts, type TopologyNode } from "../layout.js";

const MAX_DEVICES = 4096;

/** Collects the nodes and links that a file tells of; names are given at the end, since GPUs have an order of their own. */
export class Collector {
  readonly #nodes: (Omit<TopologyNode, "name"> & { readonly order: number })[] = [];
  readonly #links: (LinkFacts & { readonly from: number; readonly to: number })[] = [];

  /** @param order among the nodes of its kind; equal ones stay in the order they came. */
  add(kind: TopologyNode["kind"], facts: Omit<TopologyNode, "name" | "kind"> = {}, order = 0): number {
    return this.#nodes.push({ kind, ...facts, order }) - 1;
  }

  join(from: number, to: number, kind: LinkFacts["kind"], facts: Partial<LinkFacts> = {}): void {
    this.#links.push({ from, to, kind, width: null, rawGbps: null, ...facts });
  }

  count(kind: TopologyNode["kind"]): number {
    return this.#nodes.filter((node) => node.kind === kind).length;
  }

  /**
   * @returns the layout, and the name of each node by the number that {@link add} gave it.
   * @throws P2pError `topology` for more devices than a computer has.
   */
  layout(): { layout: Layout; names: readonly string[] } {
    const devices = this.count("gpu") + this.count("nic");
    if (devices > MAX_DEVICES) {
      throw new P2pError(
        "topology",
        `the topology names ${devices} GPUs and network cards, more than ${MAX_DEVICES}`,
        "Give the topology of one computer.",
      );
    }
    const counts = new Map<string, number>();
    const names: string[] = [];
    const sorted = this.#nodes
      .map((node, index) => ({ ...node, index }))
      .sort((a, b) => a.order - b.order || a.index - b.index);
    const nodes = sorted.map(({ order: _, index, kind, ...facts }): TopologyNode => {
      const number = counts.get(kind) ?? 0;
      counts.set(kind, number + 1);
      names[index] = `${kind}${number}`;
      return { ...facts, kind, name: `${kind}${number}` };
    });
    const links = this.#links.map(
      ({ from, to, ...facts }): LayoutLink => ({
        ...facts,
        from: names[from] as string,
        to: names[to] as string,
      }),
    );
    return { layout: new Layout(nodes, links), names };
  }
}
