import type { Table } from "../../measure/table.js";
import { gbps } from "../../units.js";
import { entryOf, medianOf, spreadColumns, spreadOf } from "./spread.js";
import { counted, resultOf, type TimelineSource, type View, viewOf, type WindowOptions } from "./view.js";

/** Up to so many different sizes of a kind, each has a row of its own; above, a row spans sizes up to twice the smallest. */
const MOST_SIZES = 48;

const COLUMNS = [
  "copy",
  "from",
  "to",
  "memory",
  "bytes_from",
  "bytes_to",
  "n",
  "bytes",
  ...spreadColumns("duration"),
  "gbps_median",
  "gbps_best",
] as const;

interface Group {
  readonly copy: string;
  readonly from: number;
  readonly to: number;
  readonly memory: string | null;
  readonly rows: number[];
}

/**
 * Duration and achieved rate of the copies by direction, pair of GPUs, kind of memory and size. The rate is payload over the
 * time on the engine, without launch and without waiting for it.
 * @returns a row a group: `copy` (direction), `from` and `to` (GPU; null for host memory), `memory`, `bytes_from` to `bytes_to`
 * (sizes in the row), `n`, `bytes` (all together), `duration_*_us`, `gbps_median`, `gbps_best` (GB/s = 1e9 bytes/s), `inputs`,
 * `reason` and the provenance columns.
 * @throws P2pError `usage` when there is no timeline.
 */
export function copies(of: TimelineSource, options?: WindowOptions): Table {
  const view = viewOf(of, options, "lab.timeline.copies");
  const { kind } = view.timeline;
  const { copyKind, from, to, memory } = view.details;
  const groups = new Map<string, Group>();
  let count = 0;
  for (const row of view.order) {
    if (kind[row] !== "copy") continue;
    count++;
    const key = `${copyKind[row]}\n${from[row]}\n${to[row]}\n${memory[row]}`;
    entryOf(groups, key, () => ({
      copy: copyKind[row] ?? "unknown",
      from: from[row] as number,
      to: to[row] as number,
      memory: memory[row] ?? null,
      rows: [],
    })).rows.push(row);
  }
  const rows = [...groups.values()].flatMap((group) =>
    bySize(group, view).map((own) => rowOf(group, own, view)),
  );
  rows.sort((a, b) => b.bytes - a.bytes);
  const none =
    "no copy by the driver was recorded: kernels that reach a peer's memory, NCCL's among them, are none";
  return resultOf(view, COLUMNS, rows, counted(count, "copy", "copies"), none);
}

function bySize({ rows }: Group, { timeline }: View): number[][] {
  const exact = new Map<number, number[]>();
  for (const row of rows) entryOf(exact, timeline.bytes[row] as number, () => []).push(row);
  if (exact.size <= MOST_SIZES) return [...exact.values()];
  const classes = new Map<number, number[]>();
  for (const row of rows) {
    const bytes = timeline.bytes[row] as number;
    entryOf(classes, bytes > 0 ? Math.floor(Math.log2(bytes)) : -1, () => []).push(row);
  }
  return [...classes.values()];
}

function rowOf({ copy, from, to, memory }: Group, rows: readonly number[], { timeline }: View) {
  const sizes = rows.map((row) => timeline.bytes[row] as number);
  const durations = rows.map((row) => (timeline.endNs[row] as number) - (timeline.startNs[row] as number));
  const rates = durations.flatMap((ns, i) =>
    ns > 0 && (sizes[i] as number) > 0 ? [gbps(sizes[i] as number, ns)] : [],
  );
  const reason =
    rates.length === rows.length
      ? null
      : `${rows.length - rates.length} without a rate: ${sizes.some((bytes) => bytes === 0) ? "the file does not tell their bytes" : "they took less than the clock's step"}`;
  return {
    copy,
    from: from < 0 ? null : from,
    to: to < 0 ? null : to,
    memory,
    bytes_from: sizes.reduce((least, bytes) => Math.min(least, bytes), Number.POSITIVE_INFINITY),
    bytes_to: sizes.reduce((most, bytes) => Math.max(most, bytes), 0),
    n: rows.length,
    bytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
    ...spreadOf("duration", durations),
    gbps_median: medianOf(rates),
    gbps_best: rates.length > 0 ? rates.reduce((best, rate) => Math.max(best, rate), 0) : null,
    reason,
  };
}
