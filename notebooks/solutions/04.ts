/**
 * Reference answers to the exercises of chapter 04. Each region carries the id of the notebook cell that it replaces.
 */

// #region 04-exercise-1
export interface Copy {
  src: number;
  dst: number;
  by: number;
}
export function pairsToEnable(copies: Copy[]): [number, number][] | null {
  const pairs = new Map<string, [number, number]>();
  for (const { src, dst, by } of copies) {
    for (const owner of [src, dst]) if (owner !== by) pairs.set(`${by},${owner}`, [by, owner]);
  }
  return [...pairs.values()];
}
// #endregion

// #region 04-exercise-2
export type Failed = { pair: [number, number]; code: number };
export function enableAll(
  pairs: [number, number][],
  enable: (from: number, to: number) => number,
): Failed[] | null {
  return pairs
    .map((pair) => ({ pair, code: enable(...pair) }))
    .filter(({ code }) => code !== 0 && code !== 704);
}
// #endregion

// #region 04-exercise-3
export function breakEven(enableUs: number, directUs: number, stagedUs: number): number | null {
  const savedUs = stagedUs - directUs;
  return savedUs > 0 ? Math.max(1, Math.ceil(enableUs / savedUs)) : Infinity;
}
// #endregion
