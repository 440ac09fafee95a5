/** What the addon tells of NVML; part of native.ts. */

/** libnvidia-ml.so.1: loaded and initialised. */
export interface NvmlLibrary {
  readonly available: boolean;
  /** Why not, one sentence; null when available. */
  readonly reason: string | null;
  /** As the library gives it, such as `13.580.95.05`; null where unknown. */
  readonly version: string | null;
  /** Such as `580.95.05`; null where unknown. */
  readonly driverVersion: string | null;
  readonly path: string | null;
}

/** What one object of NVML does not tell: name of the null field → the call and its error. */
type Missing = Readonly<Record<string, string>>;

/** What does not change while programs run. Of a MIG slice, what NVML says of the GPU that it was cut from. */
export interface NvmlFacts {
  /** How the GPU was found among NVML's: by its UUID, as the parent of a MIG slice, or by its PCI address. */
  readonly joinedBy: "uuid" | "mig-parent" | "pci";
  readonly pci: string | null;
  readonly maxSmClockMhz: number | null;
  readonly maxMemoryClockMhz: number | null;
  readonly powerLimitW: number | null;
  /** The most that GPU and slot can do together. */
  readonly maxPcieGeneration: number | null;
  readonly maxPcieWidth: number | null;
  readonly persistence: boolean | null;
  /** `default`, `exclusive-process` or `prohibited`. */
  readonly computeMode: string | null;
  readonly mig: boolean | null;
  readonly ecc: boolean | null;
  readonly bar1Bytes: number | null;
  readonly displayActive: boolean | null;
  /** `none` (bare metal), `pass-through`, `vgpu`, `host-vgpu`, `host-vsga`. */
  readonly virtualization: string | null;
  /** Registration with the NVSwitch fabric: `not-supported`, `not-started`, `in-progress`, `completed`, `failed: NVML_ERROR_…`. */
  readonly fabric: string | null;
  /** NVLinks that the GPU has, active or not. */
  readonly linkCount: number | null;
  readonly links: readonly NvmlLink[];
  readonly missing: Missing;
}

export interface NvmlLink {
  readonly link: number;
  readonly active: boolean | null;
  /** NVLink version, such as 4. */
  readonly version: number | null;
  /** Raw signalling rate in one direction, 1e6 bytes/s. */
  readonly speedMBps: number | null;
  /** `gpu`, `switch`, `npu` or `unknown`. */
  readonly remoteType: string | null;
  readonly remotePci: string | null;
  readonly missing: Missing;
}

/** The few values that waking a GPU looks at again and again. */
export interface NvmlClocks {
  readonly smClockMhz: number | null;
  readonly memoryClockMhz: number | null;
  readonly pcieGeneration: number | null;
  readonly pcieWidth: number | null;
  /** 0 (fastest) to 15. */
  readonly performanceState: number | null;
  /** Clocks events, also called throttle reasons, that are active: `gpu_idle`, `sw_power_cap`, `hw_slowdown`, … */
  readonly events: readonly string[] | null;
  readonly missing: Missing;
}

/** What changes while programs run. Counters run on since the driver was loaded; only differences mean something. */
export interface NvmlState extends NvmlClocks {
  readonly temperatureC: number | null;
  readonly powerW: number | null;
  readonly pcieReplays: number | null;
  /** May wrap. */
  readonly pcieTxBytes: number | null;
  readonly pcieRxBytes: number | null;
  readonly eccUncorrected: number | null;
  /** Processes with a compute context on the GPU; `own` is this one. */
  readonly processes:
    | readonly { readonly pid: number; readonly memoryBytes: number | null; readonly own: boolean }[]
    | null;
  readonly links: readonly NvmlLinkCounters[];
}

export interface NvmlLinkCounters {
  readonly link: number;
  readonly active: boolean | null;
  readonly replayErrors: number | null;
  readonly recoveryErrors: number | null;
  readonly crcErrors: number | null;
  /** Packets received with errors; NVLink 5 counts these. */
  readonly receiveErrors: number | null;
  readonly txBytes: number | null;
  readonly rxBytes: number | null;
  readonly missing: Missing;
}

/**
 * An ordered pair of GPUs. Each status is what `nvidia-smi topo -p2p` prints: `OK`, `CNS` (chipset), `GNS` (GPU), `TNS`
 * (topology), `DR` (disabled by registry key), `NS` (not supported), `U` (unknown).
 */
export interface NvmlPair {
  readonly read: string | null;
  readonly write: string | null;
  readonly nvlink: string | null;
  readonly atomics: string | null;
  readonly pci: string | null;
  /** Where the PCIe paths of both meet: `internal`, `single`, `multiple`, `hostbridge`, `node` or `system`. */
  readonly commonAncestor: string | null;
  readonly missing: Missing;
}

/** NVML, all of it optional. Each throws `not-available` when there is no NVML or it does not know the GPU. */
export interface NativeNvml {
  /** Costly: read once. */
  nvmlFacts(gpu: number): NvmlFacts;
  /** For before and after each measurement. */
  nvmlState(gpu: number): NvmlState;
  /** The same off the event loop: the counters of many links take tens of milliseconds. */
  nvmlStateLater(gpu: number): Promise<NvmlState>;
  /** The cheapest part of the state. */
  nvmlClocks(gpu: number): NvmlClocks;
  nvmlPair(from: number, to: number): NvmlPair;
}
