/** What is joined to what, from sysfs and the driver: the library's topology, and the pairs of GPUs in its terms. */
import { Description } from "../topology/description.js";
import { layoutOfLabels } from "../topology/labels.js";
import { Layout } from "../topology/layout.js";
import { pcieClassOf, pcieLaneGbps } from "../topology/pcie.js";
import { Collector } from "../topology/readers/collect.js";
import type { DriverAnswers, DriverPair } from "./driver.js";
import type { FileFacts, GpuFacts, PairFacts, PairRouting } from "./facts.js";
import type { PciDevice } from "./pcie.js";

/** Null where there is no GPU. */
export function describePlaces(
  files: FileFacts,
  gpus: readonly GpuFacts[],
  driver: DriverAnswers,
): Description | null {
  if (gpus.length === 0) return null;
  const told = gpus.map((gpu) => ({
    name: gpu.name,
    computeCapability: gpu.driver?.computeCapability ?? null,
  }));
  const placed = gpus.some((gpu) => gpu.device !== null && gpu.device.rootBus !== null);
  const linked = gpus.every((_, a) => gpus.every((_, b) => a === b || nvlinksBetween(gpus, driver, a, b)));
  if (!placed && !linked) return byClasses(gpus, driver, told);
  const { layout, unknown } = new Tree(files).of(gpus, driver);
  return new Description({ format: "sysfs and driver", layout, gpus: told, unknown });
}

/** Where sysfs shows no GPU: what the driver says of each pair. */
function byClasses(gpus: readonly GpuFacts[], driver: DriverAnswers, told: Description["gpus"]): Description {
  const { layout, unknown } = layoutOfLabels(
    gpus.map((gpu) => ({ kind: "gpu", numa: null, ...(gpu.pci ? { pci: gpu.pci } : {}) })),
    (a, b) => nvlinksBetween(gpus, driver, a, b)?.label ?? meetingOf(gpus, driver, a, b),
    (a, b) => nvlinksBetween(gpus, driver, a, b)?.rawGbps ?? null,
  );
  return new Description({
    format: "driver",
    layout,
    gpus: told,
    unknown: ["The PCIe tree: sysfs shows no GPU here.", ...unknown],
  });
}

/** A PCIe tree in the making. */
class Tree {
  readonly #all = new Collector();
  readonly #files: FileFacts;
  readonly #devices: ReadonlyMap<string, PciDevice>;
  /** Node of each bridge that has one: root ports by their own address, switches by that of their upper port, root buses. */
  readonly #nodes = new Map<string, number>();
  readonly #cpus = new Map<number, number>();
  readonly #unknown = new Set<string>();
  #firstCpu = 0;

  constructor(files: FileFacts) {
    this.#files = files;
    this.#devices = new Map(files.pci.devices.map((device) => [device.address, device]));
  }

