/** Every kind of figure, of tables whose every value is known: plain ones and hard ones. */
import { Prediction } from "../../kernel/lab/analyze/predict.js";
import type { ProvenanceKind, Run } from "../../kernel/lab/machine.js";
import { breakdown } from "../../kernel/lab/measure/breakdown.js";
import { sweep } from "../../kernel/lab/measure/sweep.js";
import { type Table, tableOf } from "../../kernel/lab/measure/table.js";
import { transfer } from "../../kernel/lab/measure/transfer.js";
import * as plot from "../../kernel/lab/plot/index.js";
import type { FigureOptions } from "../../kernel/lab/plot/style.js";
import { type Span, timelineOf } from "../../kernel/lab/timeline.js";
import { TOPOLOGIES } from "../../kernel/lab/topology/presets.js";
import { sizes } from "../../kernel/lab/units.js";
import { scriptedMachine } from "./scripted-machine.js";

export const DAY = "2026-01-02";
export const ORIGIN = { machine: "8 × test GPU", provenance: "measured", date: DAY };

/** A sweep's table without a machine: rows as given, the rest filled in. */
export function curveOf(rows: readonly Record<string, unknown>[]): Table {
  const filled = rows.map((row) => {
    const us = (row.total_us ?? 10) as number;
    const rest = {
      p99_us: us * 1.5,
      ci_low_us: us * 0.98,
      ci_high_us: us * 1.02,
      gbps: 1,
      n: 99,
      converged: true,
    };
    return { path: "peer", bytes: 8, ...rest, ...row, ...(row.machine ? {} : ORIGIN) };
  });
  return tableOf(filled, [...new Set(filled.flatMap((row) => Object.keys(row)))]);
}

/** A matrix's long table; `cell` gives what is in each. */
export function matrixOf(gpus: number, cell: (from: number, to: number) => Record<string, unknown>): Table {
  return tableOf(
    Array.from({ length: gpus * gpus }, (_, i) => {
      const [from, to] = [Math.floor(i / gpus), i % gpus];
      return { from, to, bytes: 8, metric: "latency", reason: null, ...cell(from, to), ...ORIGIN };
    }),
  );
}

export const claims = (rows: readonly Record<string, unknown>[]): Table =>
  tableOf(
    rows.map((row) => ({
      kind: "claim",
      id: "id",
      says: "says",
      result: "supported",
      evidence: "e",
      quantity: "total_us",
      claimed_low: null,
      claimed_high: null,
      found_low: null,
      found_high: null,
      entered: `${DAY}T00:00:00Z`,
      ...row,
      machine: ORIGIN.machine,
      provenance: ORIGIN.provenance,
    })),
  );

const LEDGER = claims([
  {
    id: "01-launch",
    says: "启动开销通常为3～10 µs",
    claimed_low: 3,
    claimed_high: 10,
    found_low: 4,
    found_high: 5,
  },
  {
    id: "01-a-name-that-goes-on-and-on-and-on",
    says: "一次传输的总时间无论消息有多大都在5 µs以内，这是一个说得太满的结论，写得也太长",
    result: "refuted",
    claimed_low: 1,
    claimed_high: 5,
    found_low: 7,
    found_high: 178,
  },
  { id: "01-topology", says: "差异可达数倍", result: "not-testable", quantity: null },
  {
    kind: "prediction",
    id: "01-guess",
    says: "20 us",
    result: "found 7 us",
    quantity: "us",
    claimed_low: 20,
    claimed_high: 20,
    found_low: 7,
    found_high: 7,
  },
  { kind: "check", id: "01-check", says: "", result: "passed", quantity: null },
]);

export const LOADS = tableOf(
  ["GPU 0", "GPU 1", "host"].flatMap((memory, k) =>
    sizes("128 KiB", "512 MiB").map((footprint_bytes, i) => {
      const load_ns = k === 2 && i === 3 ? null : 250 + 400 * k + (i > 7 ? 200 : 0);
      return {
        gpu: 0,
        memory,
        footprint_bytes,
        stride_bytes: 128,
        order: "random",
        cache: "warm",
        load_ns,
        ci_low_ns: load_ns === null ? null : load_ns - 5,
        ci_high_ns: load_ns === null ? null : load_ns + 5,
        level: null,
        note: load_ns === null ? "the probe timed out" : "",
        ...ORIGIN,
      };
    }),
  ),
);

/** A run whose trace holds these spans as its only iteration. */
export async function tracedRun(
  spans: readonly Partial<Span>[],
  kind: ProvenanceKind = "measured",
): Promise<Run> {
  const run = await scriptedMachine(kind).run(transfer({ from: 0, to: 1, bytes: 8 }), { trace: "full" });
  const whole = spans.map(
    (span): Span => ({
      kind: "copy",
      lane: "GPU 0 stream s",
      name: "src → dst",
      startNs: 0,
      endNs: 1,
      bytes: 0,
      correlation: 0,
      iteration: 0,
      ...span,
    }),
  );
  return {
    ...run,
    trace: { ...(run.trace as NonNullable<Run["trace"]>), timeline: timelineOf("test", whole) },
  };
}

