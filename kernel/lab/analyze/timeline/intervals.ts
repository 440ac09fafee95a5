/** Sets of time as disjoint, ascending intervals. */
export interface Intervals {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
}

/** The union of spans, given by their rows in ascending order of their begin. */
export function unionOf(rows: ArrayLike<number>, startNs: Float64Array, endNs: Float64Array): Intervals {
  const starts = new Float64Array(rows.length);
  const ends = new Float64Array(rows.length);
  let count = 0;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number;
    const [start, end] = [startNs[row] as number, endNs[row] as number];
    if (count > 0 && start <= (ends[count - 1] as number)) {
      ends[count - 1] = Math.max(ends[count - 1] as number, end);
    } else {
      starts[count] = start;
      ends[count++] = end;
    }
  }
  return { starts: starts.subarray(0, count), ends: ends.subarray(0, count) };
}

export function lengthOf({ starts, ends }: Intervals): number {
  let sum = 0;
  for (let i = 0; i < starts.length; i++) sum += (ends[i] as number) - (starts[i] as number);
  return sum;
}

/** How long both last at once. */
export function commonLength(a: Intervals, b: Intervals): number {
  let sum = 0;
  for (let i = 0, j = 0; i < a.starts.length && j < b.starts.length; ) {
    const start = Math.max(a.starts[i] as number, b.starts[j] as number);
    const end = Math.min(a.ends[i] as number, b.ends[j] as number);
    if (end > start) sum += end - start;
    if ((a.ends[i] as number) < (b.ends[j] as number)) i++;
    else j++;
  }
  return sum;
}

/** Whether a stretch of time meets the set. */
export function meets({ starts, ends }: Intervals, startNs: number, endNs: number): boolean {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] as number) <= startNs) low = middle + 1;
    else high = middle;
  }
  return low < starts.length && (starts[low] as number) < endNs;
}
