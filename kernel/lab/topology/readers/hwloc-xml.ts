import { type DescribedGpu, Description } from "../description.js";
import type { LinkFacts } from "../layout.js";
import { Collector } from "./collect.js";
import { errorAt } from "./text.js";
import { type Element, elementsOf, wholeNumber } from "./xml.js";

const HINT = "Write it anew with: lstopo-no-graphics --whole-io topo.xml";

/** Vendors of GPUs that compute; others' display adapters are left out. */
const GPU_VENDORS = ["10de", "1002"];

interface Above {
  /** Node that a device here is joined to; null right below a host bridge, where a root port is made for each. */
  readonly node: number | null;
  /** `port`: below a root port or a switch's upper side a bridge is a switch; below a switch it is one of its ports. */
  readonly in: "host-bridge" | "root-port" | "switch" | "switch-port";
  readonly cpu: number;
  readonly bridge: string;
}

/**
 * Reads what hwloc's lstopo writes, versions 1 to 3.
 * @param root its `topology` element.
 * @throws P2pError `topology` with line and column for what hwloc would not write.
 */
export function readHwlocXml(root: Element): Description {
  return new Reader().read(root);
}

class Reader {
  readonly #all = new Collector();
  readonly #unknown = new Set<string>();
  readonly #gpus = new Map<number, DescribedGpu>();
  /** CPU node of each NUMA node's number. */
  readonly #cpus = new Map<number, number>();
  #hostBridges = 0;

