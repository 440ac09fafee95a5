import { P2pError } from "../errors.js";
import { type NativeProbeRows, ProbeCode } from "../native-probe.js";
import type { ProbeOperation } from "../operations.js";
import type { Program } from "../program.js";
import { probeBuffers } from "../program-arguments.js";

const ALLOCATORS = { malloc: 0, pool: 3, vmm: 4 } as const;
const STORES = { volatile: 0, release: 1, atomic: 2 } as const;
const OPERATIONS = { add: 0, exchange: 1, "compare-and-swap": 2 } as const;
const SCOPES = { none: 0, block: 1, gpu: 2, system: 3 } as const;

/** Rounds of message passing in one launch: short enough to be cancelled between two. */
const MESSAGES_A_LAUNCH = 2000;

/**
 * How rounds of message passing are shared out over launches: all of one length, so that their times can be compared.
 * There are as many rounds as asked for, or a few more where they cannot be shared out evenly.
 */
export function launchesOf(rounds: number): { launches: number; rounds: number } {
  const launches = Math.ceil(rounds / MESSAGES_A_LAUNCH);
  return { launches, rounds: Math.ceil(rounds / launches) };
}

/**
 * A program of one probe in the addon's form.
 * @param canAccess whether the driver lets a GPU access the memory of another.
 * @throws P2pError `program` where a kernel cannot reach what it is to touch.
 */
export function probeRowsOf(
  program: Program,
  probe: ProbeOperation,
  canAccess: (from: number, to: number) => boolean,
): NativeProbeRows {
  const gpuOf = (stream: string) =>
    (program.data.streams.find((s) => s.name === stream) as { gpu: number }).gpu;
  const gpus = "other" in probe ? [gpuOf(probe.stream), gpuOf(probe.other)] : [gpuOf(probe.stream)];
  if (!program.data.peerAccess && program.pairs.length > 0) {
    throw new P2pError(
      "program",
      "a probe of another GPU's memory with peer access off: nothing stages what a kernel loads and stores",
      "Leave .peerAccess(false) out.",
    );
  }
  return {
    kind: codeOf(probe),
    buffers: Float64Array.from(probeBuffers(probe).flatMap((name) => bufferRow(program, name))),
    gpus: Int32Array.from(gpus),
    peers: Int32Array.from(peerRows(program, gpus, canAccess)),
    parameters: Float64Array.from(parametersOf(probe)),
  };
}

function codeOf(probe: ProbeOperation): number {
  if (probe.kind === "ping-pong") return ProbeCode.pingPong;
  return probe.kind === "message-passing" ? ProbeCode.messages : ProbeCode[probe.kind];
}

function bufferRow(program: Program, name: string): number[] {
  const { place, bytes } = program.bufferOf(name);
  if ("host" in place && place.host === "pageable") {
    throw new P2pError(
      "program",
      `a kernel cannot reach the pageable host buffer "${name}"`,
      'Use { host: "pinned" }.',
    );
  }
  if ("host" in place) return [1, -1, bytes];
  const { allocator = "malloc", gpu } = place;
  if (allocator === "ipc") {
    throw new P2pError(
      "program",
      `a probe does not reach the buffer "${name}" of another process`,
      'Use the allocator "malloc", which the other process uses too.',
    );
  }
  return [ALLOCATORS[allocator], gpu, bytes];
}

function parametersOf(probe: ProbeOperation): number[] {
  switch (probe.kind) {
    case "load": {
      const { accesses, footprintBytes, strideBytes, order, cold, sm } = probe;
      return [accesses, footprintBytes, strideBytes, +(order === "random"), +cold, +(sm === "each")];
    }
    case "ping-pong":
      return [probe.rounds, STORES[probe.store]];
    case "atomic":
      return [probe.accesses, OPERATIONS[probe.operation], +(probe.scope === "system")];
    case "fence":
      return [probe.accesses, SCOPES[probe.scope], probe.stores];
    case "message-passing":
      return [launchesOf(probe.rounds).rounds, SCOPES[probe.fence]];
  }
}

/** Access of every pair of the program in both directions, so that no run depends on the one before. */
function peerRows(
  program: Program,
  gpus: readonly number[],
  canAccess: (from: number, to: number) => boolean,
): number[] {
  const all = [...new Set([...program.gpus, ...gpus])];
  return all.flatMap((from) =>
    all
      .filter((to) => to !== from)
      .flatMap((to) => [from, to, +(program.data.peerAccess && canAccess(from, to))]),
  );
}
