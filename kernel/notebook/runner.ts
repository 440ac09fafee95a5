/** Executes notebooks without Jupyter: a fresh process each, outputs stored as a notebook keeps them. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { P2pError } from "../lab/index.js";
import type { Activity } from "../session/index.js";
import { CellProcess, CellProcessEnded, type StopSignal } from "./cell-runner.js";
import { Checkpoints } from "./checkpoints.js";
import { makeWritableFolder } from "./folder.js";
import {
  type Notebook,
  type NotebookCell,
  type NotebookOutput,
  nameOfNotebook,
  readNotebook,
  withProperIds,
} from "./nbformat.js";
import { OutputCollector } from "./outputs.js";

const OPEN_TIMEOUT_S = 120;
const CELL_TIMEOUT_S = 300;
const LAST_WORDS_S = 30;
const LONGER = "Give it longer with --timeout SECONDS, or do less in that cell.";

export interface RunNotebookOptions {
  /** Folder for the executed notebook and the ledger. */
  out: string;
  /** Specification for `lab.open()`; default the environment's. */
  machine?: string | undefined;
  /** Goes on after a failing cell. */
  allowErrors?: boolean;
  /** Limit of one cell, seconds; default 300. */
  timeoutS?: number;
  /** Where to record what is measured. */
  record?: string | undefined;
  /** Seconds after which what has run is written, so that a process that is killed leaves it; default 10. */
  keepEveryS?: number;
  onProgress?: (line: string) => void;
}

export interface CellFailure {
  /** The cell's id. */
  readonly cell: string;
  readonly ename: string;
  readonly evalue: string;
  /** Line in the cell, from 1; null where it is not known. */
  readonly line: number | null;
  /** What to do next, as the error says; null where it says nothing. */
  readonly hint: string | null;
}

export interface ExecutedNotebook {
  /** The written file. */
  readonly file: string;
  readonly notebook: Notebook;
  /** Failing cells, in order. */
  readonly failures: readonly CellFailure[];
  /** Programs recorded; null when no recording was asked for, a cell failed, or the run was stopped. */
  readonly recorded: number | null;
  /** The signal that ended the run before its last cell; null when none did. */
  readonly stoppedBy: StopSignal | null;
}

/**
 * Runs a notebook's cells in order and writes the notebook with outputs to `OUT/NAME.ipynb`, also when a cell failed or SIGINT,
 * SIGTERM or SIGHUP stopped it; and every few seconds what has run until then. The input is never changed.
 * @throws P2pError `notebook` (not a notebook of this kernel), `output` (OUT cannot be written), `cancelled` (stopped before the
 * first cell), or what the machine's specification ran into; then no cell has run and nothing is written. `output` also when
 * the disk is full at the end.
 */
export async function runNotebook(file: string, options: RunNotebookOptions): Promise<ExecutedNotebook> {
  const notebook = withProperIds(readNotebook(file));
  mustBeTypeScript(notebook, file);
  const out = resolve(options.out);
  const target = join(out, `${nameOfNotebook(file)}.ipynb`);
  if (existsSync(target) && realpathSync(target) === realpathSync(file)) {
    throw new P2pError(
      "output",
      `the result would replace the notebook ${file} itself`,
      "Choose another folder with --out.",
    );
  }
  makeWritableFolder(out);

  const cells = notebook.cells.filter((cell) => cell.cell_type === "code");
  for (const cell of cells) {
    cell.outputs = [];
    cell.execution_count = null;
  }
  const collector = new OutputCollector();
  let current = cells[0];
  const ledger = process.env.P2PLAB_LEDGER || join(out, "p2plab-ledger.json");
  const cellProcess = new CellProcess(
    dirname(resolve(file)),
    { ...process.env, P2PLAB_LEDGER: ledger },
    (output) => collector.add(current, output),
  );
  const failures: CellFailure[] = [];
  const asked = options.machine ?? process.env.P2PLAB_MACHINE ?? null;
  const checkpoints = new Checkpoints(target, notebook, collector, asked, options.keepEveryS);
  let activity: Activity = { machines: [], opened: [], programs: null, ledger: [] };
  let recorded: number | null = null;
  try {
    const { machine = null, record } = options;
    const opening = { type: "open", machine, record: record !== undefined } as const;
    await cellProcess.ask(opening, "ready", OPEN_TIMEOUT_S).catch((error: unknown) => {
      throw error instanceof CellProcessEnded ? notBegun(error, collector.outputsOf(current)) : error;
    });
    for (const [index, cell] of cells.entries()) {
      current = cell;
      if (cell.source.trim() === "") continue;
      options.onProgress?.(`[${index + 1}/${cells.length}] ${nameOf(cell, index)}`);
      try {
        const done = await cellProcess.ask(
          { type: "execute", code: cell.source },
          "done",
          options.timeoutS ?? CELL_TIMEOUT_S,
        );
        cell.execution_count = done.result.executionCount;
        activity = done.activity;
        const { error } = done.result;
        if (error) {
          const { ename, evalue, traceback } = error;
          failures.push({
            cell: nameOf(cell, index),
            ename,
            evalue,
            line: lineOf(traceback),
            hint: hintOf(traceback),
          });
        }
      } catch (error) {
        if (!(error instanceof CellProcessEnded)) throw error;
        // The cell took too long, was stopped, or took its process down: that is the cell's result.
        const { name: ename, message: evalue } = error;
        collector.add(cell, { type: "error", ename, evalue, traceback: [`${ename}: ${evalue}`] });
        const hint = ename === "CellTimeoutError" ? LONGER : null;
        failures.push({ cell: nameOf(cell, index), ename, evalue, line: null, hint });
      }
      if (cellProcess.ended || (failures.length > 0 && !options.allowErrors)) break;
      const trouble = checkpoints.keep(activity);
      if (trouble !== null) options.onProgress?.(`what has run is not kept yet: ${trouble}`);
    }
    activity = (await lastActivity(cellProcess)) ?? activity;
    if (record !== undefined && failures.length === 0) {
      recorded = await savedRecording(cellProcess, resolve(record));
    }
    checkpoints.write(activity);
  } finally {
    cellProcess.close();
  }
  return { file: target, notebook, failures, recorded, stoppedBy: cellProcess.stoppedBy };
}

