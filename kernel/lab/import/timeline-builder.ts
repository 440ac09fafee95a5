import type { CopyKind, SpanKind, Timeline } from "../timeline.js";
import { IMPORTED, type ImportOrigin } from "./importer.js";

/**
 * A span as an importer hands it over. One object serves all spans of a table: of a million rows, a fresh one each would cost more
 * than reading them.
 */
export class Draft {
  kind: SpanKind;
  lane = "";
  name = "";
  startNs = Number.NaN;
  endNs = Number.NaN;
  bytes = 0;
  /** Number of the submission within its process; {@link TimelineBuilder} makes it unique. */
  correlation = 0;
  process = -1;
  device = -1;
  copyKind: CopyKind | null = null;
  from = -1;
  to = -1;
  memory: string | null = null;
  graphNode = false;
  crossThread = false;

  constructor(kind: SpanKind) {
    this.kind = kind;
  }
}

/** Correlation numbers have 32 bits; those of the second process begin behind those of the first, and so on. */
const CORRELATIONS = 2 ** 32;

/** Fills the columns of a timeline span by span; memory grows with the spans and nothing else. */
export class TimelineBuilder {
  readonly #processes = new Map<number, number>();
  #length = 0;
  #columns: Columns;

  /** @param spans how many are expected; more may come. */
  constructor(spans = 1024) {
    this.#columns = columnsOf(Math.max(16, spans));
  }

  get length(): number {
    return this.#length;
  }

  /** A span whose times are not finite, or that ends before it begins, is refused: the answer is whether it was taken. */
  add(span: Draft): boolean {
    const { startNs, endNs } = span;
    if (!Number.isFinite(startNs) || !Number.isFinite(endNs) || endNs < startNs) return false;
    if (this.#length === this.#columns.startNs.length) this.#grow();
    const row = this.#length++;
    const to = this.#columns;
    const process = idOf(span.process);
    to.kind[row] = span.kind;
    to.lane[row] = span.lane;
    to.name[row] = span.name;
    to.copyKind[row] = span.copyKind;
    to.memory[row] = span.memory;
    to.startNs[row] = startNs;
    to.endNs[row] = endNs;
    to.bytes[row] = countOf(span.bytes);
    to.correlation[row] = this.#correlationOf(process, span.correlation);
    to.process[row] = process;
    to.device[row] = idOf(span.device);
    to.from[row] = idOf(span.from);
    to.to[row] = idOf(span.to);
    to.graphNode[row] = span.graphNode ? 1 : 0;
    to.crossThread[row] = span.crossThread ? 1 : 0;
    return true;
  }

  /** The timeline, its zero moved to the begin of the first span. */
  build(source: string, { machine, date }: ImportOrigin): Timeline {
    const rows = this.#length;
    const { startNs, endNs } = this.#columns;
    let zeroNs = Number.POSITIVE_INFINITY;
    for (let row = 0; row < rows; row++) zeroNs = Math.min(zeroNs, startNs[row] as number);
    for (let row = 0; row < rows; row++) {
      startNs[row] = (startNs[row] as number) - zeroNs;
      endNs[row] = (endNs[row] as number) - zeroNs;
    }
    const columns = this.#columns;
    const cut = <Column extends { subarray(from: number, to: number): Column }>(column: Column) =>
      column.subarray(0, rows);
    for (const column of [columns.kind, columns.lane, columns.name, columns.copyKind, columns.memory]) {
      column.length = rows;
    }
    return {
      source,
      origin: { machine, provenance: IMPORTED, date },
      kind: columns.kind,
      lane: columns.lane,
      name: columns.name,
      startNs: cut(startNs),
      endNs: cut(endNs),
      bytes: cut(columns.bytes),
      correlation: cut(columns.correlation),
      iteration: new Int32Array(rows).fill(-1),
      details: {
        device: cut(columns.device),
        process: cut(columns.process),
        copyKind: columns.copyKind,
        from: cut(columns.from),
        to: cut(columns.to),
        memory: columns.memory,
        graphNode: cut(columns.graphNode),
        crossThread: cut(columns.crossThread),
      },
    };
  }

  /** Numbers of two processes collide; made unique here. */
  #correlationOf(process: number, correlation: number): number {
    if (!(correlation > 0 && correlation < CORRELATIONS)) return 0;
    let index = this.#processes.get(process);
    if (index === undefined) {
      index = this.#processes.size;
      this.#processes.set(process, index);
    }
    return Math.floor(correlation) + index * CORRELATIONS;
  }

  #grow(): void {
    const narrow = this.#columns;
    const wide = columnsOf(2 * this.#length);
    for (let row = 0; row < this.#length; row++) {
      wide.kind[row] = narrow.kind[row] as SpanKind;
      wide.lane[row] = narrow.lane[row] as string;
      wide.name[row] = narrow.name[row] as string;
      wide.copyKind[row] = narrow.copyKind[row] ?? null;
      wide.memory[row] = narrow.memory[row] ?? null;
    }
    for (const name of NUMBERS) wide[name].set(narrow[name]);
    this.#columns = wide;
  }
}

type Columns = ReturnType<typeof columnsOf>;

const NUMBERS = [
  "startNs",
  "endNs",
  "bytes",
  "correlation",
  "process",
  "device",
  "from",
  "to",
  "graphNode",
  "crossThread",
] as const;

function columnsOf(rows: number) {
  return {
    kind: new Array<SpanKind>(rows),
    lane: new Array<string>(rows),
    name: new Array<string>(rows),
    copyKind: new Array<CopyKind | null>(rows),
    memory: new Array<string | null>(rows),
    startNs: new Float64Array(rows),
    endNs: new Float64Array(rows),
    bytes: new Float64Array(rows),
    correlation: new Float64Array(rows),
    process: new Int32Array(rows),
    device: new Int32Array(rows),
    from: new Int32Array(rows),
    to: new Int32Array(rows),
    graphNode: new Uint8Array(rows),
    crossThread: new Uint8Array(rows),
  };
}

/** A number that a damaged file may hold is none where it makes no sense. */
function countOf(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0;
}

function idOf(value: number): number {
  return value >= 0 && value < 2 ** 31 ? Math.floor(value) : -1;
}
