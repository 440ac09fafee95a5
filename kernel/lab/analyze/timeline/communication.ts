import type { Table } from "../../measure/table.js";
import { entryOf, spreadColumns, spreadOf } from "./spread.js";
import { counted, resultOf, type TimelineSource, viewOf, type WindowOptions } from "./view.js";

const LIBRARIES: readonly (readonly [library: string, name: RegExp])[] = [
  ["NCCL", /nccl/i],
  ["NVSHMEM", /nvshmem/i],
  ["driver", /^memcpy(?:32|64|128)/i],
];

const COLUMNS = [
  "library",
  "kernel",
  "n",
  "gpus",
  "total_us",
  "share_pct",
  ...spreadColumns("duration"),
] as const;

/**
 * Kernels that move data between GPUs, by name: those of NCCL and NVSHMEM, and those by which the driver copies small pieces.
 * Their transfers are in no copy of the timeline: neither bytes nor peers are known, and `copies` does not count them.
 * @returns a row a kernel: `library`, `kernel`, `n`, `gpus` (how many ran it), `total_us`, `share_pct` of the timeline's length,
 * `duration_*_us` (with waiting for the peers inside), `inputs`, `reason` and the provenance columns.
 * @throws P2pError `usage` when there is no timeline.
 */
export function communication(of: TimelineSource, options?: WindowOptions): Table {
  const view = viewOf(of, options, "lab.timeline.communication");
  const { kind, name, startNs, endNs } = view.timeline;
  const libraries = new Map<string, string | null>();
  const groups = new Map<string, { gpus: Set<number>; durations: number[] }>();
  let kernels = 0;
  for (const row of view.order) {
    if (kind[row] !== "kernel") continue;
    kernels++;
    const kernel = name[row] as string;
    const library = entryOf(
      libraries,
      kernel,
      () => LIBRARIES.find(([, own]) => own.test(kernel))?.[0] ?? null,
    );
    if (library === null) continue;
    const group = entryOf(groups, kernel, () => ({ gpus: new Set<number>(), durations: [] as number[] }));
    group.gpus.add(view.details.device[row] as number);
    group.durations.push((endNs[row] as number) - (startNs[row] as number));
  }
  const rows = [...groups].map(([kernel, { gpus, durations }]) => {
    const totalNs = durations.reduce((sum, ns) => sum + ns, 0);
    return {
      library: libraries.get(kernel) as string,
      kernel,
      n: durations.length,
      gpus: gpus.size,
      total_us: totalNs / 1e3,
      share_pct: view.lengthNs > 0 ? (100 * totalNs) / view.lengthNs : null,
      ...spreadOf("duration", durations),
    };
  });
  rows.sort((a, b) => b.total_us - a.total_us);
  const none = kernels === 0 ? "no kernels were recorded" : "no kernel has the name of one that communicates";
  return resultOf(view, COLUMNS, rows, counted(kernels, "kernel"), none);
}
