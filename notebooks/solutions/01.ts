/**
 * Reference answers to the exercises of chapter 01. Each region carries the id of the notebook cell that it replaces.
 */
import type { lab } from "../../kernel/lab/index.js";

// #region 01-exercise-1
export function penalty(curve: lab.Table): { bytes: number; ratio: number }[] | null {
  const rows = curve.objects() as { path: string; bytes: number; total_us: number }[];
  const peer = new Map(rows.filter((r) => r.path === "peer").map((r) => [r.bytes, r.total_us]));
  return rows
    .filter((r) => r.path === "staged")
    .map((r) => ({ bytes: r.bytes, ratio: r.total_us / (peer.get(r.bytes) as number) }))
    .sort((a, b) => a.bytes - b.bytes);
}
// #endregion

// #region 01-exercise-2
export function model(curve: lab.Table): ((bytes: number) => number) | null {
  const rows = (curve.objects() as { path: string; bytes: number; total_us: number }[])
    .filter((r) => r.path === "peer")
    .sort((a, b) => a.bytes - b.bytes);
  const first = rows[0] as (typeof rows)[number];
  const last = rows[rows.length - 1] as (typeof rows)[number];
  const usPerByte = (last.total_us - first.total_us) / (last.bytes - first.bytes);
  return (bytes) => first.total_us + (bytes - first.bytes) * usPerByte;
}
// #endregion

// #region 01-exercise-3
export function firstTarget(row: Record<string, number>): string | null {
  const columns = ["launch_us", "setup_us", "link_us", "receiver_us"];
  return columns.reduce((longest, column) => ((row[column] ?? 0) > (row[longest] ?? 0) ? column : longest));
}
// #endregion
