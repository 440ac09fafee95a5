import type { NativeBuffer } from "../native-binding.js";
import { type Bytes, formatBytes, parseBytes } from "../units.js";
import { call } from "./addon.js";
import { CudaArray, type ElementType } from "./array.js";

/** Memory of a GPU; its content is undefined. */
export function alloc(gpu: number, bytes: Bytes): CudaBuffer {
  return new CudaBuffer(call((addon) => addon.alloc("device", gpu, parseBytes(bytes))));
}

/** Host memory, page-locked unless `pinned: false`. A GPU can reach it only when it is page-locked. */
export function hostAlloc(bytes: Bytes, options: { pinned?: boolean } = {}): CudaBuffer {
  const kind = (options.pinned ?? true) ? "pinned" : "pageable";
  return new CudaBuffer(call((addon) => addon.alloc(kind, -1, parseBytes(bytes))));
}

/** Where a copy begins in each of its buffers; bytes. */
export interface CopyOffsets {
  dstOffset?: number;
  srcOffset?: number;
}

/** How many bytes a copy moves when it names none: all of the smaller stretch. */
export function copyLength(
  dst: CudaBuffer,
  src: CudaBuffer,
  bytes: Bytes | undefined,
  offsets: CopyOffsets,
): number {
  const { dstOffset = 0, srcOffset = 0 } = offsets;
  return bytes === undefined ? Math.min(dst.bytes - dstOffset, src.bytes - srcOffset) : parseBytes(bytes);
}

/**
 * Copies between two buffers and returns when the copy is complete. Work on streams that uses them is waited for first.
 * @param bytes all of the smaller buffer when left out.
 */
export function copy(dst: CudaBuffer, src: CudaBuffer, bytes?: Bytes, offsets: CopyOffsets = {}): void {
  const { dstOffset = 0, srcOffset = 0 } = offsets;
  const length = copyLength(dst, src, bytes, offsets);
  call((addon) => addon.copy(dst.native, dstOffset, src.native, srcOffset, length));
}

/**
 * Memory on a GPU or the host. Freed by `close()`, at the end of a `using` block, or when it is collected; while a stream
 * still uses it, once that work is done. Reads and writes wait for such work.
 */
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

  /** Address in the unified address space, for a kernel's argument: `buffer.address + 64n` is a pointer into it. */
  get address(): bigint {
    return this.native.address;
  }

  /** The buffer as elements of a type: `buffer.as("f32").write([1, 2, 3])`, `buffer.as("i32").get(0)`. */
  as<T extends ElementType>(type: T): CudaArray<T, CudaBuffer> {
    return new CudaArray(this, type);
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
