import { dataflow } from "../dataflow.js";
import { type NativeProgram, Opcode } from "../native.js";
import type { Program } from "../program.js";

const PLACES = { device: 0, pinned: 1, pageable: 2 } as const;
const APIS = { default: 0, peer: 1 } as const;
const METHODS = { spin: 0, yield: 1, block: 2 } as const;

/**
 * A program in the addon's form: rows in typed arrays, names resolved to indices, and what verification fills and checks.
 * @throws P2pError `program` when nothing that it moves can be verified.
 */
export function nativeProgramOf(program: Program): NativeProgram {
  const { buffers, streams, operations, peerAccess } = program.data;
  const bufferIndex = indexOf(buffers.map((buffer) => buffer.name));
  const streamIndex = indexOf(streams.map((stream) => stream.name));
  const events = indexOf([...new Set(operations.flatMap((o) => (o.op === "record" ? [o.event] : [])))]);
  const flow = dataflow(program);
  const rows = operations.map((o) => {
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
        APIS[o.api],
      ];
    }
    if (o.op === "sync") return [Opcode.sync, stream, 0, 0, 0, 0, 0, METHODS[o.method]];
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
    peers: Int32Array.from(orderedPairs(program).flatMap(({ from, to }) => [from, to, peerAccess ? 1 : 0])),
    sources: Float64Array.from(flow.sources.flatMap(({ buffer, seed }) => [bufferIndex(buffer), seed])),
    checks: Float64Array.from(
      flow.checks.flatMap((c) => [bufferIndex(c.buffer), c.offset, c.bytes, c.seed, c.patternOffset]),
    ),
  };
}

/** Both directions of every pair that a copy joins: whichever GPU issues the copy must reach the other. */
export function orderedPairs(program: Program): { from: number; to: number }[] {
  const pairs = new Map<string, { from: number; to: number }>();
  for (const { from, to } of program.pairs) {
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
