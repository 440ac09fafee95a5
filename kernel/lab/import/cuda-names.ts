/** How NVIDIA's profilers number and name what they record. */
import type { CopyKind } from "../timeline.js";

/** CUPTI's `CUpti_ActivityMemcpyKind`; Nsight Systems numbers copies alike. */
const COPY_KINDS: Readonly<Record<number, CopyKind>> = {
  1: "HtoD",
  2: "DtoH",
  3: "HtoA",
  4: "AtoH",
  5: "AtoA",
  6: "AtoD",
  7: "DtoA",
  8: "DtoD",
  9: "HtoH",
  10: "PtoP",
  11: "UVM HtoD",
  12: "UVM DtoH",
  13: "UVM DtoD",
};

/** CUPTI's `CUpti_ActivityMemoryKind`; Nsight Systems counts from pageable = 0. */
const MEMORY_KINDS: readonly string[] = [
  "Unknown",
  "Pageable",
  "Pinned",
  "Device",
  "Array",
  "Managed",
  "Device static",
  "Managed static",
];

/** CUPTI's `CUpti_ActivityOverheadKind`, in the numbering of Nsight Systems. */
const OVERHEADS: readonly string[] = [
  "undefined overhead",
  "unknown overhead",
  "driver JIT compiler",
  "profiler buffer flush",
  "profiler instrumentation",
  "profiler resources",
  "runtime module loading",
  "lazy function loading",
  "command buffer full",
];

/** Null for a number that no version defines. */
export function copyKindOf(number: number): CopyKind | null {
  return COPY_KINDS[number] ?? null;
}

/** Such as `Pageable → Device`; null where neither end is known. Numbers as CUPTI has them. */
export function memoryOf(source: number, destination: number): string | null {
  return MEMORIES.get(source * MEMORY_KINDS.length + destination) ?? null;
}

/** All pairs, each made once. */
const MEMORIES: ReadonlyMap<number, string> = new Map(
  MEMORY_KINDS.flatMap((from, source) =>
    MEMORY_KINDS.flatMap((to, destination): [number, string][] =>
      source === 0 && destination === 0
        ? []
        : [[source * MEMORY_KINDS.length + destination, `${from} → ${to}`]],
    ),
  ),
);

/**
 * GPU that a copy reads and the one that it writes, -1 for the host: peer copies say it; of the others the kind and the GPU
 * of the stream tell.
 */
export function endsOf(
  kind: CopyKind | null,
  device: number,
  from: number,
  to: number,
): { readonly from: number; readonly to: number } {
  if (kind === null) return { from: -1, to: -1 };
  if (kind === "PtoP") return { from, to };
  const ends = kind.startsWith("UVM ") ? kind.slice(4) : kind;
  return { from: ends[0] === "H" ? -1 : device, to: ends[3] === "H" ? -1 : device };
}

export function overheadName(type: number): string {
  return OVERHEADS[type] ?? `overhead ${type}`;
}

/**
 * The name of a call without what tells versions of its interface apart: `cudaMemcpyAsync_v3020` and
 * `cudaMemcpyAsync_ptsz_v7000` are `cudaMemcpyAsync`. The `_v2` of driver calls goes too.
 */
export function apiName(name: string): string {
  return name.replace(/(?:_v\d+|_ptsz|_ptds)+$/, "");
}

/** Whether a call returns only when work on a GPU is done; `cudaStreamWaitEvent` makes a stream wait, not the host. */
export function isHostSync(name: string): boolean {
  return /^(?:cuda|cu|hip)(?:Device|Stream|Event|Ctx|Context|Thread)Synchronize$/.test(name);
}
