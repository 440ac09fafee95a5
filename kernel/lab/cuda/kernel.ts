import { P2pError, shown } from "../errors.js";
import { interruptSignal } from "../interrupt.js";
import type { KernelFacts, NativeArgument, NativeKernel } from "../native-binding.js";
import { type Bytes, parseBytes } from "../units.js";
import { call, DEADLINE_MS, later } from "./addon.js";
import { CudaArray, type ElementType } from "./array.js";
import { CudaBuffer } from "./buffer.js";
import { expectGpu, expectSignal } from "./expect.js";
import { KernelTiming } from "./kernel-timing.js";
import { type CudaStream, expectStream, expectWait, ownStream, type WaitOptions } from "./stream.js";

/** One to three dimensions: `256`, `[16, 16]`, `[8, 8, 4]`. */
export type Extent =
  | number
  | readonly [number]
  | readonly [number, number]
  | readonly [number, number, number];

/**
 * What a kernel's parameter takes: a buffer or an array in it for a pointer (`null` for a null pointer, a bigint for an
 * address inside a buffer), a number or bigint for a number, the bytes of a structure as a typed array or ArrayBuffer.
 */
export type KernelArgument =
  | CudaBuffer
  | CudaArray<ElementType, CudaBuffer>
  | number
  | bigint
  | boolean
  | null
  | ArrayBufferView
  | ArrayBuffer;

export interface LaunchOptions extends WaitOptions {
  /** Blocks. */
  grid: Extent;
  /** Threads of a block. */
  block: Extent;
  /** Dynamic shared memory of a block; default none. */
  shared?: Bytes | 0;
  /** Where to submit it. Without a stream, launch() returns when the kernel is done. */
  stream?: CudaStream;
  /** GPU to run on; default the stream's, the module's, or that of the first buffer among the arguments. */
  gpu?: number;
}

export interface TimeOptions extends Omit<LaunchOptions, "stream"> {
  /** Launches that are timed; default 100. */
  repetitions?: number;
  /** Launches before them; default 3. */
  warmup?: number;
  /** Ends the timing with `cancelled`; default the notebook's Stop. */
  signal?: AbortSignal;
}

const LAUNCH_NAMES = ["grid", "block", "shared", "gpu"];

/** Gives the kernel of a GPU, loaded when it is first asked for. */
export type KernelLoader = (gpu: number) => NativeKernel;

/** A kernel of a module; it is loaded on each GPU that it is launched on. */
export class CudaKernel {
  readonly name: string;
  /** Its parameters as the source declares them. */
  readonly parameters: readonly string[];
  readonly #load: KernelLoader;
  readonly #gpu: number | null;
  readonly #close: () => void;
  readonly #loaded = new Map<number, NativeKernel>();
  #closed = false;

  /** Made by `cuda.compile()` and `module.kernel()`. */
  constructor(
    name: string,
    parameters: readonly string[],
    load: KernelLoader,
    gpu: number | null,
    close: () => void = () => {},
  ) {
    this.name = name;
    this.parameters = parameters;
    this.#load = load;
    this.#gpu = gpu;
    this.#close = close;
  }

