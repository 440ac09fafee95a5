import { type DescribedGpu, Description } from "../description.js";
import type { LinkFacts } from "../layout.js";
import { pcieLaneGbps } from "../pcie.js";
import { Collector } from "./collect.js";
import { errorAt } from "./text.js";
import { type Element, wholeNumber } from "./xml.js";

const HINT = "Write it anew with NCCL_TOPO_DUMP_FILE=topo.xml and any NCCL program.";

/** A class of network card, bridge or GPU by the first digits of the PCI class code. */
const CLASSES: readonly (readonly [string, "gpu" | "nic" | "bridge"])[] = [
  ["0x0302", "gpu"],
  ["0x0300", "gpu"],
  ["0x0380", "gpu"],
  ["0x02", "nic"],
  ["0x0604", "bridge"],
];

interface Gpu {
  readonly node: number;
  readonly element: Element;
  readonly busid: string;
  readonly cpu: number;
  readonly cpuElement: Element;
}

/**
 * Reads the topology that NCCL writes with `NCCL_TOPO_DUMP_FILE` and takes with `NCCL_TOPO_FILE`, RCCL's too.
 * @param root its `system` element.
 * @throws P2pError `topology` with line and column for what NCCL would not write.
 */
export function readNcclXml(root: Element): Description {
  return new Reader().read(root);
}

class Reader {
  readonly #all = new Collector();
  readonly #gpus: Gpu[] = [];
  readonly #unknown = new Set<string>();
  readonly #busids = new Map<string, Element>();
  #passedOver = 0;

