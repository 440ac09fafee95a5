export { formatNotebook, writeNotebook } from "./canonical.js";
export { renderDoctorReport } from "./doctor-report.js";
export { makeWritableFolder } from "./folder.js";
export {
  installKernel,
  KERNEL_NAME,
  type KernelLocation,
  kernelsFolder,
  uninstallKernel,
} from "./kernelspec.js";
export {
  type Notebook,
  type NotebookCell,
  type NotebookOutput,
  parseNotebook,
  readNotebook,
} from "./nbformat.js";
export { plotlyFile } from "./page.js";
export { renderReport } from "./report.js";
export {
  type CellFailure,
  type ExecutedNotebook,
  type RunMetadata,
  type RunNotebookOptions,
  runNotebook,
} from "./runner.js";
