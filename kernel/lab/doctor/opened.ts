/** What an opened machine tells of itself: a recording without a snapshot beside it, or a model. Nobody looks at hardware here. */
import type { GpuInfo, Machine, MachineInfo } from "../machine.js";
import { topology } from "../machine-topology.js";
import type { NvmlFacts, NvmlLink } from "../native-nvml.js";
import type { Layout, LayoutLink, TopologyNode } from "../topology/layout.js";
import { PCIE_GIGATRANSFERS, pcieGeneration } from "../topology/pcie.js";
import type { DriverAnswers, DriverGpu, DriverPair } from "./driver.js";
import { noAnswers } from "./driver.js";
import type { GpuFacts, MachineFacts, PairFacts } from "./facts.js";
import { readHost } from "./host.js";
import { readKernelLog } from "./kernel-log.js";
import { noLadder } from "./ladder.js";
import type { Nic } from "./nics.js";
import type { PciDevice, PciKind } from "./pcie.js";
import { withoutPeerLinks } from "./place.js";
import { LostRoot } from "./root.js";
import { moduleVersion, readSoftware } from "./software.js";
import { readSurroundings } from "./surroundings.js";
import type { Missing } from "./told.js";

/** Above each other in the PCIe tree. */
const BRIDGES: readonly TopologyNode["kind"][] = ["pcie-switch", "root-port"];

/**
 * Facts of a machine by what it tells: names, memory, peer access, and what its topology holds. Everything else is null, for the
 * reason that a model, or a recording without a snapshot, does not tell it. Parts that have no PCI address go by the names of
 * their nodes, such as `gpu0`.
 */
export function factsOfOpened(machine: Machine): MachineFacts {
  const basis = machine.topology ? "model" : "recording";
  const untold = `the ${basis} does not tell`;
  const { info, provenance } = machine;
  const described = topology(machine);
  const { layout } = described;
  const driver = answersOf(info, untold, layout);
  const devices = devicesOf(layout, untold);
  const gpus = info.gpus.map((gpu, i): GpuFacts => {
    const own = driver.gpus[i] as DriverGpu;
    const { index, name, pci, memoryBytes } = gpu;
    const device = devices.get(`gpu${i}`) ?? null;
    return {
      index,
      name,
      uuid: null,
      pci,
      memoryBytes,
      cudaOrdinal: index,
      device,
      driver: own,
      loaded: null,
    };
  });
  return {
    basis,
    provenance,
    gpus,
    pairs: pairsOf(info, layout, driver, untold),
    ...filesOf(info, layout, untold),
    pci: { devices: [...devices.values()], reason: devices.size > 0 ? null : untold },
    nics: nicsOf(layout, untold),
    driver: {
      cuda: driver.cuda,
      nvml: { available: driver.nvml.available, reason: driver.nvml.reason },
      version: driver.nvml.driverVersion,
      brokenOff: null,
      numbered: false,
    },
    ladder: noLadder(basis === "model" ? "a model moves no bytes" : "the recording holds no verdicts"),
    topology: described,
    late: [],
  };
}

function answersOf(info: MachineInfo, untold: string, layout: Layout): DriverAnswers {
  const none = noAnswers(untold);
  const version = /^(\d+)\.(\d+)$/.exec(textOf(info, "cuda_version") ?? "");
  return {
    ...none,
    cuda: version
      ? {
          available: true,
          reason: null,
          version: 1000 * Number(version[1]) + 10 * Number(version[2]),
          path: null,
        }
      : none.cuda,
    nvml: { ...none.nvml, driverVersion: textOf(info, "driver") },
    gpus: info.gpus.map((gpu, i) => gpuOf(gpu, info, untold, linksOf(layout, `gpu${i}`, untold))),
    pairs: info.pairs.map((pair): DriverPair => {
      const { from, to, peerAccess, nativeAtomics, reason } = pair;
      return { from, to, access: peerAccess, nativeAtomics, nvml: null, reason: reason ?? untold };
    }),
  };
}

