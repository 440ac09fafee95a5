/**
 * What software and engines cost in the model, apart from links. All constants stand here, each with its source; none is
 * tuned to a chapter. Keys are those of topology/README.md. OWN-H200 is two H200 measured with a hand-written loop.
 *
 * Removing the tracer. OWN-H200's breakdown of an 8-byte peer copy was taken under a tracer: launch 4.35, engine 1.50,
 * receiver 2.82 µs, API call 2.39, total 8.70; without it the total is 6.78. The rule: the engine's span is stamped by the
 * GPU and stays; all that the host does shrinks by one factor, (6.78 − 1.50) / (4.35 + 2.82) = 0.736. The API call then is
 * 1.76 µs, which is what M5 measured for cudaMemcpyAsync by other means (M07's CPU clock: 1.86–1.93).
 *
 * Staging by hand took 14.1 µs on a day when the peer copy took 8.3; scaled to the day of 6.78 that is 11.5 µs.
 */
import type { SetupKind, SyncMethod } from "../../operations.js";
import type { Figure } from "../../topology/figures.js";
import type { Generation } from "../../topology/topology.js";

const HOST_FACTOR = (6780 - 1500) / (4350 + 2820);
const DAY_FACTOR = 6780 / 8300;

/** One way from a GPU to the peer (NVLink) and to host memory, as in topology/figures. */
const PEER_ONE_WAY_NS = (807 - 147) / 2;
const HOST_ONE_WAY_NS = (1217 - 147) / 2;

const SUBMIT_NS = 2390 * HOST_FACTOR;
const LAUNCH_NS = 4350 * HOST_FACTOR;
const RECEIVER_NS = 2820 * HOST_FACTOR;
const ENGINE_NS = 1500 - 2 * PEER_ONE_WAY_NS;
const D2H_NS = ENGINE_NS + HOST_ONE_WAY_NS;
const H2D_NS = ENGINE_NS + 2 * HOST_ONE_WAY_NS;
const HANDOVER_NS = 14100 * DAY_FACTOR - LAUNCH_NS - D2H_NS - H2D_NS - RECEIVER_NS;

export interface Costs {
  /** Host time of a copy's submit call, ns. */
  readonly submitNs: Figure;
  /** The same where the driver has to stage the copy. */
  readonly stagedSubmitNs: Figure;
  /** Host time to submit a record or a wait. */
  readonly eventNs: Figure;
  /** Submit call returned → the GPU can begin. With `submitNs` it makes the launch latency. */
  readonly doorbellNs: Figure;
  /** Engine's own time a copy; the path's latency is added, once for posted writes to the host, otherwise twice. */
  readonly engineNs: Figure;
  /** Between two copies on one engine. */
  readonly gapNs: Figure;
  /** From the end of work on one engine or stream to the start of work on another that waits for it. */
  readonly handoverNs: Figure;
  /**
   * Last byte there → sync returned to the host, by method. `poll-event` and `poll-flag` count from when their event or word,
   * which the stream sets at its end, can be seen.
   */
  readonly receiverNs: Readonly<Record<SyncMethod, Figure>>;
  /** A sync call on a stream that is already done. */
  readonly pollNs: Figure;
  /** Before a copy that the driver stages, beside its chunks. */
  readonly stagedExtraNs: Figure;
  /** The slower of two modes adds this … */
  readonly stagedSlowNs: Figure;
  /** … on this share of ordered pairs. */
  readonly stagedSlowShare: Figure;
  readonly stagedChunkBytes: Figure;
  /** Host buffers that the chunks of one copy go through. */
  readonly stagedBuffers: Figure;
  /** Copies from or to pageable host memory: rate of the driver's own staging, GB/s, and what it adds a call. */
  readonly pageableGbps: Figure;
  readonly pageableNs: Figure;
  /** Copies from host memory to host memory by the submitting thread, GB/s. */
  readonly hostCopyGbps: Figure;
  /** Host time of a call that copies a batch: the first copy, and each further one. */
  readonly batchSubmitNs: Figure;
  readonly batchEntryNs: Figure;
  /** Host time of a kernel launch. As for any copy, the work goes out when `submitNs` of it has passed. */
  readonly kernelSubmitNs: Figure;
  /** A kernel beside what it does: from its start until the next kernel of its stream can start. */
  readonly kernelNs: Figure;
  /** Host time to launch a graph, and between two copies of a graph on one engine (`gapNs` outside of one). */
  readonly graphSubmitNs: Figure;
  readonly graphGapNs: Figure;
  /** What making a graph takes the host: a part by itself and a part a node. */
  readonly graphCapture: PerNode;
  readonly graphInstantiate: PerNode;
  readonly graphUpdate: PerNode;
  /** Copies by kernels reach these shares of a copy engine's rate; copies with the host another one. */
  readonly kernelWriteShare: Figure;
  readonly kernelReadShare: Figure;
  readonly kernelHostShare: Figure;
  /** Flag arrived → the kernel that polls for it knows. */
  readonly flagSeenNs: Figure;
  /** Payload rate of puts in lines of 8 bytes with a flag each, GB/s. */
  readonly llGbps: Figure;
  /** Loads along a chain on one's own GPU, by level, and the size of the cache. */
  readonly loadNs: { readonly cache: Figure; readonly memory: Figure };
  readonly cacheBytes: Figure;
  readonly clockGhz: Figure;
  readonly setup: Readonly<Partial<Record<SetupKind, SetupCost>>>;
  readonly jitter: Jitter;
}

