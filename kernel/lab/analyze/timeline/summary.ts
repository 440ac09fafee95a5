import type { Table } from "../../measure/table.js";
import { entryOf, spreadColumns, spreadOf } from "./spread.js";
import { counted, resultOf, type TimelineSource, viewOf, type WindowOptions } from "./view.js";

const COLUMNS = [
  "kind",
  "name",
  "lanes",
  "n",
  "bytes",
  "total_us",
  "share_pct",
  ...spreadColumns("duration"),
] as const;
/** Kinds that only frame others; named ranges, of which each operator of a program may have its own, are in `ranges`. */
const FRAMES: ReadonlySet<string> = new Set(["iteration", "range"]);

/**
 * Where the time went, a row a name.
 * @returns `kind`, `name`, `lanes` (threads or streams that it appears in), `n`, `bytes` (null for what carries none), `total_us` (sum, so that
 * spans side by side count twice), `share_pct` of the timeline's length, `duration_*_us`, `inputs`, `reason` and the provenance
 * columns; the longest first.
 * @throws P2pError `usage` when there is no timeline.
 */
export function summary(of: TimelineSource, options?: WindowOptions): Table {
  const view = viewOf(of, options, "lab.timeline.summary");
  const { kind, name, lane, startNs, endNs, bytes } = view.timeline;
  const kinds = new Map<string, Map<string, Group>>();
  let count = 0;
  for (const row of view.order) {
    const own = kind[row] as string;
    if (FRAMES.has(own)) continue;
    count++;
    const names = entryOf(kinds, own, () => new Map<string, Group>());
    const group = entryOf(names, name[row] as string, () => ({
      lanes: new Set<string>(),
      durations: [],
      bytes: 0,
    }));
    group.lanes.add(lane[row] as string);
    group.durations.push((endNs[row] as number) - (startNs[row] as number));
    group.bytes += bytes[row] as number;
  }
  const rows = [...kinds].flatMap(([own, names]) =>
    [...names].map(([name, group]) => {
      const totalNs = group.durations.reduce((sum, ns) => sum + ns, 0);
      return {
        kind: own,
        name,
        lanes: group.lanes.size,
        n: group.durations.length,
        bytes: group.bytes > 0 ? group.bytes : null,
        total_us: totalNs / 1e3,
        share_pct: view.lengthNs > 0 ? (100 * totalNs) / view.lengthNs : null,
        ...spreadOf("duration", group.durations),
      };
    }),
  );
  rows.sort((a, b) => b.total_us - a.total_us);
  return resultOf(view, COLUMNS, rows, counted(count, "span"), "the timeline holds no call and no work");
}

interface Group {
  readonly lanes: Set<string>;
  readonly durations: number[];
  bytes: number;
}
