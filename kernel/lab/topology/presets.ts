import { addComputer, Builder, ports, type Rates } from "./build.js";
import * as figures from "./figures.js";
import * as gpus from "./gpus.js";
import type { Graph, LinkSpec } from "./graph.js";
import type { PeerRefusal, Topology } from "./topology.js";

const RATES_GEN3: Rates = { pcie: figures.PCIE3, host: figures.HOST_GEN3, socket: figures.SOCKET_LINK };
const RATES_A100: Rates = { pcie: figures.PCIE4, host: figures.HOST_GEN4, socket: figures.SOCKET_LINK };
const RATES_GEFORCE: Rates = {
  pcie: figures.PCIE4_4090,
  host: figures.HOST_GEN4_4090,
  socket: figures.SOCKET_LINK,
};
const RATES_H100: Rates = {
  pcie: figures.PCIE5_H100,
  host: figures.HOST_GEN5_H100,
  socket: figures.SOCKET_LINK,
};
const RATES_H200: Rates = {
  pcie: figures.PCIE5_H200,
  host: figures.HOST_GEN5_H200,
  socket: figures.SOCKET_LINK,
};

const PEER_A100 = { write: figures.PEER_WRITE_A100, read: figures.PEER_READ_A100, throughCpu: null };
const PEER_H100 = { write: figures.PEER_WRITE_H100, read: figures.PEER_READ_H100, throughCpu: null };
const PEER_V100 = { write: figures.PEER_WRITE_V100, read: figures.PEER_READ_V100, throughCpu: null };
const PEER_PCIE4 = {
  write: figures.PEER_WRITE_PCIE4,
  read: figures.PEER_READ_PCIE4,
  throughCpu: figures.PEER_PCIE4_THROUGH_CPU,
};

/** What the presets share unless they say otherwise. */
const USUAL = { hostMemory: figures.HOST_MEMORY, peerRefused: null, unknown: [] } as const;

/**
 * HGX boards with four NVSwitches, which are one node: NVLink spreads a GPU's addresses over all of them, so that they act as
 * one. Each GPU shares a PCIe switch with one network card (T11-T14), four of them a socket.
 */
function hgx(into: Builder, nvlink: LinkSpec, rates: Rates, host = 0): { nics: string[] } {
  const port = { gpus: 1, behindSwitch: true, nics: 1 };
  const made = addComputer(into, { cpus: 2, ports: ports(8, port), bridges: "each" }, rates, host);
  const fabric = into.add("nvswitch", host === 0 ? {} : { host });
  for (const gpu of made.gpus) into.join(gpu, fabric, nvlink);
  return made;
}

function oneHgx(nvlink: LinkSpec, rates: Rates): Graph {
  const into = new Builder();
  hgx(into, nvlink, rates);
  return into.graph();
}

/** Two boards, the network cards all on one switch of the network. */
function twoHgx(): Graph {
  const into = new Builder();
  const nics = [0, 1].flatMap((host) => hgx(into, figures.NVLINK4_H100, RATES_H100, host).nics);
  const network = into.add("network");
  for (const nic of nics) into.join(nic, network, figures.NETWORK_NDR);
  return into.graph();
}

/** T7: two GPUs behind a PCIe switch, two network cards below it behind one more (PXB); four NUMA nodes taken as two sockets. */
function dgxA100(): Graph {
  const into = new Builder();
  const port = { gpus: 2, behindSwitch: true, nics: 2, nicSwitch: true };
  const made = addComputer(into, { cpus: 2, ports: ports(4, port), bridges: "each" }, RATES_A100);
  const fabric = into.add("nvswitch");
  for (const gpu of made.gpus) into.join(gpu, fabric, figures.NVLINK3_A100);
  return into.graph();
}

