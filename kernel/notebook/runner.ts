/** Executes notebooks without Jupyter: a fresh process each, outputs stored as a notebook keeps them. */
import { type ChildProcess, fork } from "node:child_process";
import { accessSync, constants, mkdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type lab, messageOf, P2pError } from "../lab/index.js";
import type { Reply, Request } from "./cell-process.js";
import { type Notebook, type NotebookCell, readNotebook, writeNotebook } from "./nbformat.js";
import { OutputCollector } from "./outputs.js";

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
  onProgress?: (line: string) => void;
}

export interface ExecutedNotebook {
  /** The written file. */
  readonly file: string;
  readonly notebook: Notebook;
  /** Failing cells, in order. */
  readonly failures: readonly { cell: string; ename: string; evalue: string }[];
  /** Programs recorded; null when no recording was asked for. */
  readonly recorded: number | null;
}

/**
 * Runs a notebook's cells in order and writes the notebook with outputs to `OUT/NAME.ipynb`; the input is never changed.
 * @throws P2pError `notebook` (not a notebook), `output` (OUT cannot be written), `not-available` (the session cannot start).
 */
export async function runNotebook(file: string, options: RunNotebookOptions): Promise<ExecutedNotebook> {
  const notebook = readNotebook(file);
  const out = resolve(options.out);
  mustBeWritable(out);
  const target = join(out, basename(file));
  if (target === resolve(file)) {
    throw new P2pError(
      "output",
      `the result would replace the notebook ${file} itself`,
      "Choose another --out folder.",
    );
  }
  const process = new CellProcess(dirname(resolve(file)), join(out, "p2plab-ledger.json"));
  const failures: { cell: string; ename: string; evalue: string }[] = [];
  let opened: readonly lab.Provenance[] = [];
  let recorded: number | null = null;
  try {
    await process.ask(
      { type: "open", machine: options.machine ?? null, record: options.record !== undefined },
      "ready",
      60,
    );
    const cells = notebook.cells.filter((cell) => cell.cell_type === "code");
    for (const [index, cell] of cells.entries()) {
      clear(cell);
      if (cell.source.trim() === "" || (failures.length > 0 && !options.allowErrors)) continue;
      options.onProgress?.(`[${index + 1}/${cells.length}] ${nameOf(cell, index)}`);
      const end = await executeCell(process, cell, options.timeoutS ?? 300);
      opened = end.opened ?? opened;
      if (end.error) failures.push({ cell: nameOf(cell, index), ...end.error });
      if (process.dead) break;
    }
    if (options.record !== undefined && failures.length === 0) {
      const saved = await process.ask({ type: "save-recording", file: resolve(options.record) }, "saved", 60);
      recorded = saved.programs;
    }
  } finally {
    process.close();
  }
  const last = opened.at(-1);
  notebook.metadata = {
    ...notebook.metadata,
    p2plab: {
      executed: new Date().toISOString(),
      machines: opened,
      ...(last ? { provenance: last.kind, machine: last.machine } : {}),
    },
  };
  writeNotebook(target, notebook);
  return { file: target, notebook, failures, recorded };
}

function mustBeWritable(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new P2pError(
      "output",
      `cannot write into ${folder}: ${messageOf(error)}`,
      "Choose another --out folder.",
      {
        cause: error,
      },
    );
  }
}

function clear(cell: NotebookCell): void {
  cell.outputs = [];
  cell.execution_count = null;
}

function nameOf(cell: NotebookCell, index: number): string {
  return cell.id ?? `code cell ${index + 1}`;
}

interface CellEnd {
  error: { ename: string; evalue: string } | null;
  opened: readonly lab.Provenance[] | null;
}

async function executeCell(process: CellProcess, cell: NotebookCell, timeoutS: number): Promise<CellEnd> {
  const collector = new OutputCollector();
  try {
    const done = await process.ask({ type: "execute", code: cell.source }, "done", timeoutS, (output) =>
      collector.add(output),
    );
    cell.execution_count = done.result.executionCount;
    const { error } = done.result;
    return { error: error && { ename: error.ename, evalue: error.evalue }, opened: done.opened };
  } catch (error) {
    // The cell took too long, or took its process down: that is the cell's result.
    const evalue = messageOf(error);
    collector.add({ type: "error", ename: "CellProcessError", evalue, traceback: [evalue] });
    return { error: { ename: "CellProcessError", evalue }, opened: null };
  } finally {
    cell.outputs = collector.outputs;
  }
}

/** The child process and one question at a time to it. */
class CellProcess {
  readonly #child: ChildProcess;
  dead = false;

  constructor(cwd: string, ledger: string) {
    this.#child = fork(fileURLToPath(new URL("./cell-process.js", import.meta.url)), [], {
      cwd,
      execArgv: nodeFlags(),
      env: { ...process.env, P2PLAB_LEDGER: process.env.P2PLAB_LEDGER ?? ledger },
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#child.once("exit", () => {
      this.dead = true;
    });
  }

  ask<T extends Reply["type"]>(
    request: Request,
    wanted: T,
    timeoutS: number,
    onOutput?: (output: Extract<Reply, { type: "output" }>["output"]) => void,
  ): Promise<Extract<Reply, { type: T }>> {
    return new Promise((resolvePromise, reject) => {
      const child = this.#child;
      const finish = (action: () => void) => {
        clearTimeout(timer);
        child.off("message", onMessage);
        child.off("exit", onExit);
        action();
      };
      const onMessage = (reply: Reply) => {
        if (reply.type === "output") onOutput?.(reply.output);
        else if (reply.type === "failed") {
          finish(() => reject(new P2pError("not-available", reply.message, "See the message above.")));
        } else if (reply.type === wanted) finish(() => resolvePromise(reply as Extract<Reply, { type: T }>));
      };
      const onExit = (code: number | null, signal: string | null) => {
        finish(() => reject(new Error(`the cell's process ended (${signal ?? `exit code ${code}`})`)));
      };
      const timer = setTimeout(() => {
        child.kill("SIGKILL");
        this.dead = true;
        finish(() => reject(new Error(`it did not end within ${timeoutS} s`)));
      }, timeoutS * 1000);
      child.on("message", onMessage);
      child.on("exit", onExit);
      if (this.dead) finish(() => reject(new Error("the cell's process has ended")));
      else child.send(request);
    });
  }

  close(): void {
    if (this.dead) return;
    this.#child.send({ type: "close" } satisfies Request);
    // A live timer or a stuck native call of a cell must not keep the runner waiting.
    setTimeout(() => this.#child.kill("SIGKILL"), 2000).unref();
    this.#child.unref();
  }
}

/** Flags for processes that load ES modules through require, which Node 20 warns of. */
export function nodeFlags(): string[] {
  return process.allowedNodeEnvironmentFlags.has("--disable-warning")
    ? ["--disable-warning=ExperimentalWarning"]
    : [];
}
