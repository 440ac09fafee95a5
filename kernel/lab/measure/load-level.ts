/** Which level of the memory a chain hit, from measured contrasts alone. */

export interface LevelInput {
  readonly host: boolean;
  /** The chain itself, warm and with the caches flushed before; nanoseconds, null where it could not be had. */
  readonly warmNs: number | null;
  readonly flushedNs: number | null;
  /** As many nodes side by side, for wide strides. */
  readonly packedNs: number | null;
  readonly packedFlushedNs: number | null;
  readonly wide: boolean;
  /** Whether the cell itself is the flushed one. */
  readonly cold: boolean;
  /** Whether contrasts were measured at all. */
  readonly measured: boolean;
}

export interface Level {
  /**
   * `L2` (of host memory: `cache`): flushing the caches before makes it clearly slower. `memory`: flushing makes no
   * difference, or it was flushed and is clearly slower than warm. `L2 and memory`: in between. ` + TLB miss` behind it: clearly
   * slower than as many nodes side by side. null: the contrasts do not tell.
   */
  readonly level: string | null;
  readonly level_reason: string;
}

/** From here on two latencies differ clearly. Hits and misses of an L2 differ by 1.6 and more on the GPUs measured. */
const CLEAR = 1.25;
/** Up to here they do not. */
const ALIKE = 1.08;
/** What misses of address translation must add. */
const TRANSLATION = 1.15;

export function levelOf(input: LevelInput): Level {
  const { warmNs, flushedNs, packedNs, packedFlushedNs, wide, cold } = input;
  if (!input.measured) return unknown("no contrasts were measured (contrast: false)");
  const hit = wide ? packedNs : warmNs;
  const miss = wide ? packedFlushedNs : flushedNs;
  const own = cold ? flushedNs : warmNs;
  if (hit === null || miss === null || own === null)
    return unknown("a contrast could not be measured; see note");
  const cache = input.host ? "cache" : "L2";
  const ratio = miss / hit;
  const flushing = `flushing makes ${wide ? "as many nodes side by side" : "it"} × ${short(ratio)}`;
  if (cold && ratio < CLEAR) return unknown(`${flushing}, too little to tell a cache from memory`);
  const level = cold || ratio <= ALIKE ? "memory" : ratio >= CLEAR ? cache : `${cache} and memory`;
  if (!wide) return { level, level_reason: flushing };
  const spread = own / (cold ? miss : hit);
  const beside = `${flushing}; this far apart they take × ${short(spread)}`;
  return spread >= TRANSLATION
    ? {
        level: `${level} + TLB miss`,
        level_reason: `${beside}: translations miss, or lines collide in the cache`,
      }
    : { level, level_reason: beside };
}

function unknown(reason: string): Level {
  return { level: null, level_reason: reason };
}

function short(ratio: number): string {
  return ratio.toFixed(2);
}
