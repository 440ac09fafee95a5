/**
 * Which level of the memory a chain hit, from measured contrasts alone: what flushing the caches adds to it, held against what
 * flushing adds to a small chain of the same memory, and what lying far apart adds to as many nodes.
 */

/** A median and its 95 % interval, nanoseconds. */
export interface Latency {
  readonly ns: number;
  readonly low: number;
  readonly high: number;
}

/** The same nodes warm and with the caches flushed before. */
export interface Contrast {
  readonly warm: Latency | null;
  readonly flushed: Latency | null;
}

export interface LevelInput {
  readonly host: boolean;
  /** Whether the cell is the flushed side of its own contrast. */
  readonly cold: boolean;
  /** The chain itself. */
  readonly own: Contrast;
  /** As many nodes side by side; null where the chain is such already. */
  readonly packed: Contrast | null;
  /** A small chain of the same memory; null when no contrasts were measured. */
  readonly reference: Contrast | null;
}

export interface Level {
  /**
   * `L2` (of host memory: `cache`): flushing adds about as much as to the small chain. `memory`: flushing adds next to nothing,
   * or the cell was flushed. `L2 and memory`: in between. ` + TLB miss` behind it: lying this far apart takes clearly longer than
   * side by side. null: the contrasts do not tell.
   */
  readonly level: string | null;
  readonly level_reason: string;
}

/** What flushing must add to the small chain, as a share of its latency, to be a contrast at all. */
const CLEAR = 0.03;
/** Shares of that contrast from which a chain counts as in the cache, and up to which as not. */
const CACHED = 0.7;
const UNCACHED = 0.25;
/** Share of that contrast that translations must add. A miss costs an access to memory or more. */
const TRANSLATION = 0.25;

export function levelOf({ host, cold, own, packed, reference }: LevelInput): Level {
  if (!reference) return unknown("no contrasts were measured (contrast: false)");
  const nodes = packed ?? own;
  const cell = cold ? own.flushed : own.warm;
  if (!reference.warm || !reference.flushed || !nodes.warm || !nodes.flushed || !cell) {
    return unknown("a contrast could not be had");
  }
  const full = reference.flushed.ns - reference.warm.ns;
  if (full < CLEAR * reference.flushed.ns || reference.warm.high >= reference.flushed.low) {
    return unknown("flushing adds nothing clear even to a small chain: no cache shows");
  }
  const added = nodes.flushed.ns - nodes.warm.ns;
  const share = added / full;
  const cache = host ? "cache" : "L2";
  const level = cold || share <= UNCACHED ? "memory" : share >= CACHED ? cache : `${cache} and memory`;
  const reason = `flushing adds ${added.toFixed(0)} ns to ${packed ? "as many nodes side by side" : "it"}, and ${full.toFixed(0)} ns to a small chain`;
  const beside = packed && (cold ? packed.flushed : packed.warm);
  if (!beside) return { level, level_reason: reason };
  const apart = cell.ns - beside.ns;
  const spread = `${reason}; lying this far apart adds ${apart.toFixed(0)} ns`;
  return apart >= TRANSLATION * full && cell.low > beside.high
    ? {
        level: `${level} + TLB miss`,
        level_reason: `${spread}: translations miss, or lines collide in the cache`,
      }
    : { level, level_reason: spread };
}

function unknown(reason: string): Level {
  return { level: null, level_reason: reason };
}
