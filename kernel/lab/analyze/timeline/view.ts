/** What every analysis of a timeline starts from: the columns, checked, and where they come from. */
import { P2pError, shown } from "../../errors.js";
import type { Run } from "../../machine.js";
import { provenanceFields, type Table, tableOf } from "../../measure/table.js";
import type { Program } from "../../program.js";
import type { CopyKind, Timeline, TimelineDetails } from "../../timeline.js";
import { sortByColumn } from "./by-begin.js";

/** Anything that has a timeline: a traced run, an imported file, or a timeline alone. */
export type TimelineSource =
  | Run
  | Timeline
  | { readonly timeline: Timeline | null; readonly notes?: readonly string[] };

/** Part of a timeline, for all analyses. */
export interface WindowOptions {
  /** [from, to] in microseconds from the timeline's zero: only spans that begin in it. Default all. */
  window?: readonly [number, number];
}

export interface View {
  readonly timeline: Timeline;
  readonly details: TimelineDetails;
  /** Rows of the timeline that lie in the window, by their begin. */
  readonly order: Uint32Array;
  /** From the begin of the first span in the window to the end of the last, nanoseconds. */
  readonly lengthNs: number;
  /** The columns that say where the numbers come from. */
  readonly origin: Readonly<Record<"machine" | "provenance" | "date", string | null>>;
  /** The program of a run; null for an imported timeline. */
  readonly program: Program | null;
  /** Of an import: what is missing or odd. */
  readonly notes: readonly string[];
}

const COLUMNS = ["startNs", "endNs", "bytes", "correlation"] as const;
const ALL: readonly [number, number] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
/** The order of whole timelines, which are checked then: a summary asks for it a dozen times, and a timeline does not change. */
const WHOLE = new WeakMap<Timeline, Pick<View, "order" | "lengthNs">>();
const NO_ORIGIN = { machine: null, provenance: null, date: null } as const;

/**
 * @param who the function, for messages.
 * @throws P2pError `usage` when there is no timeline, its columns do not fit together, or the window holds nothing.
 */
export function viewOf(of: unknown, options: WindowOptions | undefined, who: string): View {
  const given = (typeof of === "object" && of !== null ? of : {}) as Partial<Run> & {
    timeline?: Timeline | null;
    notes?: readonly string[];
  };
  const timeline = checked(given.trace?.timeline ?? given.timeline ?? (of as Timeline), of, who);
  const window = windowOf(options, who);
  const whole = window === ALL ? WHOLE.get(timeline) : undefined;
  const { order, lengthNs } = whole ?? ordered(timeline, window, who);
  if (window === ALL) WHOLE.set(timeline, { order, lengthNs });
  const program = given.trace ? (given.program ?? null) : null;
  const { origin } = timeline;
  return {
    timeline,
    details: timeline.details ?? detailsOf(timeline, program),
    order,
    lengthNs,
    origin: given.provenance
      ? provenanceFields(given.provenance)
      : origin
        ? { ...origin, date: origin.date?.slice(0, 10) ?? null }
        : NO_ORIGIN,
    program,
    notes: Array.isArray(given.notes) ? given.notes : [],
  };
}

function checked(timeline: Timeline, of: unknown, who: string): Timeline {
  const rows = timeline?.startNs?.length;
  const fits =
    rows !== undefined &&
    COLUMNS.every((name) => timeline[name] instanceof Float64Array && timeline[name].length === rows) &&
    [timeline.kind, timeline.lane, timeline.name].every((column) => column?.length === rows);
  if (!fits) {
    const { trace, traceReason, timeline: own } = (of ?? {}) as Partial<Run> & { timeline?: unknown };
    const why =
      trace === null || own === null
        ? `something without a timeline${traceReason ? `: ${traceReason}` : ""}`
        : of instanceof Promise
          ? "a promise: await it"
          : `no timeline: ${shown(of)}`;
    throw new P2pError(
      "usage",
      `${who} was given ${why}`,
      'Give it a traced run, await machine.run(program, { trace: "full" }), or an import, await lab.import("report.sqlite").',
    );
  }
  if (WHOLE.has(timeline)) return timeline;
  for (let row = 0; row < rows; row++) {
    const [start, end] = [timeline.startNs[row] as number, timeline.endNs[row] as number];
    if (Number.isFinite(start) && Number.isFinite(end) && end >= start) continue;
    throw new P2pError(
      "usage",
      `${who} was given a timeline whose span ${row} ends before it begins, or has no times`,
      "Leave such spans out: their times mean nothing.",
    );
  }
  return timeline;
}

