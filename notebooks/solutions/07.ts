/**
 * Reference answers to the exercises of chapter 07. Each region carries the id of the notebook cell that it replaces.
 */

// #region 07-exercise-1
export function perUseUs(openUs: number, closeUs: number, copyUs: number, uses: number): number | null {
  return copyUs + (openUs + closeUs) / uses;
}
// #endregion

// #region 07-exercise-2
export function breakEven(openUs: number, copyUs: number, stagedUs: number): number | null {
  const savedUs = stagedUs - copyUs;
  return savedUs > 0 ? Math.max(1, Math.ceil(openUs / savedUs)) : Infinity;
}
// #endregion

// #region 07-exercise-3
export type Open = (handle: string) => number;
export function cached(open: Open, close: Open, capacity: number): Open | null {
  const addresses = new Map<string, number>();
  return (handle) => {
    const known = addresses.get(handle);
    if (known !== undefined) {
      addresses.delete(handle);
      addresses.set(handle, known);
      return known;
    }
    const [oldest] = addresses.keys();
    if (addresses.size >= capacity && oldest !== undefined) {
      close(oldest);
      addresses.delete(oldest);
    }
    const address = open(handle);
    addresses.set(handle, address);
    return address;
  };
}
// #endregion
