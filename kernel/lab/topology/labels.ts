import { Layout, type LayoutLink, type TopologyNode } from "./layout.js";

/** A GPU or network card as a table of classes shows it. */
export interface LabelledDevice {
  readonly kind: "gpu" | "nic";
  readonly label?: string;
  readonly pci?: string;
  /** NUMA node that the table names; null where it names none. */
  readonly numa: number | null;
}

type Join = (
  from: string,
  to: string,
  kind: LayoutLink["kind"],
  width?: number | null,
  rawGbps?: number | null,
) => void;

/** How far apart two devices are in the PCIe tree, from one switch to two NUMA nodes. */
const LEVELS = ["PIX", "PXB", "PHB", "NODE", "SYS"] as const;
const [PIX, PXB, PHB, NODE, SYS] = [0, 1, 2, 3, 4] as const;

/** No GPU has more NVLinks: 36 are announced for NVLink6 (STAS). */
const MOST_NVLINKS = 36;

/**
 * A layout with these classes between its devices, and nothing that they do not prove. Classes of PCIe form a tree: what they
 * say of a pair they may prove for another, since two devices are as far apart as the farther of them from a third that is
 * unequally far. Where NVLink hides the place of a GPU in that tree and nothing proves it, a `hidden` node stands for it.
 * @param classOf class of a pair by the devices' numbers, `?` or null for unknown; alike both ways.
 * @param rawGbps line rate of a pair's NVLinks in one direction, where somebody tells it.
 * @returns the layout, and what the classes do not tell. The caller compares its classes with those given: classes that form no
 * tree are not reproduced.
 */
export function layoutOfLabels(
  devices: readonly LabelledDevice[],
  classOf: (a: number, b: number) => string | null,
  rawGbps: (a: number, b: number) => number | null = () => null,
): { layout: Layout; unknown: string[] } {
  const count = devices.length;
  const told = devices.map((_, a) => devices.map((_, b) => (a === b ? -1 : levelOf(classOf(a, b)))));
  const levels = closure(devices, told);
  const unknown = new Set<string>();
  const nodes: TopologyNode[] = [];
  const links: LayoutLink[] = [];
  const counts = new Map<string, number>();
  const add = (kind: TopologyNode["kind"], facts: Partial<TopologyNode> = {}): string => {
    const number = counts.get(kind) ?? 0;
    counts.set(kind, number + 1);
    nodes.push({ ...facts, kind, name: `${kind}${number}` });
    return `${kind}${number}`;
  };
  const join: Join = (from, to, kind, width = null, raw = null) => {
    links.push({ from, to, kind, width, rawGbps: raw });
  };

  const names = devices.map(({ kind, label, pci }) =>
    add(kind, { ...(label ? { label } : {}), ...(pci ? { pci } : {}) }),
  );
  const all = devices.map((_, i) => i);
  const known = (i: number) => all.some((j) => j !== i && (told[i]?.[j] ?? null) !== null);
  const cpus: string[] = [];
  for (const inNode of clusters(all, levels, NODE)) {
    const numa = inNode.map((i) => devices[i]?.numa ?? null).find((node) => node !== null) ?? null;
    const cpu = add("cpu", numa === null ? {} : { numa });
    cpus.push(cpu);
    const hidden = inNode.filter((i) => !known(i));
    if (hidden.length > 0) {
      unknown.add("Where GPUs are in the PCIe tree, where NVLink hides it and no network card shows it.");
      const part = add("hidden");
      join(part, cpu, "host");
      for (const i of hidden) join(names[i] as string, part, "pcie");
    }
    for (const [bridge, inBridge] of clusters(inNode.filter(known), levels, PHB).entries()) {
      for (const inPort of clusters(inBridge, levels, PXB)) {
        const root = add("root-port", { bridge: `${cpu}.${bridge}` });
        join(root, cpu, "host");
        const leaves = clusters(inPort, levels, PIX);
        let above = root;
        if (leaves.length > 1) {
          above = add("pcie-switch");
          join(above, root, "pcie");
        }
        for (const leaf of leaves) {
          // A lone device right below the upper switch would be PIX to its neighbours; what lies between is a switch.
          const below = leaf.length > 1 || leaves.length > 1 ? add("pcie-switch") : above;
          if (below !== above) join(below, above, "pcie");
          for (const i of leaf) join(names[i] as string, below, "pcie");
        }
      }
    }
  }
  if (cpus.length === 0) cpus.push(add("cpu"));
  for (const cpu of cpus.slice(1)) join(cpus[0] as string, cpu, "socket");
  joinPeers(devices, classOf, rawGbps, names, add, join, unknown);
  unknown.add("Rates and widths of links; whether peer access is granted.");
  if (told.flat().some((level) => level !== null && level >= 0)) {
    unknown.add("Which switches share a chip: PIX and NODE do not tell.");
  }
  if (count > 0 && devices.every(({ numa }) => numa === null)) unknown.add("NUMA nodes of the GPUs.");
  return { layout: new Layout(nodes, links), unknown: [...unknown] };
}

