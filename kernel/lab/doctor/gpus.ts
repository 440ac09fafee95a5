/** GPUs as sysfs, the kernel module and the driver show them, joined by PCI address: never by number. */
import type { DriverAnswers, DriverGpu } from "./driver.js";
import type { FileFacts, GpuFacts, LoadedLink } from "./facts.js";

/** @param loaded by UUID, what was seen while bytes moved. */
export function joinGpus(
  files: FileFacts,
  driver: DriverAnswers,
  loaded: ReadonlyMap<string, LoadedLink>,
): GpuFacts[] {
  const devices = new Map(
    files.pci.devices.filter((device) => device.kind === "gpu").map((device) => [device.address, device]),
  );
  const shown = new Map<string, DriverGpu>();
  for (const [place, gpu] of driver.gpus.entries()) shown.set(gpu.pci || `?${place}`, gpu);
  const served = new Map((files.software.moduleGpus ?? []).map((gpu) => [gpu.pci, gpu]));
  return addressesOf(files, driver, devices, shown).map((address, index) => {
    const own = shown.get(address) ?? null;
    const model = served.get(address);
    const ordinal = own?.uuid == null || driver.visible === null ? -1 : driver.visible.indexOf(own.uuid);
    return {
      index,
      name: own?.name ?? model?.model ?? `NVIDIA GPU ${devices.get(address)?.device ?? ""}`.trim(),
      uuid: own?.uuid ?? model?.uuid ?? null,
      pci: address.startsWith("?") ? null : address,
      memoryBytes: own?.memoryBytes ?? null,
      cudaOrdinal: ordinal < 0 ? null : ordinal,
      device: devices.get(address) ?? null,
      driver: own,
      loaded: loaded.get(own?.uuid ?? "") ?? null,
    };
  });
}

/** Whether nothing was seen of it but at rest, when a link runs slower than it can. */
export function rests({ loaded, driver }: GpuFacts): boolean {
  const state = driver?.state;
  if (loaded?.generation != null) return false;
  return state == null || (state.events?.includes("gpu_idle") ?? false) || (state.performanceState ?? 0) > 2;
}

/**
 * GPUs in the order of nvidia-smi's numbers: those that the driver shows, by address, then those that it does not. In a container
 * sysfs shows the GPUs of the whole machine: those that are not passed in are none of its own.
 */
function addressesOf(
  files: FileFacts,
  driver: DriverAnswers,
  devices: ReadonlyMap<string, unknown>,
  shown: ReadonlyMap<string, DriverGpu>,
): string[] {
  const all = [...new Set([...devices.keys(), ...shown.keys()])].sort(byAddress);
  // MIG: CUDA shows one instance at a time, nvidia-smi every GPU.
  if (shown.size === 0 || driver.gpus.some((gpu) => gpu.facts?.mig)) return all;
  const own = all.filter((address) => shown.has(address));
  const others = files.surroundings.container ? [] : all.filter((address) => !shown.has(address));
  return [...own, ...others];
}

/** Addresses of one length compare as text; a longer domain number comes later. */
function byAddress(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : 1);
}
