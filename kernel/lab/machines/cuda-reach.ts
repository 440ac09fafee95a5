/** Which GPUs touch whose memory in a program, and whether they may. */
import { P2pError } from "../errors.js";
import type { StepOperation } from "../operations.js";
import type { Program } from "../program.js";

/** An ordered pair of GPUs: `from` touches memory of `to`. */
export interface Pair {
  readonly from: number;
  readonly to: number;
}

/** Both directions of every pair that an operation joins: whichever GPU issues a copy must reach the other. */
export function orderedPairs(program: Program): Pair[] {
  return bothWays(program.pairs);
}

/** The same, and every GPU whose stream touches memory of another GPU in whatever way. */
export function touchedPairs(program: Program): Pair[] {
  const foreign = steps(program).flatMap((o) =>
    buffersOf(o).flatMap((name) => {
      const { place } = program.bufferOf(name);
      return "gpu" in place ? [{ from: gpuOf(program, o.stream), to: place.gpu }] : [];
    }),
  );
  return bothWays([...program.pairs, ...foreign]);
}

/**
 * Kernels and stream memory operations reach memory of another GPU through peer access alone; there is no staging for them.
 * @throws P2pError `program` where the program turns peer access off, `not-available` where the driver does not grant it.
 */
export function requireReach(program: Program, canAccess: (from: number, to: number) => boolean): void {
  for (const o of steps(program)) {
    if (o.op === "copy" && o.engine === undefined) continue;
    const from = gpuOf(program, o.stream);
    for (const name of buffersOf(o)) {
      const { place } = program.bufferOf(name);
      if (!("gpu" in place) || place.gpu === from) continue;
      const what = `${o.op === "copy" ? o.engine : o.op} on GPU ${from} cannot reach buffer "${name}" on GPU ${place.gpu}`;
      if (!program.data.peerAccess) {
        throw new P2pError(
          "program",
          `${what} with peer access off`,
          "Leave .peerAccess(false) out, or copy by copy engine.",
        );
      }
      if (!canAccess(from, place.gpu)) {
        throw new P2pError(
          "not-available",
          `${what}: the driver grants no peer access`,
          "Copy by copy engine through page-locked memory; nvidia-smi topo -p2p r shows why.",
        );
      }
    }
  }
}

function steps(program: Program): readonly StepOperation[] {
  return program.kind === "transfer" ? (program.data.operations as readonly StepOperation[]) : [];
}

function gpuOf(program: Program, stream: string): number {
  return (program.data.streams.find(({ name }) => name === stream) as { gpu: number }).gpu;
}

/** Buffers that the GPU of an operation's stream touches. */
function buffersOf(o: StepOperation): string[] {
  switch (o.op) {
    case "copy":
      return [o.src, o.dst];
    case "signal":
    case "await":
      return [o.buffer];
    case "put":
      return [o.src, o.dst, ...(o.flag === undefined ? [] : [o.flag])];
    case "receive":
      return [o.window, ...(o.dst === undefined ? [] : [o.dst]), ...(o.flag === undefined ? [] : [o.flag])];
    default:
      return [];
  }
}

function bothWays(list: readonly Pair[]): Pair[] {
  const pairs = new Map<string, Pair>();
  for (const { from, to } of list) {
    if (from === to) continue;
    pairs.set(`${from}>${to}`, { from, to });
    pairs.set(`${to}>${from}`, { from: to, to: from });
  }
  return [...pairs.values()];
}
