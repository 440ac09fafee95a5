import type { Table } from "../../measure/table.js";
import { medianOf } from "./spread.js";
import { submissionsOf } from "./submissions.js";
import { counted, resultOf, type TimelineSource, type View, viewOf, type WindowOptions } from "./view.js";

/** A first time is an outlier when it is so many times the median of the others, and so much longer. */
const TIMES = 5;
const LONGER_NS = 10_000;
/** With fewer others their median says little. */
const LEAST_OTHERS = 3;

const COLUMNS = [
  "what",
  "name",
  "first_us",
  "others",
  "others_median_us",
  "times",
  "outlier",
  "because",
] as const;

/**
 * What the first time of everything costs beside the later ones: calls (context creation, module and lazy function loading),
 * and the first copy of each pair of GPUs, from its call to its end (a peer's memory is mapped then). A first time is called an
 * outlier when it is at least 5 times the median of the others and 10 µs longer.
 * @returns a row each, outliers first: `what` (`call` or `copy`), `name`, `first_us`, `others` (later ones), `others_median_us`,
 * `times` (first over that median), `outlier`, `because` (the driver's own work that met it, where recorded), `inputs`,
 * `reason` and the provenance columns.
 * @throws P2pError `usage` when there is no timeline.
 */
export function firsts(of: TimelineSource, options?: WindowOptions): Table {
  const view = viewOf(of, options, "lab.timeline.firsts");
  const { kind, name, startNs, endNs } = view.timeline;
  const { callOf } = submissionsOf(view);
  const groups = new Map<string, Group>();
  let [calls, copies] = [0, 0];
  for (const row of view.order) {
    const end = endNs[row] as number;
    if (kind[row] === "api") {
      calls++;
      note(groups, "call", name[row] as string, startNs[row] as number, end);
    } else if (kind[row] === "copy") {
      const call = callOf[row] as number;
      const begin =
        call >= 0 ? Math.min(startNs[call] as number, startNs[row] as number) : (startNs[row] as number);
      copies++;
      note(groups, "copy", pairOf(view, row), begin, end);
    }
  }
  const loading = [...view.order].filter(
    (row) => kind[row] === "overhead" && !(name[row] as string).startsWith("profiler"),
  );
  const rows = [...groups.values()].map((group) => {
    const others = medianOf(group.othersNs);
    const firstNs = group.endNs - group.beginNs;
    const known = others !== null && group.othersNs.length >= LEAST_OTHERS;
    const met = loading.find(
      (row) => (startNs[row] as number) < group.endNs && (endNs[row] as number) > group.beginNs,
    );
    return {
      what: group.what,
      name: group.name,
      first_us: firstNs / 1e3,
      others: group.othersNs.length,
      others_median_us: others === null ? null : others / 1e3,
      times: others !== null && others > 0 ? firstNs / others : null,
      outlier: known ? firstNs >= TIMES * others && firstNs - others >= LONGER_NS : null,
      because: met === undefined ? null : (name[met] as string),
      reason: known ? null : `${counted(group.othersNs.length, "later one")}: too few to compare with`,
    };
  });
  rows.sort((a, b) => Number(b.outlier ?? false) - Number(a.outlier ?? false) || b.first_us - a.first_us);
  const inputs = `${counted(calls, "call")}, ${counted(copies, "copy", "copies")}, ${counted(loading.length, "stretch", "stretches")} of the driver's own work`;
  return resultOf(view, COLUMNS, rows, inputs, "neither calls nor copies were recorded");
}

interface Group {
  readonly what: string;
  readonly name: string;
  readonly beginNs: number;
  readonly endNs: number;
  readonly othersNs: number[];
}

function note(groups: Map<string, Group>, what: string, name: string, beginNs: number, endNs: number): void {
  const key = `${what}\n${name}`;
  const known = groups.get(key);
  if (known) known.othersNs.push(endNs - beginNs);
  else groups.set(key, { what, name, beginNs, endNs, othersNs: [] });
}

function pairOf({ details }: View, row: number): string {
  const end = (gpu: number) => (gpu < 0 ? "host" : `GPU ${gpu}`);
  const kind = details.copyKind[row];
  return `${kind ?? "copy"} ${end(details.from[row] as number)} → ${end(details.to[row] as number)}`;
}
