import { dataflow } from "../dataflow.js";
import { P2pError } from "../errors.js";
import { type NativeProgram, Opcode } from "../native.js";
import type { Program } from "../program.js";

const PLACES = { device: 0, pinned: 1, pageable: 2 } as const;
const APIS = { default: 0, peer: 1 } as const;
const METHODS = { spin: 0, yield: 1, block: 2 } as const;

/**
 * A program in the addon's form: rows in typed arrays, names resolved to indices, and what verification fills and checks.
 * Peer access of every pair that it could use is set one way or the other, so that no run depends on the one before.
 * @param canAccess whether the driver lets a GPU access the memory of another.
 * @throws P2pError `program` when nothing that it moves can be verified.
 */
export function nativeProgramOf(
  program: Program,
  canAccess: (from: number, to: number) => boolean,
): NativeProgram {
  const { buffers, streams, operations, peerAccess, submit } = program.data;
  const bufferIndex = indexOf(buffers.map((buffer) => buffer.name));
  const streamIndex = indexOf(streams.map((stream) => stream.name));
  const events = indexOf([...new Set(operations.flatMap((o) => (o.op === "record" ? [o.event] : [])))]);
  const flow = dataflow(program);
  const rows = operations.map((o) => {
    if ((o.op !== "copy" && o.op !== "sync" && o.op !== "record" && o.op !== "wait") || submit) {
      throw new P2pError(
        "not-available",
        `the executor does not run ${submit ? "graphs" : o.op}`,
        "Leave it out.",
      );
    }
    const stream = streamIndex(o.stream);
    if (o.op === "copy") {
      const { bytes, srcOffset, dstOffset } = o;
      return [
        Opcode.copy,
        stream,
        bufferIndex(o.src),
        bufferIndex(o.dst),
        bytes,
        srcOffset,
        dstOffset,
        APIS[o.api as keyof typeof APIS],
      ];
    }
    if (o.op === "sync")
      return [Opcode.sync, stream, 0, 0, 0, 0, 0, METHODS[o.method as keyof typeof METHODS]];
    return [Opcode[o.op], stream, events(o.event), 0, 0, 0, 0, 0];
  });
  return {
    buffers: Float64Array.from(
      buffers.flatMap(({ place, bytes }) =>
        "gpu" in place ? [PLACES.device, place.gpu, bytes] : [PLACES[place.host], -1, bytes],
      ),
    ),
    streams: Int32Array.from(streams, (stream) => stream.gpu),
    eventCount: new Set(operations.flatMap((o) => (o.op === "record" ? [o.event] : []))).size,
    operations: Float64Array.from(rows.flat()),
    peers: Int32Array.from(
      touchedPairs(program).flatMap(({ from, to }) => [from, to, peerAccess && canAccess(from, to) ? 1 : 0]),
    ),
    sources: Float64Array.from(flow.sources.flatMap(({ buffer, seed }) => [bufferIndex(buffer), seed])),
    checks: Float64Array.from(
      flow.checks.flatMap((c) => [bufferIndex(c.buffer), c.offset, c.bytes, c.seed, c.patternOffset]),
    ),
  };
}

/** Both directions of every pair that a copy joins: whichever GPU issues the copy must reach the other. */
export function orderedPairs(program: Program): { from: number; to: number }[] {
  return bothWays(program.pairs);
}

/** The same, and every GPU whose stream moves bytes between the host and the memory of another GPU. */
function touchedPairs(program: Program): { from: number; to: number }[] {
  const gpuOf = new Map(program.data.streams.map((stream) => [stream.name, stream.gpu]));
  const foreign = program.data.operations.flatMap((o) => {
    if (o.op !== "copy") return [];
    const issuer = gpuOf.get(o.stream) as number;
    const owners = [program.bufferOf(o.src).place, program.bufferOf(o.dst).place];
    return owners.flatMap((place) => ("gpu" in place ? [{ from: issuer, to: place.gpu }] : []));
  });
  return bothWays([...program.pairs, ...foreign]);
}

function bothWays(list: readonly { from: number; to: number }[]): { from: number; to: number }[] {
  const pairs = new Map<string, { from: number; to: number }>();
  for (const { from, to } of list) {
    if (from === to) continue;
    pairs.set(`${from}>${to}`, { from, to });
    pairs.set(`${to}>${from}`, { from: to, to: from });
  }
  return [...pairs.values()];
}

/** Index of a name in a list; names of a Program are always found. */
function indexOf(names: readonly string[]): (name: string) => number {
  const indices = new Map(names.map((name, index) => [name, index]));
  return (name) => indices.get(name) as number;
}
