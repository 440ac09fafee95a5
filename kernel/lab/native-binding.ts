/** The addon's driver binding for ad hoc work: its objects as JavaScript sees them. {@link ./cuda.ts} is made of them. */

/** How memory of ad hoc work was made. */
export type NativeMemoryKind = "device" | "pinned" | "pageable" | "registered" | "managed";

/** What the driver says of an address; null where it does not answer. */
export interface NativePointerFacts {
  /** 1 host, 2 device, 3 array, 4 unified. */
  readonly memoryType: number | null;
  readonly gpu: number | null;
  readonly managed: boolean | null;
  readonly devicePointer: bigint | null;
  readonly hostPointer: bigint | null;
  readonly rangeStart: bigint | null;
  readonly rangeBytes: number | null;
}

/** Memory of ad hoc work. Reads, writes and copies wait for work on streams that uses it. */
export interface NativeBuffer {
  /** Address in the unified address space. */
  readonly address: bigint;
  readonly bytes: number;
  /** GPU ordinal, or -1 for host memory. */
  readonly gpu: number;
  readonly kind: NativeMemoryKind;
  /** Copies into the buffer from host bytes. */
  write(bytes: Uint8Array, offset: number): void;
  /** Copies out of the buffer. */
  read(bytes: number, offset: number): Uint8Array;
  facts(): NativePointerFacts;
  close(): void;
}

/** A value for a kernel's parameter: a buffer, an address (bigint), a number, or the bytes of a structure. */
export type NativeArgument = NativeBuffer | bigint | number | boolean | Uint8Array;

/** A stream that waits for no other. What its work uses is kept until the work is done, whatever is closed meanwhile. */
export interface NativeStream {
  readonly gpu: number;
  /** `shape`: grid x, y, z, block x, y, z, bytes of dynamic shared memory. */
  launch(kernel: NativeKernel, shape: Float64Array, args: NativeArgument[]): void;
  launchGraph(graph: NativeGraph): void;
  copy(dst: NativeBuffer, dstOffset: number, src: NativeBuffer, srcOffset: number, bytes: number): void;
  /** Stores `value` in `count` elements of `width` 1, 2 or 4 bytes. */
  fill(buffer: NativeBuffer, offset: number, width: number, value: number, count: number): void;
  record(event: NativeEvent): void;
  wait(event: NativeEvent): void;
  /** Whether everything submitted is done. */
  query(): boolean;
  /** Waits on this thread. Throws CUDA_ERROR_NOT_READY at the deadline. */
  sync(deadlineMs: number): void;
  /** Waits off the event loop; false when cancel() ended the wait. */
  done(deadlineMs: number): Promise<boolean>;
  /** Ends the waits of done(). */
  cancel(): void;
  /** From here on, submissions become nodes of a graph. */
  beginCapture(): void;
  endCapture(): NativeGraph;
  close(): void;
}

export interface NativeEvent {
  readonly gpu: number;
  /** Whether the GPU passed the point recorded last. */
  query(): boolean;
  sync(deadlineMs: number): void;
  /** Nanoseconds since another event, by the GPU's clock. */
  elapsedNs(since: NativeEvent): number;
  close(): void;
}

export interface NativeGraph {
  readonly gpu: number;
  readonly nodes: number;
  close(): void;
}

/** What NVRTC made of a source. */
export interface NativeCompiled {
  readonly image: Uint8Array;
  readonly kind: "cubin" | "ptx";
  /** `sm_90` or `compute_90`. */
  readonly architecture: string;
  /** Warnings; empty when there are none. */
  readonly log: string;
  /** Version of NVRTC, 13000 = CUDA 13.0. */
  readonly compiler: number;
  /** Of each wanted kernel, its name in the image. */
  readonly names: string[];
}

/** Device code on one GPU. */
export interface NativeModule {
  readonly gpu: number;
  /** `types`: a word a parameter (`i32`, `f64`, `ptr`, `bytes:12`…); `texts`: what messages call it. */
  kernel(name: string, types: string[], texts: string[]): NativeKernel;
  close(): void;
}

/** What a kernel takes of its GPU. */
export interface KernelFacts {
  /** Registers of a thread. */
  readonly registers: number;
  readonly staticSharedBytes: number;
  /** Local memory of a thread: spilled registers and indexed arrays. */
  readonly localBytes: number;
  readonly constBytes: number;
  readonly maxThreadsPerBlock: number;
  /** 10 × major + minor of the virtual and of the real architecture. */
  readonly ptxVersion: number;
  readonly binaryVersion: number;
}

/** Event to event, nanoseconds, one a repetition. */
export interface NativeKernelTimes {
  /** With the kernel between the events. */
  readonly kernelNs: Float64Array;
  /** With nothing between them. */
  readonly emptyNs: Float64Array;
  /** Repetitions of which the host had not submitted everything when the GPU came to them. */
  readonly late: number;
  readonly cancelled: boolean;
}

export interface NativeKernel {
  readonly gpu: number;
  readonly facts: KernelFacts;
  /** Launches it again and again on a stream of its own, off the event loop. */
  time(
    kernel: NativeKernel,
    shape: Float64Array,
    args: NativeArgument[],
    repetitions: number,
    warmup: number,
    deadlineMs: number,
  ): Promise<NativeKernelTimes>;
  /** Ends time() after its current repetition. */
  cancel(): void;
  close(): void;
}

/** What a GPU takes in one launch. */
export interface DeviceLimits {
  readonly maxThreadsPerBlock: number;
  /** x, y, z. */
  readonly maxBlock: readonly [number, number, number];
  readonly maxGrid: readonly [number, number, number];
  /** Shared memory of a block, without asking and at most. */
  readonly maxSharedBytes: number;
  readonly maxSharedBytesOptIn: number;
  readonly warpSize: number;
}

/** Memory of a GPU, over all processes. */
export interface DeviceMemoryInfo {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export interface NativeBinding {
  openStream(gpu: number): NativeStream;
  openEvent(gpu: number, timing: boolean): NativeEvent;
  /** Compiles CUDA C++ for the architecture of a GPU. Throws `compile` with NVRTC's log. */
  compileSource(
    gpu: number,
    source: string,
    file: string,
    options: string[],
    names: string[],
  ): NativeCompiled;
  /** Loads PTX text, a cubin or a fat binary. */
  loadModule(gpu: number, image: Uint8Array): NativeModule;
  /** Waits until no stream has work in flight that uses the buffer. */
  settle(buffer: NativeBuffer): void;
  limits(gpu: number): DeviceLimits;
  memory(gpu: number): DeviceMemoryInfo;
}
