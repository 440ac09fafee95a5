import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type ChromeEvent,
  type ChromeTrace,
  chromeTrace,
  writeTrace,
} from "../../kernel/lab/chrome-trace.js";
import { P2pError } from "../../kernel/lab/errors.js";
import type { Run } from "../../kernel/lab/machine.js";
import { SimulatedMachine } from "../../kernel/lab/machines/simulated.js";
import { transfer } from "../../kernel/lab/measure/transfer.js";
import { type Span, timelineOf } from "../../kernel/lab/timeline.js";
import { scriptedMachine } from "./scripted-machine.js";

const traces = suite("chrome trace");

/** What the format asks of every file; the events by phase come back. */
function checked(trace: ChromeTrace): Record<string, ChromeEvent[]> {
  const parsed = JSON.parse(JSON.stringify(trace)) as ChromeTrace;
  assert.equal(parsed, trace, "nothing is lost in JSON: no NaN, no undefined");
  const open = new Map<number, ChromeEvent>();
  const named = new Set<string>();
  const stacks = new Map<string, number[]>();
  let last = 0;
  for (const event of parsed.traceEvents) {
    for (const number of [event.pid, event.tid]) assert.ok(Number.isInteger(number) && number >= 0);
    assert.ok(event.name.length > 0);
    if (event.ph === "M") {
      named.add(`${event.name} ${event.pid}`).add(`${event.name} ${event.pid} ${event.tid}`);
      continue;
    }
    const ts = event.ts as number;
    assert.ok(ts >= last, "sorted by time");
    last = ts;
    assert.ok(named.has(`process_name ${event.pid}`) && named.has(`thread_name ${event.pid} ${event.tid}`));
    if (event.ph === "X") {
      const dur = event.dur as number;
      assert.ok(Number.isFinite(dur) && dur >= 0);
      // In nanoseconds, for sums of microseconds round.
      const [start, end] = [Math.round(ts * 1e3), Math.round((ts + dur) * 1e3)];
      const stack = stacks.get(`${event.pid} ${event.tid}`) ?? [];
      stacks.set(`${event.pid} ${event.tid}`, stack);
      while (stack.length > 0 && (stack.at(-1) as number) <= start) stack.pop();
      assert.ok(stack.length === 0 || end <= (stack.at(-1) as number), "spans of a thread nest");
      stack.push(end);
    } else if (event.ph === "s") {
      assert.not(open.has(event.id as number), "ids of arrows are unique");
      open.set(event.id as number, event);
    } else {
      assert.ok(open.delete(event.id as number), "an arrow begins before it ends");
      assert.is(event.bp, "e");
    }
  }
  assert.is(open.size, 0, "every arrow ends");
  const phase = (ph: string) => parsed.traceEvents.filter((event) => event.ph === ph);
  return { M: phase("M"), X: phase("X"), s: phase("s"), f: phase("f") };
}

const base = { bytes: 0, correlation: 0, iteration: 0 };
const spans: Span[] = [
  { ...base, kind: "iteration", lane: "host", name: "iteration 0", startNs: 0, endNs: 9000 },
  { ...base, kind: "api", lane: "host", name: "cuMemcpyPeerAsync", startNs: 10, endNs: 2400, correlation: 7 },
  {
    ...base,
    kind: "copy",
    lane: "GPU 0 stream s",
    name: "a → b",
    startNs: 4350,
    endNs: 5850.4,
    bytes: 64,
    correlation: 7,
  },
  {
    ...base,
    kind: "copy",
    lane: "GPU 0 stream s",
    name: "b → c",
    startNs: 5000,
    endNs: 7000,
    bytes: 32,
    correlation: 7,
  },
  {
    ...base,
    kind: "kernel",
    lane: "GPU 1 stream t",
    name: "touch",
    startNs: 6000,
    endNs: 6500,
    correlation: 9,
    iteration: -1,
  },
];

async function runOf(kind: "measured" | "simulated"): Promise<Run> {
  const run = await scriptedMachine(kind).run(transfer({ from: 0, to: 1, bytes: 8 }), { trace: "full" });
  if (!run.trace) throw new Error("no trace");
  return { ...run, trace: { ...run.trace, timeline: timelineOf("cupti", spans) } };
}

