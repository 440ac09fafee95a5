export { formatNotebook, writeNotebook } from "./canonical.js";
export { CONTENTS, contentsNotebook, contentsTable } from "./contents.js";
export { type Chapter, type Course, readCourse, type Stage } from "./course.js";
export type { JupyterLocation } from "./data-folder.js";
export { makeWritableFolder, temporaryFolder } from "./folder.js";
export { type InstalledKernel, installKernel, uninstallKernel } from "./kernelspec.js";
export {
  type Notebook,
  type NotebookCell,
  type NotebookOutput,
  nameOfNotebook,
  parseNotebook,
  readNotebook,
} from "./nbformat.js";
export { tellingCells } from "./redact.js";
export { requireChromium } from "./report/chromium.js";
export { renderDoctorReport } from "./report/doctor.js";
export { type ReportOptions, renderReport, reportFooter, reportParts } from "./report/html.js";
export { type MarkdownReport, renderMarkdown } from "./report/markdown.js";
export { reportByNbconvert, requireNbconvert } from "./report/nbconvert.js";
export { plotlyFile } from "./report/page.js";
export { figurePictures, printedPdf } from "./report/pdf.js";
export { renderSite, SITE_PLOTLY, type SiteChapter } from "./report/site.js";
export type { RunMetadata } from "./run-metadata.js";
export {
  type CellFailure,
  type ExecutedNotebook,
  type RunNotebookOptions,
  runNotebook,
} from "./runner.js";
