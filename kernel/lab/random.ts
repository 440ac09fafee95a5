/**
 * The project's one source of randomness: a seeded generator (PCG-XSH-RR 64/32, M. O'Neill, HMC-CS-2014-0905), so that
 * every simulated series, shuffle and test can be repeated.
 */
export class Random {
  // The 64 bits of state as two halves: whole numbers of 64 bits are far slower, and a simulation draws millions.
  #high = 0;
  #low = 0;
  #spare: number | null = null;

  constructor(seed: number | bigint) {
    this.#next();
    const bits = BigInt.asUintN(64, BigInt(seed));
    const low = this.#low + Number(bits & 0xffffffffn);
    this.#low = low >>> 0;
    this.#high = (this.#high + Number(bits >> 32n) + (low > MOST ? 1 : 0)) >>> 0;
    this.#next();
  }

  #next(): number {
    const high = this.#high;
    const low = this.#low;
    // state × 6364136223846793005 + 1442695040888963407, modulo 2^64.
    const newLow = (Math.imul(low, FACTOR_LOW) >>> 0) + STEP_LOW;
    this.#low = newLow >>> 0;
    const carried = multiplyHigh(low, FACTOR_LOW) + (newLow > MOST ? 1 : 0) + STEP_HIGH;
    this.#high = (carried + Math.imul(high, FACTOR_LOW) + Math.imul(low, FACTOR_HIGH)) >>> 0;
    // ((old >> 18) ^ old) >> 27, of which the lower 32 bits count.
    const xorHigh = (high >>> 18) ^ high;
    const xorLow = ((low >>> 18) | (high << 14)) ^ low;
    const xorshifted = ((xorLow >>> 27) | (xorHigh << 5)) >>> 0;
    const rotation = high >>> 27;
    return ((xorshifted >>> rotation) | (xorshifted << (-rotation & 31))) >>> 0;
  }

  /** Uniform in [0, 1). */
  uniform(): number {
    return this.#next() / 2 ** 32;
  }

  /** Uniform whole number in [0, below). */
  integer(below: number): number {
    return Math.floor(this.uniform() * below);
  }

  /** Standard normal (Box–Muller). */
  normal(): number {
    if (this.#spare !== null) {
      const value = this.#spare;
      this.#spare = null;
      return value;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    const angle = 2 * Math.PI * this.uniform();
    this.#spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  /** Log-normal with median 1 and the given standard deviation of the logarithm. */
  logNormal(sigma: number): number {
    return Math.exp(sigma * this.normal());
  }

  /** A shuffled copy (Fisher–Yates). */
  shuffle<T>(items: readonly T[]): T[] {
    const list = [...items];
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.integer(i + 1);
      [list[i], list[j]] = [list[j] as T, list[i] as T];
    }
    return list;
  }
}

const MOST = 0xffffffff;
/** 6364136223846793005 and 1442695040888963407 in halves. */
const FACTOR_HIGH = 0x5851f42d;
const FACTOR_LOW = 0x4c957f2d;
const STEP_HIGH = 0x14057b7e;
const STEP_LOW = 0xf767814f;

/** Upper 32 bits of the product of two whole numbers of 32 bits. */
function multiplyHigh(a: number, b: number): number {
  const aHigh = a >>> 16;
  const aLow = a & 0xffff;
  const bHigh = b >>> 16;
  const bLow = b & 0xffff;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const cross = aLow * bHigh + (middle & 0xffff);
  return aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(cross / 65536);
}

/** A 32-bit seed from a text (FNV-1a), so that a program and a seed give the same series everywhere. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
