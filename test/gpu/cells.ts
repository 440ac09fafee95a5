/**
 * Bandwidth cells in nvbandwidth's definitions: which testcase and cell it prints, and the program that measures the same
 * with the library. Both put copies back to back behind a kernel that holds the stream until all are queued, and divide the
 * bytes by the time between two events on the device. 512 MiB a copy, 16 copies after 4 that warm up; nvbandwidth takes the
 * median of 3 such samples and cuts their time to whole microseconds.
 */
import { lab } from "../../kernel/lab/index.js";

export const BYTES = 512 * 2 ** 20;
/** Copies of a sample and copies before it, as nvbandwidth has them by default. */
export const COPIES = 16;
export const WARMUP_COPIES = 4;

type Program = ReturnType<typeof lab.program>;

export interface BandwidthCell {
  readonly name: string;
  readonly gpus: 1 | 2;
  /** What nvbandwidth calls it. */
  readonly testcase: string;
  readonly row: number;
  readonly column: number;
  /** The matrix to read where the testcase prints several. */
  readonly part: string | null;
  /** In words, with what differs between the two sides. */
  readonly definition: string;
  readonly program: Program;
  /** Streams whose rates are added, with the bytes of one iteration on each. */
  readonly streams: readonly { readonly name: string; readonly bytes: number }[];
}

const ONE = [{ name: "s", bytes: BYTES }];
const BOTH = [
  { name: "s", bytes: BYTES },
  { name: "t", bytes: BYTES },
];
const TRUNCATED =
  "nvbandwidth copies and counts a multiple of SMs × 8 KiB, with its 16 copies inside one launch; the library launches each copy";

/** Between page-locked memory and one GPU, issued by the GPU. */
export function hostCopy(
  direction: "h2d" | "d2h",
  engine: "copy-engine" | "kernel-read" | "kernel-write",
  gpu = 0,
): Program {
  const [src, dst] = direction === "h2d" ? ["host", "gpu"] : ["gpu", "host"];
  return lab
    .program()
    .buffer("host", { host: "pinned", bytes: BYTES })
    .buffer("gpu", { gpu, bytes: BYTES })
    .stream("s", { gpu })
    .copy("s", src as string, dst as string, { engine })
    .sync("s");
}

/** One direction on stream `s` while twice the bytes go the other way on stream `t`. */
function hostBothWays(direction: "h2d" | "d2h"): Program {
  const [src, dst, backSrc, backDst] =
    direction === "h2d" ? ["host", "gpu", "gpu2", "host2"] : ["gpu", "host", "host2", "gpu2"];
  return lab
    .program()
    .buffer("host", { host: "pinned", bytes: BYTES })
    .buffer("gpu", { gpu: 0, bytes: BYTES })
    .buffer("host2", { host: "pinned", bytes: 2 * BYTES })
    .buffer("gpu2", { gpu: 0, bytes: 2 * BYTES })
    .stream("s", { gpu: 0 })
    .stream("t", { gpu: 0 })
    .copy("s", src as string, dst as string)
    .copy("t", backSrc as string, backDst as string)
    .sync("s")
    .sync("t");
}

function local(): Program {
  return lab
    .program()
    .buffer("a", { gpu: 0, bytes: BYTES })
    .buffer("b", { gpu: 0, bytes: BYTES })
    .stream("s", { gpu: 0 })
    .copy("s", "a", "b")
    .sync("s");
}

type Way = "write" | "read";

/** From one GPU to another; a write is issued by the source, a read by the destination. */
export function peerCopy(way: Way, by: "ce" | "sm", from: number, to: number): Program {
  const engine = by === "ce" ? "copy-engine" : way === "write" ? "kernel-write" : "kernel-read";
  return lab
    .program()
    .buffer("src", { gpu: from, bytes: BYTES })
    .buffer("dst", { gpu: to, bytes: BYTES })
    .stream("s", { gpu: way === "write" ? from : to })
    .copy("s", "src", "dst", { engine })
    .sync("s");
}

