/** Everything that a notebook calls `lab`. */
export { check, type Properties } from "./analyze/check.js";
export { type ConditionClaim, claim, type RangeClaim } from "./analyze/claim.js";
export { crossover } from "./analyze/crossover.js";
export { ledger } from "./analyze/ledger.js";
export { predict } from "./analyze/predict.js";
export { type ChromeEvent, type ChromeTrace, chromeTrace, writeTrace } from "./chrome-trace.js";
export { CudaError, P2pError } from "./errors.js";
export type { Machine, Provenance, Run, RunOptions } from "./machine.js";
export { type BreakdownOptions, breakdown } from "./measure/breakdown.js";
export { type SweepOptions, sweep } from "./measure/sweep.js";
export { type Table, tableOf } from "./measure/table.js";
export { type Path, type TransferOptions, transfer } from "./measure/transfer.js";
export { machines, type OpenMachine, open, opened } from "./open.js";
export { Program, program } from "./program.js";
export { onProgress, type Progress, type ProgressListener } from "./progress.js";
export { saveRecording, startRecording } from "./recording/recorder.js";
export { median } from "./sampling.js";
export { formatBytes, formatNs, parseBytes, sizes } from "./units.js";
