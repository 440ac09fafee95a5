/** What was found out about a machine, before anybody judges it. Every value that is not known is null, with its reason beside it. */
import type { Provenance } from "../machine.js";
import type { Description } from "../topology/description.js";
import type { Verdict } from "../verdict.js";
import type { CudaLibrary, DriverGpu, DriverPair } from "./driver.js";
import type { HostFacts } from "./host.js";
import type { KernelLogFacts } from "./kernel-log.js";
import type { Nic } from "./nics.js";
import type { PciDevice, PciFacts } from "./pcie.js";
import type { SoftwareFacts } from "./software.js";
import type { SurroundingsFacts } from "./surroundings.js";

/** What the files of a machine tell. */
export interface FileFacts {
  readonly pci: PciFacts;
  readonly nics: readonly Nic[];
  readonly host: HostFacts;
  readonly software: SoftwareFacts;
  readonly surroundings: SurroundingsFacts;
  readonly log: KernelLogFacts;
}

/** What was seen of a GPU's PCIe link while bytes moved. */
export interface LoadedLink {
  readonly generation: number | null;
  readonly width: number | null;
}

export interface GpuFacts {
  /** As nvidia-smi counts: by PCI address; those that the driver does not show come last. */
  readonly index: number;
  readonly name: string;
  readonly uuid: string | null;
  readonly pci: string | null;
  readonly memoryBytes: number | null;
  /** Number that CUDA programs started here know it by; null where they do not see it. */
  readonly cudaOrdinal: number | null;
  /** Its PCI function; null where sysfs does not show it. */
  readonly device: PciDevice | null;
  /** What the driver tells; null where the driver does not show it. */
  readonly driver: DriverGpu | null;
  readonly loaded: LoadedLink | null;
}

/** How peer traffic over PCIe is routed between two GPUs, by the ACS bits of every port on its way. */
export interface PairRouting {
  readonly acs: "direct" | "redirected" | "unknown";
  /** Ports that redirect, or that could not be read. */
  readonly ports: readonly string[];
  /** Why it is unknown; null otherwise. */
  readonly reason: string | null;
}

export interface PairFacts {
  readonly from: number;
  readonly to: number;
  /** Class of the way, as `nvidia-smi topo -m` names it; null where it, or whether there are NVLinks, is unknown. */
  readonly link: string | null;
  /** Class of the PCIe way alone; null where unknown. */
  readonly pcie: string | null;
  readonly routing: PairRouting;
  readonly driver: DriverPair | null;
}

export interface LadderFacts {
  readonly verdicts: readonly Verdict[];
  /** Cells (pair and allocator) that were not asked about. */
  readonly unasked: number;
  /** Why there are none, or not all; null otherwise. */
  readonly reason: string | null;
}

/** Whence facts are: the machine itself, a snapshot of it, or only what an opened machine tells. */
export type Basis = "machine" | "snapshot" | "recording" | "model";

export interface MachineFacts extends FileFacts {
  readonly basis: Basis;
  readonly provenance: Provenance;
  readonly gpus: readonly GpuFacts[];
  readonly pairs: readonly PairFacts[];
  readonly driver: {
    readonly cuda: CudaLibrary;
    readonly nvml: { readonly available: boolean | null; readonly reason: string | null };
    /** Version of the driver's libraries as NVML tells it. */
    readonly version: string | null;
    readonly brokenOff: string | null;
    /** Whether it is known which GPUs programs started here see, and under which numbers. */
    readonly numbered: boolean;
  };
  readonly ladder: LadderFacts;
  /** What is joined to what; null without a GPU. */
  readonly topology: Description | null;
  /** What could not be looked at within its deadline, a sentence each. */
  readonly late: readonly string[];
}
