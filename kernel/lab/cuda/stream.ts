import { P2pError } from "../errors.js";
import { interruptSignal } from "../interrupt.js";
import type { NativeEvent, NativeStream } from "../native-binding.js";
import type { Bytes } from "../units.js";
import { call, DEADLINE_MS, later } from "./addon.js";
import { type CopyOffsets, type CudaBuffer, copyStretch, expectBuffer } from "./buffer.js";
import { expectFlag, expectInstance, expectNumber, expectOptions, expectSignal } from "./expect.js";

/** A stream of a GPU: what is submitted to it runs in order, beside everything on other streams. */
export function stream(gpu = 0): CudaStream {
  return new CudaStream(call((addon) => addon.openStream(gpu)));
}

/** An event of a GPU; with timing unless `timing: false`. */
export function event(gpu = 0, options: { timing?: boolean } = {}): CudaEvent {
  expectOptions(options, ["timing"], "cuda.event");
  expectFlag(options.timing, "cuda.event", "timing");
  return new CudaEvent(call((addon) => addon.openEvent(gpu, options.timing ?? true)));
}

/** How long a wait may take. */
export interface WaitOptions {
  /** The wait ends with CUDA_ERROR_NOT_READY after this; default 60,000. */
  deadlineMs?: number;
}

/** A stretch of a buffer and the width of what is stored in it. */
export interface FillOptions {
  /** Bytes of an element, 1 (default), 2 or 4. */
  width?: 1 | 2 | 4;
  /** Where to begin, in bytes; default 0. */
  offset?: number;
  /** How many elements; default all from the offset on. */
  count?: number;
}

/** Streams that launches without a stream of their own use, by GPU. The addon closes them when the process ends. */
const own = new Map<number, CudaStream>();

let captures = 0;

/** Runs a function while a graph is made of what it submits. */
export function capturing<T>(work: () => T): T {
  captures++;
  try {
    return work();
  } finally {
    captures--;
  }
}

/** The stream of a GPU for calls that wait for their work themselves. */
export function ownStream(gpu: number): CudaStream {
  if (captures > 0) {
    throw new P2pError(
      "usage",
      "a call that waits for its work cannot be part of a graph",
      "Give the captured stream: launch({ …, stream }) or stream.fill().",
    );
  }
  const known = own.get(gpu) ?? stream(gpu);
  own.set(gpu, known);
  return known;
}

/**
 * Stores a value in every element of a stretch, and returns when that is done. Work on streams that uses the buffer is
 * waited for first.
 * @param value a whole number of the element's width, from 0 on.
 */
export function memset(buffer: CudaBuffer, value: number, options: FillOptions = {}): void {
  expectBuffer(buffer, "cuda.memset");
  const on = ownStream(buffer.gpu ?? 0);
  call((addon) => addon.settle(buffer.native));
  on.fill(buffer, value, options).sync();
}

/** Closed by `close()`, at the end of a `using` block, or when it is collected; its work goes on until it is done. */
export class CudaStream {
  /** The addon's own object. */
  readonly native: NativeStream;
  readonly gpu: number;

  constructor(native: NativeStream) {
    this.native = native;
    this.gpu = native.gpu;
  }

  /** Whether everything submitted is done. Throws what it ended with, such as an illegal address. */
  get idle(): boolean {
    return call(() => this.native.query());
  }

  /** Waits until everything submitted is done, holding up everything else in the notebook; see {@link done}. */
  sync(options: WaitOptions = {}): this {
    expectWait(options, [], "stream.sync");
    call(() => this.native.sync(options.deadlineMs ?? DEADLINE_MS));
    return this;
  }

  /**
   * Waits until everything submitted is done, without holding up the event loop.
   * @param options.signal ends the wait with `cancelled`; default the notebook's Stop. The work itself goes on.
   */
  async done(options: WaitOptions & { signal?: AbortSignal } = {}): Promise<void> {
    expectWait(options, ["signal"], "stream.done");
    expectSignal(options.signal, "stream.done");
    const signal = options.signal ?? interruptSignal();
    const stop = () => this.native.cancel();
    const done = later(async () => {
      if (signal?.aborted) return false;
      const wait = this.native.done(options.deadlineMs ?? DEADLINE_MS);
      signal?.addEventListener("abort", stop);
      return wait;
    });
    const complete = await done.finally(() => signal?.removeEventListener("abort", stop));
    if (complete) return;
    throw new P2pError("cancelled", "the wait was stopped on request", "The work of the stream goes on.");
  }

