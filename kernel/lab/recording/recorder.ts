import { P2pError } from "../errors.js";
import { writeFileAtomic } from "../files.js";
import type { Machine, Run } from "../machine.js";
import { encodeRecording, type RecordedRun, runKey, type TraceKind } from "./format.js";
import { differentMachines, sameGpus } from "./merge.js";

interface Session {
  machine: Machine | null;
  /** By {@link runKey}, in the order first run. */
  readonly runs: Map<string, RecordedRun>;
}

let session: Session | null = null;

/** From now on, keeps every run of a measuring machine in this process until {@link saveRecording}. */
export function startRecording(): void {
  session = { machine: null, runs: new Map() };
}

/**
 * Called by the door through which machines are opened. Only measurements are kept: a recording of a model or of another
 * recording would pass for a measurement. A program that is run again, traced alike, replaces its earlier run.
 */
export function keepRun(machine: Machine, run: Run, traceKind: TraceKind | null): void {
  if (!session || run.provenance.kind !== "measured") return;
  if (session.machine && !sameGpus(session.machine.info, machine.info)) {
    throw differentMachines(session.machine, machine);
  }
  session.machine = machine;
  session.runs.set(runKey(run.program.hash, traceKind, run.mode), {
    program: run.program,
    mode: run.mode,
    totalNs: run.samples.totalNs,
    apiNs: run.samples.apiNs,
    convergence: run.samples.convergence,
    traceKind,
    trace: run.trace,
    traceReason: run.traceReason,
    verification: run.verification,
    ...(run.throughput && { throughput: run.throughput }),
    ...(run.graph && { graph: run.graph }),
    ...(run.counts && { counts: run.counts }),
    ...(run.state !== undefined && { state: run.state }),
    ...(run.stateReason !== undefined && { stateReason: run.stateReason }),
    ...(run.firstNs !== undefined && { firstNs: run.firstNs }),
    ...(run.probe && { probe: run.probe }),
    warnings: run.warnings,
  });
}

/**
 * Writes what was kept since {@link startRecording} and ends the recording.
 * @returns number of programs written.
 * @throws P2pError `recording` when nothing was measured; `output` when the file cannot be written.
 */
export function saveRecording(file: string): number {
  if (!session?.machine || session.runs.size === 0) {
    throw new P2pError(
      "recording",
      "nothing was measured, so there is nothing to record",
      "Record on a machine with GPUs: --machine cuda.",
    );
  }
  const { machine, runs } = session;
  writeFileAtomic(
    file,
    encodeRecording({ provenance: machine.provenance, info: machine.info, runs: [...runs.values()] }),
  );
  session = null;
  return runs.size;
}
