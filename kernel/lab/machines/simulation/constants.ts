/** What software and engines cost in the model, apart from links: the kinds of constants. Their values: hopper.ts, ampere.ts. */
import type { SetupKind, SyncMethod } from "../../operations.js";
import type { Figure } from "../../topology/figure.js";

export interface Costs {
  /** Host time of a copy's submit call, ns. */
  readonly submitNs: Figure;
  /** The same where the driver has to stage the copy. */
  readonly stagedSubmitNs: Figure;
  /** Host time to submit a record or a wait. */
  readonly eventNs: Figure;
  /** Submit call returned → the GPU can begin. With `submitNs` it makes the launch latency. */
  readonly doorbellNs: Figure;
  /** Engine's own time a copy; the path is added there and back, except for what a submission carries itself. */
  readonly engineNs: Figure;
  /** Copies from the host of fewer bytes travel with the submission: nothing has to be fetched. */
  readonly inlineBytes: Figure;
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
  /** Between a chunk's way to the host and its way from it, and until its buffer is filled again. */
  readonly stagedHandoverNs: Figure;
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
  /** The same in a graph. */
  readonly graphKernelNs: Figure;
  /** Host time to write or await a word by a stream, and what the stream takes to write it before it goes its way. */
  readonly wordSubmitNs: Figure;
  readonly wordNs: Figure;
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
  readonly kernelHostWriteShare: Figure;
  readonly kernelHostReadShare: Figure;
  /** Flag arrived from a peer, or from the same GPU → the kernel that polls for it knows. */
  readonly flagSeenNs: Figure;
  readonly ownFlagSeenNs: Figure;
  /** Fences of one thread by scope: with nothing outstanding, behind one store, and for each further store. */
  readonly fences: Readonly<Record<"block" | "gpu" | "system", Fence>>;
  /** Atomics of one thread on its own GPU's memory. */
  readonly atomicNs: Readonly<Record<"add" | "exchange" | "compare-and-swap", Figure>>;
  /** From a resident kernel that wants bytes sent to another computer until the network card sends them: a thread of the host is between. */
  readonly networkSendNs: Figure;
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

export interface Fence {
  readonly idleNs: Figure;
  readonly oneStoreNs: Figure;
  readonly storeNs: Figure;
}

/** Host time of one kind of set-up work: a part by itself, a part by size. */
export interface SetupCost {
  readonly ns: Figure;
  readonly perMibNs?: Figure;
  readonly perNodeNs?: Figure;
  /** Of the first call of a process, where that is far more. */
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
