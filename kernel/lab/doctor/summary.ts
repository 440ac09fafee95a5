/** The diagnosis in a line, and a line a GPU, for the versions and for the host: what text and page begin with. */
import { formatBytes } from "../units.js";
import { type Language, lookedAt, type Text } from "./checks/check.js";
import { versionOf } from "./checks/driver.js";
import type { Examined } from "./examined.js";
import type { GpuFacts, MachineFacts } from "./facts.js";
import { rests } from "./gpus.js";
import { generationOf } from "./pcie.js";
import { WORDS } from "./text-words.js";

/** Chinese has one form, right behind the number. */
export function counted(count: number, one: Text, more: Text, lang: Language): string {
  return lang === "zh" ? `${count}${more.zh}` : `${count} ${(count === 1 ? one : more).en}`;
}

export function verdictOf({ facts, exitStatus }: Examined, lang: Language): string {
  return (exitStatus === 0 && !lookedAt(facts) ? WORDS.told : WORDS.verdict[exitStatus])[lang];
}

/** The four versions that are mixed up; null where there is neither a GPU nor one of them. */
export function versionWords({ gpus, software, driver }: MachineFacts, lang: Language): string | null {
  const rows = [
    [WORDS.module, software.kernelModule],
    [WORDS.user, driver.version ?? software.userDriver],
    [WORDS.cuda, driver.cuda.version === null ? null : versionOf(driver.cuda.version)],
    [WORDS.toolkit, software.toolkit],
  ] as const;
  if (gpus.length === 0 && rows.every(([, value]) => value === null)) return null;
  return rows.map(([name, value]) => `${name[lang]} ${value ?? WORDS.unknown[lang]}`).join(" · ");
}

export function hostWords({ host, surroundings, software }: MachineFacts, lang: Language): string {
  const pages = (host.hugePages ?? []).filter((page) => page.total > 0);
  const words = [
    surroundings.wsl ? "WSL" : surroundings.virtualMachine ? WORDS.vm[lang] : null,
    surroundings.container ? WORDS.container[lang] : null,
    surroundings.product,
    host.cpuModel,
    host.numaNodes ? counted(host.numaNodes.length, WORDS.node, WORDS.nodes, lang) : null,
    host.kernel ? `Linux ${host.kernel}` : null,
    software.iommu ? WORDS.iommu[software.iommu][lang] : null,
    host.shmBytes === null ? null : `/dev/shm ${formatBytes(host.shmBytes)}`,
    pages.map((page) => `${page.total} × ${formatBytes(page.pageBytes)}`).join(" + "),
  ];
  return words.filter(Boolean).join(" · ");
}

/** What is known of a GPU beside its name and address. */
export function gpuWords(gpu: GpuFacts, lang: Language): string {
  const facts = gpu.driver?.facts;
  const state = gpu.driver?.state;
  const { device, loaded } = gpu;
  const width = device?.width ?? state?.pcieWidth ?? null;
  const generation =
    loaded?.generation ?? generationOf(device?.speedGts ?? null) ?? state?.pcieGeneration ?? null;
  const most = generationOf(device?.maxSpeedGts ?? null) ?? facts?.maxPcieGeneration ?? null;
  const below = generation !== null && most !== null && generation < most;
  const speed = `Gen${generation ?? "?"}${below ? `/${most}` : ""}`;
  const idle = below && rests(gpu) ? ` (${WORDS.idle[lang]})` : "";
  const bar = facts?.bar1Bytes ?? device?.barBytes ?? null;
  const active = facts?.links.filter((link) => link.active).length ?? 0;
  const words = [
    gpu.memoryBytes === null ? null : formatBytes(gpu.memoryBytes),
    bar === null ? null : `BAR1 ${formatBytes(bar)}`,
    generation === null && width === null ? null : `PCIe ${speed} x${width ?? "?"}${idle}`,
    facts && facts.links.length > 0 ? `NVLink ${active}/${facts.links.length}` : null,
    device?.numaNode == null ? null : `NUMA ${device.numaNode}`,
    state?.smClockMhz == null ? null : `${state.smClockMhz} MHz`,
    state?.temperatureC == null ? null : `${state.temperatureC} °C`,
    state?.powerW == null ? null : `${Math.round(state.powerW)} W`,
    facts?.mig ? "MIG" : null,
    gpu.cudaOrdinal === null || gpu.cudaOrdinal === gpu.index ? null : `CUDA ${gpu.cudaOrdinal}`,
    gpu.driver === null ? WORDS.notShown[lang] : null,
  ];
  return words.filter(Boolean).join(" · ");
}
