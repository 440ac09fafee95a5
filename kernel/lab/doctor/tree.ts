/** The topology as a tree of lines: CPUs, root ports, switches, devices, with the link of each to what is above it. */
import { P2pError } from "../errors.js";
import type { Description } from "../topology/description.js";
import type { LayoutLink, TopologyNode } from "../topology/layout.js";
import { topologyMatrix } from "../topology/matrix.js";
import { pcieGeneration } from "../topology/pcie.js";
import { type Language, text } from "./checks/check.js";
import type { GpuFacts } from "./facts.js";

const DOWN = new Set(["pcie", "host", "c2c"]);
const DEPTH = 64;

/**
 * What `nvidia-smi topo -m` prints, once for computers that are alike.
 */
export function matrices(
  { layout }: Description,
  gpus: readonly GpuFacts[],
): { readonly computers: readonly number[]; readonly text: string }[] {
  const cpus = (gpu: number) => gpus[gpu]?.device?.cpus ?? null;
  const numa = (gpu: number) => gpus[gpu]?.device?.numaNode;
  const texts = new Map<string, number[]>();
  for (const host of new Set(layout.named("gpu").map((gpu) => layout.hostOf(gpu)))) {
    const text = topologyMatrix(layout, { host, cpus, numa });
    texts.set(text, [...(texts.get(text) ?? []), host]);
  }
  return [...texts].map(([text, computers]) => ({ computers, text }));
}

const WORDS = {
  computer: text("computer", "机器"),
  rootPort: text("root port", "根端口"),
  rootBus: text("root bus", "根总线"),
  pcieSwitch: text("PCIe switch", "PCIe交换机"),
  nic: text("NIC", "网卡"),
  hidden: text("(not shown)", "（不可见）"),
} as const;

/** @returns a line a node, then one for each bundle of NVLinks. */
export function treeLines(topology: Description, gpus: readonly GpuFacts[], lang: Language): string[] {
  const { layout } = topology;
  const below = new Map<string, { node: string; link: LayoutLink }[]>();
  // Links go from the device up to what it hangs on.
  for (const link of layout.links.filter((one) => DOWN.has(one.kind))) {
    below.set(link.to, [...(below.get(link.to) ?? []), { node: link.from, link }]);
  }
  const lines: string[] = [];
  const hosts = new Set(layout.named("cpu").map((cpu) => layout.hostOf(cpu))).size;
  const visit = (name: string, head: string, tail: string, link: LayoutLink | null, depth: number): void => {
    if (depth > DEPTH) throw new P2pError("topology", "a PCIe tree without end", "Report this topology.");
    lines.push(
      `${head}${labelOf(layout.node(name), gpus, lang, hosts > 1 ? `${WORDS.computer[lang]} ${layout.hostOf(name)} · ` : "")}${link ? speedOf(link) : ""}`,
    );
    const own = below.get(name) ?? [];
    for (const [i, child] of own.entries()) {
      const last = i === own.length - 1;
      visit(
        child.node,
        `${tail}${last ? "└─ " : "├─ "}`,
        `${tail}${last ? "   " : "│  "}`,
        child.link,
        depth + 1,
      );
    }
  };
  for (const cpu of layout.named("cpu")) visit(cpu, "", "", null, 0);
  return [...lines, ...peerLines(layout.links)];
}

/** @param host beginning of what names a CPU where there are several computers. */
function labelOf(node: TopologyNode, gpus: readonly GpuFacts[], lang: Language, host: string): string {
  const at = node.pci ? ` ${node.pci}` : "";
  const gpu = node.kind === "gpu" ? gpus[Number(node.name.slice(3))] : undefined;
  switch (node.kind) {
    case "cpu":
      return `${host}${node.numa === undefined ? "CPU" : `NUMA ${node.numa}`}`;
    case "gpu":
      return `GPU ${gpu?.index ?? "?"}${at} ${gpu?.name ?? ""}`.trimEnd();
    case "nic":
      return `${WORDS.nic[lang]}${at} ${node.label ?? node.name}`;
    case "root-port":
      if (node.pci || !node.bridge?.includes(":")) return `${WORDS.rootPort[lang]}${at}`;
      return `${WORDS.rootBus[lang]} ${node.bridge}`;
    case "pcie-switch":
      return `${WORDS.pcieSwitch[lang]}${at}`;
    case "hidden":
      return WORDS.hidden[lang];
    default:
      return node.name;
  }
}

function speedOf({ kind, width, rawGbps }: LayoutLink): string {
  if (kind === "c2c" && rawGbps !== null) return `  [NVLink-C2C, ${rawGbps.toFixed(1)} GB/s]`;
  if (kind !== "pcie" || width === null || rawGbps === null) return "";
  return `  [x${width} Gen${pcieGeneration(rawGbps, width)}, ${rawGbps.toFixed(1)} GB/s]`;
}

/** `0–7, 9` of ascending numbers. */
function ranges(numbers: readonly number[]): string {
  const parts: { first: number; last: number }[] = [];
  for (const number of numbers) {
    const part = parts.at(-1);
    if (part && part.last === number - 1) part.last = number;
    else parts.push({ first: number, last: number });
  }
  return parts.map(({ first, last }) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
}

/** `NVLink: GPU 0 ═ 4 × 26.6 GB/s ═ GPU 1`; GPUs on switches in one line. */
function peerLines(links: readonly LayoutLink[]): string[] {
  const nvlinks = links.filter((link) => link.kind === "nvlink");
  const rate = (link: LayoutLink) => (link.rawGbps === null ? "" : `, ${link.rawGbps.toFixed(1)} GB/s`);
  const name = (node: string) => `GPU ${node.slice(3)}`;
  const direct = nvlinks
    .filter((link) => link.to.startsWith("gpu"))
    .map((link) => `NVLink ${name(link.from)} ═ ${name(link.to)}  [NV${link.width ?? "?"}${rate(link)}]`);
  const bundles = new Map<string, number[]>();
  for (const link of nvlinks.filter((one) => !one.to.startsWith("gpu"))) {
    const key = `[NV${link.width ?? "?"}${rate(link)}]`;
    bundles.set(key, [...(bundles.get(key) ?? []), Number(link.from.slice(3))]);
  }
  return [...direct, ...[...bundles].map(([key, gpus]) => `NVSwitch ═ GPU ${ranges(gpus)}  ${key}`)];
}
