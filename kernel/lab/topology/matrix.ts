import { P2pError } from "../errors.js";
import { Layout } from "./layout.js";

/** What the words mean, as far as a table uses them. */
const LEGEND: readonly (readonly [RegExp, string])[] = [
  [/^X$/, "X    = Self"],
  [/^SYS$/, "SYS  = PCIe and the interconnect between NUMA nodes"],
  [/^NODE$/, "NODE = PCIe and the interconnect between PCIe host bridges of a NUMA node"],
  [/^PHB$/, "PHB  = PCIe and a PCIe host bridge, typically the CPU"],
  [/^PXB$/, "PXB  = several PCIe bridges, without the host bridge"],
  [/^PIX$/, "PIX  = at most a single PCIe bridge"],
  [/^NV\d+$/, "NV#  = # bonded NVLinks"],
  [/^XGMI$/, "XGMI = links between AMD GPUs"],
  [/^\?$/, "?    = Unknown"],
];

/**
 * The table that `nvidia-smi topo -m` prints on one computer of a machine, columns parted by tabs: GPUs and network cards, then
 * the affinity columns. `?` stands where a part of the way is unknown, `N/A` for affinities that are.
 * @param options.host number of the computer; GPUs and network cards are numbered anew in it, as on it. Default 0.
 * @param options.cpus CPUs beside a GPU, by its number, for the column CPU Affinity.
 * @param options.numa NUMA node of a GPU, where it is known better than by the layout: null where the system tells none.
 * @throws P2pError `usage` for what is no topology, or a computer that is not there.
 */
export function topologyMatrix(
  of: Layout | { readonly layout: Layout } | { readonly graph: Layout },
  options: {
    host?: number;
    cpus?: (gpu: number) => string | null;
    numa?: (gpu: number) => number | null | undefined;
  } = {},
): string {
  const layout = layoutOf(of);
  const host = options.host ?? 0;
  const own = (name: string) => layout.hostOf(name) === host;
  const gpus = layout.named("gpu").filter(own);
  if (gpus.length === 0) {
    throw new P2pError("usage", `no GPUs in computer ${host} of this topology`, "Computers count from 0.");
  }
  const nics = layout.named("nic").filter(own);
  const devices = [...gpus, ...nics];
  const titles = [...gpus.map((_, i) => `GPU${i}`), ...nics.map((_, i) => `NIC${i}`)];
  const used = new Set<string>();
  const lines = devices.map((from, row) => {
    const cells = devices.map((to) => (from === to ? "X" : (layout.classOf(from, to) ?? "?")));
    for (const cell of cells) used.add(cell);
    // Rows of network cards have no affinities.
    const gpu = Number(from.slice("gpu".length));
    const cpus = options.cpus?.(gpu) ?? "N/A";
    const told = row < gpus.length ? options.numa?.(gpu) : undefined;
    const numa = told === undefined ? numaOf(layout, from) : told;
    const affinity = row < gpus.length ? [cpus, numa ?? "N/A", "N/A"] : [];
    return [titles[row], ...cells.map((cell) => (cell === "X" ? " X " : cell)), ...affinity].join("\t");
  });
  const legend = LEGEND.filter(([word]) => [...used].some((cell) => word.test(cell)));
  const cards = nics.flatMap((nic, i) => {
    const label = layout.node(nic).label;
    return label ? [`  NIC${i}: ${label}`] : [];
  });
  return [
    ["", ...titles, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"].join("\t"),
    ...lines,
    "",
    "Legend:",
    "",
    ...legend.map(([, text]) => `  ${text}`),
    ...(cards.length > 0 ? ["", "NIC Legend:", "", ...cards] : []),
    "",
  ].join("\n");
}

function layoutOf(of: Layout | { readonly layout: Layout } | { readonly graph: Layout }): Layout {
  const found =
    of instanceof Layout ? of : ((of as { layout?: unknown })?.layout ?? (of as { graph?: unknown })?.graph);
  if (found instanceof Layout) return found;
  throw new P2pError(
    "usage",
    "a matrix of what is no topology",
    "Give what lab.topology() or lab.readTopology() returned.",
  );
}

/** NUMA node of a GPU: that of the CPU its PCIe tree ends at; null where nobody numbers it. */
function numaOf(layout: Layout, gpu: string): number | null {
  const host = layout.hostOf(gpu);
  let nearest: { hops: number; cpu: string } | null = null;
  for (const cpu of layout.named("cpu")) {
    if (layout.hostOf(cpu) !== host) continue;
    const hops = layout.way(gpu, cpu)?.hops.length;
    if (hops !== undefined && (nearest === null || hops < nearest.hops)) nearest = { hops, cpu };
  }
  return nearest === null ? null : (layout.node(nearest.cpu).numa ?? null);
}
