import type { GpuInfo } from "../machine.js";
import type { NvmlFacts } from "../native-nvml.js";
import type { StateReader } from "./cuda-state.js";

/** NVML's codes for what stands against peer access, as `nvidia-smi topo -p2p` prints them. */
const CODES: Readonly<Record<string, string>> = {
  CNS: "the chipset does not support it",
  GNS: "the GPU does not support it, as many of the consumer and workstation models do not",
  TNS: "the topology does not support it: no path over PCIe or NVLink that both may use",
  DR: "it is turned off by a setting of the driver (registry key)",
  NS: "it is not supported",
  U: "NVML does not know why",
};

/**
 * Why a GPU may not access the memory of another: NVML's reason in words, what else is known to stand against it, and where
 * to look next.
 */
export function noPeerReason(reader: StateReader, from: GpuInfo, to: GpuInfo): string {
  const denied = `the driver does not let GPU ${from.index} access the memory of GPU ${to.index}`;
  const found = [codes(reader, from.index, to.index), ...causes(reader, [from, to])].filter(
    (cause) => cause !== "",
  );
  return `${denied}${found.map((cause) => `; ${cause}`).join("")}; look at nvidia-smi topo -p2p r`;
}

function codes(reader: StateReader, from: number, to: number): string {
  const pair = reader.pair(from, to);
  if (typeof pair === "string") return `NVML cannot say why (${pair})`;
  const said = ([pair.read, pair.write] as const).filter((code) => code !== null && code !== "OK");
  const code = said[0];
  if (code == null) {
    const silent = pair.missing.read ?? pair.missing.write;
    return silent === undefined
      ? "NVML sees nothing that stands against it"
      : `NVML cannot say why (${silent})`;
  }
  return `NVML says ${code}: ${CODES[code] ?? "a reason without a name"}`;
}

/** Facts of either GPU that are known to prevent peer access, each with what to do. */
function causes(reader: StateReader, gpus: readonly GpuInfo[]): string[] {
  return gpus.flatMap(({ index, memoryBytes }) => {
    const facts = reader.facts(index);
    if (typeof facts === "string") return [];
    return [...modes(index, facts), ...bar(index, memoryBytes, facts)];
  });
}

function modes(gpu: number, facts: NvmlFacts): string[] {
  const told: string[] = [];
  if (facts.mig) told.push(`GPU ${gpu} is in MIG mode, and slices have no peer access`);
  const waits = facts.fabric === "not-started" || facts.fabric === "in-progress";
  if (waits || facts.fabric?.startsWith("failed")) {
    told.push(
      `GPU ${gpu} is not registered with the NVSwitch fabric (${facts.fabric}): see systemctl status nvidia-fabricmanager, whose version must be the driver's`,
    );
  }
  if (facts.virtualization === "vgpu") told.push(`GPU ${gpu} is a vGPU, for which the host decides`);
  if (facts.virtualization === "pass-through")
    told.push(`GPU ${gpu} is passed into a virtual machine, which may hide the way to its peers`);
  return told;
}

/** Without NVLink peers see each other's memory through BAR1, all of it or nothing. */
function bar(gpu: number, memoryBytes: number, facts: NvmlFacts): string[] {
  const linked = facts.links.some((link) => link.active);
  if (linked || facts.bar1Bytes === null || facts.bar1Bytes >= memoryBytes) return [];
  const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
  return [
    `BAR1 of GPU ${gpu} is ${mib(facts.bar1Bytes)} for ${mib(memoryBytes)} of memory: turn on Above 4G Decoding and Resizable BAR in the firmware`,
  ];
}
