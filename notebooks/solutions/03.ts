/**
 * Reference answers to the exercises of chapter 03. Each region carries the id of the notebook cell that it replaces.
 */

// #region 03-exercise-1
export function nvlinks(label: string): number | null {
  const match = /^NV(\d+)$/.exec(label.trim());
  return match ? Number(match[1]) : 0;
}
// #endregion

// #region 03-exercise-2
export function relay(table: number[][], a: number, b: number): number | null {
  const widthOf = (gpu: number) => Math.min(table[a]?.[gpu] ?? 0, table[gpu]?.[b] ?? 0);
  let best = -1;
  for (let gpu = 0; gpu < table.length; gpu++) {
    if (gpu === a || gpu === b || widthOf(gpu) === 0) continue;
    if (best < 0 || widthOf(gpu) > widthOf(best)) best = gpu;
  }
  return best;
}
// #endregion

// #region 03-exercise-3
export function efficiency(payload: number, overhead: number): number | null {
  return payload / (payload + overhead);
}
// #endregion
