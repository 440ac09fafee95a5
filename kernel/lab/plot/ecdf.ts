import { P2pError } from "../errors.js";
import type { Run } from "../machine.js";
import { quantileSorted } from "../sampling.js";
import { logAxis } from "./axes.js";
import { Figure, type Origin } from "./figure.js";
import { digits, type FigureOptions, seriesStyles, styleOf } from "./style.js";

const WHO = "plot.ecdf";
/** Steps that are drawn of a series: more are closer together than a pixel. */
const MOST_STEPS = 1200;
/** The slowest samples are drawn one by one: a tail is made of few. */
const TAIL = 200;
/** Above this ratio of slowest to fastest the axis is logarithmic. */
const WIDE = 10;

/**
 * Share of samples that took at most so long, a step line a run; medians and p99 are marked. What a single median hides:
 * two modes, a tail.
 * @param runs a run, several, or several by name: `{ spin: a, block: b }`. Their `samples.totalNs` are drawn, each whole
 * (above 1,200 samples every so manieth, and all of the slowest 200).
 * @throws P2pError `usage` when there is no run, or one without samples.
 */
export function ecdf(
  runs: Run | readonly Run[] | Readonly<Record<string, Run>>,
  options: FigureOptions = {},
): Figure {
  const style = styleOf(options, WHO);
  const { say } = style;
  const series = named(runs).map(([name, run]) => ({ name, run, sorted: sortedUs(name, run) }));
  const looks = seriesStyles(series.map(({ name }) => name));
  const traces = series.flatMap(({ name, sorted }, index) => {
    const { colour, symbol } = looks[index] as (typeof looks)[number];
    const steps = stepsOf(sorted.length);
    const at = [0.5, 0.99].map((q) => quantileSorted(sorted, q));
    return [
      {
        type: "scatter",
        mode: "lines",
        name,
        legendgroup: name,
        showlegend: false,
        x: steps.map((i) => sorted[i] as number),
        y: steps.map((i) => (100 * (i + 1)) / sorted.length),
        line: { shape: "hv", color: colour, width: 2 },
        hovertemplate: `${name}<br>${say("不超过", "at most")} %{x:.4g} µs: %{y:.2f} %<extra></extra>`,
      },
      {
        type: "scatter",
        mode: "markers",
        name: `${name}  p50 ${digits(at[0] as number)}, p99 ${digits(at[1] as number)} µs, n = ${sorted.length}`,
        legendgroup: name,
        showlegend: true,
        x: at,
        y: [50, 99],
        marker: { color: colour, symbol, size: 10, line: { color: style.paper, width: 1 } },
        hovertemplate: `${name}<br>p%{y} = %{x:.4g} µs<extra></extra>`,
      },
    ];
  });
  const all = series.flatMap(({ sorted }) => [sorted[0] as number, sorted.at(-1) as number]);
  const title = say("一次迭代的时间（µs）", "time of one iteration (µs)");
  const log = Math.min(...all) > 0 && Math.max(...all) / Math.min(...all) > WIDE;
  return new Figure({
    title: options.title ?? say("样本的累积分布", "Cumulative distribution of samples"),
    traces,
    layout: {
      showlegend: true,
      xaxis: log ? logAxis(all, title) : { title: { text: title } },
      yaxis: { title: { text: say("样本比例（%）", "share of samples (%)") }, range: [-2, 102], dtick: 25 },
    },
    origins: originsOfRuns(series.map(({ run }) => run)),
    summary: series
      .map(
        ({ name, sorted }) =>
          `${name} p50 ${digits(quantileSorted(sorted, 0.5))} µs, p99 ${digits(quantileSorted(sorted, 0.99))} µs`,
      )
      .join("; "),
    style,
  });
}

/** Provenance of runs, each once. */
export function originsOfRuns(runs: readonly Run[]): Origin[] {
  const seen = new Map<string, Origin>();
  for (const { provenance } of runs) {
    const { machine, kind, date } = provenance;
    const origin = { machine, provenance: kind, date: date.slice(0, 10) };
    seen.set(JSON.stringify(origin), origin);
  }
  return [...seen.values()];
}

function named(runs: unknown): [string, Run][] {
  const list: [string, unknown][] = isRun(runs)
    ? [["run", runs]]
    : Array.isArray(runs)
      ? runs.map((run, index): [string, unknown] => [`run ${index + 1}`, run])
      : typeof runs === "object" && runs !== null
        ? Object.entries(runs)
        : [];
  const wrong = list.find(([, run]) => !isRun(run));
  if (list.length > 0 && !wrong) return list as [string, Run][];
  throw new P2pError(
    "usage",
    wrong ? `${WHO} was given "${wrong[0]}", which is no run` : `${WHO} was given no run`,
    "Give it runs: const run = await machine.run(program).",
  );
}

/** True for what a machine's `run` returns. */
export function isRun(value: unknown): value is Run {
  const run = value as Partial<Run> | null | undefined;
  return (
    typeof run?.provenance === "object" && run.provenance !== null && typeof run.samples?.totalNs === "object"
  );
}

function sortedUs(name: string, run: Run): Float64Array {
  const sorted = Float64Array.from(run.samples.totalNs, (ns) => ns / 1e3).sort();
  if (sorted.length > 0 && sorted.every(Number.isFinite)) return sorted;
  throw new P2pError(
    "usage",
    `${WHO}: "${name}" has ${sorted.length === 0 ? "no samples" : "samples that are no numbers"}`,
    "Give runs whose samples were kept.",
  );
}

/** Indices of the samples that are drawn, the first and the last among them. */
function stepsOf(length: number): number[] {
  if (length <= MOST_STEPS) return Array.from({ length }, (_, i) => i);
  const body = length - TAIL;
  const kept = MOST_STEPS - TAIL;
  return [
    ...Array.from({ length: kept }, (_, i) => Math.floor((i * (body - 1)) / (kept - 1))),
    ...Array.from({ length: TAIL }, (_, i) => body + i),
  ];
}
