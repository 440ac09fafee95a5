import { P2pError, shown } from "../errors.js";

/** Types of elements, as Rust and WebGPU write them. */
export type ElementType = "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "i64" | "u64" | "f32" | "f64";

const ARRAYS = {
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array,
} as const;

/** The typed array that holds elements of a type, such as Float32Array for `f32`. */
export interface ElementArrays {
  i8: Int8Array;
  u8: Uint8Array;
  i16: Int16Array;
  u16: Uint16Array;
  i32: Int32Array;
  u32: Uint32Array;
  i64: BigInt64Array;
  u64: BigUint64Array;
  f32: Float32Array;
  f64: Float64Array;
}

/** One element: a bigint for 64-bit whole numbers, otherwise a number. */
export type ElementOf<T extends ElementType> = T extends "i64" | "u64" ? bigint : number;

interface Bytes {
  readonly bytes: number;
  write(data: ArrayBufferView, offset?: number): unknown;
  read(bytes?: number, offset?: number): Uint8Array;
}

/** A buffer seen as elements of one type. It owns nothing: the buffer is closed, not the view. */
export class CudaArray<T extends ElementType, B extends Bytes = Bytes> {
  readonly buffer: B;
  readonly type: T;

  constructor(buffer: B, type: T) {
    if (typeof type !== "string" || !Object.hasOwn(ARRAYS, type)) {
      throw new P2pError(
        "usage",
        `no type of elements: ${shown(type)}`,
        `Types: ${Object.keys(ARRAYS).join(", ")}.`,
      );
    }
    this.buffer = buffer;
    this.type = type;
  }

  get #width(): number {
    return ARRAYS[this.type].BYTES_PER_ELEMENT;
  }

  /** Whole elements in the buffer. */
  get length(): number {
    return Math.floor(this.buffer.bytes / this.#width);
  }

  /** Copies elements out; all from `index` on when `count` is left out. */
  read(index = 0, count: number = this.length - index): ElementArrays[T] {
    this.#requireInside(index, count);
    const bytes = count > 0 ? this.buffer.read(count * this.#width, index * this.#width) : new Uint8Array(0);
    return new ARRAYS[this.type](bytes.buffer as ArrayBuffer, bytes.byteOffset, count) as ElementArrays[T];
  }

  /** Copies elements in, from `index` on. A number that the type does not hold is a `usage` error. */
  write(values: Iterable<ElementOf<T>>, index = 0): this {
    if (typeof (values as Iterable<unknown> | null | undefined)?.[Symbol.iterator] !== "function") {
      throw new P2pError("usage", `array.write: the values are ${shown(values)}`, "Give a list: [1, 2, 3].");
    }
    const list = [...values];
    this.#requireInside(index, list.length);
    if (list.length === 0) return this;
    const array = new ARRAYS[this.type](list.length);
    for (const [i, value] of list.entries()) {
      this.#requireFits(value);
      array[i] = value as never;
    }
    this.buffer.write(array, index * this.#width);
    return this;
  }

  get(index: number): ElementOf<T> {
    this.#requireInside(index, 1);
    return this.read(index, 1)[0] as ElementOf<T>;
  }

  set(index: number, value: ElementOf<T>): this {
    return this.write([value], index);
  }

  /** Stores one value in every element. */
  fill(value: ElementOf<T>): this {
    this.#requireFits(value);
    if (this.length === 0) return this;
    const array = new ARRAYS[this.type](this.length);
    array.fill(value as never);
    this.buffer.write(array);
    return this;
  }

  [Symbol.iterator](): Iterator<ElementOf<T>> {
    return this.read()[Symbol.iterator]() as Iterator<ElementOf<T>>;
  }

  toString(): string {
    return `${this.length} × ${this.type} in ${this.buffer}`;
  }

  #requireInside(index: number, count: number): void {
    if (Number.isSafeInteger(index) && Number.isSafeInteger(count) && index >= 0 && count >= 0) {
      if (index + count <= this.length) return;
    }
    throw new P2pError(
      "usage",
      typeof index === "number" && typeof count === "number"
        ? `elements ${index} to ${index + count} are not inside an array of ${this.length}`
        : `there are no ${shown(count)} elements from ${shown(index)} on`,
      "Count elements from 0 and stay inside the buffer.",
    );
  }

  /** Typed arrays would wrap what does not fit, silently. */
  #requireFits(value: number | bigint): void {
    const wide = this.type === "i64" || this.type === "u64";
    const float = this.type === "f32" || this.type === "f64";
    const one = new ARRAYS[this.type](1);
    const fits =
      typeof value === (wide ? "bigint" : "number") &&
      (float || Object.is(store(one, value), noMinusZero(value)));
    if (fits && !(this.type === "f32" && Number.isFinite(value) && !Number.isFinite(store(one, value))))
      return;
    throw new P2pError(
      "usage",
      `${typeof value === "bigint" ? `${value}n` : shown(value)} is no ${this.type}`,
      wide ? "64-bit whole numbers are bigints: 5n." : "Give a number that the type holds.",
    );
  }
}

function store(array: ElementArrays[ElementType], value: number | bigint): number | bigint {
  array[0] = value as never;
  return array[0] as number | bigint;
}

function noMinusZero(value: number | bigint): number | bigint {
  return Object.is(value, -0) ? 0 : value;
}