function gpuOf(gpu: GpuInfo, info: MachineInfo, untold: string, links: readonly NvmlLink[]): DriverGpu {
  const linksKnown = info.pairs.length > 0 && info.pairs.every((pair) => pair.link !== null);
  const { name, pci, memoryBytes, computeCapability } = gpu;
  const mode = (name: string) => {
    const word = textOf(info, name);
    return word === "on" ? true : word === "off" ? false : null;
  };
  const told = {
    pci,
    maxSmClockMhz: numberOf(info, "sm_clock_max_mhz"),
    maxMemoryClockMhz: numberOf(info, "memory_clock_max_mhz"),
    powerLimitW: numberOf(info, "power_limit_w"),
    maxPcieGeneration: null,
    maxPcieWidth: null,
    persistence: mode("persistence"),
    computeMode: textOf(info, "compute_mode"),
    mig: mode("mig"),
    ecc: mode("ecc"),
    bar1Bytes: numberOf(info, "bar1_bytes"),
    displayActive: mode("display"),
    virtualization: textOf(info, "virtualization"),
    fabric: textOf(info, "nvswitch_fabric"),
    linkCount: links.length > 0 || linksKnown ? links.length : null,
  };
  const facts: NvmlFacts = { joinedBy: "pci", ...told, links, missing: missingOf(told, untold) };
  const reason = "clocks, temperatures and counters are kept with each run (run.state)";
  return {
    uuid: null,
    name,
    pci: pci ?? "",
    memoryBytes,
    computeCapability,
    gpuDirectRdma: null,
    dmaBuf: null,
    facts,
    state: null,
    reason,
  };
}

/** Of one value for all GPUs; a fact that differs from GPU to GPU is written out as a list. */
function textOf({ facts }: MachineInfo, name: string): string | null {
  const value = facts[name];
  return typeof value === "string" && !/^GPU 0 .*, GPU 1 /.test(value) ? value : null;
}

function numberOf({ facts }: MachineInfo, name: string): number | null {
  const value = facts[name];
  return typeof value === "number" ? value : null;
}

function missingOf(values: Readonly<Record<string, unknown>>, reason: string): Missing {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === null ? [[name, reason]] : [])),
  );
}

/** The bundles that end at a node, link by link. */
function linksOf(layout: Layout, node: string, untold: string): NvmlLink[] {
  const bundles = layout.links.filter(
    ({ kind, from, to }) => kind === "nvlink" && (from === node || to === node),
  );
  return bundles
    .flatMap((bundle) => {
      const remote = layout.node(bundle.from === node ? bundle.to : bundle.from);
      const speedMBps =
        bundle.rawGbps === null || bundle.width === null ? null : (1000 * bundle.rawGbps) / bundle.width;
      const told = {
        active: true,
        version: null,
        speedMBps,
        remoteType: remote.kind === "gpu" ? "gpu" : "switch",
        remotePci: remote.kind === "gpu" ? (remote.pci ?? remote.name) : null,
      };
      return Array.from({ length: bundle.width ?? 0 }, () => ({ ...told, missing: missingOf(told, untold) }));
    })
    .map((link, number) => ({ link: number, ...link }));
}

function pairsOf(info: MachineInfo, layout: Layout, driver: DriverAnswers, untold: string): PairFacts[] {
  const bare = withoutPeerLinks(layout);
  return info.pairs.map((pair): PairFacts => {
    const { from, to, link } = pair;
    return {
      from,
      to,
      link,
      pcie: bare.pairClass(from, to),
      routing: { acs: "unknown", ports: [], reason: untold },
      driver: driver.pairs.find((own) => own.from === from && own.to === to) ?? null,
    };
  });
}