function windowOf(options: WindowOptions | undefined, who: string): readonly [number, number] {
  if (options !== undefined && (typeof options !== "object" || options === null)) {
    throw new P2pError(
      "usage",
      `${who} was given options that are none: ${shown(options)}`,
      "Leave them out.",
    );
  }
  const window = options?.window;
  if (window === undefined) return ALL;
  const [from, to] = Array.isArray(window) && window.length === 2 ? window : [Number.NaN, Number.NaN];
  if (typeof from === "number" && typeof to === "number" && from < to) return [from * 1e3, to * 1e3];
  throw new P2pError(
    "usage",
    `${who} was given the window ${shown(window)}`,
    "Give [from, to] in microseconds from the begin of the timeline, from before to.",
  );
}

function ordered(timeline: Timeline, [fromNs, toNs]: readonly [number, number], who: string) {
  const { startNs, endNs } = timeline;
  const all = new Uint32Array(startNs.length);
  let count = 0;
  let sorted = true;
  let endOfAll = Number.NEGATIVE_INFINITY;
  for (let row = 0; row < startNs.length; row++) {
    const start = startNs[row] as number;
    if (start < fromNs || start >= toNs) continue;
    if (count > 0 && start < (startNs[all[count - 1] as number] as number)) sorted = false;
    all[count++] = row;
    endOfAll = Math.max(endOfAll, endNs[row] as number);
  }
  const kept = all.subarray(0, count);
  if (count === 0 && startNs.length > 0) {
    throw new P2pError(
      "usage",
      `${who}: no span begins in the window`,
      "Give a wider window, or leave it out.",
    );
  }
  if (!sorted) sortByColumn(kept, startNs);
  const lengthNs = count === 0 ? 0 : endOfAll - (startNs[kept[0] as number] as number);
  return { order: kept, lengthNs };
}

/** What the program and the lanes of a run tell, in the form that imports have. */
function detailsOf(timeline: Timeline, program: Program | null): TimelineDetails {
  const rows = timeline.startNs.length;
  const device = new Int32Array(rows).fill(-1);
  const from = new Int32Array(rows).fill(-1);
  const to = new Int32Array(rows).fill(-1);
  const copyKind = new Array<CopyKind | null>(rows).fill(null);
  const memory = new Array<string | null>(rows).fill(null);
  const places = new Map((program?.data.buffers ?? []).map(({ name, place }) => [name, place]));
  const gpus = new Map<string, number>();
  for (let row = 0; row < rows; row++) {
    const lane = timeline.lane[row] as string;
    let gpu = gpus.get(lane);
    if (gpu === undefined) {
      gpu = Number(/^GPU (\d+)\b/.exec(lane)?.[1] ?? -1);
      gpus.set(lane, gpu);
    }
    device[row] = gpu;
    if (timeline.kind[row] !== "copy") continue;
    const [source, destination] = (timeline.name[row] as string).split(", chunk")[0]?.split(" → ") ?? [];
    const [src, dst] = [places.get(source ?? ""), places.get(destination ?? "")];
    if (!src || !dst) {
      copyKind[row] =
        (/\b([HDP]to[HDP])\b/.exec(timeline.name[row] as string)?.[1] as CopyKind | undefined) ?? null;
      continue;
    }
    if ("gpu" in src) from[row] = src.gpu;
    if ("gpu" in dst) to[row] = dst.gpu;
    const [a, b] = [from[row] as number, to[row] as number];
    copyKind[row] = a < 0 ? (b < 0 ? "HtoH" : "HtoD") : b < 0 ? "DtoH" : a === b ? "DtoD" : "PtoP";
    memory[row] = `${memoryOf(src)} → ${memoryOf(dst)}`;
  }
  return {
    device,
    from,
    to,
    copyKind,
    memory,
    process: new Int32Array(rows).fill(-1),
    graphNode: new Uint8Array(rows),
    crossThread: new Uint8Array(rows),
  };
}

function memoryOf(place: object): string {
  return "gpu" in place ? "Device" : "host" in place && place.host === "pageable" ? "Pageable" : "Pinned";
}

/**
 * The result of an analysis: its rows, each with `inputs` (what it was computed from), `reason` (why numbers are null) and the
 * provenance columns last. Without rows the table has one that says why.
 */
export function resultOf<Column extends string>(
  view: View,
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, unknown>>[],
  inputs: string,
  none: string,
): Table {
  const names = [...columns, "inputs", "reason", "machine", "provenance", "date"];
  const said = rows.length > 0 ? rows : [{ reason: none }];
  return tableOf(
    said.map((row) => ({ reason: null, ...row, inputs, ...view.origin })),
    names,
  );
}

/** `12 copies`, `1 copy`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
