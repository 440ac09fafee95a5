/** How long a function takes on the host: repeated until the one stopping rule ends it. */
import { cpus } from "node:os";
import { P2pError, shown } from "../errors.js";
import { interruptSignal } from "../interrupt.js";
import { requireOptions } from "../program-arguments.js";
import { type MimeBundle, richDisplay } from "../rich.js";
import {
  type Convergence,
  median,
  quantileSorted,
  type SamplingOptions,
  StoppingRule,
  samplingOf,
} from "../sampling.js";
import { flagsOf, shapeOf } from "../series.js";
import { formatNs, nsToUs } from "../units.js";
import { type Table, tableOf } from "./table.js";

/** A sample that lasts so long is a thousand times the step of the clock and its cost; shorter calls are timed several at once. */
const SAMPLE_NS = 20_000;
/** So many calls at once at most. */
const MOST_CALLS = 1_000_000;
/** The event loop turns so often, so that an interrupt is heard. */
const TURN_MS = 50;

export interface TimeOptions extends SamplingOptions {
  /** What the row of the table is called; default the function's name. */
  name?: string;
  /** Stops it; default the running cell's interrupt. */
  signal?: AbortSignal;
}

/** How long one call took. */
export class HostTime {
  readonly name: string;
  readonly convergence: Convergence;
  /** One a sample, nanoseconds of one call: the sample's time over its calls. */
  readonly samplesNs: Float64Array;
  /** Calls in one sample. */
  readonly calls: number;
  /** The same measured with a function that does nothing: the floor of this clock, not taken off. */
  readonly floorNs: number;
  /** What the last call returned, awaited. */
  readonly value: unknown;
  readonly machine: string;
  readonly date: string;

  constructor(parts: Pick<HostTime, "name" | "convergence" | "samplesNs" | "calls" | "floorNs" | "value">) {
    this.name = parts.name;
    this.convergence = parts.convergence;
    this.samplesNs = parts.samplesNs;
    this.calls = parts.calls;
    this.floorNs = parts.floorNs;
    this.value = parts.value;
    this.machine = cpus()[0]?.model ?? process.arch;
    this.date = new Date().toISOString().slice(0, 10);
  }

  /** Median of one call, nanoseconds; null where it cannot be told from a call of nothing. */
  get medianNs(): number | null {
    return this.reason === null ? this.convergence.medianNs : null;
  }

  /** Why there is no median; null when there is one. */
  get reason(): string | null {
    const { medianNs } = this.convergence;
    return medianNs > this.floorNs
      ? null
      : `${formatNs(medianNs)} is no more than a call of nothing takes (${formatNs(this.floorNs)})`;
  }

  /** One row: median, quantile and interval in µs, how the sampling ended, what the series is like. */
  table(): Table {
    const { n, ciLowNs, ciHighNs, converged, ended } = this.convergence;
    const sorted = this.samplesNs.slice().sort();
    return tableOf([
      {
        name: this.name,
        call_us: this.medianNs === null ? null : nsToUs(this.medianNs),
        min_us: nsToUs(sorted[0] as number),
        p99_us: nsToUs(quantileSorted(sorted, 0.99)),
        ci_low_us: nsToUs(ciLowNs),
        ci_high_us: nsToUs(ciHighNs),
        floor_us: nsToUs(this.floorNs),
        n,
        calls: this.calls,
        converged,
        ended,
        flags: flagsOf(shapeOf(this.samplesNs, sorted)).join("; "),
        reason: this.reason,
        machine: this.machine,
        provenance: "measured",
        date: this.date,
      },
    ]);
  }

  toString(): string {
    const { n, ciLowNs, ciHighNs, converged, ended } = this.convergence;
    const several = this.calls > 1 ? ` of ${this.calls} calls each` : "";
    const how = `n = ${n}${several}, ${converged ? "converged" : `not converged: ${ended}`}`;
    return this.medianNs === null
      ? `no figure: ${this.reason} (${how})`
      : `${formatNs(this.medianNs)} a call (median; 95 % interval ${formatNs(ciLowNs)} to ${formatNs(ciHighNs)}; ${how})`;
  }

  [richDisplay](): MimeBundle {
    return { "text/plain": `${this.name}: ${this} [measured, ${this.machine}, ${this.date}]` };
  }
}

/** Calls a function and reads the clock around the calls. */
class CallClock {
  readonly #work: () => unknown;
  readonly #signal: AbortSignal | null;
  #turned = performance.now();
  /** What the last call returned, awaited. */
  value: unknown;

  constructor(work: () => unknown, signal: AbortSignal | null) {
    this.#work = work;
    this.#signal = signal;
  }

  /** Time of one call, nanoseconds. */
  async sample(calls: number): Promise<number> {
    if (performance.now() - this.#turned > TURN_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#turned = performance.now();
    }
    if (this.#signal?.aborted)
      throw new P2pError("cancelled", "lab.time() was stopped on request", "Run it again for a figure.");
    const work = this.#work;
    const began = process.hrtime.bigint();
    for (let i = 0; i < calls; i++) {
      let value = work();
      if (isThenable(value)) value = await value;
      this.value = value;
    }
    return Number(process.hrtime.bigint() - began) / calls;
  }

  /** Twice as many until a sample lasts long enough for the clock. */
  async callsASample(): Promise<number> {
    let calls = 1;
    while (calls < MOST_CALLS && (await this.sample(calls)) * calls < SAMPLE_NS) calls *= 2;
    return calls;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

/**
 * Times a function on the host, by CLOCK_MONOTONIC around it. A function that returns a promise is timed until that is settled.
 * Short functions are called several times a sample; then each sample is a mean.
 * @param options sampling as everywhere; here at least 10 samples after 3 that are thrown away, unless they say otherwise.
 * @throws P2pError `usage` for what is no function, `program` for an option that there is not, `cancelled` when it is stopped; what the function throws.
 */
export async function time(work: () => unknown, options: TimeOptions = {}): Promise<HostTime> {
  requireOptions("lab.time()", options, [
    "target",
    "budgetMs",
    "minSamples",
    "maxSamples",
    "warmup",
    "name",
    "signal",
  ]);
  if (typeof work !== "function") {
    throw new P2pError(
      "usage",
      `lab.time() was given ${shown(work)}`,
      "Give a function, such as () => aq.table({ a: [1] }).",
    );
  }
  const { name = work.name || "function", signal = interruptSignal(), ...wanted } = options;
  const sampling = samplingOf({ minSamples: 10, warmup: 3, ...wanted });
  const clock = new CallClock(work, signal);
  for (let i = 0; i < sampling.warmup; i++) await clock.sample(1);
  const calls = await clock.callsASample();
  const samples: number[] = [];
  const rule = new StoppingRule(sampling);
  const began = performance.now();
  let convergence: Convergence | null = null;
  while (!convergence) {
    for (let left = rule.wanted(samples.length); left > 0; left--) {
      samples.push(await clock.sample(calls));
      if (performance.now() - began >= sampling.budgetMs) break;
    }
    const elapsedMs = performance.now() - began;
    convergence = rule.ended(Float64Array.from(samples), elapsedMs);
  }
  const empty = new CallClock(() => undefined, signal);
  const floor: number[] = [];
  for (let i = 0; i < sampling.minSamples; i++) floor.push(await empty.sample(calls));
  return new HostTime({
    name,
    convergence,
    samplesNs: Float64Array.from(samples),
    calls,
    floorNs: median(floor),
    value: clock.value,
  });
}
