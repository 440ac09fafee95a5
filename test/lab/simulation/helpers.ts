/** What the suites of the simulated machine share. */
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import type { Run, RunOptions, Trace } from "../../../kernel/lab/machine.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { type Program, program } from "../../../kernel/lab/program.js";
import { median } from "../../../kernel/lab/sampling.js";
import { type Span, spanAt } from "../../../kernel/lab/timeline.js";

export const MIB = 2 ** 20;
export const FIXED = { sampling: { minSamples: 60, maxSamples: 60 } } as const;

export function traceOf(run: Run): Trace {
  if (!run.trace) throw new Error(run.traceReason ?? "no trace");
  return run.trace;
}

export async function medianNs(preset: string, of: Program, options: RunOptions = {}): Promise<number> {
  return (await SimulatedMachine.open(preset).run(of, { ...FIXED, ...options })).samples.convergence.medianNs;
}

/** GB/s by the engine's time. */
export async function rate(preset: string, of: Program, bytes: number): Promise<number> {
  const run = await SimulatedMachine.open(preset).run(of, { ...FIXED, trace: "copies", traceIterations: 40 });
  return bytes / median(traceOf(run).engineNs);
}

export async function failure(action: () => unknown): Promise<P2pError> {
  try {
    await action();
  } catch (error) {
    if (error instanceof P2pError) return error;
    throw error;
  }
  return assert.unreachable("it should have failed") as never;
}

export function spansOf(trace: Trace): Span[] {
  return Array.from(trace.timeline.kind, (_, index) => spanAt(trace.timeline, index));
}

export function near(actual: number, expected: number, relative: number): void {
  assert.ok(
    Math.abs(actual - expected) <= relative * Math.abs(expected),
    `${actual} is not within ${100 * relative} % of ${expected}`,
  );
}

export function together(pairs: readonly (readonly [number, number])[], bytes: number): Program {
  let of = program();
  for (const [i, [from, to]] of pairs.entries()) {
    of = of
      .buffer(`src${i}`, { gpu: from, bytes })
      .buffer(`dst${i}`, { gpu: to, bytes })
      .stream(`s${i}`, { gpu: from });
  }
  for (const i of pairs.keys()) of = of.copy(`s${i}`, `src${i}`, `dst${i}`);
  for (const i of pairs.keys()) of = of.sync(`s${i}`);
  return of;
}
