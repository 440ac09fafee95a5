import type { Trace } from "../../machine.js";
import { type Span, timelineOf } from "../../timeline.js";
import type { Iteration } from "./execute.js";
import type { Plan } from "./plan.js";

/**
 * Parts per iteration and the timeline of simulated iterations, one after the other on one clock. A copy that ends after
 * the last sync returned is on the timeline, but not in the parts: the host never knew. An iteration in which the host
 * learns of no copy is left out of the parts, as it is for a real machine.
 * @param full the host's calls as well.
 * @returns null when no iteration has a copy whose end the host waits for.
 */
export function traceOf(plan: Plan, iterations: readonly Iteration[], full: boolean): Trace | null {
  const launch: number[] = [];
  const engine: number[] = [];
  const receiver: number[] = [];
  const total: number[] = [];
  const api: number[] = [];
  const spans: Span[] = [];
  let t0Ns = 0;
  for (const [i, iteration] of iterations.entries()) {
    spans.push(...spansOf(plan, iteration, i, t0Ns, full));
    t0Ns += Math.max(iteration.totalNs, iteration.idleNs);
    const seen = iteration.spans.filter((span) => span.endNs <= iteration.totalNs);
    if (seen.length === 0) continue;
    const startNs = Math.min(...seen.map((span) => span.startNs));
    const endNs = Math.max(...seen.map((span) => span.endNs));
    launch.push(startNs);
    engine.push(endNs - startNs);
    receiver.push(iteration.totalNs - endNs);
    total.push(iteration.totalNs);
    api.push(iteration.apiNs);
  }
  if (total.length === 0) return null;
  return {
    launchNs: Float64Array.from(launch),
    engineNs: Float64Array.from(engine),
    receiverNs: Float64Array.from(receiver),
    totalNs: Float64Array.from(total),
    apiNs: Float64Array.from(api),
    timeline: timelineOf("simulator", spans),
  };
}

function spansOf(plan: Plan, iteration: Iteration, index: number, t0Ns: number, full: boolean): Span[] {
  const host = { lane: "host", bytes: 0, iteration: index };
  const spans: Span[] = [
    {
      ...host,
      kind: "iteration",
      name: `iteration ${index}`,
      startNs: t0Ns,
      endNs: t0Ns + iteration.totalNs,
      correlation: 0,
    },
  ];
  // Unique over all iterations, and above 0, which means unknown.
  const correlation = (step: number) => index * plan.steps.length + step + 1;
  for (const call of full ? iteration.calls : []) {
    const step = plan.steps[call.step] as Plan["steps"][number];
    const sync = step.op === "sync";
    spans.push({
      ...host,
      kind: sync ? "sync" : "api",
      name: sync
        ? `sync ${plan.streams[step.stream]} by ${step.method}`
        : step.op === "copy"
          ? step.call
          : CALLS[step.op],
      startNs: t0Ns + call.startNs,
      endNs: t0Ns + call.endNs,
      correlation: correlation(call.step),
    });
  }
  for (const span of iteration.spans) {
    const step = plan.steps[span.step] as Plan["steps"][number];
    const name = step.op === "copy" ? step.name : step.op;
    spans.push({
      kind: "copy",
      lane: plan.engines[span.engine] as string,
      name: span.chunk === null ? name : `${name}, chunk ${span.chunk}`,
      startNs: t0Ns + span.startNs,
      endNs: t0Ns + span.endNs,
      bytes: span.bytes,
      correlation: correlation(span.step),
      iteration: index,
    });
  }
  return spans;
}

const CALLS = { record: "cuEventRecord", wait: "cuStreamWaitEvent" } as const;