/** T1: pairs with two and with one NVLink; two GPUs and one network card behind a PCIe switch, two switches a socket. */
function dgx1(): Graph {
  const into = new Builder();
  const port = { gpus: 2, behindSwitch: true, nics: 1 };
  addComputer(into, { cpus: 2, ports: ports(4, port), bridges: "shared" }, RATES_GEN3);
  const mesh: Readonly<Record<1 | 2, string>> = {
    2: "0-3 0-4 1-2 1-5 2-3 4-7 5-6 6-7",
    1: "0-1 0-2 1-3 2-6 3-7 4-5 4-6 5-7",
  };
  for (const width of [2, 1] as const) {
    for (const pair of mesh[width].split(" ")) {
      const [a, b] = pair.split("-");
      into.join(`gpu${a}`, `gpu${b}`, figures.nvlink2(width));
    }
  }
  return into.graph();
}

/**
 * T6: a root port leads to a switch of switches: two leaves, each with two GPUs and a network card. The rows of GPU 5 to 15 are
 * filled in as those of GPU 0 to 4. Eight GPUs and their NVSwitches a board.
 */
function dgx2(): Graph {
  const into = new Builder();
  const cpus = [0, 1].map((numa) => into.add("cpu", { numa }));
  into.join("cpu0", "cpu1", figures.SOCKET_LINK);
  const boards = [into.add("nvswitch"), into.add("nvswitch")];
  into.join("nvswitch0", "nvswitch1", figures.NVSWITCH_TRUNK_DGX2);
  for (let group = 0; group < 4; group++) {
    const root = into.add("root-port", { bridge: `${group}` });
    into.join(root, cpus[Math.floor(group / 2)] as string, figures.HOST_GEN3);
    const top = into.add("pcie-switch");
    into.join(top, root, figures.uplink(figures.PCIE3));
    for (let leaf = 0; leaf < 2; leaf++) {
      const below = into.add("pcie-switch");
      into.join(below, top, figures.uplink(figures.PCIE3));
      for (let i = 0; i < 2; i++) {
        const gpu = into.add("gpu");
        into.join(gpu, below, figures.PCIE3);
        into.join(gpu, boards[Math.floor(group / 2)] as string, figures.NVLINK2_DGX2);
      }
      into.join(into.add("nic"), below, figures.PCIE3);
    }
  }
  return into.graph();
}

/** T17 for one tray: two Grace CPUs, two GPUs each on C2C; 18 trays on one fabric. Network cards are left out. */
function nvl72(): Graph {
  const into = new Builder();
  const fabric = into.add("nvswitch");
  for (let host = 0; host < 18; host++) {
    const at = host === 0 ? {} : { host };
    const cpus = [0, 1].map((numa) => into.add("cpu", { ...at, numa }));
    into.join(cpus[0] as string, cpus[1] as string, figures.SOCKET_LINK_GRACE);
    for (let i = 0; i < 4; i++) {
      const gpu = into.add("gpu", at);
      into.join(gpu, fabric, figures.NVLINK5_GB200);
      into.join(gpu, cpus[Math.floor(i / 2)] as string, figures.C2C_GB200);
    }
  }
  return into.graph();
}

/** GPUs without NVLink: `gpusPerPort` behind each switch, or right on the root port. */
function pcieOnly(plan: {
  cpus: number;
  ports: number;
  gpusPerPort: number;
  behindSwitch: boolean;
  rates: Rates;
}): Graph {
  const into = new Builder();
  const port = { gpus: plan.gpusPerPort, behindSwitch: plan.behindSwitch };
  addComputer(into, { cpus: plan.cpus, ports: ports(plan.ports, port), bridges: "shared" }, plan.rates);
  return into.graph();
}

/** T23: bridges join GPU 0 with 2 and 1 with 3; 0 and 1 are on one host bridge, 2 and 3 on another. */
function bridgePairs(): Graph {
  const into = new Builder();
  const cpu = into.add("cpu", { numa: 0 });
  for (let gpu = 0; gpu < 4; gpu++) {
    const root = into.add("root-port", { bridge: `${Math.floor(gpu / 2)}` });
    into.join(into.add("gpu"), root, figures.PCIE4_4090);
    into.join(root, cpu, figures.HOST_GEN4_4090);
  }
  into.join("gpu0", "gpu2", figures.NVLINK3_BRIDGE);
  into.join("gpu1", "gpu3", figures.NVLINK3_BRIDGE);
  return into.graph();
}