  of(gpus: readonly GpuFacts[], driver: DriverAnswers): { layout: Layout; unknown: string[] } {
    const numa = (this.#files.host.numaNodes ?? []).filter((node) => node.cpus !== "");
    for (const { node } of numa) this.#cpus.set(node, this.#all.add("cpu", { numa: node }));
    if (this.#cpus.size === 0) this.#cpus.set(0, this.#all.add("cpu"));
    const [first = 0, ...others] = this.#cpus.values();
    this.#firstCpu = first;
    for (const cpu of others) this.#all.join(first, cpu, "socket");
    const nodes = gpus.map((gpu) => this.#gpu(gpu));
    for (const nic of this.#files.nics) {
      const device = nic.pci === null ? undefined : this.#devices.get(nic.pci);
      // As nvidia-smi does: cards that cannot reach GPU memory stay out.
      if (nic.rdma === null || device === undefined) continue;
      const node = this.#all.add("nic", { pci: device.address, label: nic.rdma });
      this.#joinUp(node, device);
    }
    this.#nvlinks(gpus, nodes, driver);
    const silent = gpus.filter((gpu) => !gpu.driver?.facts);
    if (silent.length > 0) {
      this.#unknown.add(
        `NVLinks of ${silent.map((gpu) => `GPU ${gpu.index}`).join(", ")}: NVML does not tell.`,
      );
    }
    this.#unknown.add("Rates of copies.");
    return { layout: this.#all.layout().layout, unknown: [...this.#unknown] };
  }

  #gpu(gpu: GpuFacts): number {
    const node = this.#all.add("gpu", gpu.pci ? { pci: gpu.pci } : {}, gpu.index);
    if (gpu.device && gpu.device.rootBus !== null) {
      this.#joinUp(node, gpu.device);
      return node;
    }
    this.#unknown.add(`Where GPU ${gpu.index} is in the PCIe tree: sysfs does not show it.`);
    const hidden = this.#all.add("hidden");
    this.#all.join(hidden, this.#firstCpu, "host");
    this.#all.join(node, hidden, "pcie");
    return node;
  }

  #joinUp(node: number, device: PciDevice): void {
    const above = this.#above(device);
    const port = this.#devices.get(device.above.at(-1) ?? "");
    this.#all.join(node, above, "pcie", linkOf(device, port));
  }

  /** The node right above a device: a switch, or a root port; one of its own where it hangs on the root complex itself. */
  #above(device: PciDevice): number {
    let above = -1;
    let inside = false;
    for (const [depth, address] of device.above.entries()) {
      const bridge = this.#devices.get(address);
      const known = this.#nodes.get(address);
      const type = bridge?.portType ?? null;
      if (depth === 0) {
        above = known ?? this.#rootPort(bridge ?? device, address);
        continue;
      }
      // A switch is an upper port and the lower ports below it; without configuration space they take turns.
      const lower: boolean = type === "downstream" || (type !== "upstream" && inside);
      inside = !lower;
      if (lower) continue;
      if (known === undefined) {
        const node = this.#all.add("pcie-switch", { pci: address });
        this.#nodes.set(address, node);
        const upper = this.#devices.get(device.above[depth - 1] ?? "");
        this.#all.join(node, above, "pcie", bridge ? linkOf(bridge, upper) : {});
        above = node;
      } else above = known;
    }
    return above >= 0 ? above : this.#rootPort(device, null);
  }

  #rootPort(device: PciDevice, address: string | null): number {
    // What hangs on the root complex itself shares one node.
    const key = address ?? `root bus ${device.rootBus} of ${device.numaNode}`;
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const port = this.#all.add("root-port", {
      bridge: device.rootBus ?? "?",
      ...(address === null ? {} : { pci: address }),
    });
    this.#nodes.set(key, port);
    const cpu = device.numaNode === null ? undefined : this.#cpus.get(device.numaNode);
    if (cpu !== undefined || this.#cpus.size === 1) {
      this.#all.join(port, cpu ?? this.#firstCpu, "host");
      return port;
    }
    this.#unknown.add(`NUMA node of ${device.address}.`);
    const hidden = this.#all.add("hidden");
    this.#all.join(port, hidden, "host");
    this.#all.join(hidden, this.#firstCpu, "host");
    return port;
  }

  #nvlinks(gpus: readonly GpuFacts[], nodes: readonly number[], driver: DriverAnswers): void {
    const switched = new Set<number>();
    for (let a = 0; a < gpus.length; a++) {
      for (let b = a + 1; b < gpus.length; b++) {
        const found = nvlinksBetween(gpus, driver, a, b);
        if (found === null) continue;
        if (found.direct) {
          const facts = { width: found.count, rawGbps: found.rawGbps };
          this.#all.join(nodes[a] as number, nodes[b] as number, "nvlink", facts);
        } else for (const gpu of [a, b]) switched.add(gpu);
      }
    }
    if (switched.size === 0) return;
    const fabric = this.#all.add("nvswitch");
    for (const gpu of switched) {
      const links = switchedLinks(gpus[gpu] as GpuFacts);
      this.#all.join(nodes[gpu] as number, fabric, "nvlink", {
        width: links.length,
        rawGbps: rateOf(links, links.length),
      });
    }
  }
}

/** Lanes and line rate that both ends of a link can; an idle one runs slower. */
function linkOf(
  device: PciDevice,
  port: PciDevice | undefined,
): { width: number | null; rawGbps: number | null } {
  const width = least(device.maxWidth, port?.maxWidth ?? null);
  const speed = least(device.maxSpeedGts, port?.maxSpeedGts ?? null);
  return { width, rawGbps: width === null || speed === null ? null : pcieLaneGbps(speed) * width };
}

