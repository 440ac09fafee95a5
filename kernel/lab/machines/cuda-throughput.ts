import { P2pError } from "../errors.js";
import type { Samples, Throughput } from "../machine.js";
import type { NativeExecutor } from "../native.js";
import type { StepOperation } from "../operations.js";
import type { Program } from "../program.js";
import { median, type Sampling, StoppingRule } from "../sampling.js";
import { DEADLINE_MS, throwIfCancelled } from "./cuda-calls.js";

/**
 * Entries that a stream's queue surely takes while a gate holds it: drivers block the host at about 1024, and some
 * operations take more than one.
 */
const QUEUE_ENTRIES = 512;
/** How long a batch should take: far above the floor of the events and what a copy engine needs to get going. */
const BATCH_MS = 2;
/** Fewer iterations than this are no batch, however long one takes. */
const LEAST_BATCH = 2;
/** A batch must take this many times what two events with nothing between them do. */
const FLOORS = 20;
/** How long the gate waits for a batch to be submitted: a hundred times what a full queue takes. */
const GATE_MS = 250;
/** One call of the addon measures batches for about this long. */
const CALL_MS = 50;
const MOST_PILOT_ITERATIONS = 10;
const FLOOR_BATCHES = 21;

export interface ThroughputResult {
  readonly samples: Samples;
  readonly throughput: Throughput;
  readonly warnings: readonly string[];
}

/**
 * Throughput mode: batches of iterations back to back, timed by events on the device, until the stopping rule ends them.
 * A batch whose gate gave up before it was submitted is counted, halved and measured anew; a program that cannot be
 * submitted ahead at all, because the host takes part in its copies, is measured without a gate, and that is said.
 * @param profiled whether a profiler is attached: its launches may wait for each other, and a gate would hold them for ever.
 */
export async function throughput(
  executor: NativeExecutor,
  program: Program,
  sampling: Sampling,
  wantedBatch: number | undefined,
  profiled: boolean,
  signal: AbortSignal | undefined,
): Promise<ThroughputResult> {
  requireSyncsAtEnd(program);
  const batches = new Batches(executor, profiled ? 0 : GATE_MS, signal);
  const most = Math.max(1, Math.floor(QUEUE_ENTRIES / entriesOfIteration(program)));
  const pilotNs = await pilot(executor, signal);
  const floorNs = await batches.floorNs();
  const planned = Math.ceil((BATCH_MS * 1e6) / pilotNs);
  let batch = wantedBatch ?? Math.min(most, Math.max(LEAST_BATCH, planned));
  if (wantedBatch !== undefined && wantedBatch > most) {
    throw new P2pError(
      "usage",
      `a batch of ${wantedBatch} iterations does not fit into the queue of a stream`,
      `Use at most ${most} for this program.`,
    );
  }
  let gateTimeouts = 0;
  for (;;) {
    const measured = await sample(batches, batch, sampling);
    if (measured === "gate") {
      gateTimeouts++;
      if (batch > 1) batch = Math.floor(batch / 2);
      else batches.gateMs = 0;
      continue;
    }
    const wholeNs = measured.convergence.medianNs * batch;
    if (wholeNs < FLOORS * floorNs && batch < most && wantedBatch === undefined) {
      batch = Math.min(most, batch * 4);
      continue;
    }
    requireAboveFloor(wholeNs, floorNs, batch);
    const { totalNs, apiNs, streamNs, convergence } = measured;
    return {
      samples: { totalNs, apiNs, convergence },
      throughput: { batch, streams: streamsOf(executor, program, streamNs), gateTimeouts, floorNs },
      warnings: warningsOf(batch, gateTimeouts, batches.gateMs === 0 && !profiled),
    };
  }
}

interface Measured {
  totalNs: Float64Array;
  apiNs: Float64Array;
  /** Row by row: a batch, its timed streams. */
  streamNs: Float64Array;
}

/** Calls of the addon with the same gate. */
class Batches {
  constructor(
    readonly executor: NativeExecutor,
    public gateMs: number,
    readonly signal: AbortSignal | undefined,
  ) {}

  get columns(): number {
    return this.executor.timedStreams.length;
  }

  /** What two events with nothing between them measure; a gate that gives up even there stays away. */
  async floorNs(): Promise<number> {
    const empty = await this.run(0, FLOOR_BATCHES);
    if (!empty.gaveUp) return median(empty.totalNs);
    this.gateMs = 0;
    return median((await this.run(0, FLOOR_BATCHES)).totalNs);
  }

  /** Whole batches, not divided. */
  async run(iterations: number, count: number): Promise<Measured & { readonly gaveUp: boolean }> {
    throwIfCancelled(this.signal);
    const totalNs = new Float64Array(count);
    const apiNs = new Float64Array(count);
    const streamNs = new Float64Array(count * this.columns);
    const { gateGaveUp, cancelled } = await this.executor.throughput(
      totalNs,
      apiNs,
      streamNs,
      iterations,
      this.gateMs,
      DEADLINE_MS,
    );
    if (cancelled) throwIfCancelled(this.signal, true);
    return { totalNs, apiNs, streamNs, gaveUp: gateGaveUp };
  }
}

