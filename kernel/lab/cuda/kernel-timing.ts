import type { NativeKernelTimes } from "../native-binding.js";
import { median, quantileSorted } from "../sampling.js";
import { formatNs } from "../units.js";

/**
 * How long a kernel takes on the GPU: from an event before it to an event behind it, both in the stream before the GPU came
 * to them, so that the host's time is not in it. What the two events take by themselves is measured beside it and is not
 * taken off: where it ends and the kernel begins cannot be told.
 */
export class KernelTiming {
  /** Median of {@link samplesNs}; null when it cannot be told from the floor, or the host's time is in it. */
  readonly medianNs: number | null;
  /** Why there is no median; null when there is one. */
  readonly reason: string | null;
  /** Median of {@link emptyNs}. */
  readonly floorNs: number;
  /** One a repetition, nanoseconds. */
  readonly samplesNs: Float64Array;
  /** The same with nothing between the events: the floor of this clock. */
  readonly emptyNs: Float64Array;
  /** Repetitions of which the host had not submitted everything when the GPU came to them. */
  readonly late: number;

  constructor(times: NativeKernelTimes) {
    this.samplesNs = times.kernelNs;
    this.emptyNs = times.emptyNs;
    this.late = times.late;
    this.floorNs = median(times.emptyNs);
    const middle = median(times.kernelNs);
    this.reason = reasonAgainst(middle, times);
    this.medianNs = this.reason === null ? middle : null;
  }

  toString(): string {
    const n = `median of ${this.samplesNs.length}; floor of the events ${formatNs(this.floorNs)}`;
    return this.medianNs === null ? `no figure: ${this.reason}` : `${formatNs(this.medianNs)} (${n})`;
  }
}

function reasonAgainst(middle: number, { kernelNs, emptyNs, late }: NativeKernelTimes): string | null {
  if (late * 2 > kernelNs.length) {
    return `in ${late} of ${kernelNs.length} repetitions the GPU waited for the host, whose time is in them`;
  }
  const high = quantileSorted(Float64Array.from(emptyNs).sort(), 0.95);
  if (middle > high) return null;
  return `${formatNs(middle)} from event to event is no more than an empty interval takes (95 % of them up to ${formatNs(high)}): let the kernel do more work`;
}
