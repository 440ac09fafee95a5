import type { Table } from "../../measure/table.js";
import type { SpanKind } from "../../timeline.js";
import { entryOf, medianOf } from "./spread.js";
import { submissionsOf, WORK } from "./submissions.js";
import { counted, resultOf, type TimelineSource, type View, viewOf, type WindowOptions } from "./view.js";

/** What PyTorch adds to the name of an operator; it would make each call a name of its own. */
const ADDED = /, (?:seq|op_id|sizes|input_op_ids) = .*$/s;
/** Ranges open at one moment of a thread; a deeper nesting is a damaged file's, or a recursion's. */
const MOST_OPEN = 64;

const COLUMNS = [
  "range",
  "n",
  "host_us",
  "host_median_us",
  "calls",
  "copies",
  "copy_bytes",
  "copy_us",
  "kernels",
  "kernel_us",
  "gpu_span_us",
] as const;

/**
 * What the named ranges of a program (NVTX, operators of PyTorch) made the GPUs do. Work belongs to the ranges that its submitting call begins in, of
 * the same thread, or of the same process for ranges that may change threads; it belongs to all ranges around, so that the rows
 * of an outer and an inner range both count it.
 * @returns a row a name: `range`, `n`, `host_us` (all together), `host_median_us`, `calls` (of CUDA, in it), `copies`, `copy_bytes`, `copy_us`,
 * `kernels`, `kernel_us` (memory sets and graphs with them), `gpu_span_us` (first begin to last end on the GPU, summed over the ranges), `inputs`, `reason` and the
 * provenance columns; the most GPU time first.
 * @throws P2pError `usage` when there is no timeline.
 */
export function ranges(of: TimelineSource, options?: WindowOptions): Table {
  const view = viewOf(of, options, "lab.timeline.ranges");
  const { kind, name, startNs, endNs, bytes } = view.timeline;
  const around = enclosing(view);
  const submissions = submissionsOf(view);
  const groups = new Map<string, Group>();
  const spans = new Map<number, { beginNs: number; endNs: number }>();
  const groupOf = (range: number) => entryOf(groups, plain(name[range] as string), newGroup);
  let [count, calls, attributed] = [0, 0, 0];
  for (const row of view.order) {
    if (kind[row] === "range") {
      count++;
      groupOf(row).hostNs.push((endNs[row] as number) - (startNs[row] as number));
    } else if (kind[row] === "api" || kind[row] === "sync") {
      calls++;
      for (const group of groupsOf(around.get(row), groupOf)) group.calls++;
    } else if (WORK.has(kind[row] as SpanKind)) {
      const open = around.get(submissions.callOf[row] as number);
      if (!open) continue;
      attributed++;
      const tookNs = (endNs[row] as number) - (startNs[row] as number);
      for (const group of groupsOf(open, groupOf))
        group.add(kind[row] as SpanKind, tookNs, bytes[row] as number);
      for (const range of open) widen(spans, range, startNs[row] as number, endNs[row] as number);
    }
  }
  for (const [range, span] of spans) groupOf(range).gpuSpanNs += span.endNs - span.beginNs;
  const rows = [...groups].map(([range, group]) => group.row(range));
  rows.sort((a, b) => b.copy_us + b.kernel_us - a.copy_us - a.kernel_us || b.host_us - a.host_us);
  const work = submissions.joined + submissions.unjoined;
  const inputs = `${counted(count, "range")}, ${counted(calls, "call")}; ${attributed} of ${work} pieces of work lie in a range`;
  return resultOf(
    view,
    COLUMNS,
    rows,
    inputs,
    "no named range was recorded: trace NVTX too, or name ranges in the program",
  );
}

class Group {
  readonly hostNs: number[] = [];
  calls = 0;
  gpuSpanNs = 0;
  #copies = 0;
  #copyBytes = 0;
  #copyNs = 0;
  #kernels = 0;
  #kernelNs = 0;

  add(kind: SpanKind, tookNs: number, bytes: number): void {
    if (kind === "copy") {
      this.#copies++;
      this.#copyBytes += bytes;
      this.#copyNs += tookNs;
    } else {
      this.#kernels++;
      this.#kernelNs += tookNs;
    }
  }

  row(range: string) {
    return {
      range,
      n: this.hostNs.length,
      host_us: this.hostNs.reduce((sum, ns) => sum + ns, 0) / 1e3,
      host_median_us: (medianOf(this.hostNs) ?? 0) / 1e3,
      calls: this.calls,
      copies: this.#copies,
      copy_bytes: this.#copyBytes,
      copy_us: this.#copyNs / 1e3,
      kernels: this.#kernels,
      kernel_us: this.#kernelNs / 1e3,
      gpu_span_us: this.gpuSpanNs / 1e3,
    };
  }
}

function plain(name: string): string {
  return name.includes(" = ") ? name.replace(ADDED, "") : name;
}

function newGroup(): Group {
  return new Group();
}

/** Once each, though a range may lie in one of the same name. */
function groupsOf(open: readonly number[] | undefined, groupOf: (range: number) => Group): Set<Group> {
  return new Set((open ?? []).map(groupOf));
}

function widen(
  spans: Map<number, { beginNs: number; endNs: number }>,
  range: number,
  beginNs: number,
  endNs: number,
) {
  const span = entryOf(spans, range, () => ({ beginNs, endNs }));
  span.beginNs = Math.min(span.beginNs, beginNs);
  span.endNs = Math.max(span.endNs, endNs);
}

/** The ranges in which each call begins, by the row of the call. */
function enclosing({ timeline, details, order }: View): Map<number, readonly number[]> {
  const { kind, lane, startNs, endNs } = timeline;
  const threads = new Map<string, number[]>();
  const processes = new Map<number, number[]>();
  const around = new Map<number, readonly number[]>();
  for (const row of order) {
    const now = startNs[row] as number;
    const process = details.process[row] as number;
    if (kind[row] === "range") {
      const cross = details.crossThread[row] === 1;
      const open = cross
        ? entryOf(processes, process, () => [])
        : entryOf(threads, lane[row] as string, () => []);
      closed(open, endNs, now);
      if (open.length < MOST_OPEN) open.push(row);
    } else if (kind[row] === "api" || kind[row] === "sync") {
      const own = threads.get(lane[row] as string);
      const shared = processes.get(process);
      if (own) closed(own, endNs, now);
      if (shared) closed(shared, endNs, now);
      const open = [...(own ?? []), ...(shared ?? [])];
      if (open.length > 0) around.set(row, open);
    }
  }
  return around;
}

/** Takes out what has ended by now. */
function closed(open: number[], endNs: Float64Array, now: number): void {
  let kept = 0;
  for (const range of open) if ((endNs[range] as number) > now) open[kept++] = range;
  open.length = kept;
}