/** Samples of one batch size, divided by its iterations, until the stopping rule ends them; `gate` when a gate gave up. */
async function sample(
  batches: Batches,
  batch: number,
  sampling: Sampling,
): Promise<(Measured & { convergence: Samples["convergence"] }) | "gate"> {
  const warmup = await batches.run(batch, Math.max(1, sampling.warmup));
  if (warmup.gaveUp) return "gate";
  const perBatchNs = Math.max(1, median(warmup.totalNs));
  const atOnce = Math.max(1, Math.round((CALL_MS * 1e6) / perBatchNs));
  let all: Measured = {
    totalNs: new Float64Array(0),
    apiNs: new Float64Array(0),
    streamNs: new Float64Array(0),
  };
  const begin = performance.now();
  const rule = new StoppingRule(sampling);
  for (;;) {
    const count = Math.min(atOnce, rule.wanted(all.totalNs.length));
    const more = await batches.run(batch, count);
    if (more.gaveUp) return "gate";
    all = {
      totalNs: joined(all.totalNs, more.totalNs, batch),
      apiNs: joined(all.apiNs, more.apiNs, batch),
      streamNs: joined(all.streamNs, more.streamNs, batch),
    };
    const convergence = rule.ended(all.totalNs, performance.now() - begin);
    if (convergence) return { ...all, convergence };
  }
}

function joined(a: Float64Array, b: Float64Array, divisor: number): Float64Array {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(
    b.map((ns) => ns / divisor),
    a.length,
  );
  return both;
}

/** About how long an iteration takes, by the host; a long one need not be seen often. */
async function pilot(executor: NativeExecutor, signal: AbortSignal | undefined): Promise<number> {
  const oneNs = await iterationNs(executor, 2, signal);
  const enough = Math.ceil((BATCH_MS * 1e6) / oneNs);
  return enough <= 1
    ? oneNs
    : await iterationNs(executor, Math.min(enough + 1, MOST_PILOT_ITERATIONS), signal);
}

async function iterationNs(
  executor: NativeExecutor,
  iterations: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  throwIfCancelled(signal);
  const totalNs = new Float64Array(iterations);
  const { cancelled } = await executor.time(totalNs, new Float64Array(iterations), DEADLINE_MS);
  if (cancelled) throwIfCancelled(signal, true);
  // The first iteration finds nothing warm.
  return Math.max(1, median(totalNs.subarray(1)));
}

/** Entries that one iteration puts into the fullest queue; a graph is one. */
function entriesOfIteration(program: Program): number {
  if (program.data.submit === "graph") return 1;
  const entries = new Map<string, number>();
  for (const o of program.data.operations as readonly StepOperation[]) {
    if (o.op !== "sync") entries.set(o.stream, (entries.get(o.stream) ?? 0) + 1);
  }
  return Math.max(1, ...entries.values());
}

/** @throws P2pError `program` where an iteration waits for the host before its end: a batch cannot be submitted ahead. */
export function requireSyncsAtEnd(program: Program): void {
  const { operations } = program.data;
  const first = operations.findIndex((o) => o.op === "sync");
  if (operations.slice(first).every((o) => o.op === "sync")) return;
  throw new P2pError(
    "program",
    "throughput mode submits iterations ahead, but the host waits within this one",
    'Order streams by record() and wait() instead of sync(), or use mode "latency".',
  );
}

function requireAboveFloor(wholeNs: number, floorNs: number, batch: number): void {
  if (wholeNs > 2 * floorNs) return;
  throw new P2pError(
    "not-available",
    `${batch} iterations take ${Math.round(wholeNs)} ns on the device, which two events with nothing between them ` +
      `(${Math.round(floorNs)} ns) cannot tell apart`,
    'Use mode "latency", or more work in an iteration.',
  );
}

function streamsOf(
  executor: NativeExecutor,
  program: Program,
  streamNs: Float64Array,
): Throughput["streams"] {
  const columns = executor.timedStreams;
  return [...columns].map((index, column) => {
    const { name, gpu } = program.data.streams[index] as { name: string; gpu: number };
    const rows = streamNs.length / columns.length;
    return {
      name,
      gpu,
      totalNs: Float64Array.from(
        { length: rows },
        (_, row) => streamNs[row * columns.length + column] as number,
      ),
    };
  });
}

function warningsOf(batch: number, gateTimeouts: number, ungated: boolean): string[] {
  if (ungated) {
    return [
      "gate: even one iteration was not submitted before its gate gave up, because the host takes part in it; " +
        "measured without a gate, what the host takes to submit is in the times",
    ];
  }
  return gateTimeouts > 0
    ? [`gate: gave up ${gateTimeouts} × before a batch was submitted; measured with batches of ${batch}`]
    : [];
}