/** Many events: `count` short ones in turn on a host and four GPUs, with a call for each. */
export function busySpans(count: number): Partial<Span>[] {
  return Array.from(
    { length: count },
    (_, i): Partial<Span> => ({
      kind: (["api", "copy", "kernel"] as const)[i % 3] as Span["kind"],
      lane: i % 3 === 0 ? "host" : `GPU ${i % 4} stream ${i % 2}`,
      name: `operation ${i}`,
      startNs: i * 100,
      endNs: i * 100 + 90,
      correlation: Math.floor(i / 3) + 1,
    }),
  );
}

const LONG = "one-path-whose-name-is-far-too-long-to-be-a-name";

/** Draws each kind from tables of one provenance. */
export async function figuresOf(
  kind: ProvenanceKind,
  options: FigureOptions = {},
): Promise<Record<string, plot.Figure>> {
  const machine = scriptedMachine(kind);
  const curve = await sweep(machine, {
    from: 0,
    to: 1,
    bytes: sizes("8 B", "64 MiB", { factor: 8 }),
    path: ["peer", "staged"],
  });
  const parts = await breakdown(machine, {
    from: 0,
    to: 1,
    bytes: ["8 B", "1 MiB", "64 MiB"],
    path: ["peer", "staged"],
  });
  const run = await machine.run(transfer({ from: 0, to: 1, bytes: "1 MiB", path: "staged" }), {
    trace: "full",
  });
  return {
    latency: plot.latency(curve, options),
    breakdown: plot.breakdown(parts, options),
    ecdf: plot.ecdf({ first: run, second: run }, options),
    alphaBeta: plot.alphaBeta(curve, options),
    timeline: plot.timeline(run, options),
    schedule: plot.schedule(run, options),
  };
}

/** Draws each kind of figure where it is hardest to read. */
export async function hardFigures(options: FigureOptions = {}): Promise<Record<string, plot.Figure>> {
  const nine = ["copy-engine", "kernel-write", "kernel-read"].flatMap((engine, k) =>
    ["spin", "block", "poll-flag"].flatMap((sync, j) =>
      sizes("8 B", "1 GiB", { factor: 8 }).map((bytes, i) => ({
        engine,
        sync,
        bytes,
        total_us: k === 1 && i === 4 ? null : 5 + k + j + bytes / 1e5,
        flags: i === 3 ? "drift: +9 % over the series" : "",
        converged: i !== 2,
        reason: "the pair is broken",
      })),
    ),
  );
  const preset = (name: string) => TOPOLOGIES.find((each) => each.name === name) as object;
  return {
    "latency of nine lines": plot.latency(curveOf(nine), options),
    "latency of one point": plot.latency(curveOf([{ total_us: 7 }]), options),
    "latency over six decades": plot.latency(
      curveOf(
        sizes("1 B", "4 GiB", { factor: 4 }).map((bytes) => ({
          bytes,
          total_us: 0.2 + bytes / 1e3,
          path: LONG,
        })),
      ),
      options,
    ),
    "breakdown of one long name": plot.breakdown(
      tableOf([
        {
          path: LONG,
          bytes: 8,
          launch_us: 4,
          setup_us: 1.5,
          link_us: 0.001,
          receiver_us: 3,
          sum_us: 8.501,
          closure_traced_pct: -0.01,
          ...ORIGIN,
        },
      ]),
      options,
    ),
    "matrix of two": plot.matrix(
      matrixOf(2, (from, to) => ({ total_us: from === to ? 3 : 7 })),
      options,
    ),
    "matrix of eight": plot.matrix(
      matrixOf(8, (from, to) => ({
        total_us: from === 2 && to === 5 ? null : 1000.4 + from * 8 + to,
        reason: from === 2 && to === 5 ? "no verdict" : null,
      })),
      options,
    ),
    "matrix of twenty": plot.matrix(
      matrixOf(20, (from, to) => ({ total_us: 1234.5 + from * 20 + to })),
      options,
    ),
    "matrix of sixty-four": plot.matrix(
      matrixOf(64, (from, to) => ({ total_us: from === to ? null : 7 + ((from ^ to) % 8) })),
      options,
    ),
    "timeline of 30,000 events": plot.timeline(await tracedRun(busySpans(30_000)), options),
    "timeline with arrows": plot.timeline(await tracedRun(busySpans(60)), options),
    ledger: plot.ledger(LEDGER, options),
    loadLatency: plot.loadLatency(LOADS, { ...options, guess: new Prediction("06-guess", 600, "ns") }),
    bars: plot.bars(LOADS, { value: "load_ns", by: "footprint_bytes", series: "memory", ...options }),
    "bars on a logarithmic axis": plot.bars(LOADS.filter("d.footprint_bytes < 2097152"), {
      value: "load_ns",
      by: ["footprint_bytes", "cache"],
      series: "memory",
      scale: "log",
      guess: { value: 5000, unit: "ns" },
      ...options,
    }),
    ...Object.fromEntries(
      TOPOLOGIES.map(({ name }) => [`topology of ${name}`, plot.topology(preset(name), options)]),
    ),
  };
}
