import { uplink } from "./figures.js";
import { Graph, type LinkSpec, type TopologyLink } from "./graph.js";
import type { TopologyNode } from "./layout.js";

/** Collects the nodes and links of a machine. */
export class Builder {
  readonly #nodes: TopologyNode[] = [];
  readonly #links: TopologyLink[] = [];
  readonly #counts = new Map<string, number>();

  /** Adds a node named by its kind and number, such as `gpu3`. */
  add(kind: TopologyNode["kind"], facts: Omit<TopologyNode, "name" | "kind"> = {}): string {
    const number = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, number + 1);
    const name = `${kind}${number}`;
    this.#nodes.push({ name, kind, ...facts });
    return name;
  }

  join(from: string, to: string, spec: LinkSpec): void {
    this.#links.push({ from, to, ...spec });
  }

  graph(): Graph {
    return new Graph(this.#nodes, this.#links);
  }
}

/** Rates of the kinds of links in a PCIe tree, and of what joins GPUs and computers beside it. */
export interface Rates {
  readonly pcie: LinkSpec;
  /** From a root port to host memory. */
  readonly host: LinkSpec;
  readonly socket: LinkSpec;
}

/** What hangs below one root port. */
export interface Port {
  /** GPUs right on the root port, or behind its switch. */
  readonly gpus: number;
  /** False for a root port without a switch. */
  readonly behindSwitch: boolean;
  readonly nics?: number;
  /** Network cards have a switch of their own below that of the GPUs, so that their class is PXB. */
  readonly nicSwitch?: boolean;
}

/**
 * Adds a computer: `cpus` NUMA nodes joined in a line, the ports spread over them in order.
 * @param bridges whether each root port has a host bridge of its own (devices of two ports are `NODE`) or all of a CPU share
 * one (`PHB`).
 * @returns names of its GPUs and network cards.
 */
export function addComputer(
  into: Builder,
  plan: { cpus: number; ports: readonly Port[]; bridges: "each" | "shared" },
  rates: Rates,
  host = 0,
): { gpus: string[]; nics: string[] } {
  const at = host === 0 ? {} : { host };
  const cpus = Array.from({ length: plan.cpus }, (_, numa) => into.add("cpu", { ...at, numa }));
  const gpus: string[] = [];
  const nics: string[] = [];
  plan.ports.forEach((port, index) => {
    const bridge = plan.bridges === "each" ? { bridge: `${host}.${index}` } : {};
    const root = into.add("root-port", { ...at, ...bridge });
    const below = port.behindSwitch ? into.add("pcie-switch", at) : root;
    if (below !== root) into.join(below, root, uplink(rates.pcie));
    for (let i = 0; i < port.gpus; i++) {
      const gpu = into.add("gpu", at);
      into.join(gpu, below, rates.pcie);
      gpus.push(gpu);
    }
    const nicsBelow = port.nicSwitch ? into.add("pcie-switch", at) : below;
    if (nicsBelow !== below) into.join(nicsBelow, below, uplink(rates.pcie));
    for (let i = 0; i < (port.nics ?? 0); i++) {
      const nic = into.add("nic", at);
      into.join(nic, nicsBelow, rates.pcie);
      nics.push(nic);
    }
    const cpu = cpus[Math.floor((index * plan.cpus) / plan.ports.length)] as string;
    into.join(root, cpu, rates.host);
  });
  for (const cpu of cpus.slice(1)) into.join(cpus[0] as string, cpu, rates.socket);
  return { gpus, nics };
}

/** `count` equal ports. */
export function ports(count: number, port: Port): Port[] {
  return Array.from({ length: count }, () => port);
}