  /**
   * Launches it. With a stream it returns at once, and errors of the kernel itself show when the stream is waited for;
   * without one it waits for work in flight on its buffers, then for the kernel, and throws what the kernel ended with.
   * @throws P2pError `usage` naming the argument or dimension that is wrong; CudaError when the kernel failed.
   */
  launch(options: LaunchOptions, ...args: KernelArgument[]): void {
    expectWait(options, [...LAUNCH_NAMES, "stream"], "kernel.launch");
    const { stream } = options;
    if (stream !== undefined) expectStream(stream, "kernel.launch");
    if (options.gpu !== undefined) expectGpu(options.gpu, "kernel.launch");
    const gpu = options.gpu ?? stream?.gpu ?? this.#gpuFor(args);
    const kernel = this.#on(gpu);
    const shape = shapeOf(options);
    const values = args.map(nativeArgument);
    if (stream) {
      call(() => stream.native.launch(kernel, shape, values));
      return;
    }
    const own = ownStream(gpu);
    call((addon) => {
      for (const arg of args) {
        const buffer = bufferOf(arg);
        if (buffer) addon.settle(buffer.native);
      }
      own.native.launch(kernel, shape, values);
    });
    own.sync(options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs });
  }

  /**
   * Times launches of it, one at a time, by events around each; it really runs, so that what it adds to its buffers adds up.
   * @returns median and samples in nanoseconds, beside what the events take by themselves.
   */
  async time(options: TimeOptions, ...args: KernelArgument[]): Promise<KernelTiming> {
    expectWait(options, [...LAUNCH_NAMES, "repetitions", "warmup", "signal"], "kernel.time");
    expectSignal(options.signal, "kernel.time");
    const { repetitions = 100, warmup = 3, deadlineMs = DEADLINE_MS } = options;
    const kernel = this.#on(options.gpu ?? this.#gpuFor(args));
    const signal = options.signal ?? interruptSignal();
    const stop = () => kernel.cancel();
    const times = await later(async () => {
      if (signal?.aborted) return null;
      const timing = kernel.time(
        kernel,
        shapeOf(options),
        args.map(nativeArgument),
        repetitions,
        warmup,
        deadlineMs,
      );
      signal?.addEventListener("abort", stop);
      return timing;
    }).finally(() => signal?.removeEventListener("abort", stop));
    if (times && !times.cancelled) return new KernelTiming(times);
    throw new P2pError("cancelled", "the timing was stopped on request", "Run it again when you want it.");
  }

  /** Registers, memory and limits on a GPU; default the one it would be launched on. */
  facts(gpu = this.#gpuFor([])): KernelFacts {
    const kernel = this.#on(gpu);
    return call(() => kernel.facts);
  }

  /** Unloads it once work in flight is done; safe to call twice. */
  close(): void {
    this.#closed = true;
    for (const kernel of this.#loaded.values()) kernel.close();
    this.#loaded.clear();
    this.#close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  toString(): string {
    return `kernel ${this.name}(${this.parameters.join(", ")})`;
  }

  #gpuFor(args: readonly KernelArgument[]): number {
    if (this.#gpu !== null) return this.#gpu;
    for (const arg of args) {
      const gpu = bufferOf(arg)?.gpu ?? null;
      if (gpu !== null) return gpu;
    }
    return 0;
  }

  #on(gpu: number): NativeKernel {
    if (this.#closed) throw new P2pError("usage", `the kernel ${this.name} is closed`, "Compile it again.");
    expectGpu(gpu, this.name);
    const kernel = this.#loaded.get(gpu) ?? call(() => this.#load(gpu));
    this.#loaded.set(gpu, kernel);
    return kernel;
  }
}

/** The buffer that an argument names; null for other arguments. */
function bufferOf(arg: KernelArgument): CudaBuffer | null {
  const buffer = arg instanceof CudaArray ? arg.buffer : arg;
  return buffer instanceof CudaBuffer ? buffer : null;
}

function nativeArgument(arg: KernelArgument): NativeArgument {
  const buffer = bufferOf(arg);
  if (buffer) return buffer.native;
  if (arg === null) return 0n;
  if (ArrayBuffer.isView(arg)) return new Uint8Array(arg.buffer, arg.byteOffset, arg.byteLength);
  if (arg instanceof ArrayBuffer) return new Uint8Array(arg);
  return arg as number | bigint | boolean;
}

function shapeOf({ grid, block, shared }: LaunchOptions): Float64Array {
  const bytes = shared === undefined || shared === 0 ? 0 : parseBytes(shared);
  return Float64Array.of(...threeOf("grid", grid), ...threeOf("block", block), bytes);
}

function threeOf(what: string, extent: Extent): number[] {
  const list = typeof extent === "number" ? [extent] : Array.isArray(extent) ? [...extent] : [];
  const whole = list.every((n) => typeof n === "number" && Number.isSafeInteger(n) && n >= 1);
  if (list.length < 1 || list.length > 3 || !whole) {
    throw new P2pError(
      "usage",
      `${what} is ${Array.isArray(extent) ? `[${extent.map(shown).join(",")}]` : shown(extent)}, not one to three whole numbers from 1 on`,
      `Write ${what}: 256 or ${what}: [16, 16].`,
    );
  }
  return [...list, 1, 1].slice(0, 3);
}