  read(root: Element): Description {
    const cpus = root.children.filter((child) => child.name === "cpu");
    const stray = root.children.find((child) => child.name === "gpu" || child.name === "pci");
    if (stray) throw errorAt(`a "${stray.name}" element outside of any cpu`, stray, HINT);
    const hosts: string[] = [];
    const made = cpus.map((element) => {
      const hash = element.attributes.host_hash ?? "";
      if (!hosts.includes(hash)) hosts.push(hash);
      const host = hosts.indexOf(hash);
      const numa = wholeNumber(element, "numaid");
      const cpu = this.#all.add("cpu", {
        ...(host > 0 ? { host } : {}),
        ...(numa !== null && numa >= 0 ? { numa } : {}),
      });
      if (numa === null || numa < 0) this.#unknown.add("NUMA nodes of the GPUs.");
      for (const child of element.children) {
        if (child.name === "pci") this.#pci(child, null, { cpu, cpuElement: element, host });
        if (child.name === "nic") this.#virtualNic(child, cpu, host);
      }
      return { cpu, host };
    });
    if (this.#gpus.length === 0) {
      throw errorAt(
        "the topology names no GPU: no gpu element, and no PCI device of class 0x0302",
        root,
        "Templates without GPUs are filled in by NCCL; give what it writes with NCCL_TOPO_DUMP_FILE.",
      );
    }
    for (const { cpu, host } of made) {
      const first = made.find((other) => other.host === host);
      if (first && first.cpu !== cpu) this.#all.join(first.cpu, cpu, "socket");
    }
    this.#peers();
    if (this.#passedOver > 0) {
      this.#unknown.add(`${this.#passedOver} PCI devices without a class, or of another: left out.`);
    }
    if (hosts.length > 1) this.#unknown.add("What joins the computers: the file does not tell.");
    this.#unknown.add("Host bridges: NODE is told as PHB. Rates of copies; whether peer access is granted.");
    return this.#description();
  }

  /** A PCI device or bridge below another, or below a root port that the file leaves out. */
  #pci(element: Element, above: number | null, at: { cpu: number; cpuElement: Element; host: number }): void {
    const busid = element.attributes.busid ?? "";
    if (busid !== "") {
      const before = this.#busids.get(busid);
      if (before) throw errorAt(`a second PCI device ${busid}, after line ${before.line}`, element, HINT);
      this.#busids.set(busid, element);
    }
    const below = element.children.filter((child) => child.name === "pci");
    const gpu = element.children.find((child) => child.name === "gpu");
    const code = element.attributes.class ?? "";
    const told = CLASSES.find(([start]) => code.startsWith(start))?.[1] ?? null;
    const kind = gpu ? "gpu" : element.children.some((child) => child.name === "nic") ? "nic" : told;
    const node =
      below.length > 0 || kind === "bridge"
        ? this.#all.add("pcie-switch", facts(busid, at.host))
        : kind === "gpu" || kind === "nic"
          ? this.#device(kind, element, gpu ?? element, busid, at)
          : null;
    if (node === null) {
      this.#passedOver++;
      return;
    }
    const link = linkOf(element);
    if (above === null) {
      const root = this.#all.add("root-port", at.host > 0 ? { host: at.host } : {});
      this.#all.join(node, root, "pcie", link);
      this.#all.join(root, at.cpu, "host", link);
    } else {
      this.#all.join(node, above, "pcie", link);
    }
    for (const child of below) this.#pci(child, node, at);
  }

  #device(
    kind: "gpu" | "nic",
    element: Element,
    inner: Element,
    busid: string,
    at: { cpu: number; cpuElement: Element; host: number },
  ): number {
    if (kind === "gpu") {
      const node = this.#all.add("gpu", facts(busid, at.host), wholeNumber(inner, "dev") ?? 0);
      this.#gpus.push({ node, element: inner, busid, cpu: at.cpu, cpuElement: at.cpuElement });
      return node;
    }
    const net = element.children.find((child) => child.name === "nic")?.children[0];
    return this.#all.add("nic", { ...facts(busid, at.host), ...labelOf(net) });
  }

  /** A network interface that is no PCI device, as a VM has them. */
  #virtualNic(element: Element, cpu: number, host: number): void {
    const part = this.#all.add("hidden", host > 0 ? { host } : {});
    const nic = this.#all.add("nic", { ...(host > 0 ? { host } : {}), ...labelOf(element.children[0]) });
    this.#all.join(nic, part, "pcie");
    this.#all.join(part, cpu, "host");
  }

  /** NVLinks, AMD's links and C2C. */
  #peers(): void {
    const byBusid = new Map(this.#gpus.map((gpu) => [gpu.busid, gpu]));
    const direct = new Map<string, { a: Gpu; b: Gpu; kind: "nvlink" | "xgmi"; counts: number[] }>();
    const fabrics = new Map<number, number>();
    for (const gpu of this.#gpus) {
      const toSwitch = { links: 0 };
      const toCpu = { links: 0 };
      for (const link of gpu.element.children) {
        if (link.name === "c2c") this.#all.join(gpu.node, gpu.cpu, "c2c");
        if (link.name !== "nvlink" && link.name !== "xgmi") continue;
        const count = wholeNumber(link, "count") ?? 1;
        if (count < 1) throw errorAt(`a link count of ${link.attributes.count}`, link, HINT);
        const peer = byBusid.get(link.attributes.target ?? "");
        if (peer) {
          const [a, b] = gpu.node < peer.node ? [gpu, peer] : [peer, gpu];
          const key = `${a.node}-${b.node}`;
          const seen = direct.get(key) ?? { a, b, kind: link.name, counts: [] };
          seen.counts.push(count);
          direct.set(key, seen);
        } else if (/^ppc64/.test(gpu.cpuElement.attributes.arch ?? "")) {
          toCpu.links += count;
        } else {
          toSwitch.links += count;
        }
      }
      if (toCpu.links > 0) this.#all.join(gpu.node, gpu.cpu, "nvlink", { width: toCpu.links });
      if (toSwitch.links > 0) fabrics.set(gpu.node, toSwitch.links);
    }
    if (fabrics.size > 0) {
      const fabric = this.#all.add("nvswitch");
      for (const [gpu, width] of fabrics) this.#all.join(gpu, fabric, "nvlink", { width });
    }
    for (const { a, b, kind, counts } of direct.values()) {
      if (a === b) continue;
      if (new Set(counts).size > 1) {
        this.#unknown.add(
          `How many links join ${a.busid} and ${b.busid}: the file says ${counts.join(" and ")}; the least is taken.`,
        );
      }
      this.#all.join(a.node, b.node, kind, { width: Math.min(...counts) });
    }
  }

  #description(): Description {
    const { layout, names } = this.#all.layout();
    const bySm = new Map(
      this.#gpus.map((gpu) => [names[gpu.node] as string, computeCapability(gpu.element)]),
    );
    const gpus = layout
      .named("gpu")
      .map((name): DescribedGpu => ({ name: null, computeCapability: bySm.get(name) ?? null }));
    return new Description({ format: "NCCL topology XML", layout, gpus, unknown: [...this.#unknown] });
  }
}

function facts(busid: string, host: number): { pci?: string; host?: number } {
  return { ...(busid === "" ? {} : { pci: busid }), ...(host > 0 ? { host } : {}) };
}

function labelOf(net: Element | undefined): { label?: string } {
  return net?.attributes.name ? { label: net.attributes.name } : {};
}

/** NVIDIA's `sm` is the compute capability without its point; RCCL writes one too, of another meaning, beside `gcn`. */
function computeCapability(gpu: Element): string | null {
  const sm = wholeNumber(gpu, "sm");
  return sm === null || sm < 30 || gpu.attributes.gcn !== undefined
    ? null
    : `${Math.floor(sm / 10)}.${sm % 10}`;
}

/** Width and line rate, as far as the device's `link_speed` ("16.0 GT/s PCIe") and `link_width` say; 0 lanes say nothing. */
function linkOf(element: Element): Partial<LinkFacts> {
  const lanes = wholeNumber(element, "link_width");
  const width = lanes !== null && [1, 2, 4, 8, 12, 16, 32].includes(lanes) ? lanes : null;
  const speed = Number(/^([\d.]{1,6}) GT\/s/.exec(element.attributes.link_speed ?? "")?.[1] ?? Number.NaN);
  const known = [2.5, 5, 8, 16, 32, 64].includes(speed);
  return { width, rawGbps: known && width !== null ? pcieLaneGbps(speed) * width : null };
}
