/**
 * p2plab: measure, explain and improve GPU peer-to-peer transfer latency.
 *
 *     import { lab, plot } from "p2plab";
 *     const machine = await lab.open();
 *     const curve = await lab.sweep(machine, { from: 0, to: 1, bytes: lab.sizes("8 B", "64 MiB"), path: ["peer", "staged"] });
 *     plot.latency(curve)
 *
 * The one door: notebooks, the kernel, the command line and every other user import the library through this file.
 */
export * as aq from "arquero";
export { op } from "arquero";
export { addProvenance, takeActivity } from "./activity.js";
export { entered, type LedgerRow } from "./analyze/ledger.js";
export * as lab from "./api.js";
export * as cuda from "./cuda.js";
export { cleaner, ownNames } from "./doctor/redact.js";
export { CompileError, CudaError, type ErrorCode, messageOf, P2pError, shown } from "./errors.js";
export { makeFolder, packagePath, requireWritable, writeFileAtomic } from "./files.js";
export { setInterruptSignal } from "./interrupt.js";
export { onVariables, type Variable } from "./measure/variables.js";
export * as plot from "./plot/index.js";
export { onProgress, type Progress } from "./progress.js";
export { escapeHtml, type MimeBundle, richDisplay, WORD_COLOURS } from "./rich.js";
