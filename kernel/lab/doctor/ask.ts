/** Asks the driver, in a process that its parent can end: any of these calls may never return on a machine in trouble. */
import { messageOf } from "../errors.js";
import { loadAddon, type NativeAddon } from "../native.js";
import type { NvmlClocks } from "../native-nvml.js";
import type { DriverAnswers, DriverGpu, DriverPair } from "./driver.js";

/** What is known before the next call is made; the parent keeps it when that call does not return. */
export type Part = Partial<Pick<DriverAnswers, "cuda" | "nvml" | "gpus" | "pairs">>;

/** Said before each call that may hang. */
export interface Step {
  /** What is asked, for the reader. */
  readonly step: string;
  readonly part: Part;
}

/** Every GPU there is, numbered by PCI address. Must be called before anything else loads the driver. */
export function showAllGpus(): void {
  delete process.env.CUDA_VISIBLE_DEVICES;
  process.env.CUDA_DEVICE_ORDER = "PCI_BUS_ID";
}

export function askDriver(say: (step: Step) => void): Part {
  say({ step: "loading the addon", part: {} });
  const addon = loadAddon();
  say({ step: "starting CUDA and NVML", part: {} });
  const { cuda, nvml } = addon.availability();
  const part: Part = { cuda, nvml };
  if (!cuda.available) return part;
  say({ step: "listing the GPUs", part });
  const gpus = addon.devices().map(
    (device): DriverGpu => ({
      uuid: device.uuid,
      name: device.name,
      pci: device.pci,
      memoryBytes: device.memoryBytes,
      computeCapability: `${device.computeMajor}.${device.computeMinor}`,
      gpuDirectRdma: device.gpuDirectRdma,
      dmaBuf: device.dmaBuf,
      facts: null,
      state: null,
      reason: "NVML was not asked",
    }),
  );
  for (const place of gpus.keys()) {
    say({ step: `asking NVML about GPU ${place}`, part: { ...part, gpus } });
    gpus[place] = { ...(gpus[place] as DriverGpu), ...nvmlOf(addon, place) };
  }
  say({ step: "asking about the pairs", part: { ...part, gpus } });
  const pairs = gpus.flatMap((_, from) =>
    gpus.flatMap((_, to) => (from === to ? [] : [pairOf(addon, from, to)])),
  );
  return { ...part, gpus, pairs };
}

function nvmlOf(addon: NativeAddon, place: number): Pick<DriverGpu, "facts" | "state" | "reason"> {
  try {
    return { facts: addon.nvmlFacts(place), state: addon.nvmlState(place), reason: null };
  } catch (error) {
    return { facts: null, state: null, reason: messageOf(error) };
  }
}

function pairOf(addon: NativeAddon, from: number, to: number): DriverPair {
  const { value: peer } = tried(() => addon.peer(from, to));
  const nvml = tried(() => addon.nvmlPair(from, to));
  return {
    from,
    to,
    access: peer?.access ?? null,
    nativeAtomics: peer?.nativeAtomics ?? null,
    nvml: nvml.value,
    reason: nvml.reason,
  };
}

function tried<T>(call: () => T): { value: T | null; reason: string | null } {
  try {
    return { value: call(), reason: null };
  } catch (error) {
    return { value: null, reason: messageOf(error) };
  }
}

/** UUIDs in the order in which this process numbers the GPUs. */
export function visibleGpus(): string[] {
  const addon = loadAddon();
  return addon.availability().cuda.available ? addon.devices().map((device) => device.uuid) : [];
}

/** Clocks and PCIe links of every GPU at this moment; null where NVML does not tell. */
export function clocksNow(): (NvmlClocks | null)[] {
  const addon = loadAddon();
  return addon.devices().map(({ index }) => tried(() => addon.nvmlClocks(index)).value);
}
