import { P2pError, shown } from "../../errors.js";
import type { Machine, RunMode } from "../../machine.js";
import { PATHS, transfer } from "../../measure/transfer.js";
import type { SetupKind } from "../../operations.js";
import { type Program, program } from "../../program.js";
import type { SamplingOptions } from "../../sampling.js";
import { parseBytes } from "../../units.js";

/** Programs that a baseline may hold: one-shot latency, rate back to back, and the host's set-up calls. */
export const PROGRAM_SETS = ["latency", "bandwidth", "setup"] as const;
export type ProgramSet = (typeof PROGRAM_SETS)[number];

/** What is measured again and again: a program in a mode. */
export interface GateCell {
  readonly program: Program;
  readonly mode: RunMode;
}

const LATENCY_BYTES = ["8 B", "4 KiB", "64 KiB", "1 MiB", "16 MiB"].map(parseBytes);
const BANDWIDTH_BYTES = parseBytes("16 MiB");
const SETUP_BYTES = parseBytes("1 MiB");
/** Calls that a program makes before its first transfer. */
const SETUP: readonly SetupKind[] = [
  "malloc",
  "host-malloc",
  "host-register",
  "peer-enable",
  "event-create",
  "stream-create",
];

/**
 * The programs of the sets, for every ordered pair of the machine's GPUs.
 * @throws P2pError `usage` for a set that does not exist.
 */
export function suiteOf(machine: Machine, sets: readonly ProgramSet[] = PROGRAM_SETS): GateCell[] {
  const [unknown] = Array.isArray(sets) ? sets.filter((name) => !PROGRAM_SETS.includes(name)) : [sets];
  if (unknown !== undefined || sets.length === 0) {
    throw new P2pError(
      "usage",
      unknown === undefined ? "no set of programs is named" : `no set of programs ${shown(unknown)}`,
      `Name some of: ${PROGRAM_SETS.join(", ")}.`,
    );
  }
  const { pairs, gpus } = machine.info;
  const cells: Record<ProgramSet, () => GateCell[]> = {
    latency: () =>
      pairs.flatMap(({ from, to }) =>
        PATHS.flatMap((path) =>
          LATENCY_BYTES.map((bytes) => ({
            program: transfer({ from, to, bytes, path }),
            mode: "latency" as const,
          })),
        ),
      ),
    bandwidth: () =>
      pairs.map(({ from, to }) => ({
        program: transfer({ from, to, bytes: BANDWIDTH_BYTES }),
        mode: "throughput" as const,
      })),
    setup: () =>
      SETUP.flatMap((kind) => {
        const [gpu, peer] = gpus.map(({ index }) => index);
        if (gpu === undefined || (kind === "peer-enable" && peer === undefined)) return [];
        const sized = kind === "malloc" || kind.startsWith("host-") ? { bytes: SETUP_BYTES } : {};
        const other = kind === "peer-enable" ? { peer: peer as number } : {};
        return [{ program: program().setup(kind, { gpu, ...other, ...sized }), mode: "setup" as const }];
      }),
  };
  return [...new Set(sets)].flatMap((set) => cells[set]());
}

/** A round is short: what differs between rounds matters more than what differs within one. */
export const ROUND: Record<RunMode, SamplingOptions> = {
  latency: { warmup: 20, minSamples: 60, maxSamples: 60, budgetMs: 500 },
  throughput: { warmup: 3, minSamples: 10, maxSamples: 10, budgetMs: 500 },
  setup: { warmup: 1, minSamples: 5, maxSamples: 5, budgetMs: 500 },
  probe: { warmup: 2, minSamples: 10, maxSamples: 10, budgetMs: 500 },
};

/** What a table says of a cell. */
export interface CellName {
  readonly metric: ProgramSet;
  readonly from: number | null;
  readonly to: number | null;
  /** Path of a transfer, or kind of set-up work. */
  readonly path: string;
  readonly bytes: number | null;
}

export function nameOf({ program: { data }, mode }: GateCell): CellName {
  const [operation] = data.operations;
  if (operation?.op === "setup") {
    const { kind, gpu, peer, bytes } = operation;
    return { metric: "setup", from: gpu, to: peer ?? null, path: kind, bytes: bytes ?? null };
  }
  const gpuOf = (name: string) => {
    const place = data.buffers.find((buffer) => buffer.name === name)?.place;
    return place && "gpu" in place ? place.gpu : null;
  };
  const bytes = data.buffers.find((buffer) => buffer.name === "dst")?.bytes ?? null;
  const staged = data.buffers.some((buffer) => "host" in buffer.place);
  const path = staged ? "staged" : data.peerAccess ? "peer" : "driver-staged";
  const metric = mode === "throughput" ? "bandwidth" : "latency";
  return { metric, from: gpuOf("src"), to: gpuOf("dst"), path, bytes };
}
