/**
 * Reference answers to the exercises of chapter 06. Each region carries the id of the notebook cell that it replaces.
 */

// #region 06-exercise-1
export interface Thread {
  gpu: number;
  block: number;
}
export function scopeFor(writer: Thread, reader: Thread): "block" | "gpu" | "system" | null {
  if (writer.gpu !== reader.gpu) return "system";
  return writer.block === reader.block ? "block" : "gpu";
}
// #endregion

// #region 06-exercise-2
export interface Costs {
  localNs: number;
  peerNs: number;
  wayNs: number;
}
export function waitNs(home: "sender" | "receiver", costs: Costs): number | null {
  const pollNs = home === "receiver" ? costs.localNs : costs.peerNs;
  const writeNs = home === "receiver" ? costs.wayNs : 0;
  return writeNs + 1.5 * pollNs;
}
// #endregion

// #region 06-exercise-3
export function verdictOf(
  reaches: boolean,
  early: number,
): "violation" | "reordered" | "ordered" | "luck" | null {
  if (early > 0) return reaches ? "violation" : "reordered";
  return reaches ? "ordered" : "luck";
}
// #endregion
