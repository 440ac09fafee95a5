/** What the driver answers, of CUDA and NVML: asked in a process that can be ended, or read from a snapshot. */
import type {
  NvmlFacts,
  NvmlLibrary,
  NvmlLink,
  NvmlLinkCounters,
  NvmlPair,
  NvmlState,
} from "../native-nvml.js";
import { printable } from "./root.js";

export interface CudaLibrary {
  /** Null where nobody asked, or no answer came. */
  readonly available: boolean | null;
  /** Why not; null when available. */
  readonly reason: string | null;
  /** CUDA version of the driver, such as 13000 for 13.0. */
  readonly version: number | null;
  readonly path: string | null;
}

/** A GPU as CUDA shows it, and what NVML tells of it. */
export interface DriverGpu {
  /** Null where only its place is known. */
  readonly uuid: string | null;
  readonly name: string;
  readonly pci: string;
  readonly memoryBytes: number | null;
  readonly computeCapability: string | null;
  /** Whether it has the kernel's interface that nvidia-peermem uses; null where the driver does not tell. */
  readonly gpuDirectRdma: boolean | null;
  /** Whether its memory can be handed on as a DMA-BUF; null where the driver does not tell. */
  readonly dmaBuf: boolean | null;
  readonly facts: NvmlFacts | null;
  readonly state: NvmlState | null;
  /** Why NVML tells nothing of it; null where it does. */
  readonly reason: string | null;
}

/** An ordered pair by places in {@link DriverAnswers.gpus}. */
export interface DriverPair {
  readonly from: number;
  readonly to: number;
  readonly access: boolean | null;
  readonly nativeAtomics: boolean | null;
  readonly nvml: NvmlPair | null;
  readonly reason: string | null;
}

export interface DriverAnswers {
  readonly cuda: CudaLibrary;
  readonly nvml: Omit<NvmlLibrary, "available"> & Pick<CudaLibrary, "available">;
  /** Every GPU that CUDA can show, whatever CUDA_VISIBLE_DEVICES says, by PCI address. */
  readonly gpus: readonly DriverGpu[];
  readonly pairs: readonly DriverPair[];
  /** UUIDs in the order in which programs started here number the GPUs; null where the driver was not asked. */
  readonly visible: readonly string[] | null;
  /** Why the answers break off, such as a call that did not return; null where they do not. */
  readonly brokenOff: string | null;
}

/** Answers of a driver that was not asked. */
export function noAnswers(reason: string): DriverAnswers {
  return {
    cuda: { available: null, reason, version: null, path: null },
    nvml: { available: null, reason, version: null, driverVersion: null, path: null },
    gpus: [],
    pairs: [],
    visible: null,
    brokenOff: null,
  };
}

type Json = Readonly<Record<string, unknown>>;

const UNTOLD = "the snapshot does not tell";

/** Makes answers of whatever a snapshot holds: what is missing or of another kind is null, with a reason where there is a place for one. */
export function answersOf(value: unknown): DriverAnswers {
  const json = objectOf(value);
  const none = noAnswers(UNTOLD);
  const cuda = objectOf(json.cuda);
  const nvml = objectOf(json.nvml);
  const gpus = listOf(json.gpus).map((gpu) => gpuOf(objectOf(gpu)));
  return {
    cuda: {
      available: flag(cuda.available),
      reason: cuda.available === true ? null : (text(cuda.reason) ?? UNTOLD),
      version: number(cuda.version),
      path: text(cuda.path),
    },
    nvml: {
      ...none.nvml,
      available: flag(nvml.available),
      reason: nvml.available === true ? null : (text(nvml.reason) ?? UNTOLD),
      version: text(nvml.version),
      driverVersion: text(nvml.driverVersion),
    },
    gpus,
    pairs: listOf(json.pairs)
      .map((pair) => pairOf(objectOf(pair)))
      .filter(({ from, to }) => from !== to && gpus[from] !== undefined && gpus[to] !== undefined),
    visible: Array.isArray(json.visible) ? json.visible.flatMap((uuid) => text(uuid) ?? []) : null,
    brokenOff: text(json.brokenOff),
  };
}

