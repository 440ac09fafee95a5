import type { Trace } from "../../machine.js";
import { type Span, timelineOf } from "../../timeline.js";
import type { DeviceSpan } from "./device.js";
import type { Iteration } from "./execute.js";
import type { Plan, Work } from "./plan.js";

/**
 * Parts per iteration and the timeline of simulated iterations, one after the other on one clock. Work that ends after the
 * last sync returned is on the timeline, but not in the parts: the host never knew. An iteration in which the host learns of
 * none is left out of the parts, as it is for a real machine; and as there, kernels count where the program runs any.
 * @param full the host's calls as well.
 * @returns null when no iteration has work whose end the host waits for.
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
    const startNs = seen.reduce((least, span) => Math.min(least, span.startNs), Infinity);
    const endNs = seen.reduce((most, span) => Math.max(most, span.endNs), 0);
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
  // Unique over all iterations, and above 0, which means unknown. All work of one call has the call's.
  const correlation = (step: number) => index * plan.host.length + step + 1;
  const stepOf = new Map(
    plan.host.flatMap((step, number) =>
      step.do === "submit" ? step.works.map((work) => [work, number] as const) : [],
    ),
  );
  for (const call of full ? iteration.calls : []) {
    const step = plan.host[call.step] as Plan["host"][number];
    const sync = step.do === "sync";
    spans.push({
      ...host,
      kind: sync ? "sync" : "api",
      name: sync ? `sync ${plan.streams[step.stream]?.name} by ${step.method}` : step.name,
      startNs: t0Ns + call.startNs,
      endNs: t0Ns + call.endNs,
      correlation: correlation(call.step),
    });
  }
  for (const span of iteration.spans) {
    spans.push({
      kind: span.engine === null ? "kernel" : "copy",
      lane: laneOf(plan, span),
      name: nameOf(plan.works[span.work] as Work, span.chunk),
      startNs: t0Ns + span.startNs,
      endNs: t0Ns + span.endNs,
      bytes: span.bytes,
      correlation: correlation(stepOf.get(span.work) as number),
      iteration: index,
    });
  }
  return spans;
}

function laneOf(plan: Plan, span: DeviceSpan): string {
  if (span.engine !== null) return plan.engines[span.engine] as string;
  const { name, gpu } = plan.streams[(plan.works[span.work] as Work).stream] as Plan["streams"][number];
  return `GPU ${gpu} kernels of stream ${name}`;
}

function nameOf(work: Work, chunk: number | null): string {
  const name = "name" in work ? work.name : work.op;
  return chunk === null ? name : `${name}, chunk ${chunk}`;
}
