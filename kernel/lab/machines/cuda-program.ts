import { dataflow } from "../dataflow.js";
import { P2pError } from "../errors.js";
import { type NativeProgram, Opcode } from "../native.js";
import type { StepOperation } from "../operations.js";
import type { Program } from "../program.js";
import { type Pair, requireReach, touchedPairs } from "./cuda-reach.js";

const HOST_PLACES = { pinned: 1, pageable: 2 } as const;
const ALLOCATORS = { malloc: 0, pool: 3, vmm: 4, ipc: 5 } as const;
const APIS = { default: 0, peer: 1, batch: 2, "peer-3d": 4 } as const;
const BY_KERNEL = 3;
const METHODS = { spin: 0, yield: 1, block: 2, "poll-event": 3, "poll-flag": 4 } as const;
const PROTOCOLS = { flag: 0, ll: 1, ll128: 2 } as const;
const KERNELS = { empty: 0 } as const;

/**
 * A program in the addon's form: rows in typed arrays, names resolved to indices, and what verification fills and checks.
 * Peer access of every pair that it could use is set one way or the other, so that no run depends on the one before.
 * @param canAccess whether the driver lets a GPU access the memory of another.
 * @param handles of buffers that other processes own, 64 bytes each, in their order.
 * @throws P2pError `program` when nothing that it moves can be verified, an iteration would never end, or a kernel cannot
 * reach what it is to touch.
 */
export function nativeProgramOf(
  program: Program,
  canAccess: (from: number, to: number) => boolean,
  handles: Uint8Array = new Uint8Array(0),
): NativeProgram {
  if (program.kind !== "transfer") {
    throw new P2pError("not-available", `the executor does not run a ${program.kind}`, "Leave it out.");
  }
  const { buffers, streams, peerAccess, submit } = program.data;
  const operations = program.data.operations as readonly StepOperation[];
  requireReach(program, canAccess);
  const bufferIndex = indexOf(buffers.map((buffer) => buffer.name));
  const events = [...new Set(operations.flatMap((o) => (o.op === "record" ? [o.event] : [])))];
  const rowOf = rows(bufferIndex, indexOf(streams.map((stream) => stream.name)), indexOf(events));
  const flow = dataflow(program);
  const allowed = ({ from, to }: Pair) => [from, to, peerAccess && canAccess(from, to) ? 1 : 0];
  return {
    buffers: Float64Array.from(
      buffers.flatMap(({ place, bytes }) =>
        "gpu" in place
          ? [ALLOCATORS[place.allocator ?? "malloc"], place.gpu, bytes]
          : [HOST_PLACES[place.host], -1, bytes],
      ),
    ),
    streams: Int32Array.from(streams, (stream) => stream.gpu),
    eventCount: events.length,
    operations: Float64Array.from(operations.flatMap(rowOf)),
    peers: Int32Array.from(touchedPairs(program).flatMap(allowed)),
    sources: Float64Array.from(flow.sources.flatMap(({ buffer, seed }) => [bufferIndex(buffer), seed])),
    checks: Float64Array.from(
      flow.checks.flatMap((c) => [bufferIndex(c.buffer), c.offset, c.bytes, c.seed, c.patternOffset]),
    ),
    graph: submit === "graph",
    handles,
  };
}

type Index = (name: string) => number;

/** One row of 8 for an operation; see {@link Opcode}. */
function rows(buffer: Index, stream: Index, event: Index): (o: StepOperation) => number[] {
  const optional = (name: string | undefined) => (name === undefined ? -1 : buffer(name));
  return (o) => {
    const head = [Opcode[o.op], stream(o.stream)];
    switch (o.op) {
      case "copy":
        return [
          ...head,
          buffer(o.src),
          buffer(o.dst),
          o.bytes,
          o.srcOffset,
          o.dstOffset,
          o.engine ? BY_KERNEL : APIS[o.api],
        ];
      case "record":
      case "wait":
        return [...head, event(o.event), 0, 0, 0, 0, 0];
      case "signal":
      case "await":
        return [...head, buffer(o.buffer), 0, 0, 0, o.offset, 0];
      case "compute":
        return [...head, 0, 0, o.ns, 0, 0, 0];
      case "launch":
        return [...head, 0, 0, 0, 0, 0, KERNELS[o.kernel]];
      case "put":
        return [...head, buffer(o.src), buffer(o.dst), o.bytes, optional(o.flag), 0, PROTOCOLS[o.protocol]];
      case "receive":
        return [
          ...head,
          buffer(o.window),
          optional(o.dst),
          o.bytes,
          optional(o.flag),
          0,
          PROTOCOLS[o.protocol],
        ];
      case "sync":
        return [...head, 0, 0, 0, 0, 0, METHODS[o.method]];
    }
  };
}

/** Index of a name in a list; names of a Program are always found. */
function indexOf(names: readonly string[]): Index {
  const indices = new Map(names.map((name, index) => [name, index]));
  return (name) => indices.get(name) as number;
}
