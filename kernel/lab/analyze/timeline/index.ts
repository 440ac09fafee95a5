/**
 * Analyses of a timeline, whoever recorded it: `lab.timeline.copies(run)`, `lab.timeline.launches(await lab.import("report.sqlite"))`. Each returns
 * a table, says in `inputs` what it was computed from, and abstains with a `reason` where that is not recorded.
 */
export { type BytesOptions, bytes } from "./bytes.js";
export { communication } from "./communication.js";
export { copies } from "./copies.js";
export { criticalPath } from "./critical-path.js";
export { firsts } from "./firsts.js";
export { type GapsOptions, gaps } from "./gaps.js";
export { health } from "./health.js";
export { launches } from "./launches.js";
export { overheads } from "./overheads.js";
export { overlaps } from "./overlaps.js";
export { ranges } from "./ranges.js";
export { type StagedOptions, staged } from "./staged.js";
export { summary } from "./summary.js";
export type { TimelineSource, WindowOptions } from "./view.js";
export { waits } from "./waits.js";