export interface PerNode {
  readonly fixedNs: Figure;
  readonly nodeNs: Figure;
}

/** Host time of one kind of set-up work; `firstNs` where the first call differs. */
export interface SetupCost {
  readonly ns: Figure;
  readonly firstNs?: Figure;
}

/** Spread of a cost from one iteration to the next: log-normal with median 1, and rare interruptions of the host. */
export interface Jitter {
  readonly hostSigma: Figure;
  readonly engineSigma: Figure;
  readonly linkSigma: Figure;
  /** Chance that an iteration is interrupted. */
  readonly tailShare: Figure;
  /** Median of an interruption, ns, and the sigma of its logarithm. */
  readonly tailNs: Figure;
  readonly tailSigma: Figure;
}

const JITTER: Jitter = {
  hostSigma: {
    value: 0.03,
    source:
      "ASSUMPTION: medians are published, spreads are not; 3 % keeps quartiles within 2 % on a quiet pinned host",
  },
  engineSigma: {
    value: 0.01,
    source: "ASSUMPTION: engines vary less than the host, M07 pairs agree within 2 %",
  },
  linkSigma: { value: 0.001, source: "DERIVED: M07 rates of one direction lie within 392-394 GB/s" },
  tailShare: { value: 0.01, source: "ASSUMPTION: about one interruption in 1 ms of iterations" },
  tailNs: { value: 4000, source: "ASSUMPTION: a timer interrupt and its handler, a few microseconds" },
  tailSigma: { value: 0.8, source: "ASSUMPTION: an interruption now and then takes ten times the usual" },
};

