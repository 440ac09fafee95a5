import type { Table } from "../../measure/table.js";
import { commonLength, lengthOf, unionOf } from "./intervals.js";
import { entryOf } from "./spread.js";
import { counted, resultOf, type TimelineSource, viewOf, type WindowOptions } from "./view.js";

const COLUMNS = [
  "gpu",
  "copies",
  "kernels",
  "copy_us",
  "kernel_us",
  "both_us",
  "hidden_pct",
  "most_copies_at_once",
  "mean_copies_at_once",
] as const;

/**
 * How much of the copying of each GPU is hidden behind its kernels, and how many of its copies run at once. Times are of
 * unions: two copies side by side count once.
 * @returns a row a GPU: `gpu`, `copies`, `kernels` (counts), `copy_us`, `kernel_us` (while any runs), `both_us`, `hidden_pct` (both over copy),
 * `most_copies_at_once`, `mean_copies_at_once` (over `copy_us`), `inputs`, `reason` (why the share is null) and the provenance
 * columns.
 * @throws P2pError `usage` when there is no timeline.
 */
export function overlaps(of: TimelineSource, options?: WindowOptions): Table {
  const view = viewOf(of, options, "lab.timeline.overlaps");
  const { kind, startNs, endNs } = view.timeline;
  const gpus = new Map<number, { copies: number[]; kernels: number[] }>();
  for (const row of view.order) {
    const gpu = view.details.device[row] as number;
    if (gpu < 0) continue;
    if (kind[row] === "copy") entryOf(gpus, gpu, () => ({ copies: [], kernels: [] })).copies.push(row);
    else if (kind[row] === "kernel")
      entryOf(gpus, gpu, () => ({ copies: [], kernels: [] })).kernels.push(row);
  }
  const rows = [...gpus]
    .sort(([a], [b]) => a - b)
    .map(([gpu, { copies, kernels }]) => {
      const copying = unionOf(copies, startNs, endNs);
      const computing = unionOf(kernels, startNs, endNs);
      const [copyNs, bothNs] = [lengthOf(copying), commonLength(copying, computing)];
      const workNs = copies.reduce((sum, row) => sum + (endNs[row] as number) - (startNs[row] as number), 0);
      const known = copyNs > 0 && kernels.length > 0;
      return {
        gpu,
        copies: copies.length,
        kernels: kernels.length,
        copy_us: copyNs / 1e3,
        kernel_us: lengthOf(computing) / 1e3,
        both_us: bothNs / 1e3,
        hidden_pct: known ? (100 * bothNs) / copyNs : null,
        most_copies_at_once: deepest(copies, startNs, endNs),
        mean_copies_at_once: copyNs > 0 ? workNs / copyNs : null,
        reason: known ? null : `the timeline shows no ${copies.length === 0 ? "copy" : "kernel"} on this GPU`,
      };
    });
  const [copies, kernels] = rows.reduce(([c, k], row) => [c + row.copies, k + row.kernels], [0, 0] as [
    number,
    number,
  ]);
  const inputs = `${counted(copies, "copy", "copies")}, ${counted(kernels, "kernel")}`;
  return resultOf(view, COLUMNS, rows, inputs, "no copy and no kernel names its GPU");
}

/** Most spans that run at one moment; one that begins where another ends does not run with it. */
function deepest(rows: readonly number[], startNs: Float64Array, endNs: Float64Array): number {
  const ends = Float64Array.from(rows, (row) => endNs[row] as number).sort();
  let [done, most] = [0, 0];
  for (const [begun, row] of rows.entries()) {
    while (done < ends.length && (ends[done] as number) <= (startNs[row] as number) && done <= begun) done++;
    most = Math.max(most, begun + 1 - done);
  }
  return most;
}