function least(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

type Links = NonNullable<NonNullable<GpuFacts["driver"]>["facts"]>["links"];

/** NVLinks of a pair: those that end at the other GPU, or, where NVML says that they carry peer access, at switches. */
function nvlinksBetween(
  gpus: readonly GpuFacts[],
  driver: DriverAnswers,
  a: number,
  b: number,
): { label: string; count: number; direct: boolean; rawGbps: number | null } | null {
  const [from, to] = [gpus[a], gpus[b]];
  if (!from?.driver?.facts || !to?.driver?.facts) return null;
  const direct = activeLinks(from).filter((link) => link.remotePci !== null && link.remotePci === to.pci);
  const through = driverPair(gpus, driver, a, b)?.nvml?.nvlink === "OK";
  const sides = direct.length > 0 ? [direct] : through ? [switchedLinks(from), switchedLinks(to)] : [];
  const count = sides.length === 0 ? 0 : Math.min(...sides.map((links) => links.length));
  if (count === 0) return null;
  return { label: `NV${count}`, count, direct: direct.length > 0, rawGbps: rateOf(sides.flat(), count) };
}

function activeLinks(gpu: GpuFacts): Links {
  return gpu.driver?.facts?.links.filter((link) => link.active === true) ?? [];
}

function switchedLinks(gpu: GpuFacts): Links {
  return activeLinks(gpu).filter((link) => link.remoteType !== "gpu" && link.remoteType !== "npu");
}

/** GB/s in one direction of so many links, by the slowest of them. */
function rateOf(links: Links, count: number): number | null {
  const speeds = links.flatMap((link) => link.speedMBps ?? []);
  return speeds.length === 0 ? null : Math.round(count * Math.min(...speeds)) / 1000;
}

function meetingOf(gpus: readonly GpuFacts[], driver: DriverAnswers, a: number, b: number): string | null {
  return pcieClassOf(driverPair(gpus, driver, a, b)?.nvml?.commonAncestor);
}

function driverPair(
  gpus: readonly GpuFacts[],
  driver: DriverAnswers,
  a: number,
  b: number,
): DriverPair | null {
  const place = (gpu: number) => {
    const own = gpus[gpu]?.driver;
    return own ? driver.gpus.indexOf(own) : -1;
  };
  const [from, to] = [place(a), place(b)];
  if (from < 0 || to < 0) return null;
  return driver.pairs.find((pair) => pair.from === from && pair.to === to) ?? null;
}

/** Every ordered pair. */
export function pairsOf(
  files: FileFacts,
  gpus: readonly GpuFacts[],
  driver: DriverAnswers,
  topology: Description | null,
): PairFacts[] {
  if (topology === null) return [];
  const bare = withoutPeerLinks(topology.layout);
  return gpus.flatMap((a) =>
    gpus
      .filter((b) => b !== a)
      .map((b) => ({
        from: a.index,
        to: b.index,
        // Without NVML nobody tells of NVLinks: the PCIe class alone would pass for the way.
        link: a.driver?.facts && b.driver?.facts ? topology.pairClass(a.index, b.index) : null,
        pcie: bare.pairClass(a.index, b.index) ?? meetingOf(gpus, driver, a.index, b.index),
        routing: routingOf(files, a, b),
        driver: driverPair(gpus, driver, a.index, b.index),
      })),
  );
}

/** The same machine as if it had no NVLink: where its PCIe ways meet. */
export function withoutPeerLinks(layout: Layout): Layout {
  return new Layout(
    layout.nodes,
    layout.links.filter((link) => link.kind !== "nvlink"),
  );
}

/** Peer requests turn round at the lowest bridge above both; every port below that may send them further up instead. */
function routingOf(files: FileFacts, a: GpuFacts, b: GpuFacts): PairRouting {
  const unknown = (reason: string, ports: readonly string[] = []): PairRouting => ({
    acs: "unknown",
    ports,
    reason,
  });
  if (!a.device || !b.device) return unknown("sysfs does not show both GPUs");
  const [up, down] = [a.device.above, b.device.above];
  if (up.length === 0 && down.length === 0) return unknown("no bridge above the GPUs can be seen");
  let common = 0;
  while (common < up.length && up[common] === down[common]) common++;
  const addresses = [...new Set([...up.slice(common), ...down.slice(common)])];
  const ports = addresses.map(
    (address) => files.pci.devices.find((device) => device.address === address) as PciDevice,
  );
  const redirecting = ports.filter((port) => port.acs?.requestRedirect);
  if (redirecting.length > 0) {
    return { acs: "redirected", ports: redirecting.map((port) => port.address), reason: null };
  }
  const unread = ports.filter((port) => port.acs === null);
  if (unread.length > 0) {
    return unknown(
      unread[0]?.missing.acs ?? "",
      unread.map((port) => port.address),
    );
  }
  return { acs: "direct", ports: [], reason: null };
}
