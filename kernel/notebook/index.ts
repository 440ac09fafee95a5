export {
  installKernel,
  KERNEL_NAME,
  type KernelLocation,
  kernelsFolder,
  uninstallKernel,
} from "./kernelspec.js";
export { formatNotebook, type Notebook, parseNotebook, readNotebook, writeNotebook } from "./nbformat.js";
export { plotlyFile, renderReport } from "./report.js";
export { type ExecutedNotebook, type RunNotebookOptions, runNotebook } from "./runner.js";
