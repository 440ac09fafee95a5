import { P2pError, shown } from "../../errors.js";
import type { Table } from "../../measure/table.js";
import { gbps } from "../../units.js";
import { entryOf, medianOf } from "./spread.js";
import { counted, resultOf, type TimelineSource, viewOf, type WindowOptions } from "./view.js";

export interface StagedOptions extends WindowOptions {
  /** How long after the copy to the host ended the copy from it may begin, microseconds; default 50. */
  withinUs?: number;
}

const COLUMNS = ["from", "to", "n", "bytes", "pair_median_us", "gbps_median", "peer_copies"] as const;

/**
 * Transfers between GPUs that seem to go through host memory: a copy from one GPU to the host, then one of as many bytes from the host to another GPU,
 * of the same process and close in time. That is what a driver does without peer access, and what a program may do
 * on purpose; a file cannot tell which. Each copy takes part in one pair at most.
 * @returns a row an ordered pair of GPUs: `from`, `to`, `n` (such transfers), `bytes` (payload, counted once), `pair_median_us` (begin of the first copy to the
 * end of the second), `gbps_median` (payload over that), `peer_copies` (copies of the same pair that went directly), `inputs`,
 * `reason` and the provenance columns.
 * @throws P2pError `usage` when there is no timeline.
 */
export function staged(of: TimelineSource, options: StagedOptions = {}): Table {
  const view = viewOf(of, options, "lab.timeline.staged");
  const { withinUs = 50 } = options;
  if (!(typeof withinUs === "number" && withinUs >= 0 && Number.isFinite(withinUs))) {
    throw new P2pError(
      "usage",
      `withinUs is ${shown(withinUs)}`,
      "Give a number of microseconds, 0 or more.",
    );
  }
  const { kind, startNs, endNs, bytes } = view.timeline;
  const { copyKind, from, to, process } = view.details;
  const waiting = new Map<string, number[]>();
  const direct = new Map<string, number>();
  const pairs = new Map<string, Pair>();
  let [down, up] = [0, 0];
  for (const row of view.order) {
    if (kind[row] !== "copy") continue;
    const size = bytes[row] as number;
    const key = `${process[row]}\n${size}`;
    if (copyKind[row] === "PtoP") {
      const pair = `${from[row]} ${to[row]}`;
      direct.set(pair, (direct.get(pair) ?? 0) + 1);
    } else if (copyKind[row] === "DtoH" && size > 0) {
      down++;
      entryOf(waiting, key, () => []).push(row);
    } else if (copyKind[row] === "HtoD" && size > 0) {
      up++;
      const source = partner(waiting.get(key), row);
      if (source === undefined) continue;
      const ends = { from: from[source] as number, to: to[row] as number };
      const pair = entryOf(
        pairs,
        `${ends.from} ${ends.to}`,
        (): Pair => ({ ...ends, tookNs: [], rates: [], bytes: 0 }),
      );
      const tookNs = (endNs[row] as number) - (startNs[source] as number);
      pair.tookNs.push(tookNs);
      pair.bytes += size;
      if (tookNs > 0) pair.rates.push(gbps(size, tookNs));
    }
  }
  /** The last copy to the host that fits, taken out; those that can fit no more go too. */
  function partner(open: number[] | undefined, row: number): number | undefined {
    if (!open) return undefined;
    const begin = startNs[row] as number;
    while (open.length > 0 && begin - (endNs[open[0] as number] as number) > withinUs * 1e3) open.shift();
    for (let i = open.length - 1; i >= Math.max(0, open.length - MOST_OPEN); i--) {
      const candidate = open[i] as number;
      if (from[candidate] !== to[row]) return open.splice(i, 1)[0];
    }
    return undefined;
  }
  const rows = [...pairs.values()].map((pair) => ({
    from: pair.from,
    to: pair.to,
    n: pair.tookNs.length,
    bytes: pair.bytes,
    pair_median_us: (medianOf(pair.tookNs) ?? 0) / 1e3,
    gbps_median: medianOf(pair.rates),
    peer_copies: direct.get(`${pair.from} ${pair.to}`) ?? 0,
  }));
  rows.sort((a, b) => b.bytes - a.bytes);
  const inputs = `${counted(down, "copy", "copies")} to the host, ${counted(up, "copy", "copies")} from it, at most ${withinUs} µs apart`;
  const none =
    down === 0 || up === 0
      ? "there are not copies both to and from the host"
      : "no copy to the host is followed by one of the same size to another GPU";
  return resultOf(view, COLUMNS, rows, inputs, none);
}

/** So many candidates are looked at: a program that copies without end to the host must not make this quadratic. */
const MOST_OPEN = 64;

interface Pair {
  readonly from: number;
  readonly to: number;
  readonly tookNs: number[];
  readonly rates: number[];
  bytes: number;
}