traces("spans become complete events in microseconds, with bytes, correlation and iteration", async () => {
  const { X = [] } = checked(chromeTrace(await runOf("measured")));
  assert.equal(
    X.map(({ name, cat, ts, dur, pid, tid, args }) => [name, cat, ts, dur, pid, tid, args]),
    [
      ["iteration 0", "iteration", 0, 9, 1, 1, { iteration: 0 }],
      ["cuMemcpyPeerAsync", "api", 0.01, 2.39, 1, 1, { correlation: 7, iteration: 0 }],
      ["a → b", "copy", 4.35, 1.5, 2, 2, { bytes: 64, correlation: 7, iteration: 0 }],
      ["b → c", "copy", 5, 2, 2, 3, { bytes: 32, correlation: 7, iteration: 0 }],
      ["touch", "kernel", 6, 0.5, 3, 4, { correlation: 9 }],
    ],
  );
});

traces("an arrow leads from a call to each piece of work it submitted, and to nothing else", async () => {
  const { s = [], f = [] } = checked(chromeTrace(await runOf("measured")));
  assert.equal(
    s.map(({ id, ts, tid }) => [id, ts, tid]),
    [
      [1, 0.01, 1],
      [2, 0.01, 1],
    ],
  );
  assert.equal(
    f.map(({ id, ts, tid }) => [id, ts, tid]),
    [
      [1, 4.35, 2],
      [2, 5, 3],
    ],
  );
});

traces("lanes are threads; what overlaps in part gets a further one", async () => {
  const { M = [] } = checked(chromeTrace(await runOf("measured")));
  assert.equal(
    M.filter(({ name }) => name === "thread_name").map(({ pid, tid, args }) => [pid, tid, args?.name]),
    [
      [1, 1, "host"],
      [2, 2, "GPU 0 stream s"],
      [2, 3, "GPU 0 stream s (2)"],
      [3, 4, "GPU 1 stream t"],
    ],
  );
});

traces("process names and metadata say where the numbers come from", async () => {
  const names = ({ M = [] }: Record<string, ChromeEvent[]>) =>
    M.filter(({ name }) => name === "process_name").map(({ args }) => args?.name);
  assert.equal(names(checked(chromeTrace(await runOf("measured")))), [
    "host (measured: 2 × scripted GPU)",
    "GPU 0 (measured: 2 × scripted GPU)",
    "GPU 1 (measured: 2 × scripted GPU)",
  ]);
  const simulated = chromeTrace(await runOf("simulated"));
  for (const name of names(checked(simulated))) assert.match(String(name), /SIMULATED, not a measurement/);
  const { program, ...data } = simulated.otherData;
  assert.match(String(program), /^[0-9a-f]{8,}$/);
  assert.equal(data, {
    schema: "p2plab-chrome-trace/1",
    provenance: "simulated",
    machine: "2 × scripted GPU",
    date: "2026-01-02T03:04:05.000Z",
    source: "test",
    tracer: "cupti",
    warnings: [],
  });
});

traces("a simulated machine's whole traces keep to the format", async () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  for (const path of ["peer", "staged"] as const) {
    const run = await machine.run(transfer({ from: 0, to: 1, bytes: "1 MiB", path }), {
      trace: "full",
      traceIterations: 20,
    });
    const { X = [], s = [] } = checked(chromeTrace(run));
    assert.ok(X.filter(({ cat }) => cat === "copy").length >= 20);
    assert.is(s.length, X.filter(({ cat }) => cat === "copy").length);
  }
});

traces("a run without a trace is refused with the reason", async () => {
  const run = await scriptedMachine("measured").run(transfer({ from: 0, to: 1, bytes: 8 }));
  try {
    chromeTrace({ ...run, traceReason: "no CUPTI" });
    assert.unreachable();
  } catch (error) {
    assert.ok(error instanceof P2pError);
    assert.is(error.code, "usage");
    assert.match(error.message, "no CUPTI");
  }
});

traces("the file is written whole, and nothing else is left beside it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-trace-"));
  try {
    const run = await runOf("measured");
    writeTrace(run, join(folder, "run.json"));
    assert.equal(readdirSync(folder), ["run.json"]);
    assert.equal(JSON.parse(readFileSync(join(folder, "run.json"), "utf8")), chromeTrace(run));
    try {
      writeTrace(run, "/proc/none/run.json");
      assert.unreachable();
    } catch (error) {
      assert.is((error as P2pError).code, "output");
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

traces.run();