  read(root: Element): Description {
    for (const element of elementsOf(root)) {
      if (element.name !== "object" || element.attributes.type !== "NUMANode") continue;
      const numa = wholeNumber(element, "os_index");
      // Memory of a GPU or of none: a NUMA node without CPUs.
      if (numa === null || !/[1-9a-f]/i.test((element.attributes.cpuset ?? "0").replace(/0x/g, ""))) continue;
      if (!this.#cpus.has(numa)) this.#cpus.set(numa, this.#all.add("cpu", { numa }));
    }
    if (this.#cpus.size === 0) this.#cpus.set(0, this.#all.add("cpu"));
    const [first, ...others] = [...this.#cpus.values()];
    for (const cpu of others) this.#all.join(first as number, cpu, "socket");
    for (const child of root.children) this.#inside(child, [0]);
    if (this.#all.count("gpu") === 0) {
      throw errorAt(
        "the topology names no GPU: no PCI device of class 03 by NVIDIA or AMD",
        root,
        `${HINT}, on a machine with GPUs`,
      );
    }
    this.#unknown.add(
      "NVLinks, which are not read from hwloc; rates of copies; whether peer access is granted.",
    );
    const { layout, names } = this.#all.layout();
    const described = new Map([...this.#gpus].map(([node, gpu]) => [names[node], gpu]));
    const gpus = layout
      .named("gpu")
      .map((name) => described.get(name) ?? { name: null, computeCapability: null });
    return new Description({ format: "hwloc XML", layout, gpus, unknown: [...this.#unknown] });
  }

  /** Objects that are no I/O: host bridges hang below them. */
  #inside(element: Element, numa: readonly number[]): void {
    if (element.name !== "object") return;
    const own = bitsOf(element.attributes.nodeset).filter((node) => this.#cpus.has(node));
    const here = own.length > 0 ? own : numa;
    if (element.attributes.type === "Bridge") {
      if (here.length > 1)
        this.#unknown.add("NUMA nodes of devices that hwloc puts near several; the first is taken.");
      const cpu = this.#cpus.get(here[0] as number) ?? ([...this.#cpus.values()][0] as number);
      const above: Above = { node: null, in: "host-bridge", cpu, bridge: `${this.#hostBridges++}` };
      for (const child of element.children) this.#device(child, above);
      return;
    }
    for (const child of element.children) this.#inside(child, here);
  }

  /** Bridges and PCI devices below a host bridge. */
  #device(element: Element, above: Above): void {
    if (element.name !== "object") return;
    const { type } = element.attributes;
    if (type === "Bridge") {
      // Bridges that lead to nothing of interest stay out.
      if (![...elementsOf(element)].some((below) => kindOf(below) !== null)) return;
      const below = this.#bridge(element, above);
      for (const child of element.children) this.#device(child, below);
      return;
    }
    const kind = kindOf(element);
    if (kind === null) return;
    const pci = element.attributes.pci_busid;
    const facts = { ...(pci ? { pci } : {}), ...labelOf(element, kind) };
    const order = kind === "gpu" ? (gpuNumber(element) ?? 1e6) : 0;
    const node = this.#all.add(kind, facts, order);
    if (kind === "gpu") {
      this.#gpus.set(node, { name: infoOf(element, "GPUModel"), computeCapability: null });
    }
    this.#joinUp(node, element, above);
  }

  #bridge(element: Element, above: Above): Above {
    const pci = element.attributes.pci_busid;
    if (above.in === "host-bridge") {
      const node = this.#rootPort(element, above);
      return { ...above, node, in: "root-port" };
    }
    if (above.in === "switch") return { ...above, in: "switch-port" };
    const node = this.#all.add("pcie-switch", pci ? { pci } : {});
    this.#joinUp(node, element, above);
    return { ...above, node, in: "switch" };
  }

  #rootPort(element: Element, above: Above): number {
    const node = this.#all.add("root-port", { bridge: above.bridge });
    this.#all.join(node, above.cpu, "host", linkOf(element));
    return node;
  }

  #joinUp(node: number, element: Element, above: Above): void {
    this.#all.join(node, above.node ?? this.#rootPort(element, above), "pcie", linkOf(element));
  }
}

/** What a PCI device is to us, by `pci_type`: class, then `[vendor:device]`. */
function kindOf(element: Element): "gpu" | "nic" | null {
  if (element.name !== "object" || element.attributes.type !== "PCIDev") return null;
  const [, code, vendor] = /^([0-9a-f]{4}) \[([0-9a-f]{4}):/i.exec(element.attributes.pci_type ?? "") ?? [];
  if (code?.startsWith("03")) return GPU_VENDORS.includes(vendor?.toLowerCase() ?? "") ? "gpu" : null;
  return code?.startsWith("02") ? "nic" : null;
}

/** Number of a GPU as NVML, or else CUDA, counts; null where hwloc did not ask them. */
function gpuNumber(element: Element): number | null {
  const names = element.children.map((child) => child.attributes.name ?? "");
  for (const prefix of ["nvml", "cuda"]) {
    const found = names.find((name) => new RegExp(`^${prefix}\\d{1,4}$`).test(name));
    if (found) return Number(found.slice(prefix.length));
  }
  return null;
}

function labelOf(element: Element, kind: "gpu" | "nic"): { label?: string } {
  if (kind === "gpu") return {};
  const names = element.children.map((child) => child.attributes.name ?? "").filter((name) => name !== "");
  const label = names.find((name) => /^(mlx|rdma|bnxt|efa|hfi|irdma)/.test(name)) ?? names[0];
  return label ? { label } : {};
}

function infoOf(element: Element, name: string): string | null {
  for (const below of elementsOf(element)) {
    if (below.name === "info" && below.attributes.name === name) return below.attributes.value ?? null;
  }
  return null;
}

/** `pci_link_speed` is GB/s of the whole link; 0 where hwloc could not tell. */
function linkOf(element: Element): Partial<LinkFacts> {
  const gbps = Number(element.attributes.pci_link_speed ?? Number.NaN);
  return { rawGbps: gbps > 0 && gbps < 1000 ? gbps : null };
}

/** Numbers in a set that hwloc writes as words of 32 bits, the highest first: `0x00000001,,0x0000000f`. */
function bitsOf(set: string | undefined): number[] {
  if (!set || set.length > 4096) return [];
  const words = set.split(",").reverse();
  return words.flatMap((word, i) => {
    const bits = Number.parseInt(word.replace(/^0x/i, "") || "0", 16);
    if (!Number.isFinite(bits)) return [];
    return Array.from({ length: 32 }, (_, bit) => bit)
      .filter((bit) => Math.floor(bits / 2 ** bit) % 2 === 1)
      .map((bit) => i * 32 + bit);
  });
}
