/** Where the nodes of a topology are drawn: the PCIe tree from CPUs down to GPUs and cards, NVLink switches and the network below. */
import type { LayoutLink, LinkKind, TopologyNode } from "../topology/layout.js";

/** A node's box in units of a leaf's slot (x) and of a tier (y, downwards). */
export interface Place {
  readonly x: number;
  readonly y: number;
  /** A bar over everything that the node joins, instead of a box; in slots. */
  readonly span: readonly [left: number, right: number] | null;
}

export interface Placed {
  readonly places: ReadonlyMap<string, Place>;
  /** Slots from left to right. */
  readonly width: number;
  /** Names of nodes of each tier, top to bottom. */
  readonly tiers: readonly (readonly string[])[];
  readonly leafTier: number;
}

const TREE: ReadonlySet<LinkKind> = new Set(["pcie", "host", "c2c"] as const);
/** Between leaves of different CPUs, in slots. */
const GAP = 0.5;

export function placesOf(nodes: readonly TopologyNode[], links: readonly LayoutLink[]): Placed {
  const kindOf = new Map(nodes.map((node) => [node.name, node.kind]));
  const isLeaf = (name: string) => ["gpu", "nic"].includes(kindOf.get(name) ?? "");
  const below = ["nvswitch", "network"];
  const joined = (name: string, kinds?: ReadonlySet<LinkKind>) =>
    links.flatMap((link) => {
      if (kinds && !kinds.has(link.kind)) return [];
      return link.from === name ? [link.to] : link.to === name ? [link.from] : [];
    });
  const depths = new Map<string, number>();
  const leavesOf = new Map<string, string[]>();
  const order: string[] = [];
  const breaks = new Set<string>();
  const walk = (name: string, depth: number): string[] => {
    depths.set(name, depth);
    const children = isLeaf(name)
      ? []
      : joined(name, TREE).filter((child) => !depths.has(child) && !below.includes(kindOf.get(child) ?? ""));
    const leaves = children.flatMap((child) => (depths.has(child) ? [] : walk(child, depth + 1)));
    if (leaves.length === 0) order.push(name);
    const own = leaves.length === 0 ? [name] : leaves;
    leavesOf.set(name, own);
    return own;
  };
  const roots = [
    ...nodes.filter((node) => node.kind === "cpu"),
    // What no CPU is known for: a bridge pair of GPUs, a tree whose top is hidden.
    ...nodes.filter((node) => !isLeaf(node.name) && !below.includes(node.kind)),
    ...nodes.filter((node) => isLeaf(node.name)),
  ];
  for (const { name } of roots) {
    if (depths.has(name)) continue;
    const leaves = walk(name, isLeaf(name) ? Number.POSITIVE_INFINITY : 0);
    breaks.add(leaves[0] as string);
  }
  const inner = nodes.filter((node) => depths.has(node.name) && !isLeaf(node.name));
  const leafTier = inner.reduce((most, node) => Math.max(most, (depths.get(node.name) as number) + 1), 0);
  // Leaves without a tree of their own stand side by side.
  const apart = (leaf: string) => breaks.has(leaf) && depths.get(leaf) !== Number.POSITIVE_INFINITY;
  const xs = new Map<string, number>();
  let x = 0;
  for (const [index, leaf] of order.entries()) {
    if (index > 0 && apart(leaf)) x += GAP;
    xs.set(leaf, x);
    x += 1;
  }
  const places = new Map<string, Place>();
  const at = (names: readonly string[]) => names.map((name) => xs.get(name) as number);
  for (const node of nodes) {
    if (!depths.has(node.name)) continue;
    const own = at(leavesOf.get(node.name) as string[]);
    const y = isLeaf(node.name) ? leafTier : (depths.get(node.name) as number);
    const [left, right] = [Math.min(...own), Math.max(...own)];
    places.set(node.name, {
      x: (left + right) / 2,
      y,
      span: node.kind === "cpu" ? [left - 0.4, right + 0.4] : null,
    });
  }
  let next = leafTier + 1;
  for (const kind of below) {
    // Switches that join the same leaves lie below each other.
    const rows: number[][] = [];
    for (const node of nodes.filter((own) => own.kind === kind)) {
      const own = joined(node.name).flatMap((name) => (isLeaf(name) ? [(places.get(name) as Place).x] : []));
      const [left, right] = own.length > 0 ? [Math.min(...own) - 0.4, Math.max(...own) + 0.4] : [-0.4, 0.4];
      let row = rows.findIndex((ends) => (ends[1] as number) < left);
      if (row < 0) row = rows.length;
      rows[row] = [left, right];
      places.set(node.name, { x: (left + right) / 2, y: next + row * 0.5, span: [left, right] });
    }
    if (rows.length > 0) next += 0.5 + rows.length * 0.5;
  }
  const ys = [...new Set([...places.values()].map((place) => place.y))].sort((a, b) => a - b);
  return {
    places,
    width: Math.max(x, 1),
    tiers: ys.map((y) => [...places].filter(([, place]) => place.y === y).map(([name]) => name)),
    leafTier,
  };
}
