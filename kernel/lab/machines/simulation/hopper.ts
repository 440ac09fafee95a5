/**
 * What software and engines cost on Hopper, each with its source; none is tuned to a chapter. Keys are those of
 * topology/README.md. OWN-H200 is two H200 measured with hand-written loops, OWN-LAB the same kind of VM (2 × H200, driver
 * 580.159, 2026-11-30) measured with this library, medians; where the host counts it was in its slower state that day.
 *
 * Removing the tracer. OWN-H200's breakdown of an 8-byte peer copy was taken under a tracer: launch 4.35, engine 1.50,
 * receiver 2.82 µs, API call 2.39, total 8.70; without it the total is 6.78. The rule: the engine's span is stamped by the
 * GPU and stays; all that the host does shrinks by one factor, (6.78 − 1.50) / (4.35 + 2.82) = 0.736. The API call then is
 * 1.76 µs, which is what M5 measured for cudaMemcpyAsync by other means (M07's CPU clock: 1.86–1.93).
 *
 * Staging by hand took 14.1 µs on a day when the peer copy took 8.3; scaled to the day of 6.78 that is 11.5 µs.
 */
import type { Costs, Jitter } from "./constants.js";
import { SETUP } from "./setup-figures.js";

const HOST_FACTOR = (6780 - 1500) / (4350 + 2820);
const DAY_FACTOR = 6780 / 8300;

/** One way from a GPU to the peer (NVLink) and to host memory, as in topology/figures. */
const PEER_ONE_WAY_NS = (807 - 147) / 2;
const HOST_ONE_WAY_NS = (1217 - 147) / 2;

const SUBMIT_NS = 2390 * HOST_FACTOR;
const LAUNCH_NS = 4350 * HOST_FACTOR;
const RECEIVER_NS = 2820 * HOST_FACTOR;
const ENGINE_NS = 1500 - 2 * PEER_ONE_WAY_NS;
/** To the host, there and back; and 8 bytes from it, which the submission carries. */
const D2H_NS = ENGINE_NS + 2 * HOST_ONE_WAY_NS;
const INLINE_H2D_NS = ENGINE_NS;
const HANDOVER_NS = 14100 * DAY_FACTOR - LAUNCH_NS - D2H_NS - INLINE_H2D_NS - RECEIVER_NS;

