import type { NativeBuffer, NativeMemoryKind } from "../native-binding.js";
import { type Bytes, formatBytes, parseBytes } from "../units.js";
import { call } from "./addon.js";
import { CudaArray, type ElementType } from "./array.js";
import { expectFlag, expectInstance, expectNumber, expectOptions } from "./expect.js";

/** Memory of a GPU; its content is undefined. */
export function alloc(gpu: number, bytes: Bytes): CudaBuffer {
  return new CudaBuffer(call((addon) => addon.alloc("device", gpu, parseBytes(bytes))));
}

/**
 * Host memory, page-locked unless `pinned: false`. A GPU can reach it only when it is page-locked. `registered: true`: ordinary
 * memory that is page-locked afterwards (cuMemHostRegister), as memory of another library is.
 */
export function hostAlloc(
  bytes: Bytes,
  options: { pinned?: boolean; registered?: boolean } = {},
): CudaBuffer {
  expectOptions(options, ["pinned", "registered"], "cuda.hostAlloc");
  const { pinned = true, registered = false } = options;
  expectFlag(pinned, "cuda.hostAlloc", "pinned");
  expectFlag(registered, "cuda.hostAlloc", "registered");
  const kind = registered ? "registered" : pinned ? "pinned" : "pageable";
  return new CudaBuffer(call((addon) => addon.alloc(kind, -1, parseBytes(bytes))));
}

/**
 * Managed memory (cuMemAllocManaged): the driver moves its pages to the GPU or host that touches them.
 * @throws P2pError `not-available` where the host may not touch it while a GPU works.
 */
export function managedAlloc(bytes: Bytes): CudaBuffer {
  return new CudaBuffer(call((addon) => addon.alloc("managed", -1, parseBytes(bytes))));
}

/** What the driver says of an address (cuPointerGetAttribute); null where it does not answer. */
export interface PointerFacts {
  /** Physical memory behind it; null for an address that the driver does not know, such as pageable host memory. */
  readonly memory: "host" | "device" | "array" | "unified" | null;
  /** GPU in whose context it was allocated. */
  readonly gpu: number | null;
  readonly managed: boolean | null;
  /** Address by which GPUs reach it, and by which the host does. */
  readonly deviceAddress: bigint | null;
  readonly hostAddress: bigint | null;
  /** The allocation that it lies in. */
  readonly rangeStart: bigint | null;
  readonly rangeBytes: number | null;
}

const MEMORY_TYPES = { 1: "host", 2: "device", 3: "array", 4: "unified" } as const;

/** Where a copy begins in each of its buffers; bytes. */
export interface CopyOffsets {
  dstOffset?: number;
  srcOffset?: number;
}

/**
 * Where a copy begins and how many bytes it moves; when it names none, all of the smaller stretch.
 * @throws P2pError `usage` for what is no buffer, size or offset.
 */
export function copyStretch(
  dst: CudaBuffer,
  src: CudaBuffer,
  bytes: Bytes | undefined,
  offsets: CopyOffsets,
  who: string,
): { length: number; dstOffset: number; srcOffset: number } {
  expectBuffer(dst, who, "the destination");
  expectBuffer(src, who, "the source");
  expectOptions(offsets, ["dstOffset", "srcOffset"], who);
  const { dstOffset = 0, srcOffset = 0 } = offsets;
  expectNumber(dstOffset, who, "dstOffset");
  expectNumber(srcOffset, who, "srcOffset");
  const rest = Math.min(dst.bytes - dstOffset, src.bytes - srcOffset);
  return { length: bytes === undefined ? rest : parseBytes(bytes), dstOffset, srcOffset };
}

/** @throws P2pError `usage` unless the value is a buffer. */
export function expectBuffer(value: unknown, who: string, what = "the buffer"): asserts value is CudaBuffer {
  expectInstance(value, CudaBuffer, who, what, "Give a buffer of cuda.alloc() or cuda.hostAlloc().");
}

/**
 * Copies between two buffers and returns when the copy is complete. Work on streams that uses them is waited for first.
 * @param bytes all of the smaller buffer when left out.
 */
export function copy(dst: CudaBuffer, src: CudaBuffer, bytes?: Bytes, offsets: CopyOffsets = {}): void {
  const { length, dstOffset, srcOffset } = copyStretch(dst, src, bytes, offsets, "cuda.copy");
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

  get kind(): NativeMemoryKind {
    return this.native.kind;
  }

  /** Address in the unified address space, for a kernel's argument: `buffer.address + 64n` is a pointer into it. */
  get address(): bigint {
    return this.native.address;
  }

  /** What the driver says of its address. @throws P2pError `not-available` without a driver. */
  pointer(): PointerFacts {
    const { memoryType, gpu, managed, devicePointer, hostPointer, rangeStart, rangeBytes } = call(() =>
      this.native.facts(),
    );
    return {
      memory: MEMORY_TYPES[memoryType as keyof typeof MEMORY_TYPES] ?? null,
      gpu,
      managed,
      deviceAddress: devicePointer,
      hostAddress: hostPointer,
      rangeStart,
      rangeBytes,
    };
  }

  /** The buffer as elements of a type: `buffer.as("f32").write([1, 2, 3])`, `buffer.as("i32").get(0)`. */
  as<T extends ElementType>(type: T): CudaArray<T, CudaBuffer> {
    return new CudaArray(this, type);
  }

  /**
   * Copies the memory of a typed array, DataView or ArrayBuffer in, at an offset in bytes.
   * @throws P2pError `usage` for other data, and for what does not lie inside the buffer.
   */
  write(data: ArrayBufferView | ArrayBuffer, offset = 0): this {
    if (!ArrayBuffer.isView(data)) {
      const how =
        'Give a typed array, DataView or ArrayBuffer; lists of numbers: buffer.as("f32").write([…]).';
      expectInstance(data, ArrayBuffer, "buffer.write", "the data", how);
    }
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
