import { P2pError, shown } from "../../errors.js";
import type { Table } from "../../measure/table.js";
import type { SpanKind } from "../../timeline.js";
import { entryOf, spreadColumns, spreadOf } from "./spread.js";
import { WORK } from "./submissions.js";
import { counted, resultOf, type TimelineSource, viewOf, type WindowOptions } from "./view.js";

export interface GapsOptions extends WindowOptions {
  /** Copies that follow within so many microseconds count as back to back; default 1. */
  backToBackUs?: number;
}

const COLUMNS = [
  "lane",
  "between",
  "n",
  ...spreadColumns("gap"),
  "idle_us",
  "idle_pct",
  "back_to_back_pct",
  "overlapping",
] as const;

/**
 * What lies between one piece of work and the next. Of `copies`, only from copy to copy, whatever else runs between them; of
 * `all work`, the time in which the stream or GPU had nothing to do. Streams are rows of their own; `GPU g` takes all streams of a GPU together.
 * @returns a row a lane and sort: `lane`, `between`, `n` (gaps), `gap_*_us` (0 where the next began before the end), `idle_us` and
 * `idle_pct` (all gaps, and their share from the first begin to the last end), `back_to_back_pct`, `overlapping` (how often the next
 * began before the end), `inputs`, `reason` and the provenance columns.
 * @throws P2pError `usage` when there is no timeline.
 */
export function gaps(of: TimelineSource, options: GapsOptions = {}): Table {
  const who = "lab.timeline.gaps";
  const view = viewOf(of, options, who);
  const { backToBackUs = 1 } = options;
  if (!(typeof backToBackUs === "number" && backToBackUs >= 0 && Number.isFinite(backToBackUs))) {
    throw new P2pError(
      "usage",
      `backToBackUs is ${shown(backToBackUs)}`,
      "Give a number of microseconds, 0 or more.",
    );
  }
  const { kind, lane, startNs, endNs } = view.timeline;
  const series = new Map<string, Series>();
  let work = 0;
  for (const row of view.order) {
    if (!WORK.has(kind[row] as SpanKind)) continue;
    work++;
    const gpu = view.details.device[row] as number;
    const lanes = gpu >= 0 ? [lane[row] as string, `GPU ${gpu}`] : [lane[row] as string];
    for (const own of lanes) {
      const sorts = kind[row] === "copy" ? ["all work", "copies"] : ["all work"];
      for (const sort of sorts) {
        entryOf(series, `${own}\n${sort}`, () => new Series(own, sort)).add(
          startNs[row] as number,
          endNs[row] as number,
        );
      }
    }
  }
  const rows = [...series.values()]
    .filter(({ gapsNs }) => gapsNs.length > 0)
    .map((own) => own.row(backToBackUs));
  rows.sort((a, b) => (a.lane < b.lane ? -1 : a.lane > b.lane ? 1 : 0));
  const none = "fewer than two pieces of work share a stream or GPU: nothing lies between";
  return resultOf(view, COLUMNS, rows, counted(work, "piece of work", "pieces of work"), none);
}

class Series {
  readonly gapsNs: number[] = [];
  readonly #lane: string;
  readonly #sort: string;
  #beginNs = Number.NaN;
  #endNs = Number.NaN;
  #overlapping = 0;

  constructor(lane: string, sort: string) {
    this.#lane = lane;
    this.#sort = sort;
  }

  /** In the order of their begin. */
  add(startNs: number, endNs: number): void {
    if (Number.isNaN(this.#endNs)) {
      this.#beginNs = startNs;
      this.#endNs = endNs;
      return;
    }
    this.gapsNs.push(Math.max(0, startNs - this.#endNs));
    if (startNs < this.#endNs) this.#overlapping++;
    this.#endNs = Math.max(this.#endNs, endNs);
  }

  row(backToBackUs: number) {
    const idleNs = this.gapsNs.reduce((sum, ns) => sum + ns, 0);
    const lengthNs = this.#endNs - this.#beginNs;
    return {
      lane: this.#lane,
      between: this.#sort,
      n: this.gapsNs.length,
      ...spreadOf("gap", this.gapsNs),
      idle_us: idleNs / 1e3,
      idle_pct: lengthNs > 0 ? (100 * idleNs) / lengthNs : null,
      back_to_back_pct:
        (100 * this.gapsNs.filter((ns) => ns <= backToBackUs * 1e3).length) / this.gapsNs.length,
      overlapping: this.#overlapping,
    };
  }
}
