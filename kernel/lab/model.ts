/** What only a model of a machine can be asked: other machines, and collectives of any size. */
import { P2pError } from "./errors.js";

/** What is changed of a machine; what is left out stays as it is. */
export interface Change {
  /** NVLinks of each bundle; 0 takes NVLink away, so that peers go over PCIe. */
  readonly nvlinks?: number;
  /** Lanes of each PCIe link, and its generation. */
  readonly pcieLanes?: 1 | 2 | 4 | 8 | 16;
  readonly pcieGeneration?: 3 | 4 | 5 | 6;
  /** Switches more on every way between GPUs, or GPU and host. */
  readonly extraHops?: number;
  /** Factor on all that the host takes: calls, doorbell, learning of the end. */
  readonly hostFactor?: number;
}

const CHANGES: Readonly<Record<keyof Change, (value: number) => boolean>> = {
  nvlinks: (value) => Number.isInteger(value) && value >= 0 && value <= 72,
  pcieLanes: (value) => [1, 2, 4, 8, 16].includes(value),
  pcieGeneration: (value) => [3, 4, 5, 6].includes(value),
  extraHops: (value) => Number.isInteger(value) && value >= 0 && value <= 16,
  hostFactor: (value) => value > 0 && value <= 1000,
};

/** In words, such as `nvlinks 9, hostFactor 2`. @throws P2pError `usage` for a change that makes no sense. */
export function describeChange(change: Change): string {
  if (change === null || typeof change !== "object" || Object.keys(change).length === 0) {
    throw new P2pError(
      "usage",
      "nothing is changed",
      `Give one or more of ${Object.keys(CHANGES).join(", ")}.`,
    );
  }
  for (const [name, value] of Object.entries(change)) {
    const allows = Object.hasOwn(CHANGES, name) ? CHANGES[name as keyof Change] : undefined;
    if (allows && typeof value === "number" && allows(value)) continue;
    throw new P2pError(
      "usage",
      allows ? `${name} cannot be ${value}` : `there is no change "${name}"`,
      "Use nvlinks (0 to 72), pcieLanes (1 to 16), pcieGeneration (3 to 6), extraHops (0 to 16), hostFactor (above 0).",
    );
  }
  return Object.entries(change)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

export type CollectiveOperation = "all-reduce" | "all-gather" | "reduce-scatter" | "all-to-all";
export type CollectiveAlgorithm = "ring" | "tree" | "direct";

export interface Collective {
  readonly operation: CollectiveOperation;
  readonly algorithm: CollectiveAlgorithm;
  /** GPUs in the order of their ranks. */
  readonly gpus: readonly number[];
  /** Bytes of each rank's buffer (the larger one, of gather and scatter). */
  readonly bytes: number;
}

export interface CollectiveResult {
  /** First byte sent → last rank has all it needs. */
  readonly ns: number;
  readonly messages: number;
  readonly movedBytes: number;
  readonly events: number;
  /** Highest use of a shared resource, as a share of its capacity. */
  readonly peakShare: number;
}

/** A network card and what it can do for a GPU, to a computer that looks the same. */
export interface RdmaCard {
  /** Name in the topology, such as `nic0`. */
  readonly nic: string;
  /** Class of the way between GPU and card, as nvidia-smi shows it; null where unknown. */
  readonly pciClass: string | null;
  /** A write of a few bytes from memory of the GPU into that of its peer, one way (GPUDirect RDMA), and the rate of a large one. */
  readonly gpu: { readonly latencyNs: number; readonly gbps: number };
  /** The same between page-locked memories of the hosts. */
  readonly host: { readonly latencyNs: number; readonly gbps: number };
}

/** Which algorithms there are for an operation. */
export const ALGORITHMS: Readonly<Record<CollectiveOperation, readonly CollectiveAlgorithm[]>> = {
  "all-reduce": ["ring", "tree", "direct"],
  "all-gather": ["ring", "direct"],
  "reduce-scatter": ["ring", "direct"],
  "all-to-all": ["direct"],
};

/** Messages are counted one by one: more would take minutes. */
const MOST_PAIRS = 100_000;

/** @throws P2pError `usage` for a collective that there is not. */
export function requireCollective({ operation, algorithm, gpus, bytes }: Collective): void {
  const algorithms = Object.hasOwn(ALGORITHMS, operation) ? ALGORITHMS[operation] : undefined;
  if (!algorithms) {
    throw new P2pError(
      "usage",
      `no collective "${operation}"`,
      `Use one of ${Object.keys(ALGORITHMS).join(", ")}.`,
    );
  }
  if (!algorithms.includes(algorithm)) {
    throw new P2pError("usage", `no ${operation} by "${algorithm}"`, `Use one of ${algorithms.join(", ")}.`);
  }
  const whole = Array.isArray(gpus) && gpus.every((gpu) => Number.isInteger(gpu) && gpu >= 0);
  if (!whole || gpus.length < 2 || new Set(gpus).size !== gpus.length) {
    throw new P2pError(
      "usage",
      "the ranks are not two or more different GPUs",
      "Give their numbers, each once.",
    );
  }
  if (algorithm === "direct" && gpus.length * (gpus.length - 1) > MOST_PAIRS) {
    throw new P2pError("usage", `direct over ${gpus.length} GPUs`, "Use a ring or a tree for so many.");
  }
  if (!(Number.isSafeInteger(bytes) && bytes > 0)) {
    throw new P2pError("usage", `a collective of ${bytes} bytes`, "Give a whole number above 0.");
  }
}
