import { P2pError } from "../errors.js";
import type { DescribedGpu, Description } from "./description.js";
import * as figures from "./figures.js";
import * as models from "./gpus.js";
import { Graph, type LinkSpec, type TopologyLink } from "./graph.js";
import type { Layout, LayoutLink } from "./layout.js";
import { pcieGeneration } from "./pcie.js";
import type { Generation, GpuModel, Topology } from "./topology.js";

/** Pairs of GPUs grow with the square. */
const MAX_GPUS = 1024;

/**
 * A machine to simulate from what somebody told of one: the rates and the GPU model that are missing are those of its GPUs'
 * generation, and `unknown` says so.
 * @param name what `sim:` is followed by to open it again.
 * @throws P2pError `not-available` for machines without NVIDIA GPUs or with more than 1,024.
 */
export function rated(description: Description, name: string): Topology {
  if (description.topology) return { ...description.topology, name };
  const { layout } = description;
  const count = layout.gpuCount;
  if (count === 0 || count > MAX_GPUS || layout.links.some((link) => link.kind === "xgmi")) {
    throw new P2pError(
      "not-available",
      count === 0
        ? "the topology holds no GPU"
        : count > MAX_GPUS
          ? `the topology holds ${count} GPUs, more than ${MAX_GPUS}`
          : "the model knows NVIDIA GPUs only, and this topology has links of AMD's",
      "Open another topology, or read its classes with lab.readTopology().",
    );
  }
  const guess = generationOf(description);
  const { generation } = guess;
  const gpu = modelOf(generation, layout, description.gpus);
  const told = fastestPcie(layout);
  const pcieGen = told ?? PCIE_OF[generation];
  const graph = new Graph(layout.nodes, [
    ...layout.links.map((link) => rateOf(link, layout, generation, pcieGen)),
  ]);
  const nvlinks = graph.links.filter((link) => link.kind === "nvlink");
  const peer = peerOf(nvlinks, pcieGen);
  return {
    name,
    title: `${count} × ${gpu.name} by ${description.format}`,
    describes: `${count} GPUs as ${description.format} tells, rates by generation`,
    gpu,
    gpuCount: count,
    graph,
    peerCopy: peer,
    hostMemory: figures.HOST_MEMORY,
    peerRefused: refusalOf(description.gpus, gpu),
    generation,
    unknown: [
      ...description.unknown,
      guess.note,
      `Rates: NVLink as published for ${generation}, PCIe as published for Gen${pcieGen}, ${told === null ? "by the GPUs' generation" : "the fastest link told of"}.`,
      "Peer access: ASSUMPTION granted, but for GeForce boards without NVLink.",
    ],
  };
}

/** What GPUs of a generation have. */
const PCIE_OF: Readonly<Record<Generation, number>> = {
  pascal: 3,
  volta: 3,
  turing: 3,
  ampere: 4,
  ada: 4,
  hopper: 5,
  blackwell: 5,
};

/** By compute capability, by name, or else by what links its GPUs have; the note says by which. */
function generationOf({ layout, gpus }: Description): { generation: Generation; note: string } {
  const capability = gpus.find((gpu) => gpu.computeCapability)?.computeCapability;
  const byCapability = capability && CAPABILITIES.find(([start]) => capability.startsWith(start))?.[1];
  if (byCapability) {
    return { generation: byCapability, note: `GPU model: taken by compute capability ${capability}.` };
  }
  const name = gpus.find((gpu) => gpu.name)?.name;
  const byName = name && NAMES.find(([pattern]) => pattern.test(name))?.[1];
  if (byName) return { generation: byName, note: `GPU model: taken by the name ${name}.` };
  const widths = layout.links.flatMap(({ kind, width }) => (kind === "nvlink" && width ? [width] : []));
  const most = Math.max(0, ...widths);
  const generation = WIDTHS.find(([least]) => most >= least)?.[1] ?? "ampere";
  const seen = most > 0 ? `its most NVLinks, ${most}` : "having no NVLink";
  return { generation, note: `GPU model: ASSUMPTION ${generation}, by ${seen}; nothing names the GPUs.` };
}

/** CUDA C++ Programming Guide, compute capabilities. */
const CAPABILITIES: readonly (readonly [string, Generation])[] = [
  ["6.", "pascal"],
  ["7.5", "turing"],
  ["7.", "volta"],
  ["8.9", "ada"],
  ["8.", "ampere"],
  ["9.", "hopper"],
  ["10.", "blackwell"],
  ["12.", "blackwell"],
];

const NAMES: readonly (readonly [RegExp, Generation])[] = [
  [/B[123]00|RTX 50\d0|Blackwell/, "blackwell"],
  [/H[128]00|H20\b|GH200/, "hopper"],
  [/RTX 40\d0|\bL4|\bAda\b/, "ada"],
  [/\bA\d0{1,2}\b|RTX 30\d0|RTX A\d000|\bA(10|16|2)\b/, "ampere"],
  [/\bT4\b|RTX 20\d0|TITAN RTX|RTX \d000/, "turing"],
  [/V100|GV100|TITAN V/, "volta"],
  [/P100|\bP\d0?\b|GTX 10\d0|TITAN X/, "pascal"],
];

