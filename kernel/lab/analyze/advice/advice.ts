/** The answer of `lab.advise`: a plan, what it gains, and why. */
import type { Provenance } from "../../machine.js";
import { PROVENANCE_COLUMNS, provenanceFields, type Table, tableOf } from "../../measure/table.js";
import type { Program } from "../../program.js";
import { escapeHtml, type MimeBundle, richDisplay } from "../../rich.js";
import { formatBytes, formatNs, gbps, nsToUs } from "../../units.js";
import type { Compared } from "../compare.js";
import { AXES, type Axis, type Excluded, type Plan, planText, type Space } from "./plan.js";
import type { Found } from "./search.js";
import { type Candidate, measuredOf, medianOf } from "./trials.js";
import { reasonsOf } from "./why.js";
import { bytesOf, describe, type Workload } from "./workload.js";

/** Rows that a notebook shows of the table. */
const SHOWN = 8;

export class Advice {
  /** One choice on each axis. */
  readonly plan: Plan;
  /** One iteration of the workload by the plan; runs on the machine as it is. */
  readonly program: Program;
  readonly mode: Workload["mode"];
  /** Medians of the last comparison; nanoseconds. */
  readonly totalNs: number;
  readonly naive: { readonly plan: Plan; readonly program: Program; readonly totalNs: number };
  /** How many times faster than the naive plan: by the fitted model (null without one), and measured with its 95 % interval. */
  readonly gain: {
    readonly predicted: number | null;
    readonly measured: number;
    readonly low: number;
    readonly high: number;
  };
  /** The naive plan against the advised one. */
  readonly comparison: Compared;
  /** Plans that measuring does not tell from the advised one, none of them simpler. */
  readonly ties: readonly Plan[];
  /** A few sentences made of what was measured. */
  readonly why: string;
  /** A row a plan that was tried; see `lab.advise`. */
  readonly table: Table;
  /** What was left out, and why. */
  readonly excluded: readonly Excluded[];
  readonly provenance: Provenance;
  /** The workload in a line. */
  readonly workload: string;
  readonly #space: Space;

  constructor(
    found: Found,
    workload: Workload,
    space: Space,
    tried: readonly Candidate[],
    excluded: readonly Excluded[],
    provenance: Provenance,
    note: string | null,
  ) {
    const { best, naive, comparison } = found;
    this.plan = best.plan;
    this.program = best.program;
    this.mode = workload.mode;
    this.totalNs = medianOf(best);
    this.naive = { plan: naive.plan, program: naive.program, totalNs: medianOf(naive) };
    const { ratio, ratioLow, ratioHigh } = comparison.values;
    this.gain = {
      predicted: best.estimate && naive.estimate ? naive.estimate.totalNs / best.estimate.totalNs : null,
      measured: 1 / ratio,
      low: 1 / ratioHigh,
      high: 1 / ratioLow,
    };
    this.comparison = comparison;
    this.ties = found.ties.map(({ plan }) => plan);
    this.why = [...(note ? [note] : []), ...reasonsOf(found, workload, space, tried)].join("\n");
    this.table = tableOfCandidates(tried, workload, space, provenance, found);
    this.excluded = excluded;
    this.provenance = provenance;
    this.workload = describe(workload);
    this.#space = space;
  }