/** Equal bytes both ways between two GPUs, each copy issued by its source (write) or its destination (read). */
export function pairBothWays(way: Way, by: "ce" | "sm", a = 0, b = 1): Program {
  const engine = by === "ce" ? "copy-engine" : way === "write" ? "kernel-write" : "kernel-read";
  return lab
    .program()
    .buffer("a0", { gpu: a, bytes: BYTES })
    .buffer("a1", { gpu: b, bytes: BYTES })
    .buffer("b0", { gpu: a, bytes: BYTES })
    .buffer("b1", { gpu: b, bytes: BYTES })
    .stream("s", { gpu: way === "write" ? a : b })
    .stream("t", { gpu: way === "write" ? b : a })
    .copy("s", "a0", "a1", { engine })
    .copy("t", "b1", "b0", { engine })
    .sync("s")
    .sync("t");
}

function hostCells(): BandwidthCell[] {
  const common = { gpus: 1, row: 0, column: 0, part: null } as const;
  return [
    {
      ...common,
      name: "host to device, copy engine",
      testcase: "host_to_device_memcpy_ce",
      definition: "one direction alone",
      program: hostCopy("h2d", "copy-engine"),
      streams: ONE,
    },
    {
      ...common,
      name: "device to host, copy engine",
      testcase: "device_to_host_memcpy_ce",
      definition: "one direction alone",
      program: hostCopy("d2h", "copy-engine"),
      streams: ONE,
    },
    {
      ...common,
      name: "host to device with traffic back, copy engine",
      testcase: "host_to_device_bidirectional_memcpy_ce",
      definition: "the one direction, while copies of 1 GiB go the other way",
      program: hostBothWays("h2d"),
      streams: ONE,
    },
    {
      ...common,
      name: "device to host with traffic back, copy engine",
      testcase: "device_to_host_bidirectional_memcpy_ce",
      definition: "the one direction, while copies of 1 GiB go the other way",
      program: hostBothWays("d2h"),
      streams: ONE,
    },
    {
      ...common,
      name: "host to device, SM kernel",
      testcase: "host_to_device_memcpy_sm",
      definition: `a kernel on the GPU reads host memory; ${TRUNCATED}`,
      program: hostCopy("h2d", "kernel-read"),
      streams: ONE,
    },
    {
      ...common,
      name: "device to host, SM kernel",
      testcase: "device_to_host_memcpy_sm",
      definition: `a kernel on the GPU writes host memory; ${TRUNCATED}`,
      program: hostCopy("d2h", "kernel-write"),
      streams: ONE,
    },
    {
      ...common,
      name: "copy within one GPU",
      testcase: "device_local_copy",
      definition: "bytes counted once, though each is read and written",
      program: local(),
      streams: ONE,
    },
  ];
}

function pairCells(): BandwidthCell[] {
  const cells: BandwidthCell[] = [];
  for (const by of ["ce", "sm"] as const) {
    for (const way of ["write", "read"] as const) {
      const what = by === "ce" ? "copy engine" : "SM kernel";
      const issuer = way === "write" ? "source" : "destination";
      const cut = by === "sm" ? `; ${TRUNCATED}` : "";
      cells.push(
        {
          name: `peer ${way}, ${what}`,
          gpus: 2,
          testcase: `device_to_device_memcpy_${way}_${by}`,
          // Rows are the GPU that issues: the data of a write goes from row to column, that of a read the other way.
          row: way === "write" ? 0 : 1,
          column: way === "write" ? 1 : 0,
          part: null,
          definition: `GPU 0 to GPU 1, issued by the ${issuer}${cut}`,
          program: peerCopy(way, by, 0, 1),
          streams: ONE,
        },
        {
          name: `peer ${way} both ways, ${what}`,
          gpus: 2,
          testcase: `device_to_device_bidirectional_memcpy_${way}_${by}`,
          row: 0,
          column: 1,
          part: "total",
          definition: `sum of the two rates, equal bytes both ways, each by its own events, each issued by its ${issuer}${cut}`,
          program: pairBothWays(way, by),
          streams: BOTH,
        },
      );
    }
  }
  return cells;
}

/** Those of one GPU first. */
export function bandwidthCells(): readonly BandwidthCell[] {
  return [...hostCells(), ...pairCells()];
}