/** NVLinks of one GPU at least → who has them: T8-T20; NV8 is H800's, NV4 also RTX A6000's. */
const WIDTHS: readonly (readonly [number, Generation])[] = [
  [18, "hopper"],
  [12, "ampere"],
  [8, "hopper"],
  [6, "volta"],
  [4, "ampere"],
  [1, "volta"],
];

function modelOf(generation: Generation, layout: Layout, gpus: readonly DescribedGpu[]): GpuModel {
  const named = gpus.find((gpu) => gpu.name)?.name;
  const nvlink = layout.links.some((link) => link.kind === "nvlink");
  const capability = gpus.find((gpu) => gpu.computeCapability)?.computeCapability;
  const usual: Readonly<Record<Generation, GpuModel>> = {
    pascal: models.P100_SXM2,
    volta: models.V100_SXM2,
    turing: models.TITAN_RTX,
    ampere: capability === "8.6" ? models.RTX_3090 : nvlink ? models.A100_SXM : models.A100_PCIE,
    ada: models.RTX_4090,
    hopper: named?.includes("H200") ? models.H200 : models.H100,
    blackwell: nvlink ? models.GB200 : models.RTX_5090,
  };
  const model = usual[generation];
  return named ? { ...model, name: named, localCopy: asOf(model) } : model;
}

function asOf(model: GpuModel): GpuModel["localCopy"] {
  const { value, source } = model.localCopy;
  return { value, source: `ASSUMPTION as ${model.name}: ${source}` };
}

/**
 * The fastest PCIe link that is told of. Files tell at which speed links run, and an idle one runs slower than it can, so that slower
 * ones among them say nothing.
 */
function fastestPcie(layout: Layout): number | null {
  const generations = layout.links.flatMap(({ kind, rawGbps, width }) => {
    const generation = kind === "pcie" || kind === "host" ? pcieGeneration(rawGbps, width) : null;
    return generation === null ? [] : [generation];
  });
  return generations.length === 0 ? null : Math.max(...generations);
}

/** PCIe and host links of 16 lanes by generation; older ones have no published copy rate and scale with the line rate. */
function pcieOf(generation: number): { pcie: LinkSpec; host: LinkSpec } {
  if (generation >= 5) return { pcie: figures.PCIE5_H100, host: figures.HOST_GEN5_H100 };
  if (generation === 4) return { pcie: figures.PCIE4, host: figures.HOST_GEN4 };
  const share = 2 ** (generation - 3);
  return { pcie: scaled(figures.PCIE3, share), host: scaled(figures.HOST_GEN3, share) };
}

function scaled(link: LinkSpec, share: number): LinkSpec {
  if (share === 1) return link;
  return {
    ...link,
    rawGbps: link.rawGbps * share,
    forwardGbps: link.forwardGbps * share,
    backwardGbps: link.backwardGbps * share,
    bothGbps: link.bothGbps === null ? null : link.bothGbps * share,
    source: `DERIVED by the line rate from: ${link.source}`,
  };
}

function rateOf(link: LayoutLink, layout: Layout, generation: Generation, pcieGen: number): TopologyLink {
  const { from, to, kind } = link;
  switch (kind) {
    case "nvlink":
      return { from, to, ...figures.nvlinkOf(generation, link.width ?? 1) };
    case "xgmi":
      throw new P2pError("not-available", "links of AMD GPUs have no model", "Open another topology.");
    case "c2c":
      return { from, to, ...figures.C2C_GB200 };
    case "socket":
      return { from, to, ...figures.SOCKET_LINK };
    case "network":
      return { from, to, ...figures.NETWORK_NDR };
    case "pcie":
    case "host": {
      const lanes = link.width ?? 16;
      const isDevice = [from, to].some((node) => ["gpu", "nic"].includes(layout.kindOf(node)));
      const known = pcieOf(pcieGen)[kind];
      const spec = kind === "pcie" && !isDevice ? figures.uplink(known) : known;
      return { from, to, ...scaled(spec, lanes / 16), width: lanes };
    }
  }
}

function peerOf(nvlinks: readonly TopologyLink[], pcieGen: number): Topology["peerCopy"] {
  if (nvlinks.length > 0) {
    const widest = nvlinks.reduce((a, b) => (b.forwardGbps > a.forwardGbps ? b : a));
    const figure = { value: widest.forwardGbps, source: widest.source };
    return { write: figure, read: figure, throughCpu: null };
  }
  const share = pcieOf(pcieGen).pcie.forwardGbps / figures.PCIE4.forwardGbps;
  const by = ({ value, source }: { value: number; source: string }) => ({
    value: value * share,
    source: pcieGen === 4 ? source : `DERIVED by the copy rate of Gen${pcieGen} from: ${source}`,
  });
  return {
    write: by(figures.PEER_WRITE_PCIE4),
    read: by(figures.PEER_READ_PCIE4),
    throughCpu: by(figures.PEER_PCIE4_THROUGH_CPU),
  };
}

function refusalOf(gpus: readonly DescribedGpu[], model: GpuModel): Topology["peerRefused"] {
  const name = gpus.find((gpu) => gpu.name)?.name ?? "";
  if (!/GeForce/.test(name) && !/GeForce/.test(model.name)) return null;
  return {
    reason: `the driver refuses peer access between GeForce boards over PCIe (nvidia-smi topo -p2p: GNS)`,
    source: "NUMBERS 1 GeForce pairs; T32, M17",
  };
}
