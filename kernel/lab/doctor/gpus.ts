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
  // In a container, /proc may show the GPUs of the whole machine: those that are not passed in are none of this one's.
  const served = new Map((files.software.moduleGpus ?? []).map((gpu) => [gpu.pci, gpu]));
  return [...new Set([...devices.keys(), ...shown.keys()])].sort(byAddress).map((address, index) => {
    const own = shown.get(address) ?? null;
    const model = served.get(address);
    const ordinal = own === null || driver.visible === null ? -1 : driver.visible.indexOf(own.uuid);
    return {
      index,
      name: own?.name ?? model?.model ?? `NVIDIA GPU ${devices.get(address)?.device ?? ""}`.trim(),
      uuid: own?.uuid ?? model?.uuid ?? null,
      pci: address.startsWith("?") ? null : address,
      memoryBytes: own?.memoryBytes ?? null,
      cudaOrdinal: ordinal < 0 ? null : ordinal,
      device: devices.get(address) ?? null,
      driver: own,
      loaded: (own && loaded.get(own.uuid)) ?? null,
    };
  });
}

/** Addresses of one length compare as text; a longer domain number comes later. */
function byAddress(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : 1);
}
