import { arch, cpus, release, type } from "node:os";
import type { MachineInfo, PairInfo } from "../machine.js";
import type { NativeAddon, NativeAvailability, NativeDevice } from "../native.js";

/** What a machine says of itself, from what the addon finds. */
export function infoOf(addon: NativeAddon, availability: NativeAvailability): MachineInfo {
  const devices = addon.devices();
  return {
    name: nameOf(devices),
    gpus: devices.map((device) => ({
      index: device.index,
      name: device.name,
      memoryBytes: device.memoryBytes,
      computeCapability: `${device.computeMajor}.${device.computeMinor}`,
      pci: device.pci,
      copyEngines: device.copyEngines,
    })),
    pairs: devices.flatMap((a) => devices.filter((b) => b !== a).map((b) => pairOf(addon, a.index, b.index))),
    facts: factsOf(addon, availability),
  };
}

export function pairOf(addon: NativeAddon, from: number, to: number): PairInfo {
  const { access, nativeAtomics } = addon.peer(from, to);
  return {
    from,
    to,
    peerAccess: access,
    nativeAtomics,
    link: null,
    rawGbps: null,
    reason: access ? null : `the driver does not let GPU ${from} access the memory of GPU ${to}`,
  };
}

/** `2 × NVIDIA H200`; different models joined by `+`. */
function nameOf(devices: readonly NativeDevice[]): string {
  const counts = new Map<string, number>();
  for (const { name } of devices) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${count} × ${name}`).join(" + ");
}

function factsOf(addon: NativeAddon, availability: NativeAvailability): MachineInfo["facts"] {
  const { cuda, cupti, kernelModule } = availability;
  const clock = addon.clock();
  return {
    driver: /\s(\d+\.\d+(?:\.\d+)?)\s/.exec(kernelModule ?? "")?.[1] ?? null,
    kernel_module: kernelModule,
    cuda_version:
      cuda.version === null
        ? null
        : `${Math.floor(cuda.version / 1000)}.${Math.floor((cuda.version % 1000) / 10)}`,
    cupti: cupti.available ? (cupti.path ?? "found") : `none: ${cupti.reason}`,
    clock: clock.name,
    clock_resolution_ns: clock.resolutionNs,
    clock_cost_ns: clock.costNs,
    operating_system: `${type()} ${release()} ${arch()}`,
    cpu: cpus()[0]?.model ?? null,
  };
}

/** A profiler that is injected into the process slows every driver call, and the samples would not tell. */
export function profilerWarnings(): string[] {
  const injected = ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"].filter((name) => process.env[name]);
  return injected.length > 0 ? [`profiled: a profiler is attached (${injected.join(", ")} is set)`] : [];
}
