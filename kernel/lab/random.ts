/**
 * The project's one source of randomness: a seeded generator (PCG-XSH-RR 64/32, M. O'Neill, HMC-CS-2014-0905), so that
 * every simulated series, shuffle and test can be repeated.
 */
export class Random {
  #state: bigint;
  #spare: number | null = null;

  constructor(seed: number | bigint) {
    this.#state = 0n;
    this.#next();
    this.#state = (this.#state + BigInt.asUintN(64, BigInt(seed))) & MASK;
    this.#next();
  }

  #next(): number {
    const old = this.#state;
    this.#state = (old * 6364136223846793005n + 1442695040888963407n) & MASK;
    const xorshifted = Number(((old >> 18n) ^ old) >> 27n) >>> 0;
    const rotation = Number(old >> 59n);
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

const MASK = (1n << 64n) - 1n;

/** A 32-bit seed from a text (FNV-1a), so that a program and a seed give the same series everywhere. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