function gpuOf(json: Json): DriverGpu {
  const facts = isObject(json.facts) ? factsOf(json.facts) : null;
  const state = isObject(json.state) ? stateOf(json.state) : null;
  return {
    uuid: text(json.uuid),
    name: text(json.name) ?? "GPU",
    pci: (text(json.pci) ?? "").toLowerCase(),
    memoryBytes: number(json.memoryBytes),
    computeCapability: text(json.computeCapability),
    gpuDirectRdma: flag(json.gpuDirectRdma),
    dmaBuf: flag(json.dmaBuf),
    facts,
    state,
    reason: facts === null ? (text(json.reason) ?? UNTOLD) : text(json.reason),
  };
}

function factsOf(json: Json): NvmlFacts {
  const joinedBy = text(json.joinedBy);
  return {
    joinedBy: joinedBy === "mig-parent" || joinedBy === "pci" ? joinedBy : "uuid",
    ...fieldsOf(json, {
      pci: text,
      maxSmClockMhz: number,
      maxMemoryClockMhz: number,
      powerLimitW: number,
      maxPcieGeneration: number,
      maxPcieWidth: number,
      persistence: flag,
      computeMode: text,
      mig: flag,
      ecc: flag,
      bar1Bytes: number,
      displayActive: flag,
      virtualization: text,
      fabric: text,
      linkCount: number,
    }),
    links: listOf(json.links).map((link, i): NvmlLink => {
      const own = objectOf(link);
      return {
        link: number(own.link) ?? i,
        ...fieldsOf(own, {
          active: flag,
          version: number,
          speedMBps: number,
          remoteType: text,
          remotePci: text,
        }),
      };
    }),
  };
}

function stateOf(json: Json): NvmlState {
  return {
    ...fieldsOf(json, {
      smClockMhz: number,
      memoryClockMhz: number,
      pcieGeneration: number,
      pcieWidth: number,
      performanceState: number,
      events: words,
      temperatureC: number,
      powerW: number,
      pcieReplays: number,
      pcieTxBytes: number,
      pcieRxBytes: number,
      eccUncorrected: number,
      processes: processesOf,
    }),
    links: listOf(json.links).map((link, i): NvmlLinkCounters => {
      const own = objectOf(link);
      return {
        link: number(own.link) ?? i,
        ...fieldsOf(own, {
          active: flag,
          replayErrors: number,
          recoveryErrors: number,
          crcErrors: number,
          receiveErrors: number,
          txBytes: number,
          rxBytes: number,
        }),
      };
    }),
  };
}

function pairOf(json: Json): DriverPair {
  const nvml = isObject(json.nvml)
    ? fieldsOf(json.nvml, {
        read: text,
        write: text,
        nvlink: text,
        atomics: text,
        pci: text,
        commonAncestor: text,
      })
    : null;
  return {
    from: number(json.from) ?? -1,
    to: number(json.to) ?? -1,
    access: flag(json.access),
    nativeAtomics: flag(json.nativeAtomics),
    nvml,
    reason: nvml === null ? (text(json.reason) ?? UNTOLD) : null,
  };
}

/** Each field by its reader; the reason for a null is the snapshot's own where it gives one. */
function fieldsOf<T extends Readonly<Record<string, (value: unknown) => unknown>>>(
  json: Json,
  readers: T,
): { readonly [K in keyof T]: ReturnType<T[K]> } & { readonly missing: Readonly<Record<string, string>> } {
  const told = objectOf(json.missing);
  const missing: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  for (const [name, read] of Object.entries(readers)) {
    values[name] = read(json[name]);
    if (values[name] === null) missing[name] = text(told[name]) ?? UNTOLD;
  }
  return { ...values, missing } as never;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectOf(value: unknown): Json {
  return isObject(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, 4096) : [];
}

function text(value: unknown): string | null {
  return typeof value === "string" ? printable(value) : null;
}

function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function flag(value: unknown): boolean | null {
  return typeof value === "boolean" ? value : null;
}

function words(value: unknown): string[] | null {
  return Array.isArray(value) ? value.flatMap((word) => text(word) ?? []) : null;
}

function processesOf(value: unknown): NvmlState["processes"] {
  if (!Array.isArray(value)) return null;
  return value.map((one) => {
    const own = objectOf(one);
    return { pid: number(own.pid) ?? 0, memoryBytes: number(own.memoryBytes), own: own.own === true };
  });
}