/** GPUs, network cards and the bridges above them, by node; GPUs of whose place nothing is known are left out. */
function devicesOf(layout: Layout, untold: string): Map<string, PciDevice> {
  const kinds: Partial<Record<TopologyNode["kind"], PciKind>> = {
    gpu: "gpu",
    nic: "nic",
    "pcie-switch": "bridge",
    "root-port": "bridge",
  };
  return new Map(
    layout.nodes.flatMap((node) => {
      const kind = kinds[node.kind];
      const up = kind && upOf(layout, node.name);
      return up && layout.kindOf(up.to) !== "hidden"
        ? [[node.name, deviceOf(layout, node, kind, up, untold)]]
        : [];
    }),
  );
}

/** The link to what a node hangs on. */
function upOf(layout: Layout, node: string): LayoutLink | null {
  return (
    layout.links.find(({ kind, from }) => from === node && ["pcie", "host", "c2c"].includes(kind)) ?? null
  );
}

function deviceOf(
  layout: Layout,
  node: TopologyNode,
  kind: PciKind,
  up: LayoutLink,
  untold: string,
): PciDevice {
  const addressOf = ({ pci, label, name }: TopologyNode) => pci ?? label ?? name;
  const above: string[] = [];
  let numaNode: number | null = null;
  for (let link: LayoutLink | null = up; link; link = upOf(layout, link.to)) {
    const next = layout.node(link.to);
    if (BRIDGES.includes(next.kind)) above.unshift(addressOf(next));
    else if (next.kind === "cpu") numaNode = next.numa ?? null;
  }
  const generation = up.kind === "pcie" ? pcieGeneration(up.rawGbps, up.width) : null;
  const speedGts = generation === null ? null : (PCIE_GIGATRANSFERS[generation - 1] ?? null);
  const width = up.kind === "pcie" ? up.width : null;
  const told = {
    vendor: null,
    device: null,
    rootBus: null,
    driver: null,
    numaNode,
    speedGts,
    maxSpeedGts: speedGts,
    width,
    maxWidth: width,
    barBytes: null,
    iommuGroup: null,
    cpus: null,
    errors: null,
    portType: null,
    acs: null,
  };
  return { address: addressOf(node), kind, above, ...told, missing: missingOf(told, untold) };
}

function nicsOf(layout: Layout, untold: string): Nic[] {
  return layout.named("nic").map((name) => {
    const { label, pci } = layout.node(name);
    const told = { interface: null, linkLayer: null, state: null, gbps: networkRate(layout, name) };
    return { pci: pci ?? null, rdma: label ?? name, ...told, missing: missingOf(told, untold) };
  });
}

function networkRate(layout: Layout, nic: string): number | null {
  const out = layout.links.find(({ kind, from, to }) => kind === "network" && (from === nic || to === nic));
  return out?.rawGbps ?? null;
}

function filesOf(
  info: MachineInfo,
  layout: Layout,
  untold: string,
): Pick<MachineFacts, "host" | "log" | "software" | "surroundings"> {
  const nothing = new LostRoot(untold);
  const module = textOf(info, "kernel_module");
  const virtualization = textOf(info, "virtualization");
  const nodes = [...new Set(layout.named("cpu").flatMap((cpu) => layout.node(cpu).numa ?? []))];
  return {
    log: readKernelLog(nothing),
    host: told(readHost(nothing), {
      kernel: /^Linux (\S+)/.exec(textOf(info, "operating_system") ?? "")?.[1] ?? null,
      cpuModel: textOf(info, "cpu"),
      numaNodes: nodes.length > 0 ? nodes.map((node) => ({ node, cpus: null })) : null,
    }),
    software: told(readSoftware(nothing), {
      kernelModule: moduleVersion(module ?? ""),
      openModule: module === null ? null : /Open Kernel Module/i.test(module),
    }),
    surroundings: told(readSurroundings(nothing, {}), {
      virtualMachine: virtualization === null ? null : virtualization !== "none",
    }),
  };
}

/** The same facts with those values that are not null. */
function told<T extends { readonly missing: Missing }>(facts: T, values: Partial<T>): T {
  const known = Object.fromEntries(Object.entries(values).filter(([, value]) => value != null));
  const missing = Object.fromEntries(Object.entries(facts.missing).filter(([name]) => !(name in known)));
  return { ...facts, ...known, missing };
}
