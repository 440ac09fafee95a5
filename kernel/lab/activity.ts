/** What this process has done: the machines it opened and the programs that they ran. A report names both. */
import { type LedgerRow, takeEntered } from "./analyze/ledger.js";
import type { Machine, MachineInfo, Provenance, Run, RunMode } from "./machine.js";
import type { Program } from "./program.js";

/** A machine as a report names it. */
export interface OpenedMachine {
  readonly provenance: Provenance;
  readonly info: MachineInfo;
}

/** A program that ran, by which the run can be repeated and compared. */
export interface RanProgram {
  /** Sixteen hexadecimal digits, see {@link Program.hash}. */
  readonly hash: string;
  readonly mode: RunMode;
  /** Its statements, a line each; of a long one the first and how many follow. */
  readonly text: string;
  /** Kind and specification of the machine that answered. */
  readonly kind: Provenance["kind"];
  readonly source: string;
  /** How often it ran. */
  readonly runs: number;
}

/** Statements of a program that are told. */
const LINES = 12;
/** Program objects that are kept: a process that goes on for days does not grow by them. */
const MOST_PROGRAMS = 5000;

/** By the object itself: hashing takes as long as building a program, so it waits until somebody asks. */
type Runs = Map<Program, Map<string, { run: Pick<Run, "mode" | "provenance">; runs: number }>>;

const provenances: Provenance[] = [];
const machines: OpenedMachine[] = [];
const ran: Runs = new Map();
/** Since the last {@link takeActivity}. */
const recent = { machines: [] as OpenedMachine[], ran: new Map() as Runs };

/**
 * Provenance of every machine opened in this process, in order, and of a model behind one when it first answered; a report is
 * labelled by it.
 */
export function opened(): readonly Provenance[] {
  return provenances;
}

/** The machines opened in this process, in order, with what was known of each when it was opened. */
export function openedMachines(): readonly OpenedMachine[] {
  return machines;
}

/**
 * What ran in this process, in order; a program that ran again in the same mode on the same machine counts once. Of a process
 * that made more than 5000 programs, the first 5000.
 */
export function ranPrograms(): readonly RanProgram[] {
  return toldOf(ran, Number.POSITIVE_INFINITY).programs;
}

/** @param most programs that are hashed; `more` counts the objects beyond, some of which may be the same program. */
function toldOf(all: Runs, most: number): { programs: RanProgram[]; more: number } {
  const told = new Map<string, RanProgram>();
  let more = 0;
  for (const [program, ways] of all) {
    if (told.size >= most) {
      more++;
      continue;
    }
    for (const { run, runs } of ways.values()) {
      const { mode, provenance } = run;
      const key = [program.hash, mode, provenance.source].join(" ");
      const before = told.get(key);
      told.set(key, {
        hash: program.hash,
        mode,
        text: before?.text ?? shortText(program),
        kind: provenance.kind,
        source: provenance.source,
        runs: (before?.runs ?? 0) + runs,
      });
    }
  }
  return { programs: [...told.values()], more };
}

function shortText(program: Program): string {
  const lines = String(program).split("\n");
  if (lines.length <= LINES) return lines.join("\n");
  return [...lines.slice(0, LINES - 1), `… ${lines.length - LINES + 1} more`].join("\n");
}

/** What this process did since the last call. */
export interface RecentActivity {
  /** Of the machines opened, and of those that answered without being opened since. */
  readonly provenances: readonly Provenance[];
  readonly machines: readonly OpenedMachine[];
  readonly programs: readonly RanProgram[];
  /** Programs beyond, at most; some may be the same as one that is told. */
  readonly morePrograms: number;
  /** Rows of the ledger. */
  readonly entered: readonly LedgerRow[];
}

/**
 * What was done since the last call, and not yet told by it; null when nothing was.
 * @param most programs that are told: each has to be hashed, and whoever waits for a cell's end waits for it.
 */
export function takeActivity(most: number): RecentActivity | null {
  const { machines, ran } = recent;
  const entered = takeEntered();
  if (machines.length === 0 && ran.size === 0 && entered.length === 0) return null;
  recent.machines = [];
  recent.ran = new Map();
  const provenances = machines.map((machine) => machine.provenance);
  for (const ways of ran.values())
    for (const { run } of ways.values()) addProvenance(provenances, run.provenance);
  const { programs, more } = toldOf(ran, most);
  return { provenances, machines, programs, morePrograms: more, entered };
}

export function noteOpened(machine: Machine): void {
  const opened = { provenance: machine.provenance, info: machine.info };
  provenances.push(machine.provenance);
  machines.push(opened);
  recent.machines.push(opened);
}

/** The first answer of the model behind a recording is told as an opened machine is. */
export function noteAnswer(provenance: Provenance): void {
  addProvenance(provenances, provenance);
}

/** Adds a provenance that a list does not hold; a machine that was changed is still the same. */
export function addProvenance(list: Provenance[], provenance: Provenance): void {
  const { kind, source } = provenance;
  const same = (other: Provenance) =>
    other.kind === kind && (source.startsWith(other.source) || other.source.startsWith(source));
  if (!list.some(same)) list.push(provenance);
}

export function noteRun(run: Run): void {
  noteAnswer(run.provenance);
  count(ran, run);
  count(recent.ran, run);
}

function count(all: Runs, { program, mode, provenance }: Run): void {
  const ways = all.get(program) ?? new Map();
  if (ways.size === 0) {
    if (all.size >= MOST_PROGRAMS) return;
    all.set(program, ways);
  }
  const way = `${mode} ${provenance.source}`;
  const known = ways.get(way);
  if (known) known.runs++;
  else ways.set(way, { run: { mode, provenance }, runs: 1 });
}
