/** What a run may be asked for, checked where machines are run through the door. */
import { P2pError, shown } from "./errors.js";
import type { RunOptions } from "./machine.js";
import { samplingOf } from "./sampling.js";

/** A traced iteration keeps its spans: more would take gigabytes. */
const MOST_TRACED = 100_000;

const CHECKS: Readonly<Record<keyof RunOptions, { holds: (value: unknown) => boolean; takes: string }>> = {
  mode: { holds: oneOf("latency", "throughput"), takes: "latency or throughput" },
  trace: { holds: oneOf("copies", "full"), takes: "copies or full" },
  batch: { holds: isWhole(Number.MAX_SAFE_INTEGER), takes: "a whole number from 1" },
  traceIterations: { holds: isWhole(MOST_TRACED), takes: `a whole number from 1 to ${MOST_TRACED}` },
  sampling: {
    holds: (value) => typeof value === "object" && value !== null && Boolean(samplingOf(value)),
    takes: "an object such as { target: 0.01 }",
  },
  signal: {
    holds: (value) => value instanceof AbortSignal,
    takes: "the signal of a new AbortController()",
  },
};

/** @throws P2pError `usage` for an option that does not exist, or a value that it does not take. */
export function requireRunOptions(options: unknown): void {
  if (options === undefined) return;
  const names = Object.keys(CHECKS).join(", ");
  if (typeof options !== "object" || options === null) {
    throw new P2pError(
      "usage",
      `machine.run was given ${shown(options)} as its options`,
      `It takes ${names}.`,
    );
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(CHECKS, name)) {
      throw new P2pError("usage", `machine.run has no option "${name}"`, `It takes ${names}.`);
    }
    const { holds, takes } = CHECKS[name as keyof RunOptions];
    if (value === undefined || holds(value)) continue;
    throw new P2pError("usage", `the run's ${name} is ${shown(value)}`, `Give ${takes}.`);
  }
}

function oneOf(...words: string[]): (value: unknown) => boolean {
  return (value) => words.includes(value as string);
}

function isWhole(most: number): (value: unknown) => boolean {
  return (value) => Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= most;
}