/** Two buffers in turn: to the host, from it, and a hand-over after each; with 37.4 GB/s the size of a chunk follows. */
const CHUNK_BYTES = (37.4 * 2 * (D2H_NS + HANDOVER_NS)) / (2 - 37.4 * (1 / 55.2 + 1 / 55.36));

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
  inlineBytes: {
    value: 65_536,
    source:
      "OWN-LAB: engine time from the host 0.80 us at 8 B and 0.96 at 4 KiB, 2.6 us beside the bytes from 64 KiB on; recording h200x2 steps up between 32 and 64 KiB",
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
    value: 16700 * DAY_FACTOR - (LAUNCH_NS + D2H_NS + HANDOVER_NS + INLINE_H2D_NS + RECEIVER_NS),
    source: "DERIVED from OWN-H200 peer access off 16.7 us less staged by hand 14.1, same day",
  },
  stagedSlowNs: { value: 2200, source: "M07 peer access off: clusters around 16.1 and 18.3 us" },
  stagedSlowShare: { value: 23 / 56, source: "M07 peer access off: 23 of 56 ordered pairs above 17 us" },
  stagedHandoverNs: {
    value: HANDOVER_NS,
    source: "ASSUMPTION: as between streams; with it the chunk size follows from M07",
  },
  stagedChunkBytes: {
    value: CHUNK_BYTES,
    source:
      "DERIVED from M07 staged 37.4 of 55.3 GB/s with two buffers; checked on M08, 21 GB/s between sockets",
  },
  stagedBuffers: { value: 2, source: "ASSUMPTION: double buffering, the least that pipelines" },
  pageableGbps: {
    value: 10.4,
    source: "DERIVED from OWN-LAB 1 MiB pageable: 97.9 us from the host, 119.5 to it, less 8 B",
  },
  pageableNs: { value: 840, source: "OWN-LAB 8 B to pageable memory 9.07 us less 8.23 to pinned" },
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
      "TE42 H200: small kernels in a stream start every 2.5 us, which the host sets; OWN-LAB 3.4-3.7 in its VM",
  },
  kernelNs: {
    value: 1470,
    source: "OWN-LAB empty kernels behind a gate, 32 in a stream: 46.97 us; M5 6.58 us for one is 2 % less",
  },
  graphKernelNs: { value: 740, source: "OWN-LAB empty kernels of a graph of 32, back to back: 23.79 us" },
  wordSubmitNs: { value: 1170, source: "OWN-LAB API of cuStreamWriteValue32, 1.15-1.19 us" },
  wordNs: { value: 2490, source: "OWN-LAB words written behind a gate follow each other by 2.49 us" },
  graphSubmitNs: {
    value: 1700,
    source: "OWN-LAB API of cuGraphLaunch, middle of 1.3-2.1 us for 1 to 32 nodes",
  },
  graphGapNs: {
    value: (68_000 * DAY_FACTOR - LAUNCH_NS - RECEIVER_NS) / 32 - 1500,
    source:
      "DERIVED from OWN-H200 graph of 32 small copies, 68 us, less launch, receiver and 32 engine times",
  },
  graphCapture: {
    fixedNs: { value: 420, source: "OWN-LAB 0.93 us for 1 kernel node less one node" },
    nodeNs: { value: 510, source: "OWN-LAB 16.8 us for 32 kernel nodes; 0.64 us a copy node" },
  },
  graphInstantiate: {
    fixedNs: { value: 3100, source: "OWN-LAB 4.5 us for 1 kernel node less one node" },
    nodeNs: { value: 1400, source: "OWN-LAB 47.9 us for 32 kernel nodes; 2.7 us a copy node" },
  },
  graphUpdate: {
    fixedNs: { value: 220, source: "OWN-LAB 0.26 us for 1 kernel node less one node" },
    nodeNs: { value: 41, source: "OWN-LAB 1.52 us for 32 kernel nodes; 0.1 us a copy node" },
  },
  kernelWriteShare: { value: 369.9 / 396.1, source: "DERIVED from OWN-H200 nvbandwidth write, SM over CE" },
  kernelReadShare: { value: 376.2 / 393.7, source: "DERIVED from OWN-H200 nvbandwidth read, SM over CE" },
  kernelHostWriteShare: { value: 1221.7 / 1284.8, source: "OWN-LAB 64 MiB to the host, CE over SM time" },
  kernelHostReadShare: { value: 1218.8 / 1316.4, source: "OWN-LAB 64 MiB from the host, CE over SM time" },
  flagSeenNs: {
    value: 646 - PEER_ONE_WAY_NS,
    source: "DERIVED from OWN-H200 flag ping-pong 646 ns one way less the way of a load",
  },
  ownFlagSeenNs: { value: 418, source: "OWN-LAB ping-pong of two kernels on one GPU, volatile" },
  fences: {
    block: {
      idleNs: { value: 4, source: "OWN-LAB" },
      oneStoreNs: { value: 54.5, source: "OWN-LAB" },
      storeNs: { value: 9.53, source: "OWN-LAB 16 stores 197.5 ns less one, / 15" },
    },
    gpu: {
      idleNs: { value: 133, source: "OWN-LAB" },
      oneStoreNs: { value: 253.5, source: "OWN-LAB" },
      storeNs: { value: 9.53, source: "OWN-LAB 16 stores 396.4 ns less one, / 15" },
    },
    system: {
      idleNs: { value: 576, source: "OWN-LAB" },
      oneStoreNs: { value: 627, source: "OWN-LAB; M5 580 with the store to host memory" },
      storeNs: { value: 9.53, source: "OWN-LAB 16 stores 769.5 ns less one, / 15" },
    },
  },
  atomicNs: {
    add: { value: 148.7, source: "OWN-LAB, GPU and system scope alike" },
    exchange: { value: 146.6, source: "OWN-LAB, GPU and system scope alike" },
    "compare-and-swap": { value: 152.8, source: "OWN-LAB, GPU and system scope alike" },
  },
  networkSendNs: {
    value: 5440 - 2640,
    source: "DERIVED from M5 CPU proxy from a kernel 5.44 us less an RDMA write between GPUs 2.64 us",
  },
  llGbps: { value: 132, source: "MSC packets (flags within) on H100, 128 MB" },
  loadNs: {
    cache: { value: 147, source: "OWN-H200 pointer chase, warm; OWN-LAB 138" },
    memory: {
      value: 338,
      source: "DERIVED from OWN-H200 warm chase and the 191 ns that flushing adds to it (OWN-LAB)",
    },
  },
  cacheBytes: {
    value: 17 * 2 ** 20,
    source:
      "DERIVED from OWN-LAB 229 ns at 32 MiB, between 138 and 322: as if so much stayed cached of the 50 MB",
  },
  clockGhz: { value: 1.98, source: "OWN-LAB, OWN-H200 while measured" },
  setup: SETUP,
  jitter: JITTER,
};
