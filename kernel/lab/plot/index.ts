export { breakdown } from "./breakdown.js";
export { Figure, type PlotlyLayout, type PlotlyTrace } from "./figure.js";
export { latency } from "./latency.js";
export { loadLatency } from "./load-latency.js";
export { Drawing, paths } from "./paths.js";
export { timeline } from "./timeline.js";