function levelOf(label: string | null): number | null {
  const level = LEVELS.indexOf(label as (typeof LEVELS)[number]);
  return level < 0 ? null : level;
}

/** Levels of all pairs: those told, those that follow, and upper bounds for the rest; SYS where nothing bounds a pair. */
function closure(
  devices: readonly LabelledDevice[],
  told: readonly (readonly (number | null)[])[],
): number[][] {
  const count = devices.length;
  const levels = told.map((row) => row.map((level) => level ?? SYS));
  for (let a = 0; a < count; a++) {
    for (let b = a + 1; b < count; b++) {
      if ((told[a]?.[b] ?? null) !== null) continue;
      const numa = [devices[a]?.numa ?? null, devices[b]?.numa ?? null];
      let level: number = numa[0] === numa[1] ? NODE : SYS;
      for (let c = 0; c < count; c++) {
        const [ac, bc] = [told[a]?.[c] ?? null, told[b]?.[c] ?? null];
        if (c === a || c === b || ac === null || bc === null) continue;
        if (ac !== bc) {
          level = Math.max(ac, bc);
          break;
        }
        level = Math.min(level, ac);
      }
      (levels[a] as number[])[b] = level;
      (levels[b] as number[])[a] = level;
    }
  }
  return levels;
}

/** Parts of a set whose members are joined, one by one, at a level or below. In order of their first members. */
function clusters(of: readonly number[], levels: readonly (readonly number[])[], level: number): number[][] {
  const left = new Set(of);
  const found: number[][] = [];
  for (const first of of) {
    if (!left.delete(first)) continue;
    const cluster = [first];
    for (const member of cluster) {
      for (const other of left) {
        if ((levels[member]?.[other] ?? SYS) > level) continue;
        left.delete(other);
        cluster.push(other);
      }
    }
    found.push(cluster.sort((a, b) => a - b));
  }
  return found;
}

/** NVLinks and AMD's links: over a switch where the GPUs have not as many links as direct ones would take, else direct. */
function joinPeers(
  devices: readonly LabelledDevice[],
  classOf: (a: number, b: number) => string | null,
  rawGbps: (a: number, b: number) => number | null,
  names: readonly string[],
  add: (kind: TopologyNode["kind"]) => string,
  join: Join,
  unknown: Set<string>,
): void {
  const width = devices.map((_, a) => devices.map((_, b) => (a === b ? 0 : nvlinksOf(classOf(a, b)))));
  const all = devices.map((_, i) => i);
  const groups = clusters(
    all.filter((i) => width[i]?.some((links) => links > 0)),
    width.map((row) => row.map((links) => (links > 0 ? 0 : SYS))),
    0,
  );
  for (const group of groups) {
    const widths = group.map((a) => Math.max(...(width[a] as number[])));
    const switched = group.some((a) => sum(width[a] as number[]) > MOST_NVLINKS);
    const uniform = group.every((a, i) =>
      group.every((b, j) => a === b || width[a]?.[b] === Math.min(widths[i] ?? 0, widths[j] ?? 0)),
    );
    if (switched && uniform) {
      const fabric = add("nvswitch");
      group.forEach((a, i) => {
        const raw = group.map((b) => (a === b ? null : rawGbps(a, b))).filter((rate) => rate !== null);
        join(
          names[a] as string,
          fabric,
          "nvlink",
          widths[i] ?? null,
          raw.length > 0 ? Math.max(...raw) : null,
        );
      });
      continue;
    }
    if (group.length > 2) unknown.add("Whether NVLinks pass a switch: as few as these may be direct ones.");
    for (const a of group) {
      for (const b of group) {
        if (a < b && (width[a]?.[b] ?? 0) > 0) {
          join(names[a] as string, names[b] as string, "nvlink", width[a]?.[b] ?? null, rawGbps(a, b));
        }
      }
    }
  }
  for (const a of all) {
    for (const b of all) {
      if (a < b && classOf(a, b) === "XGMI") join(names[a] as string, names[b] as string, "xgmi");
    }
  }
}

function nvlinksOf(label: string | null): number {
  return Number(/^NV(\d+)$/.exec(label ?? "")?.[1] ?? 0);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
