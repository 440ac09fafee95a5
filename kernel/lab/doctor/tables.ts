/** Facts and findings as Arquero tables; each ends with machine, provenance and date. */
import { provenanceFields, type Table, tableOf } from "../measure/table.js";
import type { NvmlFacts } from "../native-nvml.js";
import type { TopologyNode } from "../topology/layout.js";
import { pcieLaneGbps } from "../topology/pcie.js";
import type { Finding, Language } from "./checks/check.js";
import type { MachineFacts } from "./facts.js";
import type { Nic } from "./nics.js";
import { generationOf, type PciDevice } from "./pcie.js";

const PROVENANCE = ["machine", "provenance", "date"];

export function gpusTable(facts: MachineFacts): Table {
  const rows = facts.gpus.map((gpu) => {
    const told = gpu.driver?.facts ?? null;
    const state = gpu.driver?.state ?? null;
    return {
      gpu: gpu.index,
      cuda: gpu.cudaOrdinal,
      name: gpu.name,
      uuid: gpu.uuid,
      pci: gpu.pci,
      numa: gpu.device?.numaNode ?? null,
      memory_bytes: gpu.memoryBytes,
      bar1_bytes: told?.bar1Bytes ?? gpu.device?.barBytes ?? null,
      pcie_gen: generationOf(gpu.device?.speedGts ?? null) ?? state?.pcieGeneration ?? null,
      pcie_gen_loaded: gpu.loaded?.generation ?? null,
      pcie_gen_max: generationOf(gpu.device?.maxSpeedGts ?? null) ?? told?.maxPcieGeneration ?? null,
      pcie_width: gpu.device?.width ?? state?.pcieWidth ?? null,
      pcie_width_max: gpu.device?.maxWidth ?? told?.maxPcieWidth ?? null,
      nvlinks: told?.linkCount ?? (told?.links.length || null),
      nvlinks_up: told && linksTold(told) ? told.links.filter((link) => link.active).length : null,
      fabric: told?.fabric ?? null,
      sm_clock_mhz: state?.smClockMhz ?? null,
      sm_clock_max_mhz: told?.maxSmClockMhz ?? null,
      memory_clock_mhz: state?.memoryClockMhz ?? null,
      power_w: state?.powerW ?? null,
      power_limit_w: told?.powerLimitW ?? null,
      temperature_c: state?.temperatureC ?? null,
      persistence: told?.persistence ?? null,
      compute_mode: told?.computeMode ?? null,
      mig: told?.mig ?? null,
      ecc: told?.ecc ?? null,
      display: told?.displayActive ?? null,
      ...provenanceFields(facts.provenance),
    };
  });
  return tableOf(rows, rows.length > 0 ? undefined : ["gpu", "name", ...PROVENANCE]);
}

/** Whether it is known which links are up: all are listed, each with its state. */
function linksTold({ linkCount, links }: NvmlFacts): boolean {
  return linkCount === links.length && links.every((link) => link.active !== null);
}

export function linksTable(facts: MachineFacts): Table {
  const devices = new Map(facts.pci.devices.map((device) => [device.address, device]));
  const names = new Map<string, string>();
  for (const gpu of facts.gpus) names.set(gpu.pci ?? `gpu${gpu.index}`, `GPU ${gpu.index}`);
  for (const nic of facts.nics) if (nic.rdma) names.set(nic.pci ?? nic.rdma, nic.rdma);
  const c2c = c2cRows(facts);
  const pcie = [...names].flatMap(([address, from]) => {
    const device = devices.get(address);
    if (!device || c2c.some((row) => row.from === from)) return [];
    const port = devices.get(device.above.at(-1) ?? "");
    return [{ from, kind: "pcie", link: null, to: port?.address ?? "root complex", ...pcieOf(device, port) }];
  });
  const nvlinks = facts.gpus.flatMap((gpu) =>
    (gpu.driver?.facts?.links ?? []).map((link) => {
      const counters = gpu.driver?.state?.links.find((own) => own.link === link.link);
      return {
        from: `GPU ${gpu.index}`,
        kind: "nvlink",
        link: link.link,
        to: (link.remotePci && names.get(link.remotePci)) ?? link.remoteType,
        up: link.active,
        generation: link.version,
        generation_max: null,
        width: null,
        width_max: null,
        raw_gbps: link.speedMBps === null ? null : link.speedMBps / 1000,
        errors: sum([
          counters?.replayErrors,
          counters?.recoveryErrors,
          counters?.crcErrors,
          counters?.receiveErrors,
        ]),
      };
    }),
  );
  const rows = [...pcie, ...c2c, ...nvlinks].map((row) => ({
    ...row,
    ...provenanceFields(facts.provenance),
  }));
  return tableOf(rows, [
    ...[
      "from",
      "kind",
      "link",
      "to",
      "up",
      "generation",
      "generation_max",
      "width",
      "width_max",
      "raw_gbps",
      "errors",
    ],
    ...PROVENANCE,
  ]);
}

