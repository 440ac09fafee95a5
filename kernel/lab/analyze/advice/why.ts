/** Why a plan is the best one: sentences made of what was measured. */
import { median } from "../../sampling.js";
import { formatNs } from "../../units.js";
import { AXES, type Axis, differences, type Plan, planText, type Space, valueText } from "./plan.js";
import type { Found } from "./search.js";
import { type Candidate, medianOf } from "./trials.js";
import { computeGpus, type Workload } from "./workload.js";

/** Where the time of a plan goes, as shares of its measured median; parts overlap, so they need not add up to one. */
export interface Shares {
  /** Host time in submit calls, measured. */
  readonly submit: number;
  /** Bytes over the busiest way, by its fitted rate; null without a model. */
  readonly link: number | null;
  /** The kernel on one GPU. */
  readonly compute: number;
  readonly bound: "launch-bound" | "link-bound" | "compute-bound" | "latency-bound";
}

/** From this share of the time on, a part is what bounds it. */
const BOUND = 0.5;

export function sharesOf({ run, estimate, visits }: Candidate, workload: Workload): Shares {
  const totalNs = medianOf({ visits });
  const submit = run && run.samples.apiNs.length > 0 ? median(run.samples.apiNs) / totalNs : 0;
  // The fit of a way that is a pipeline in itself can promise more than was needed.
  const link = estimate ? Math.min(1, estimate.linkNs / totalNs) : null;
  const compute = computeGpus(workload).length > 0 ? (workload.compute?.ns ?? 0) / totalNs : 0;
  const largest = Math.max(submit, link ?? 0, compute);
  const bound =
    largest < BOUND
      ? "latency-bound"
      : largest === submit
        ? "launch-bound"
        : largest === compute
          ? "compute-bound"
          : "link-bound";
  return { submit, link, compute, bound };
}

/** @param tried every candidate that was measured. */
export function reasonsOf(
  found: Found,
  workload: Workload,
  space: Space,
  tried: readonly Candidate[],
): string[] {
  const { best, naive } = found;
  const before = sharesOf(naive, workload);
  const after = sharesOf(best, workload);
  if (best === naive) {
    return [
      `The naive plan takes ${spent(naive, before)}.`,
      ...[nothingGained(found, space)],
      ...idleAxes(best, naive, workload, space, tried),
      ...modelText(found, tried),
    ];
  }
  return [
    `The naive plan takes ${spent(naive, before)}; the advised one ${spent(best, after)}.`,
    ...changes(best, naive, space, tried),
    ...idleAxes(best, naive, workload, space, tried),
    ...tieText(found, space),
    ...modelText(found, tried),
  ];
}

function spent(candidate: Candidate, { submit, link, compute, bound }: Shares): string {
  const parts = [
    `submit calls ${percent(submit)}`,
    ...(link === null ? [] : [`bytes on the link ${percent(link)}`]),
    ...(compute > 0 ? [`kernel ${percent(compute)}`] : []),
  ];
  return `${formatNs(medianOf(candidate))} and is ${bound} (of it ${parts.join(", ")})`;
}

/** What each departure brings: the plan without it, measured. */
function changes(best: Candidate, naive: Candidate, space: Space, tried: readonly Candidate[]): string[] {
  const axes = differences(best.plan, naive.plan).filter((axis) => space[axis].length > 1);
  const told = axes.flatMap((axis) => {
    const without = find(tried, { ...best.plan, [axis]: naive.plan[axis] });
    const name = `${valueText(axis, best.plan[axis])} instead of ${valueText(axis, naive.plan[axis])}`;
    if (!without) return axes.length === 1 ? [] : [`${name} (not without the rest)`];
    return [`${name} (${times(medianOf(without) / medianOf(best))})`];
  });
  return told.length > 0
    ? [`What each change brings (time of the advised plan without it, against with it): ${told.join("; ")}.`]
    : [];
}

/** Axes on which the plan stays as the naive one, though others were tried there. */
function idleAxes(
  best: Candidate,
  naive: Candidate,
  workload: Workload,
  space: Space,
  tried: readonly Candidate[],
): string[] {
  const { bound, link } = sharesOf(best, workload);
  const left = differences(best.plan, naive.plan);
  const told = (["streams", "submit", "chunk", "messages"] as const satisfies readonly Axis[]).flatMap(
    (axis) => {
      const others = (space[axis] as readonly unknown[])
        .filter((value) => value !== best.plan[axis])
        .flatMap((value) => find(tried, { ...best.plan, [axis]: value } as Plan) ?? []);
      if (others.length === 0 || left.includes(axis)) return [];
      const closest = others.reduce((a, b) => (medianOf(a) <= medianOf(b) ? a : b));
      const ratio = medianOf(closest) / medianOf(best);
      if (ratio < 0.99) return [];
      return [`${valueText(axis, closest.plan[axis])}: ${times(ratio)}`];
    },
  );
  if (told.length === 0) return [];
  const since =
    bound === "link-bound"
      ? `, since its bytes keep the link busy for ${percent(link ?? 0)} of the time`
      : "";
  return [`Other values bring nothing${since} (time against the advised plan: ${told.join("; ")}).`];
}

function nothingGained({ ties, comparison }: Found, space: Space): string {
  const best = ties.reduce<Candidate | null>(
    (a, b) => (a === null || medianOf(b) < medianOf(a) ? b : a),
    null,
  );
  if (!best) return "Nothing that was tried is faster.";
  return (
    `The fastest of the others (${planText(best.plan, space)}: ${formatNs(medianOf(best))}) cannot be told from it ` +
    `within ± ${percent(comparison.values.tolerance)}; the simpler plan wins.`
  );
}

function tieText({ ties, best, comparison }: Found, space: Space): string[] {
  if (ties.length === 0) return [];
  const list = ties
    .slice(0, 3)
    .map((tie) => `${planText(tie.plan, space)} (${times(medianOf(tie) / medianOf(best))})`);
  return [
    `Not distinguishable within ± ${percent(comparison.values.tolerance)}, and not simpler: ${list.join("; ")}${ties.length > 3 ? "; …" : ""}.`,
  ];
}

function modelText({ costs, naive, best, plans, kept }: Found, tried: readonly Candidate[]): string[] {
  if (!costs) return [`Of ${plans} plans the recording holds ${tried.length}, and only those were compared.`];
  const errors = tried.flatMap((candidate) =>
    candidate.estimate && candidate.visits.length > 0
      ? [Math.abs(candidate.estimate.totalNs / medianOf(candidate) - 1)]
      : [],
  );
  const predicted =
    naive.estimate && best.estimate && best !== naive
      ? ` It predicted ${times(naive.estimate.totalNs / best.estimate.totalNs)} for the advised plan.`
      : "";
  const off = errors.length > 0 ? `, off by ${percent(median(errors))} in the middle` : "";
  return [`A model fitted to probes left ${kept} of ${plans} plans to be measured${off}.${predicted}`];
}

function find(tried: readonly Candidate[], plan: Plan): Candidate | undefined {
  return tried.find(
    (candidate) => candidate.visits.length > 0 && AXES.every((axis) => candidate.plan[axis] === plan[axis]),
  );
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(2))} %`;
}

function times(ratio: number): string {
  return `${Number(ratio.toPrecision(3))} ×`;
}
