import { P2pError, shown } from "../../errors.js";
import type { Table } from "../../measure/table.js";
import type { Program } from "../../program.js";
import { type Bytes, parseBytes } from "../../units.js";
import { entryOf } from "./spread.js";
import { counted, resultOf, type TimelineSource, viewOf, type WindowOptions } from "./view.js";

export interface BytesOptions extends WindowOptions {
  /** What an iteration (of an import: the whole timeline, or window) was asked to copy. Default: what the program of the run says. */
  requested?: Bytes;
}

const COLUMNS = [
  "iteration",
  "copies",
  "seen_bytes",
  "requested_bytes",
  "missing_bytes",
  "seen_times",
] as const;

/**
 * Holds the bytes of the recorded copies against those that were asked for. Fewer: copies that kernels did, or that the profiler
 * did not record (of a copy staged by the driver, the tracer may show only the last piece). Twice as many: staging through
 * host memory. A file says nothing about what was asked for, so that of an import `requested` has to be given.
 * @returns a row an iteration (of an import one, -1): `iteration`, `copies`, `seen_bytes`, `requested_bytes`, `missing_bytes` (negative where
 * more was moved than asked for), `seen_times` (seen over requested), `inputs`, `reason` and the provenance columns.
 * @throws P2pError `usage` when there is no timeline, or `requested` is no size.
 */
export function bytes(of: TimelineSource, options: BytesOptions = {}): Table {
  const who = "lab.timeline.bytes";
  const view = viewOf(of, options, who);
  const requested =
    options.requested === undefined ? requestedOf(view.program) : parseBytes(options.requested);
  const { kind, iteration, bytes: payload } = view.timeline;
  const iterations = new Map<number, { copies: number; seen: number }>();
  let count = 0;
  for (const row of view.order) {
    const own = iteration[row] as number;
    if (kind[row] !== "copy" && kind[row] !== "iteration") continue;
    const sum = entryOf(iterations, own, () => ({ copies: 0, seen: 0 }));
    if (kind[row] !== "copy") continue;
    count++;
    sum.copies++;
    sum.seen += payload[row] as number;
  }
  const rows = [...iterations]
    .sort(([a], [b]) => a - b)
    .map(([own, { copies, seen }]) => ({
      iteration: own,
      copies,
      seen_bytes: seen,
      requested_bytes: requested,
      missing_bytes: requested === null ? null : requested - seen,
      seen_times: requested === null || requested === 0 ? null : seen / requested,
      reason: requested === null ? "what was asked for is not known: give { requested }" : null,
    }));
  return resultOf(view, COLUMNS, rows, counted(count, "copy", "copies"), "no copy was recorded");
}

/** What the copy engines of one iteration are asked to move; copies by kernels are no copies on a timeline. */
function requestedOf(program: Program | null): number | null {
  const operations = program?.data?.operations;
  if (!operations) return null;
  if (!Array.isArray(operations))
    throw new P2pError("usage", `the program is ${shown(program)}`, "Give the run as it came.");
  return operations.reduce((sum, o) => (o.op === "copy" && o.engine === undefined ? sum + o.bytes : sum), 0);
}