  toString(): string {
    return [this.#headline(), this.why, ...this.#excludedText()].join("\n");
  }

  [richDisplay](): MimeBundle {
    const { kind, machine, date } = this.provenance;
    const origin = `[${kind}, ${machine}, ${date.slice(0, 10)}]`;
    const [headline, ...rest] = String(this).split("\n").map(escapeHtml);
    return {
      "text/html":
        `<p>${escapeHtml(this.workload)}<br><b>${headline}</b></p><ul>${rest.map((line) => `<li>${line}</li>`).join("")}</ul>` +
        `${this.#shownTable()}<p>${escapeHtml(origin)}</p>`,
      "text/plain": `${this.workload}\n${this} ${origin}`,
    };
  }

  #headline(): string {
    const { measured, low, high, predicted } = this.gain;
    const plan = planText(this.plan, this.#space);
    if (this.program === this.naive.program)
      return `stay with the naive plan (${plan}): ${formatNs(this.totalNs)}`;
    const short = (value: number) => Number(value.toPrecision(3));
    const model = predicted === null ? "" : `, predicted ${short(predicted)} ×`;
    return (
      `${plan}: ${formatNs(this.totalNs)} against ${formatNs(this.naive.totalNs)}, ${short(measured)} × as fast ` +
      `(95 % interval ${short(low)}–${short(high)}${model})`
    );
  }

  /** The first rows, in the units that read best. */
  #shownTable(): string {
    const axes = openAxes(this.#space);
    const duration = (us: unknown) => (typeof us === "number" ? formatNs(us * 1e3) : "");
    const rows = this.table.objects({ limit: SHOWN }) as Record<string, unknown>[];
    const cells = rows.map((row) => [
      ...axes.map((axis) => {
        const value = row[columnOf(axis)];
        return axis !== "chunk" ? String(value) : value === null ? "whole" : formatBytes(value as number);
      }),
      duration(row.predicted_us),
      row.total_us === null
        ? String(row.reason)
        : `${duration(row.total_us)} (${duration(row.ci_low_us)} … ${duration(row.ci_high_us)})`,
      row.gain === null ? "" : `${Number((row.gain as number).toPrecision(3))} ×`,
      String(row.choice),
    ]);
    const line = (tag: "th" | "td", values: readonly string[]) =>
      `<tr>${values.map((value) => `<${tag} style="text-align:left">${escapeHtml(value)}</${tag}>`).join("")}</tr>`;
    const head = [...axes, "predicted", "median (95 % interval)", "gain", ""];
    const more = this.table.numRows() - rows.length;
    return (
      `<table>${line("th", head)}${cells.map((row) => line("td", row)).join("")}</table>` +
      (more > 0 ? `<p>${more} more in <code>.table</code></p>` : "")
    );
  }

  #excludedText(): string[] {
    if (this.excluded.length === 0) return [];
    return [`Left out: ${this.excluded.map(({ what, reason }) => `${what} (${reason})`).join("; ")}.`];
  }
}

/** A row a candidate, fastest first; what the machine refused comes last, with its reason. */
export function tableOfCandidates(
  tried: readonly Candidate[],
  workload: Workload,
  space: Space,
  provenance: Provenance,
  found: Pick<Found, "best" | "ties" | "naive"> | null,
): Table {
  const axes = openAxes(space);
  const naiveNs = found ? medianOf(found.naive) : null;
  const rows = [...tried]
    .sort((a, b) => order(a, found) - order(b, found) || medianOf(a) - medianOf(b))
    .map((candidate) => {
      const measured = measuredOf(candidate);
      const { plan, estimate, stage, refused } = candidate;
      return {
        ...Object.fromEntries(
          axes.map((axis) => [columnOf(axis), plan[axis] === "whole" ? null : plan[axis]]),
        ),
        choice: choiceOf(candidate, found),
        predicted_us: estimate ? nsToUs(estimate.totalNs) : null,
        total_us: measured ? nsToUs(measured.medianNs) : null,
        ci_low_us: measured ? nsToUs(measured.ciLowNs) : null,
        ci_high_us: measured ? nsToUs(measured.ciHighNs) : null,
        gain: measured && naiveNs ? naiveNs / measured.medianNs : null,
        gbps: measured ? gbps(bytesOf(workload), measured.medianNs) : null,
        n: measured?.n ?? 0,
        stage: refused ? "refused" : stage,
        taints: candidate.run?.warnings.join("; ") ?? "",
        reason: refused?.message.split("\n")[0] ?? null,
        ...provenanceFields(candidate.run?.provenance ?? provenance),
      };
    });
  return tableOf(rows, [
    ...axes.map(columnOf),
    ...[
      "choice",
      "predicted_us",
      "total_us",
      "ci_low_us",
      "ci_high_us",
      "gain",
      "gbps",
      "n",
      "stage",
      "taints",
      "reason",
    ],
    ...PROVENANCE_COLUMNS,
  ]);
}

/** The path, and axes on which plans of the space differ. */
function openAxes(space: Space): readonly Axis[] {
  return AXES.filter((axis) => axis === "path" || space[axis].length > 1);
}

function columnOf(axis: Axis): string {
  return axis === "chunk" ? "chunk_bytes" : axis;
}

/** The advised plan, then its ties, then the others. */
function order(candidate: Candidate, found: Pick<Found, "best" | "ties"> | null): number {
  if (candidate.refused) return 3;
  if (candidate === found?.best) return 0;
  return found?.ties.includes(candidate) ? 1 : 2;
}

function choiceOf(candidate: Candidate, found: Pick<Found, "best" | "ties" | "naive"> | null): string {
  const words = [
    ...(candidate === found?.best ? ["advised"] : []),
    ...(candidate === found?.naive ? ["naive"] : []),
    ...(found?.ties.includes(candidate) ? ["tie"] : []),
  ];
  return words.join(", ");
}
