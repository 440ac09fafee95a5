import { arch, cpus, release, type } from "node:os";
import type { GpuInfo, MachineInfo, PairInfo } from "../machine.js";
import type { NativeAddon, NativeAvailability, NativeDevice } from "../native.js";
import type { NvmlFacts } from "../native-nvml.js";
import { linkOf } from "./cuda-links.js";
import { noPeerReason } from "./cuda-no-peer.js";
import type { StateReader } from "./cuda-state.js";

/** What a machine says of itself, from what the addon finds. */
export function infoOf(
  addon: NativeAddon,
  availability: NativeAvailability,
  reader: StateReader,
): MachineInfo {
  const devices = addon.devices();
  const gpus = devices.map((device) => ({
    index: device.index,
    name: device.name,
    memoryBytes: device.memoryBytes,
    computeCapability: `${device.computeMajor}.${device.computeMinor}`,
    pci: device.pci,
    copyEngines: device.copyEngines,
  }));
  const pairs = gpus.flatMap((a) => gpus.filter((b) => b !== a).map((b) => pairOf(addon, reader, a, b)));
  return { name: nameOf(devices, pairs), gpus, pairs, facts: factsOf(addon, availability, reader) };
}

function pairOf(addon: NativeAddon, reader: StateReader, from: GpuInfo, to: GpuInfo): PairInfo {
  const { access, nativeAtomics } = addon.peer(from.index, to.index);
  return {
    from: from.index,
    to: to.index,
    peerAccess: access,
    nativeAtomics,
    ...linkOf(reader, from.index, to.index),
    reason: access ? null : noPeerReason(reader, from, to),
  };
}

/** `2 × NVIDIA H200 (NV18)`; different models joined by `+`; the class of the link where all pairs share it. */
function nameOf(devices: readonly NativeDevice[], pairs: readonly PairInfo[]): string {
  const counts = new Map<string, number>();
  for (const { name } of devices) counts.set(name, (counts.get(name) ?? 0) + 1);
  const models = [...counts].map(([name, count]) => `${count} × ${name}`).join(" + ");
  const links = new Set(pairs.map((pair) => pair.link));
  const [link] = links;
  return links.size === 1 && link !== null ? `${models} (${link})` : models;
}

function factsOf(
  addon: NativeAddon,
  availability: NativeAvailability,
  reader: StateReader,
): MachineInfo["facts"] {
  const { cuda, cupti, nvml, kernelModule } = availability;
  const clock = addon.clock();
  return {
    driver: /\s(\d+\.\d+(?:\.\d+)?)\s/.exec(kernelModule ?? "")?.[1] ?? nvml.driverVersion,
    kernel_module: kernelModule,
    cuda_version:
      cuda.version === null
        ? null
        : `${Math.floor(cuda.version / 1000)}.${Math.floor((cuda.version % 1000) / 10)}`,
    cupti: cupti.available ? (cupti.path ?? "found") : `none: ${cupti.reason}`,
    nvml: nvml.available ? (nvml.version ?? "found") : `none: ${nvml.reason}`,
    ...gpuFacts(reader, availability.deviceCount),
    clock: clock.name,
    clock_resolution_ns: clock.resolutionNs,
    clock_cost_ns: clock.costNs,
    operating_system: `${type()} ${release()} ${arch()}`,
    cpu: cpus()[0]?.model ?? null,
  };
}

/** How the GPUs are set up, as far as it bears on transfers: one value where all agree, otherwise one for each GPU. */
function gpuFacts(reader: StateReader, count: number): MachineInfo["facts"] {
  const all = Array.from({ length: count }, (_, gpu) => reader.facts(gpu));
  const shared = (read: (facts: NvmlFacts) => string | number | null) => {
    const values = all.map((facts) => (typeof facts === "string" ? null : read(facts)));
    if (new Set(values).size <= 1) return values[0] ?? null;
    return values.map((value, gpu) => `GPU ${gpu} ${value ?? "unknown"}`).join(", ");
  };
  const mode = (on: boolean | null) => (on === null ? null : on ? "on" : "off");
  return {
    virtualization: shared((facts) => facts.virtualization),
    persistence: shared((facts) => mode(facts.persistence)),
    compute_mode: shared((facts) => facts.computeMode),
    mig: shared((facts) => mode(facts.mig)),
    ecc: shared((facts) => mode(facts.ecc)),
    bar1_bytes: shared((facts) => facts.bar1Bytes),
    nvswitch_fabric: shared((facts) => facts.fabric),
    display: shared((facts) => mode(facts.displayActive)),
    sm_clock_max_mhz: shared((facts) => facts.maxSmClockMhz),
    memory_clock_max_mhz: shared((facts) => facts.maxMemoryClockMhz),
    power_limit_w: shared((facts) => facts.powerLimitW),
  };
}