  /** Records an event behind what was submitted so far: the one given, or a new one. */
  record(mark: CudaEvent = event(this.gpu)): CudaEvent {
    expectEvent(mark, "stream.record");
    call(() => this.native.record(mark.native));
    return mark;
  }

  /** Lets what is submitted from here on wait for an event, of whatever stream or GPU. */
  wait(mark: CudaEvent): this {
    expectEvent(mark, "stream.wait");
    call(() => this.native.wait(mark.native));
    return this;
  }

  /** Submits a copy and returns at once. Host memory must be page-locked. */
  copy(dst: CudaBuffer, src: CudaBuffer, bytes?: Bytes, offsets: CopyOffsets = {}): this {
    const { length, dstOffset, srcOffset } = copyStretch(dst, src, bytes, offsets, "stream.copy");
    call(() => this.native.copy(dst.native, dstOffset, src.native, srcOffset, length));
    return this;
  }

  /** Submits a {@link memset} and returns at once. */
  fill(buffer: CudaBuffer, value: number, options: FillOptions = {}): this {
    expectBuffer(buffer, "stream.fill");
    expectOptions(options, ["width", "offset", "count"], "stream.fill");
    const { width = 1, offset = 0 } = options;
    expectNumber(width, "stream.fill", "width");
    expectNumber(offset, "stream.fill", "offset");
    const count = options.count ?? Math.floor((buffer.bytes - offset) / width);
    call(() => this.native.fill(buffer.native, offset, width, value, count));
    return this;
  }

  /** Safe to call twice. */
  close(): void {
    this.native.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  toString(): string {
    return `stream on GPU ${this.gpu}`;
  }
}

/** A point in a stream. Closed by `close()`, at the end of a `using` block, or when it is collected. */
export class CudaEvent {
  /** The addon's own object. */
  readonly native: NativeEvent;
  readonly gpu: number;

  constructor(native: NativeEvent) {
    this.native = native;
    this.gpu = native.gpu;
  }

  /** Records it behind what was submitted to a stream so far. */
  record(on: CudaStream): this {
    expectStream(on, "event.record");
    on.record(this);
    return this;
  }

  /** Whether the GPU passed the point recorded last. */
  get reached(): boolean {
    return call(() => this.native.query());
  }

  /** Waits until the GPU passed it. */
  sync(options: WaitOptions = {}): this {
    expectWait(options, [], "event.sync");
    call(() => this.native.sync(options.deadlineMs ?? DEADLINE_MS));
    return this;
  }

  /**
   * Nanoseconds from another event to this one, by the GPU's clock; negative when the other came later. The driver gives
   * milliseconds as a 32-bit float, with a resolution of about half a microsecond.
   * @throws P2pError `usage` when one lacks timing, was never recorded, is of another GPU, or was not reached yet.
   */
  elapsedNs(since: CudaEvent): number {
    expectEvent(since, "event.elapsedNs");
    return call(() => this.native.elapsedNs(since.native));
  }

  /** Safe to call twice. */
  close(): void {
    this.native.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** @throws P2pError `usage` unless the value is a stream. */
export function expectStream(value: unknown, who: string): asserts value is CudaStream {
  expectInstance(value, CudaStream, who, "the stream", "Give one of cuda.stream().");
}

function expectEvent(value: unknown, who: string): asserts value is CudaEvent {
  expectInstance(value, CudaEvent, who, "the event", "Give one of cuda.event() or stream.record().");
}

/** @throws P2pError `usage` unless they are options of a wait, or of what takes these names beside. */
export function expectWait(options: WaitOptions, names: readonly string[], who: string): void {
  expectOptions(options, ["deadlineMs", ...names], who);
  if (options.deadlineMs !== undefined) expectNumber(options.deadlineMs, who, "deadlineMs");
}
