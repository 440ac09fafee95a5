import { readFileSync } from "node:fs";

/**
 * What profilers leave in the environment of a process that they start: CUDA's and NVTX's own injection, the session of
 * Nsight Systems, the connection of Nsight Compute, nvprof's session.
 */
const VARIABLES =
  /^(CUDA_INJECTION(32|64)_PATH|NVTX_INJECTION(32|64)_PATH|NSYS_PROFILING_SESSION_ID|NV_NSIGHT_INJECTION_\w+|NVPROF_ID|NV_COMPUTE_PROFILER_\w+)$/;

/**
 * Libraries that profilers and checkers load into the process: Nsight Compute, Nsight Systems, nvprof, Compute Sanitizer.
 * CUPTI itself is none: this library opens it for its own traced passes.
 */
const LIBRARIES =
  /\/(lib(?:cuda-injection|ToolsInjection\w*|nsys[\w-]*|cuinj64|InterceptorInjection\w*|sanitizer-collection)[\w.-]*\.so[\w.]*)/;

/**
 * What profiler is attached to this process, in words; null when none is seen. Asked anew each time. Under a profiler every
 * driver call is slower and may block, so that samples must say so, and a kernel that waits for the host may wait forever.
 */
export function profilerAttached(): string | null {
  const variables = Object.keys(process.env).filter((name) => VARIABLES.test(name) && process.env[name]);
  if (variables.length > 0) {
    return `${variables.sort().join(", ")} ${variables.length === 1 ? "is" : "are"} set`;
  }
  const library = LIBRARIES.exec(mappedFiles())?.[1];
  return library === undefined ? null : `${library} is loaded`;
}

/** The warning of a run. */
export function profilerWarnings(): string[] {
  const attached = profilerAttached();
  return attached === null ? [] : [`profiled: a profiler is attached (${attached})`];
}

/** Files mapped into this process; empty where the system does not tell. */
function mappedFiles(): string {
  try {
    return readFileSync("/proc/self/maps", "utf8");
  } catch {
    return "";
  }
}
