/** The band on top of a report: where its numbers come from. */
import { escapeHtml, type lab } from "../../lab/index.js";
import type { Notebook } from "../nbformat.js";
import type { Origin } from "../run-metadata.js";

const KINDS: Record<lab.Provenance["kind"], string> = {
  measured: "实测 MEASURED",
  recorded: "录制的实测 RECORDED",
  simulated: "模拟，不是实测 SIMULATED, NOT A MEASUREMENT",
};

const UNKNOWN = {
  "not-executed": "来源不明：未由p2plab执行 ORIGIN UNKNOWN: not executed by p2plab",
  changed: "来源不明：p2plab执行之后又被改动 ORIGIN UNKNOWN: changed since p2plab executed it",
} as const;

const CELL_BY_CELL = "逐个单元执行，未作整体核对 RUN CELL BY CELL, not checked as a whole";

const UNFINISHED = "没有执行到底 NOT RUN TO THE END";

/** One line for each machine that the notebook opened, then one for a run that did not reach the end and one for cells that failed. */
export function originBand(notebook: Notebook, origin: Origin): string {
  return [...originLines(origin), ...unfinishedLine(origin), ...failureLine(notebook)].join("\n");
}

/** Kind and name of every machine, for a line of text. */
export function originText(origin: Origin): string {
  if (origin.run === null) return UNKNOWN[origin.reason];
  return [...distinct(origin.run.machines).map(machineText), ...caveats(origin)].join("；");
}

/** The same, short enough for the foot of a page: where several machines are of one kind, how many. */
export function shortOriginText(origin: Origin): string {
  if (origin.run === null) return UNKNOWN[origin.reason];
  const machines = distinct(origin.run.machines);
  const kinds = [...new Set(machines.map(({ kind }) => kind))].map((kind) => {
    const [first, ...more] = machines.filter((machine) => machine.kind === kind) as [lab.Provenance];
    return more.length === 0 ? machineText(first) : `${kindText(kind)} × ${more.length + 1}`;
  });
  return [...kinds, ...caveats(origin)].join("；");
}

function machineText({ kind, machine, date, source }: lab.Provenance): string {
  return `${kindText(kind)} · ${machine} · ${date.slice(0, 10)} · ${source}`;
}

/** What makes the whole less than its parts seem. */
function caveats(origin: Origin): string[] {
  return [...(origin.cells ? [CELL_BY_CELL] : []), ...(ranOf(origin) === null ? [] : [UNFINISHED])];
}

export function kindText(kind: string): string {
  return Object.hasOwn(KINDS, kind) ? KINDS[kind as lab.Provenance["kind"]] : kind;
}

function originLines({ run, reason, cells }: Origin): string[] {
  if (run === null) return [line("unknown", UNKNOWN[reason])];
  const began = cells && minute(cells.began) !== minute(run.executed) ? `${minute(cells.began)} – ` : "";
  const when = `执行于 ${began}${minute(run.executed)} UTC · p2plab ${run.version}`;
  const machines =
    run.machines.length === 0
      ? [line("unknown", "没有打开任何机器 no machine was opened", when)]
      : distinct(run.machines).map((origin) => provenanceLine(origin, when));
  return cells ? [...machines, line("unknown", CELL_BY_CELL, ...cells.doubts)] : machines;
}

/** Of an ISO 8601 date: day, hour and minute. */
function minute(date: string): string {
  return date.slice(0, 16).replace("T", " ");
}

/** A model that was opened twice bears two times of one day. */
function distinct(machines: readonly lab.Provenance[]): lab.Provenance[] {
  const keyOf = ({ kind, machine, date, source }: lab.Provenance) =>
    JSON.stringify([kind, machine, date.slice(0, 10), source]);
  return [...new Map(machines.map((origin) => [keyOf(origin), origin])).values()];
}

function unfinishedLine(origin: Origin): string[] {
  const ran = ranOf(origin);
  return ran === null ? [] : [line("failed", UNFINISHED, `${ran} 个代码单元 code cells`)];
}

/** Cells that ran, of those to run; null when all did, or it is not known. */
function ranOf({ run }: Origin): string | null {
  const { cells, cellsRan } = run ?? {};
  if (typeof cells !== "number" || typeof cellsRan !== "number" || cellsRan >= cells) return null;
  return `${cellsRan} / ${cells}`;
}

function failureLine(notebook: Notebook): string[] {
  const failed = notebook.cells.filter((cell) =>
    cell.outputs?.some((output) => output.output_type === "error"),
  );
  if (failed.length === 0) return [];
  return [line("failed", `有${failed.length}个单元出错 ${failed.length} CELL(S) FAILED`)];
}

/** The band of what is all of one provenance. */
export function provenanceLine({ kind, machine, date, source }: lab.Provenance, when = ""): string {
  return line(kind, kindText(kind), machine, date.slice(0, 10), source, when);
}

function line(kind: string, headline: string, ...facts: string[]): string {
  const spans = facts.filter(Boolean).map((fact) => `<span>${escapeHtml(fact)}</span>`);
  return `<div class="origin ${escapeHtml(kind)}"><strong>${escapeHtml(headline)}</strong>${spans.join("")}</div>`;
}
