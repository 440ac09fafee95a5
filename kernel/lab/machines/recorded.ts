import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { messageOf, P2pError } from "../errors.js";
import { packagePath } from "../files.js";
import type { Machine, MachineInfo, Provenance, Run, RunOptions } from "../machine.js";
import type { Program } from "../program.js";
import { decodeRecording, type RecordedRun, type Recording, runKey } from "../recording/format.js";

const EXTENSION = ".arrow";

/** Recordings that come with the project: name without date and extension → newest file. */
export function shippedRecordings(): Map<string, string> {
  const folder = packagePath("notebooks/recordings");
  const names = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith(EXTENSION)) : [];
  return new Map(names.sort().map((file) => [nameOf(file), join(folder, file)]));
}

/** `h200x2-2026-11-30.arrow` → `h200x2`. */
function nameOf(file: string): string {
  return basename(file, EXTENSION).replace(/-\d{4}-\d{2}-\d{2}.*$/, "");
}

/** Runs recorded earlier on a real machine, looked up by program. Nothing is interpolated or made up. */
export class RecordedMachine implements Machine {
  readonly provenance: Provenance;
  readonly info: MachineInfo;
  readonly deterministic = true;
  readonly #runs: Map<string, RecordedRun>;

  constructor(recording: Recording, source: string) {
    // The baseline of a model stays what it is.
    const kind = recording.provenance.kind === "simulated" ? "simulated" : "recorded";
    this.provenance = { ...recording.provenance, kind, source };
    this.info = recording.info;
    this.#runs = new Map(
      recording.runs.map((run) => [runKey(run.program.hash, run.traceKind, run.mode), run]),
    );
  }

  /**
   * Opens a recording by the name of a shipped one (`h200x2`) or by its file.
   * @throws P2pError `machine-spec` when there is none; `recording` when it cannot be read.
   */
  static open(nameOrFile: string): RecordedMachine {
    const shipped = shippedRecordings();
    const file = shipped.get(nameOrFile) ?? resolve(nameOrFile);
    if (!existsSync(file) || !statSync(file).isFile()) {
      throw new P2pError(
        "machine-spec",
        `no recording "${nameOrFile}": neither a shipped one (${[...shipped.keys()].join(", ") || "none"}) nor a file`,
        "Name a shipped recording, or give the path of a file made by p2plab record.",
      );
    }
    let bytes: Uint8Array;
    try {
      bytes = readFileSync(file);
    } catch (error) {
      throw new P2pError("recording", `${file}: ${messageOf(error)}`, "Check that the file can be read.", {
        cause: error,
      });
    }
    const source = `recorded:${shipped.has(nameOrFile) ? nameOrFile : file}`;
    return new RecordedMachine(decodeRecording(bytes, file), source);
  }

  /** All that it holds, in the order recorded. */
  get runs(): readonly RecordedRun[] {
    return [...this.#runs.values()];
  }

  /** The programs it holds, in the order recorded. */
  get programs(): Program[] {
    return [...new Map([...this.#runs.values()].map((run) => [run.program.hash, run.program])).values()];
  }

  async run(program: Program, options: RunOptions = {}): Promise<Run> {
    program.validate();
    if (options.signal?.aborted) throw new P2pError("cancelled", "stopped on request", "Run it again.");
    const found = this.#find(program, options);
    if (!found) {
      throw new P2pError(
        "not-recorded",
        `${this.provenance.source} holds no run of this program${options.mode === "throughput" ? " in throughput mode" : ""}${options.trace ? ` traced by "${options.trace}"` : ""}:\n${program.toString()}`,
        `It holds ${this.programs.length} programs (machine.programs lists them); for others open it with the model fitted to it, lab.open("${this.provenance.source}+twin"), another model, or real GPUs.`,
      );
    }
    const wanted = options.trace !== undefined;
    return {
      program,
      mode: found.mode,
      provenance: this.provenance,
      samples: { totalNs: found.totalNs.slice(), apiNs: found.apiNs.slice(), convergence: found.convergence },
      trace: wanted ? found.trace : null,
      traceReason:
        wanted && !found.trace ? (found.traceReason ?? "this program was recorded without a tracer") : null,
      verification: found.verification,
      ...(found.throughput && { throughput: found.throughput }),
      ...(found.graph && { graph: found.graph }),
      ...(found.counts && { counts: found.counts }),
      ...(found.state !== undefined && { state: found.state }),
      ...(found.stateReason !== undefined && { stateReason: found.stateReason }),
      ...(found.firstNs !== undefined && { firstNs: found.firstNs }),
      ...(found.probe && { probe: found.probe }),
      warnings: found.warnings,
    };
  }

  /** The run traced as asked; untraced, any run of the program will do, since each has a timing pass. */
  #find(program: Program, { trace, mode = "latency" }: RunOptions): RecordedRun | undefined {
    for (const kind of trace ? [trace] : [null, "copies" as const, "full" as const]) {
      const run = this.#runs.get(runKey(program.hash, kind, mode));
      if (run) return run;
    }
    return undefined;
  }

  async close(): Promise<void> {}
}