/**
 * What a VM shows of two GPUs of an HGX board: the NVLinks, and one flat PCIe bus (OWN-H200's NCCL topology). The board gives
 * each GPU a switch and root port of its own (T11-T14), which is hidden here.
 */
function vmH200(): Graph {
  const into = new Builder();
  const [cpu, fabric] = [into.add("cpu", { numa: 0 }), into.add("nvswitch")];
  for (let i = 0; i < 2; i++) {
    const [gpu, part] = [into.add("gpu"), into.add("hidden")];
    into.join(gpu, part, figures.PCIE5_H200_VM);
    into.join(part, cpu, figures.HOST_GEN5_H200_VM);
    into.join(gpu, fabric, figures.NVLINK4_H200);
  }
  return into.graph();
}

const NO_GEFORCE_PEER = (model: string): PeerRefusal => ({
  reason: `the driver refuses peer access between GeForce ${model} over PCIe (nvidia-smi topo -p2p: GNS)`,
  source: "NUMBERS 1 GeForce pairs; T32, M17",
});

/** All presets, in the order they are listed to the reader. */
export const TOPOLOGIES: readonly Topology[] = [
  {
    ...USUAL,
    name: "hgx-h100-8",
    title: "HGX H100 8-GPU",
    describes: "8 × H100 SXM5 on NVSwitch (NV18), two sockets, PCIe Gen5",
    gpu: gpus.H100,
    gpuCount: 8,
    graph: oneHgx(figures.NVLINK4_H100, RATES_H100),
    peerCopy: PEER_H100,
    generation: "hopper",
  },
  {
    ...USUAL,
    name: "hgx-h200-8",
    title: "HGX H200 8-GPU",
    describes: "8 × H200 SXM on NVSwitch (NV18), two sockets, PCIe Gen5",
    gpu: gpus.H200,
    gpuCount: 8,
    graph: oneHgx(figures.NVLINK4_H200, RATES_H200),
    peerCopy: { write: figures.PEER_WRITE_H200, read: figures.PEER_READ_H200, throughCpu: null },
    generation: "hopper",
  },
  {
    ...USUAL,
    name: "hgx-h100-16",
    title: "two HGX H100 8-GPU with NDR InfiniBand",
    describes: "2 computers of 8 × H100 SXM5 (NV18), one NDR 400 Gb/s card a GPU, one network switch",
    gpu: gpus.H100,
    gpuCount: 16,
    graph: twoHgx(),
    peerCopy: PEER_H100,
    generation: "hopper",
  },
  {
    ...USUAL,
    name: "vm-h200-2",
    title: "two H200 of an HGX board in a VM",
    describes: "2 × H200 SXM (NV18) in a cloud VM that hides the PCIe tree",
    gpu: gpus.H200,
    gpuCount: 2,
    graph: vmH200(),
    peerCopy: { write: figures.PEER_WRITE_H200_VM, read: figures.PEER_READ_H200, throughCpu: null },
    generation: "hopper",
    unknown: [
      "The VM hides the PCIe tree: which switches and sockets the GPUs are on is unknown.",
      "Copies with the host: ASSUMPTION that each GPU has a root port of its own, as HGX boards do.",
    ],
  },
  {
    ...USUAL,
    name: "gb200-nvl72",
    title: "GB200 NVL72",
    describes: "72 × GB200 in 18 trays on one NVLink fabric (NV18), two Grace CPUs a tray on C2C",
    gpu: gpus.GB200,
    gpuCount: 72,
    graph: nvl72(),
    peerCopy: { write: figures.PEER_WRITE_GB200, read: figures.PEER_READ_GB200, throughCpu: null },
    hostMemory: figures.HOST_MEMORY_GRACE,
    generation: "blackwell",
  },
  {
    ...USUAL,
    name: "dgx-a100-8",
    title: "DGX A100 8-GPU",
    describes: "8 × A100 SXM4 on NVSwitch (NV12), two sockets, two GPUs a PCIe Gen4 switch",
    gpu: gpus.A100_SXM,
    gpuCount: 8,
    graph: dgxA100(),
    peerCopy: PEER_A100,
    generation: "ampere",
  },
  {
    ...USUAL,
    name: "dgx2-v100-16",
    title: "DGX-2 16-GPU",
    describes: "16 × V100 SXM3 on NVSwitch (NV6), two boards, two sockets, PCIe Gen3",
    gpu: gpus.V100_SXM3,
    gpuCount: 16,
    graph: dgx2(),
    peerCopy: PEER_V100,
    generation: "volta",
  },
  {
    ...USUAL,
    name: "dgx1-v100-8",
    title: "DGX-1 V100 8-GPU",
    describes: "8 × V100 SXM2 in a hybrid cube mesh (NV1, NV2 or none), two sockets, PCIe Gen3",
    gpu: gpus.V100_SXM2,
    gpuCount: 8,
    graph: dgx1(),
    peerCopy: PEER_V100,
    peerRefused: {
      reason: "no NVLink joins them, and their PCIe ways meet between two sockets",
      source: "M16, whose pairs without NVLink are staged; T1",
    },
    generation: "volta",
  },
  {
    ...USUAL,
    name: "pcie-8",
    title: "8-GPU server with PCIe switches",
    describes:
      "8 × A100 without NVLink, four behind one PCIe Gen4 switch (PIX) a socket, SYS between sockets",
    gpu: gpus.A100_PCIE,
    gpuCount: 8,
    graph: pcieOnly({ cpus: 2, ports: 2, gpusPerPort: 4, behindSwitch: true, rates: RATES_A100 }),
    peerCopy: PEER_PCIE4,
    generation: "ampere",
  },
  {
    ...USUAL,
    name: "pcie-4",
    title: "4-GPU server with PCIe switches",
    describes: "4 × A100 without NVLink, two behind one PCIe Gen4 switch (PIX) a socket, SYS between sockets",
    gpu: gpus.A100_PCIE,
    gpuCount: 4,
    graph: pcieOnly({ cpus: 2, ports: 2, gpusPerPort: 2, behindSwitch: true, rates: RATES_A100 }),
    peerCopy: PEER_PCIE4,
    generation: "ampere",
  },
  {
    ...USUAL,
    name: "pcie-gen4-2",
    title: "two A100 behind one PCIe Gen4 switch",
    describes: "2 × A100 without NVLink, peer access over one PCIe Gen4 switch (PIX)",
    gpu: gpus.A100_PCIE,
    gpuCount: 2,
    graph: pcieOnly({ cpus: 1, ports: 1, gpusPerPort: 2, behindSwitch: true, rates: RATES_A100 }),
    peerCopy: PEER_PCIE4,
    generation: "ampere",
  },
  {
    ...USUAL,
    name: "rtx3090-4",
    title: "four RTX 3090 with NVLink bridges",
    describes:
      "4 × GeForce RTX 3090 in two bridge pairs (NV4), PHB and NODE between them, no peer access there",
    gpu: gpus.RTX_3090,
    gpuCount: 4,
    graph: bridgePairs(),
    peerCopy: { write: figures.PEER_BRIDGE, read: figures.PEER_BRIDGE, throughCpu: null },
    peerRefused: NO_GEFORCE_PEER("RTX 3090"),
    generation: "ampere",
  },
  {
    ...USUAL,
    name: "rtx4090-2",
    title: "two RTX 4090 on one CPU",
    describes: "2 × GeForce RTX 4090 on PCIe Gen4 root ports (PHB), no peer access",
    gpu: gpus.RTX_4090,
    gpuCount: 2,
    graph: pcieOnly({ cpus: 1, ports: 2, gpusPerPort: 1, behindSwitch: false, rates: RATES_GEFORCE }),
    peerCopy: PEER_PCIE4,
    peerRefused: NO_GEFORCE_PEER("RTX 4090"),
    generation: "ada",
  },
];
