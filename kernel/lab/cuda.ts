/**
 * Ad hoc work on real GPUs, preloaded in notebooks as `cuda`: what is there, memory, copies, peer access. Without a driver
 * {@link availability} says why, and everything else throws `not-available` with the same reason.
 */
import { P2pError } from "./errors.js";
import {
  loadAddon,
  type NativeAddon,
  type NativeAvailability,
  type NativeBuffer,
  type NativeDevice,
  type NativePeer,
  translate,
} from "./native.js";
import { type Bytes, formatBytes, parseBytes } from "./units.js";

/** Whether CUDA, CUPTI and NVML can be used here, and why not. Never throws. */
export function availability(): NativeAvailability {
  try {
    return loadAddon().availability();
  } catch (error) {
    const reason = error instanceof P2pError ? `${error.message} ${error.hint}` : String(error);
    const library = { available: false, reason, version: null, path: null };
    const nvml = { ...library, driverVersion: null };
    return { cuda: library, cupti: library, nvml, deviceCount: 0, kernelModule: null };
  }
}

/** The GPUs the driver shows, by CUDA ordinal. */
export function devices(): NativeDevice[] {
  return call((addon) => addon.devices());
}

/** What the driver says of an ordered pair: whether `from` may access the memory of `to`, and how. */
export function peer(from: number, to: number): NativePeer {
  return call((addon) => addon.peer(from, to));
}

/** Memory of a GPU. */
export function alloc(gpu: number, bytes: Bytes): CudaBuffer {
  return new CudaBuffer(call((addon) => addon.alloc("device", gpu, parseBytes(bytes))));
}

/** Host memory, page-locked unless `pinned: false`. */
export function hostAlloc(bytes: Bytes, options: { pinned?: boolean } = {}): CudaBuffer {
  const kind = (options.pinned ?? true) ? "pinned" : "pageable";
  return new CudaBuffer(call((addon) => addon.alloc(kind, -1, parseBytes(bytes))));
}

/**
 * Copies between two buffers and returns when the copy is complete.
 * @param bytes all of the smaller buffer when left out.
 */
export function copy(
  dst: CudaBuffer,
  src: CudaBuffer,
  bytes?: Bytes,
  offsets: { dstOffset?: number; srcOffset?: number } = {},
): void {
  const { dstOffset = 0, srcOffset = 0 } = offsets;
  const length =
    bytes === undefined ? Math.min(dst.bytes - dstOffset, src.bytes - srcOffset) : parseBytes(bytes);
  call((addon) => addon.copy(dst.native, dstOffset, src.native, srcOffset, length));
}

/** Lets `from` access the memory of `to`; true when it was enabled now, false when it already was. */
export function enablePeer(from: number, to: number): boolean {
  return call((addon) => addon.enablePeer(from, to));
}

/** Takes peer access back; true when it was disabled now, false when it already was. */
export function disablePeer(from: number, to: number): boolean {
  return call((addon) => addon.disablePeer(from, to));
}

/** Memory on a GPU or the host. Freed by `close()`, at the end of a `using` block, or when it is collected. */
export class CudaBuffer {
  /** The addon's own object. */
  readonly native: NativeBuffer;

  constructor(native: NativeBuffer) {
    this.native = native;
  }

  get bytes(): number {
    return this.native.bytes;
  }

  /** GPU that owns it; null for host memory. */
  get gpu(): number | null {
    return this.native.gpu < 0 ? null : this.native.gpu;
  }

  get kind(): "device" | "pinned" | "pageable" {
    return this.native.kind;
  }

  /** Address in the unified address space, for a kernel's argument. */
  get address(): bigint {
    return this.native.address;
  }

  /** Copies the memory of a typed array, DataView or ArrayBuffer in, at an offset in bytes. */
  write(data: ArrayBufferView | ArrayBuffer, offset = 0): this {
    const bytes = ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : new Uint8Array(data);
    call(() => this.native.write(bytes, offset));
    return this;
  }

  /** Copies bytes out; all from the offset on when `bytes` is left out. */
  read(bytes?: Bytes, offset = 0): Uint8Array {
    const length = bytes === undefined ? this.bytes - offset : parseBytes(bytes);
    return call(() => this.native.read(length, offset));
  }

  /** Frees the memory; safe to call twice. */
  close(): void {
    this.native.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  toString(): string {
    return `${formatBytes(this.bytes)} on ${this.gpu === null ? `host (${this.kind})` : `GPU ${this.gpu}`}`;
  }
}

/** Calls the addon; what it throws becomes a CudaError or P2pError. */
function call<T>(work: (addon: NativeAddon) => T): T {
  try {
    return work(loadAddon());
  } catch (error) {
    throw translate(error);
  }
}
