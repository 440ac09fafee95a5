import type { GraphCosts } from "../machine.js";
import type { NativeExecutor } from "../native.js";
import { DEADLINE_MS } from "./cuda-calls.js";

/** How often a graph is made to learn what that costs. */
const REPETITIONS = 30;

/** What making the program's graph costs. */
export async function graphCosts(
  executor: NativeExecutor,
): Promise<{ readonly costs: GraphCosts; readonly warnings: readonly string[] }> {
  const costs = await executor.graphCosts(REPETITIONS, DEADLINE_MS);
  return {
    costs,
    warnings:
      costs.updateNs.length === 0
        ? ["graph: this driver cannot bring an instantiated graph up to date (that came with CUDA 12.0)"]
        : [],
  };
}
