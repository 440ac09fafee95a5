/** Everything that a notebook calls `lab`. */
export { type OpenedMachine, opened, openedMachines, type RanProgram, ranPrograms } from "./activity.js";
export { achieved } from "./analyze/achieved.js";
export { Advice } from "./analyze/advice/advice.js";
export { type AdviseOptions, advise } from "./analyze/advice/advise.js";
export type { Plan } from "./analyze/advice/plan.js";
export type { End, Pattern, WorkloadOptions } from "./analyze/advice/workload.js";
export { alphaBeta, residuals } from "./analyze/alpha-beta.js";
export { type AmortiseOptions, amortise } from "./analyze/amortise.js";
export { check, type Properties } from "./analyze/check.js";
export { type ConditionClaim, claim, type RangeClaim } from "./analyze/claim.js";
export { Compared, type CompareOptions, type Comparison, type Side } from "./analyze/compare.js";
export { crossover } from "./analyze/crossover.js";
export {
  type Baseline,
  type BaselineOptions,
  baseline,
  readBaseline,
  saveBaseline,
} from "./analyze/gate/baseline.js";
export {
  type CellResult,
  type RegressionOptions,
  Regressions,
  regressions,
} from "./analyze/gate/regression.js";
export { StoppedError } from "./analyze/gate/stopped.js";
export { PROGRAM_SETS, type ProgramSet } from "./analyze/gate/suite.js";
export { ledger } from "./analyze/ledger.js";
export { overlap } from "./analyze/overlap.js";
export { predict } from "./analyze/predict.js";
export { type RegistrationOptions, registration } from "./analyze/registration.js";
export { selfCheck } from "./analyze/self-check.js";
export * as timeline from "./analyze/timeline/index.js";
export { type ChromeEvent, type ChromeTrace, chromeTrace, writeTrace } from "./chrome-trace.js";
export { peerAttributes } from "./cuda/peer-attributes.js";
export { type PointersOptions, pointers } from "./cuda/pointers.js";
export { Diagnosis } from "./doctor/diagnosis.js";
export { type DoctorOptions, doctor } from "./doctor/doctor.js";
export type { ExitStatus } from "./doctor/examined.js";
export { diagnosisHtml } from "./doctor/html.js";
export { redacted } from "./doctor/redact.js";
export type { TextOptions } from "./doctor/text.js";
export { CompileError, CudaError, P2pError } from "./errors.js";
export { Example, Examples, examples } from "./help/examples.js";
export { Help, help } from "./help/help.js";
export type { HelpOptions } from "./help/lang.js";
export { compare } from "./import/compare.js";
export { Imported } from "./import/importer.js";
export { type ImportOptions, importFile as import, importFormats } from "./import/index.js";
export type { GpuState, Machine, Provenance, Run, RunOptions, RunState } from "./machine.js";
export { fingerprint } from "./machine-fingerprint.js";
export { topology } from "./machine-topology.js";
export { type AtomicsOptions, atomics } from "./measure/atomics.js";
export { type BreakdownOptions, breakdown } from "./measure/breakdown.js";
export { type CollectivesOptions, collectives } from "./measure/collectives.js";
export { type FencesOptions, fences } from "./measure/fences.js";
export {
  type HostCopiesOptions,
  type HostDirection,
  type HostMemory,
  hostCopies,
} from "./measure/host-copies.js";
export { HostTime, type TimeOptions, time } from "./measure/host-time.js";
export { type LitmusOptions, litmus } from "./measure/litmus.js";
export { type LoadLatencyOptions, loadLatency } from "./measure/load-latency.js";
export { type MatrixOptions, matrix } from "./measure/matrix.js";
export type { MatrixMetric } from "./measure/matrix-cells.js";
export { pivot } from "./measure/matrix-pivot.js";
export { CancelledError, partial } from "./measure/partial.js";
export { type PingPongOptions, pingPong } from "./measure/ping-pong.js";
export type { Memory } from "./measure/probe-cells.js";
export { type TimeProgramsOptions, timePrograms } from "./measure/programs.js";
export { type RdmaOptions, type RdmaPath, rdma } from "./measure/rdma.js";
export { type SetupCostsOptions, setupCosts } from "./measure/setup-costs.js";
export type { Metric } from "./measure/summary.js";
export { type SweepOptions, sweep } from "./measure/sweep.js";
export { type Table, tableOf } from "./measure/table.js";
export {
  type Direction,
  type Initiator,
  type Path,
  type TransferOptions,
  transfer,
} from "./measure/transfer.js";
export { vars } from "./measure/variables.js";
export { verdicts } from "./measure/verdicts.js";
export { type WhatIfOptions, whatIf } from "./measure/what-if.js";
export type { Change, Collective, CollectiveResult, RdmaCard } from "./model.js";
export { machines, type OpenMachine, open } from "./open.js";
export { Program, program } from "./program.js";
export { onProgress, type Progress, type ProgressListener } from "./progress.js";
export { mergeRecordings } from "./recording/merge.js";
export { saveRecording, startRecording } from "./recording/recorder.js";
export { median } from "./sampling.js";
export { flagsOf, type SeriesShape, shapeOf } from "./series.js";
export { Description } from "./topology/description.js";
export { topologyJson } from "./topology/json.js";
export { topologyMatrix } from "./topology/matrix.js";
export { parseTopology, readTopology } from "./topology/read.js";
export { formatBytes, formatNs, parseBytes, sizes } from "./units.js";
export { type Outcome, type Verdict, VerdictError, type VerdictOptions } from "./verdict.js";