export const HOPPER: Costs = {
  submitNs: { value: SUBMIT_NS, source: "DERIVED from OWN-H200 API call less tracer; M5 1.76 us" },
  stagedSubmitNs: { value: 6730, source: "M07 CPU clock, peer access off, median" },
  eventNs: {
    value: 680,
    source: "ASSUMPTION: as cuEventQuery (UCX-PY #334); no cost of cuEventRecord published",
  },
  doorbellNs: {
    value: LAUNCH_NS - SUBMIT_NS,
    source: "DERIVED from OWN-H200 launch less tracer, less submit",
  },
  engineNs: {
    value: ENGINE_NS,
    source: "DERIVED from OWN-H200 engine time at 8 B, 1.50 us, less a round trip of the link",
  },
  gapNs: { value: 700, source: "DERIVED from OWN-H200 pipelined small copies, 2.2 us, less engine 1.50" },
  handoverNs: {
    value: HANDOVER_NS,
    source: "DERIVED from OWN-H200 staged by hand; velox #6096 states ~3 us between streams",
  },
  receiverNs: {
    spin: { value: RECEIVER_NS, source: "DERIVED from OWN-H200 receiver less tracer, spinning" },
    yield: {
      value: RECEIVER_NS + 200,
      source:
        "ASSUMPTION: spin and half a sched_yield call of about 0.4 us, which the end meets halfway on average",
    },
    block: {
      value: RECEIVER_NS,
      source: "ASSUMPTION: as spin; cuStreamSynchronize spins in the driver under the default schedule",
    },
    "poll-event": {
      value: RECEIVER_NS,
      source: "ASSUMPTION: as spin; a query of an event reads what a query of its stream does",
    },
    "poll-flag": {
      value: 50,
      source:
        "ASSUMPTION: half of a load of about 0.1 us; M5 sees a copy in host memory 4.58 us after its submission, which is launch, engine and way alone",
    },
  },
  pollNs: { value: 680, source: "UCX-PY #334 cuEventQuery" },
  stagedExtraNs: {
    value: 16700 * DAY_FACTOR - (LAUNCH_NS + D2H_NS + HANDOVER_NS + H2D_NS + RECEIVER_NS),
    source: "DERIVED from OWN-H200 peer access off 16.7 us less staged by hand 14.1, same day",
  },
  stagedSlowNs: { value: 2200, source: "M07 peer access off: clusters around 16.1 and 18.3 us" },
  stagedSlowShare: { value: 23 / 56, source: "M07 peer access off: 23 of 56 ordered pairs above 17 us" },
  stagedChunkBytes: {
    value: 512 * 1024,
    source:
      "DERIVED from M07 staged 37.4 of 55.3 GB/s with two buffers: 536 KB; checked on M08, 21 GB/s between sockets",
  },
  stagedBuffers: { value: 2, source: "ASSUMPTION: double buffering, the least that pipelines" },
  pageableGbps: { value: 2.1, source: "SIBO A100 pageable D2H plateau; H2D ASSUMPTION as D2H" },
  pageableNs: { value: 10_500, source: "DERIVED from SIBO pageable floor 20-25 us less pinned 12" },
  hostCopyGbps: {
    value: 10,
    source: "ASSUMPTION: one core's memcpy; no figure of these machines is published",
  },
  batchSubmitNs: { value: 2020, source: "M5 batch API call" },
  batchEntryNs: {
    value: 100,
    source: "ASSUMPTION: a row of the batch is read and checked; none is published",
  },
  kernelSubmitNs: {
    value: 2500,
    source:
      "TE42 H200: small kernels in a stream start every 2.5 us, which the host sets (1.3 us in a graph)",
  },
  kernelNs: {
    value: 1300,
    source:
      "TE42 H200: small kernels in a graph follow each other by 1.3 us; M5 empty kernel 6.58 us less launch and receiver is the same",
  },
  graphSubmitNs: {
    value: 2500,
    source:
      "ASSUMPTION: as a kernel launch; OWN-H200's graph of 32 copies leaves 2.9 us for the whole launch",
  },
  graphGapNs: {
    value: (68_000 * DAY_FACTOR - LAUNCH_NS - RECEIVER_NS) / 32 - 1500,
    source:
      "DERIVED from OWN-H200 graph of 32 small copies, 68 us, less launch, receiver and 32 engine times",
  },
  graphCapture: {
    fixedNs: {
      value: 3000,
      source: "ASSUMPTION: begin and end of a capture, about a submit call each; none is published",
    },
    nodeNs: {
      value: 680,
      source: "ASSUMPTION: a captured call costs what an event call does; none is published",
    },
  },
  graphInstantiate: {
    fixedNs: {
      value: 10_000,
      source: "ASSUMPTION: memory and an upload, about that of a pageable copy; none is published",
    },
    nodeNs: { value: 1000, source: "ASSUMPTION: about a captured call and its check; none is published" },
  },
  graphUpdate: {
    fixedNs: { value: 3000, source: "ASSUMPTION: as a capture; none is published" },
    nodeNs: { value: 500, source: "ASSUMPTION: half of instantiating a node; none is published" },
  },
  kernelWriteShare: { value: 369.9 / 396.1, source: "DERIVED from OWN-H200 nvbandwidth write, SM over CE" },
  kernelReadShare: { value: 376.2 / 393.7, source: "DERIVED from OWN-H200 nvbandwidth read, SM over CE" },
  kernelHostShare: {
    value: 342 / 346,
    source: "nvbandwidth #23 GH200 H2D, SM over CE; ASSUMPTION both ways and over PCIe",
  },
  flagSeenNs: {
    value: 646 - PEER_ONE_WAY_NS,
    source: "DERIVED from OWN-H200 flag ping-pong 646 ns one way less the way of a load",
  },
  llGbps: { value: 132, source: "MSC packets (flags within) on H100, 128 MB" },
  loadNs: {
    cache: { value: 147, source: "OWN-H200 pointer chase, warm" },
    memory: {
      value: 147 + (283 - 151),
      source:
        "DERIVED: OWN-H200 warm chase and what TE42 has between L2 and DRAM of an H100, 266-300 less 151 ns",
    },
  },
  cacheBytes: { value: 50 * 2 ** 20, source: "NVIDIA H100 data sheet: 50 MB of L2" },
  clockGhz: { value: 1.98, source: "OWN-H200 while measured" },
  setup: {
    "peer-enable": {
      ns: { value: 400_000, source: "alpaka PR #602, first enabling of a pair in a warm process" },
      firstNs: { value: 11e6, source: "OWN-H200 first cudaDeviceEnablePeerAccess, 10-12 ms" },
    },
    "peer-enable-again": { ns: { value: 10_000, source: "alpaka PR #602, repeated enabling" } },
    "ipc-export": { ns: { value: 1600, source: "UCX-PY #334 cuIpcGetMemHandle" } },
    "ipc-open": { ns: { value: 1_330_000, source: "UCX-PY #334 cuIpcOpenMemHandle" } },
    "ipc-close": { ns: { value: 500_000, source: "UCX-PY #334 cuIpcCloseMemHandle" } },
    "pool-malloc": { ns: { value: 2600, source: "CUDA.jl #746 pooled allocation, middle of 1.7-3.5 us" } },
  },
  jitter: JITTER,
};

