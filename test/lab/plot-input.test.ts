import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../kernel/lab/errors.js";
import { tableOf } from "../../kernel/lab/measure/table.js";
import { transfer } from "../../kernel/lab/measure/transfer.js";
import * as plot from "../../kernel/lab/plot/index.js";
import { busySpans, curveOf, LOADS, matrixOf, tracedRun } from "./plot-figures.js";
import { scriptedMachine } from "./scripted-machine.js";

const input = suite("plot input");

type Draw = (value: never, options?: never) => unknown;
const ALL: Readonly<Record<string, Draw>> = {
  alphaBeta: plot.alphaBeta,
  bars: (value) => plot.bars(value, { value: "total_us", by: "path" }),
  breakdown: plot.breakdown,
  ecdf: plot.ecdf,
  latency: plot.latency,
  ledger: plot.ledger,
  loadLatency: plot.loadLatency,
  matrix: plot.matrix,
  schedule: plot.schedule,
  timeline: plot.timeline,
  topology: plot.topology,
};

/** Asserts that a call ends in an error a reader can act on. */
function refused(what: string, call: () => unknown, words = /./): void {
  try {
    call();
  } catch (error) {
    assert.instance(error, P2pError, `${what}: ${String(error)}`);
    assert.match((error as P2pError).message, words, what);
    assert.ok((error as P2pError).hint.length > 10, what);
    return;
  }
  assert.unreachable(`${what} was drawn`);
}

input("whatever is no table, run or topology is refused by name", () => {
  const things: unknown[] = [
    undefined,
    null,
    1,
    "table",
    [],
    {},
    [1],
    () => 1,
    new Map(),
    Promise.resolve(1),
    Number.NaN,
  ];
  for (const [name, draw] of Object.entries(ALL)) {
    for (const thing of things)
      refused(`${name}(${String(thing)})`, () => draw(thing as never), new RegExp(`plot\\.${name}|this run`));
    refused(`${name} of a foreign table`, () => draw(tableOf([{ a: 1 }]) as never));
    refused(`${name} of an empty table`, () =>
      draw(tableOf([], ["path", "bytes", "total_us", "from", "to"]) as never),
    );
  }
});

input("an option that does not exist, or has a value that does not, is refused", async () => {
  const curve = curveOf([{ total_us: 7 }]);
  const run = await tracedRun(busySpans(30));
  for (const options of [null, 1, { titel: "x" }, { title: 1 }, { theme: "blue" }, { lang: "fr" }]) {
    refused(`latency ${JSON.stringify(options)}`, () => plot.latency(curve, options as never));
    refused(`timeline ${JSON.stringify(options)}`, () => plot.timeline(run, options as never));
  }
  for (const guess of [
    1,
    null,
    {},
    { value: Number.NaN, unit: "us" },
    { value: -1, unit: "us" },
    { value: 1, unit: "x" },
  ]) {
    refused(`guess ${JSON.stringify(guess)}`, () => plot.latency(curve, { guess } as never), /guess/);
    refused(`guess of a load`, () => plot.loadLatency(LOADS, { guess } as never), /guess/);
  }
  for (const window of [[], [1], [2, 1], ["a", "b"], 3, [1e9, 2e9]]) {
    refused(`window ${JSON.stringify(window)}`, () => plot.timeline(run, { window } as never));
  }
  refused("iteration 9", () => plot.timeline(run, { iteration: 9 }), /no iteration 9/);
  refused(
    "value",
    () =>
      plot.matrix(
        matrixOf(2, () => ({ total_us: 1 })),
        { value: "nowhere" },
      ),
    /nowhere/,
  );
});

input("values that cannot be drawn are refused with their column", () => {
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, "7", -1, 0, {}]) {
    const curve = curveOf([
      { total_us: 7 },
      { bytes: 64, total_us: bad, ci_low_us: 1, ci_high_us: 1, p99_us: 1 },
    ]);
    refused(`latency ${String(bad)}`, () => plot.latency(curve), /total_us/);
    refused(`bytes ${String(bad)}`, () => plot.latency(curveOf([{ bytes: bad, total_us: 7 }])), /bytes/);
  }
  for (const bad of [Number.NaN, "7"]) {
    refused(`matrix ${String(bad)}`, () => plot.matrix(matrixOf(2, () => ({ total_us: bad }))), /total_us/);
  }
  for (const bad of [null, Number.NaN, 0.5]) {
    refused(`matrix from ${String(bad)}`, () => plot.matrix(matrixOf(2, () => ({ total_us: 1, from: bad }))));
  }
});

input("rows that cannot be told apart are refused, not drawn over each other", () => {
  refused("latency", () => plot.latency(curveOf([{ total_us: 7 }, { total_us: 8 }])), /two rows/);
  const bar = { value: "total_us", by: "path" } as const;
  refused("bars", () => plot.bars(curveOf([{ total_us: 7 }, { total_us: 8 }]), bar), /two rows of "peer"/);
  for (const wrong of [
    { value: 1 },
    { by: [] },
    { series: null },
    { scale: "ln" },
    { guess: { value: 1, unit: "ns" } },
  ])
    refused(`bars ${JSON.stringify(wrong)}`, () =>
      plot.bars(curveOf([{ total_us: 7 }]), { ...bar, ...wrong } as never),
    );
  const twice = matrixOf(2, () => ({ total_us: 1 }));
  refused("matrix", () => plot.matrix(twice.concat(twice)), /several rows for GPU 0 → GPU 0/);
});

input("a run without a trace is refused with the reason", async () => {
  const run = await scriptedMachine("measured").run(transfer({ from: 0, to: 1, bytes: 8 }));
  for (const draw of [plot.timeline, plot.schedule]) {
    refused("no trace", () => draw({ ...run, traceReason: "no CUPTI" }), /no CUPTI/);
  }
  refused(
    "no samples",
    () => plot.ecdf({ a: { ...run, samples: { ...run.samples, totalNs: new Float64Array() } } }),
    /no samples/,
  );
  refused("not awaited", () => plot.ecdf(Promise.resolve(run) as never));
});

input("a topology with a part that is none is refused with that part", () => {
  const gpu = { name: "gpu0", kind: "gpu" };
  const link = { from: "gpu0", to: "gpu1", kind: "nvlink", width: 1, rawGbps: 25 };
  for (const [what, bad] of Object.entries({
    "no GPU": { nodes: [{ name: "cpu0", kind: "cpu" }], links: [] },
    "unknown kind": { nodes: [gpu, { name: "x", kind: "toaster" }], links: [] },
    "null node": { nodes: [gpu, null], links: [] },
    "same name": { nodes: [gpu, gpu], links: [] },
    "loose link": { nodes: [gpu], links: [link] },
    "unknown link": { nodes: [gpu], links: [{ ...link, to: "gpu0", kind: "rope" }] },
    "no links": { nodes: [gpu] },
  })) {
    refused(what, () => plot.topology(bad));
  }
});

input("tables with nothing but missing values still make an honest figure", () => {
  const none = curveOf([
    { total_us: null, p99_us: null, ci_low_us: null, ci_high_us: null, reason: "broken" },
  ]);
  assert.match(String(plot.latency(none)), /1 处没有数字：broken/);
  assert.match(
    String(plot.matrix(matrixOf(2, () => ({ total_us: null, reason: "broken" })))),
    /4 处没有数字：broken/,
  );
});

input.run();
