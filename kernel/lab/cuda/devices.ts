import { P2pError } from "../errors.js";
import { loadAddon, type NativeAvailability, type NativeDevice, type NativePeer } from "../native.js";
import type { DeviceLimits, DeviceMemoryInfo } from "../native-binding.js";
import { call } from "./addon.js";

/** Whether CUDA, CUPTI, NVRTC and NVML can be used here, and why not. Never throws. */
export function availability(): NativeAvailability {
  try {
    return loadAddon().availability();
  } catch (error) {
    const reason = error instanceof P2pError ? `${error.message} ${error.hint}` : String(error);
    const library = { available: false, reason, version: null, path: null };
    const nvml = { ...library, driverVersion: null };
    return { cuda: library, cupti: library, nvrtc: library, nvml, deviceCount: 0, kernelModule: null };
  }
}

/** The GPUs the driver shows, by CUDA ordinal. */
export function devices(): NativeDevice[] {
  return call((addon) => addon.devices());
}

/** What the driver says of an ordered pair: whether `from` may access the memory of `to`, and how. */
export function peer(from: number, to: number): NativePeer {
  return call((addon) => addon.peer(from, to));
}

/** Lets `from` access the memory of `to`; true when it was enabled now, false when it already was. */
export function enablePeer(from: number, to: number): boolean {
  return call((addon) => addon.enablePeer(from, to));
}

/** Takes peer access back, once work in flight is done; true when it was disabled now, false when it already was. */
export function disablePeer(from: number, to: number): boolean {
  return call((addon) => addon.disablePeer(from, to));
}

/** How large grids, blocks and shared memory may be on a GPU. */
export function limits(gpu = 0): DeviceLimits {
  return call((addon) => addon.limits(gpu));
}

/** How much memory of a GPU is free, over all processes. */
export function memory(gpu = 0): DeviceMemoryInfo {
  return call((addon) => addon.memory(gpu));
}