/** A100 and GeForce of that time: the host costs measured on them (M08 CPU clock 1.74 µs) are those of Hopper. */
export const AMPERE: Costs = {
  ...HOPPER,
  stagedSubmitNs: { value: 5600, source: "M08 CPU clock, peer access off, middle of 5.22-5.97 us" },
  stagedExtraNs: {
    value: HOPPER.stagedExtraNs.value - 600,
    source: "DERIVED: faster cluster of M08 15.5 us, 0.6 below that of M07",
  },
  stagedSlowNs: { value: 5100, source: "M08 peer access off: clusters around 15.5 and 20.6 us" },
  stagedSlowShare: {
    value: 35 / 56,
    source: "M08 peer access off: 35 of 56 ordered pairs in the slower cluster",
  },
  kernelWriteShare: { value: 0.79, source: "M03 over M02: copy kernel 0.74-0.84 of the copy engine, middle" },
  kernelReadShare: { value: 0.79, source: "ASSUMPTION as writes (M03)" },
  llGbps: { value: 87.7, source: "NCCL-TUNE LL limit of one node, Ampere" },
  loadNs: {
    cache: { value: 149, source: "TE42 A100 L2 near" },
    memory: { value: 305, source: "TE42 A100 L2 far and DRAM, middle of 267-343 ns" },
  },
  cacheBytes: { value: 40 * 2 ** 20, source: "NVIDIA A100 data sheet: 40 MB of L2" },
  clockGhz: { value: 1.41, source: "TE42 A100" },
};

/** Costs by generation of the GPU: the nearest that was measured. */
export const COSTS: Readonly<Record<Generation, Costs>> = {
  pascal: AMPERE,
  volta: AMPERE,
  turing: AMPERE,
  ampere: AMPERE,
  ada: AMPERE,
  hopper: HOPPER,
  blackwell: HOPPER,
};