/** Why no cell ran: the process in which they run is not there. */
function notBegun({ name, message }: CellProcessEnded, outputs: readonly NotebookOutput[]): P2pError {
  if (name === "StoppedError") {
    return new P2pError("cancelled", `${message} before the first cell ran`, "Nothing was written.");
  }
  const said = outputs.flatMap((output) => (output.output_type === "stream" ? [output.text.trim()] : []));
  const why =
    name === "CellTimeoutError"
      ? `the process for the cells was not ready within ${OPEN_TIMEOUT_S} s`
      : "the process for the cells ended before the first one ran";
  return new P2pError(
    "not-available",
    [why, ...said].join(": "),
    "p2plab doctor looks at this machine; p2plab run --machine sim:pcie-gen4-2 runs without it.",
  );
}

/** Programs in the recording; null when the run was stopped before it was whole. */
async function savedRecording(cellProcess: CellProcess, file: string): Promise<number | null> {
  try {
    return (await cellProcess.ask({ type: "save-recording", file }, "saved", OPEN_TIMEOUT_S)).programs;
  } catch (error) {
    if (!(error instanceof CellProcessEnded)) throw error;
    if (cellProcess.stoppedBy !== null) return null;
    throw new P2pError(
      "output",
      `the recording was not written: ${error.message}`,
      "Record fewer programs, or free memory and the disk.",
    );
  }
}

/** Null when the process is gone, or stuck in what a cell left behind. */
async function lastActivity(cellProcess: CellProcess): Promise<Activity | null> {
  if (cellProcess.ended) return null;
  try {
    return (await cellProcess.ask({ type: "tell-activity" }, "activity", LAST_WORDS_S)).activity;
  } catch (error) {
    if (error instanceof CellProcessEnded) return null;
    throw error;
  }
}

function mustBeTypeScript(notebook: Notebook, file: string): void {
  const { kernelspec, language_info } = notebook.metadata as {
    kernelspec?: { language?: string; name?: string };
    language_info?: { name?: string };
  };
  const language = kernelspec?.language ?? language_info?.name;
  if (language === undefined || /^typescript$/i.test(String(language)) || kernelspec?.name === "p2plab")
    return;
  throw new P2pError(
    "notebook",
    `${file} is a notebook in ${language} (kernel ${kernelspec?.name ?? "unnamed"}), and this runs TypeScript`,
    "Run it with its own kernel: jupyter execute; or choose the kernel P2P Lab (TypeScript) in JupyterLab. A report of what it already shows: p2plab report --no-execute.",
  );
}

function nameOf(cell: NotebookCell, index: number): string {
  return cell.id ?? `code cell ${index + 1}`;
}

/** The line that a traceback names first. */
function lineOf(traceback: readonly string[]): number | null {
  const match = /\bCell In\[\d+\], line (\d+)/.exec(traceback.join("\n"));
  return match ? Number(match[1]) : null;
}

/** The line that begins with an arrow: the hint of a typed error. */
function hintOf(traceback: readonly string[]): string | null {
  return /^→ (.+)$/m.exec(traceback.join("\n"))?.[1] ?? null;
}