/** GPUs that hang on their CPU by NVLink-C2C instead of PCIe. */
function c2cRows({ topology }: MachineFacts) {
  return (topology?.layout.links ?? [])
    .filter(({ kind, from }) => kind === "c2c" && from.startsWith("gpu"))
    .map(({ from, to, width, rawGbps }) => ({
      from: `GPU ${from.slice(3)}`,
      kind: "c2c",
      link: null,
      to: `NUMA ${topology?.layout.node(to).numa ?? "?"}`,
      up: true,
      generation: null,
      generation_max: null,
      width,
      width_max: width,
      raw_gbps: rawGbps,
      errors: null,
    }));
}

/** A PCIe link as it is now; `raw_gbps` is of one direction, less the line code. */
function pcieOf(device: PciDevice, port: PciDevice | undefined) {
  const { speedGts, width, errors } = device;
  return {
    up: width === null ? null : true,
    generation: generationOf(speedGts),
    generation_max: generationOf(least(device.maxSpeedGts, port?.maxSpeedGts ?? null)),
    width,
    width_max: least(device.maxWidth, port?.maxWidth ?? null),
    raw_gbps: speedGts === null || width === null ? null : pcieLaneGbps(speedGts) * width,
    errors: errors === null ? null : errors.correctable + errors.nonFatal + errors.fatal,
  };
}

export function pairsTable(facts: MachineFacts): Table {
  const rows = facts.pairs.map((pair) => {
    const outcomes = facts.ladder.verdicts.filter(({ from, to }) => from === pair.from && to === pair.to);
    const of = (allocator: string) => outcomes.find((one) => one.allocator === allocator)?.outcome ?? null;
    return {
      from: pair.from,
      to: pair.to,
      link: pair.link,
      pcie: pair.pcie,
      access: pair.driver?.access ?? null,
      atomics: pair.driver?.nativeAtomics ?? null,
      p2p_read: pair.driver?.nvml?.read ?? null,
      p2p_write: pair.driver?.nvml?.write ?? null,
      acs: pair.routing.acs,
      verdict_malloc: of("malloc"),
      verdict_pool: of("pool"),
      verdict_vmm: of("vmm"),
      ...provenanceFields(facts.provenance),
    };
  });
  return tableOf(rows, [
    ...["from", "to", "link", "pcie", "access", "atomics", "p2p_read", "p2p_write", "acs"],
    ...["verdict_malloc", "verdict_pool", "verdict_vmm"],
    ...PROVENANCE,
  ]);
}

export function nicsTable(facts: MachineFacts): Table {
  const layout = facts.topology?.layout;
  const rows = facts.nics.map((nic) => {
    const node = layout?.nodes.find((own) => own.kind === "nic" && isNode(nic, own))?.name;
    const classes = facts.gpus.map((gpu) => [
      `gpu_${gpu.index}`,
      layout && node ? layout.classOf(`gpu${gpu.index}`, node) : null,
    ]);
    return {
      pci: nic.pci,
      rdma: nic.rdma,
      interface: nic.interface,
      link_layer: nic.linkLayer,
      state: nic.state,
      gbps: nic.gbps,
      ...(Object.fromEntries(classes) as Record<string, string | null>),
      ...provenanceFields(facts.provenance),
    };
  });
  return tableOf(rows, rows.length > 0 ? undefined : ["pci", "rdma", ...PROVENANCE]);
}

/** By its address; where it has none, as in a model, by its name. */
function isNode(nic: Nic, { pci, label, name }: TopologyNode): boolean {
  return nic.pci === null ? nic.rdma === (label ?? name) : nic.pci === pci;
}

export function findingsTable(facts: MachineFacts, findings: readonly Finding[], lang: Language): Table {
  return tableOf(
    findings.map((finding) => ({
      check: finding.id,
      group: finding.group,
      status: finding.status,
      title: finding.title[lang],
      evidence: finding.evidence[lang],
      consequence: finding.consequence[lang],
      fix: finding.fix?.[lang] ?? null,
      source: finding.source,
      ...provenanceFields(facts.provenance),
    })),
  );
}

function least(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

function sum(counts: readonly (number | null | undefined)[]): number | null {
  const known = counts.filter((count): count is number => typeof count === "number");
  return known.length === 0 ? null : known.reduce((total, count) => total + count, 0);
}
