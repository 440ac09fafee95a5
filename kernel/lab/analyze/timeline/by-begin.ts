/**
 * Sorts rows by a column, in place: a merge sort of the stretches that are sorted already. A file holds one table behind the other, each nearly in
 * order, so that a handful of merges is enough.
 */
export function sortByColumn(rows: Uint32Array, column: Float64Array): void {
  let bounds = stretchesOf(rows, column);
  let from: Uint32Array = rows;
  let to: Uint32Array = new Uint32Array(rows.length);
  while (bounds.length > 2) {
    const merged = [0];
    for (let i = 0; i + 1 < bounds.length; i += 2) {
      const [begin, middle] = [bounds[i] as number, bounds[i + 1] as number];
      const end = bounds[i + 2] ?? middle;
      merge(from, to, begin, middle, end, column);
      merged.push(end);
    }
    bounds = merged;
    [from, to] = [to, from];
  }
  if (from !== rows) rows.set(from);
}

/** Where each sorted stretch begins, and the end of all. */
function stretchesOf(rows: Uint32Array, column: Float64Array): number[] {
  const bounds = [0];
  for (let i = 1; i < rows.length; i++) {
    if ((column[rows[i] as number] as number) < (column[rows[i - 1] as number] as number)) bounds.push(i);
  }
  bounds.push(rows.length);
  return bounds;
}

function merge(
  from: Uint32Array,
  to: Uint32Array,
  begin: number,
  middle: number,
  end: number,
  column: Float64Array,
) {
  let [left, right] = [begin, middle];
  for (let at = begin; at < end; at++) {
    const takeLeft =
      right >= end ||
      (left < middle &&
        (column[from[left] as number] as number) <= (column[from[right] as number] as number));
    to[at] = (takeLeft ? from[left++] : from[right++]) as number;
  }
}
