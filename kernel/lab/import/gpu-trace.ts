import type { CopyKind, Timeline } from "../timeline.js";
import { endsOf } from "./cuda-names.js";
import type { ImportOrigin } from "./importer.js";
import { Lanes } from "./lanes.js";
import { entryOf } from "./records.js";
import { Draft, TimelineBuilder } from "./timeline-builder.js";

/** Which columns of a printed trace hold what. */
export interface TraceColumns {
  /** In µs. */
  readonly start: string;
  readonly duration: string;
  readonly bytes: string;
  /** Such as `Tesla V100-SXM2-32GB (0)`. */
  readonly device: string;
  readonly stream: string;
  readonly name: string;
  readonly correlation: string;
  /** Of the GPUs that a peer copy reads and writes, where the trace has such columns. */
  readonly from?: string;
  readonly to?: string;
  readonly process?: string;
}

/** What `[CUDA memcpy …]` names, old and new. */
const COPIES: Readonly<Record<string, CopyKind>> = {
  "Host-to-Device": "HtoD",
  "Device-to-Host": "DtoH",
  "Device-to-Device": "DtoD",
  "Peer-to-Peer": "PtoP",
  "Host-to-Host": "HtoH",
  "Host-to-Array": "HtoA",
  "Array-to-Host": "AtoH",
  "Array-to-Array": "AtoA",
  "Array-to-Device": "AtoD",
  "Device-to-Array": "DtoA",
  "Unified Host-to-Device": "UVM HtoD",
  "Unified Device-to-Host": "UVM DtoH",
  "Unified Device-to-Device": "UVM DtoD",
};
const SHORT = new Set<string>(Object.values(COPIES));

/** The work of GPUs from a trace that nvprof or nsys stats printed; rows without start or duration are left out. */
export function gpuTimeline(
  source: string,
  names: TraceColumns,
  columns: Readonly<Record<string, readonly (number | string | null)[]>>,
  origin: ImportOrigin,
): Timeline | null {
  const starts = columns[names.start] ?? [];
  const builder = new TimelineBuilder(starts.length);
  const processes = new Set(names.process === undefined ? [] : (columns[names.process] ?? []));
  const lanes = new Lanes(processes.size > 1);
  const at = (name: string | undefined, row: number) =>
    name === undefined ? null : (columns[name]?.[row] ?? null);
  const draft = new Draft("kernel");
  for (let row = 0; row < starts.length; row++) {
    const name = String(at(names.name, row) ?? "");
    const copied = /^\[CUDA memcpy (.{1,40})\]$/.exec(name)?.[1];
    draft.kind = /^\[CUDA memcpy/i.test(name) ? "copy" : /^\[CUDA memset/i.test(name) ? "memset" : "kernel";
    draft.name = name;
    draft.startNs = nsOf(at(names.start, row));
    draft.endNs = draft.startNs + nsOf(at(names.duration, row));
    draft.bytes = numberOf(at(names.bytes, row), 0);
    draft.correlation = numberOf(at(names.correlation, row), 0);
    draft.process = numberOf(at(names.process, row), -1);
    draft.device = ordinalOf(at(names.device, row));
    draft.copyKind =
      copied === undefined
        ? null
        : (entryOf(COPIES, copied) ?? (SHORT.has(copied) ? (copied as CopyKind) : null));
    const ends = endsOf(
      draft.copyKind,
      draft.device,
      ordinalOf(at(names.from, row)),
      ordinalOf(at(names.to, row)),
    );
    draft.from = ends.from;
    draft.to = ends.to;
    draft.lane = lanes.stream(draft.process, draft.device, numberOf(at(names.stream, row), -1));
    builder.add(draft);
  }
  return builder.length > 0 ? builder.build(source, origin) : null;
}

function nsOf(us: number | string | null): number {
  return typeof us === "number" ? us * 1000 : Number.NaN;
}

function numberOf(value: number | string | null, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

/** Number of a GPU from `NVIDIA H200 (0)`; -1 where there is none. */
function ordinalOf(device: number | string | null): number {
  return Number(/\((\d{1,4})\)\s*$/.exec(String(device ?? ""))?.[1] ?? -1);
}
