import { suite } from "uvu";
import * as assert from "uvu/assert";
import { achieved } from "../../kernel/lab/analyze/achieved.js";
import { alphaBeta, residuals } from "../../kernel/lab/analyze/alpha-beta.js";
import { amortise } from "../../kernel/lab/analyze/amortise.js";
import { compare } from "../../kernel/lab/analyze/compare.js";
import { crossover } from "../../kernel/lab/analyze/crossover.js";
import { overlap } from "../../kernel/lab/analyze/overlap.js";
import { P2pError } from "../../kernel/lab/errors.js";
import { RecordedMachine } from "../../kernel/lab/machines/recorded.js";
import { SimulatedMachine } from "../../kernel/lab/machines/simulated.js";
import { sweep } from "../../kernel/lab/measure/sweep.js";
import { type Table, tableOf } from "../../kernel/lab/measure/table.js";
import { transfer } from "../../kernel/lab/measure/transfer.js";
import { Random } from "../../kernel/lab/random.js";
import { type Span, type SpanKind, timelineOf } from "../../kernel/lab/timeline.js";
import { sizes } from "../../kernel/lab/units.js";

const models = suite("models");
const SIZES = sizes("8 B", "64 KiB");
const ORIGIN = { machine: "m", provenance: "simulated", date: "2026-01-02" };

type Row = Record<string, number | string | null>;
const rowsOf = (table: Table) => table.objects() as Row[];

function refused(action: () => unknown, words: RegExp): void {
  assert.throws(
    action,
    (error: unknown) => error instanceof P2pError && error.code === "usage" && words.test(error.message),
    String(words),
  );
}

/** A sweep of curves whose medians are known to `noise` (relative, 95 %). */
function curves(
  of: readonly { axes: object; us: (bytes: number) => number }[],
  noise = 0.001,
  random?: Random,
): Table {
  return tableOf(
    of.flatMap(({ axes, us }) =>
      SIZES.map((bytes) => {
        const total_us = us(bytes) * (random ? 1 + (noise / 1.96) * random.normal() : 1);
        const ends = { ci_low_us: total_us * (1 - noise), ci_high_us: total_us * (1 + noise) };
        return { path: "peer", ...axes, bytes, total_us, ...ends, ...ORIGIN };
      }),
    ),
  );
}

/** They cross at 900 bytes, straight in logarithms. */
const CROSSING = [
  { axes: { path: "staged" }, us: () => 10 },
  { axes: { path: "peer" }, us: (bytes: number) => 10 * (900 / bytes) ** 0.3 },
];

models(
  "a crossing is found between its sizes, and its interval covers it in 90 to 99 % of noisy sweeps",
  () => {
    const [exact] = crossover(curves(CROSSING)).crossings;
    assert.equal([exact?.from, exact?.to, exact?.above, exact?.below], ["staged", "peer", 512, 1024]);
    assert.ok(Math.abs((exact?.bytes as number) - 900) < 1e-6);
    assert.match(
      String(crossover(curves(CROSSING))),
      /^crossover: at about 900 B \(95 % interval 89\d B to 90\d B\)/,
    );
    const random = new Random(3);
    let covered = 0;
    for (let i = 0; i < 400; i++) {
      const found = crossover(curves(CROSSING, 0.02, random)).crossings.filter(
        ({ from }) => from === "staged",
      );
      if (found.some(({ lowBytes, highBytes }) => lowBytes <= 900 && 900 <= highBytes)) covered++;
      assert.ok(found.every(({ lowBytes, bytes, highBytes }) => lowBytes <= bytes && bytes <= highBytes));
    }
    assert.ok(covered >= 360 && covered <= 396, `${covered} of 400`);
  },
);

models("a crossover is found along whatever axis the sweep has, and a table of more is refused", () => {
  const engines = CROSSING.map(({ us }, i) => ({ axes: { engine: i ? "kernel-write" : "copy-engine" }, us }));
  const found = crossover(curves(engines));
  assert.equal(found.paths, ["copy-engine", "kernel-write"]);
  assert.is(found.crossings[0]?.to, "kernel-write");
  const streams = CROSSING.map(({ us }, i) => ({ axes: { streams: i + 1 }, us }));
  assert.equal(crossover(curves(streams)).paths, ["streams 1", "streams 2"]);
  refused(() => crossover(curves([...CROSSING, { axes: { path: "other" }, us: () => 1 }])), /holds 3/);
  const pairs = [0, 1].flatMap((from) => CROSSING.map(({ axes, us }) => ({ axes: { ...axes, from }, us })));
  refused(() => crossover(curves(pairs)), /holds 4/);
  refused(() => crossover(curves([...CROSSING, ...CROSSING])), /more than once/);
});

models("each curve of a sweep is fitted by itself", () => {
  const rows = rowsOf(
    alphaBeta(
      curves([
        { axes: { from: 0, to: 1 }, us: (bytes) => 7 + bytes / 40_000 },
        { axes: { from: 1, to: 0 }, us: (bytes) => 9 + bytes / 20_000 },
      ]),
    ),
  );
  assert.equal(
    rows.map(({ path, from, to, curve }) => [path, from, to, curve]),
    [
      ["peer", 0, 1, "from 0 to 1"],
      ["peer", 1, 0, "from 1 to 0"],
    ],
  );
  assert.ok(Math.abs((rows[1]?.alpha_us as number) - 9) < 1e-6);
  assert.ok(Math.abs((rows[1]?.half_bytes as number) - 180_000) < 1);
  const { half_low_bytes, half_high_bytes } = rows[1] as Row;
  assert.ok((half_low_bytes as number) <= 180_000 && (half_high_bytes as number) >= 180_000);
  assert.is(rowsOf(residuals(curves(CROSSING))).length, 2 * SIZES.length);
});

models("curves of two machines are two, each with its own provenance", () => {
  const table = curves([{ axes: {}, us: (bytes) => 7 + bytes / 40_000 }]);
  const rows = rowsOf(table);
  const half = rows.map((row, i) => (i % 2 ? row : { ...row, machine: "n", provenance: "measured" }));
  const fits = rowsOf(alphaBeta(tableOf(half)));
  assert.equal(
    fits.map((row) => [row.machine, row.provenance, row.curve]),
    [
      ["n", "measured", "n measured"],
      ["m", "simulated", "m simulated"],
    ],
  );
  const both = [...rows, ...rows.map((row) => ({ ...row, machine: "n", provenance: "measured" }))];
  assert.equal(crossover(tableOf(both)).paths, ["m simulated", "n measured"]);
});

models("noise asks for no more lines than the truth has", () => {
  const random = new Random(11);
  const line = [{ axes: {}, us: (bytes: number) => 7 + bytes / 4000 }];
  const counts = Array.from({ length: 100 }, () => alphaBeta(curves(line, 0.06, random)).numRows());
  assert.ok(counts.filter((count) => count === 1).length >= 90, counts.join(" "));
  const bent = [{ axes: {}, us: (bytes: number) => (bytes <= 4096 ? 7 : 3 + bytes / 1000) }];
  assert.is(alphaBeta(curves(bent, 0.02, random)).numRows(), 2);
});

models("rows without a time are left out, rows with an impossible one are refused", () => {
  const [first, ...rest] = rowsOf(curves(CROSSING)) as [Row, ...Row[]];
  assert.is(crossover(tableOf([{ ...first, total_us: null }, ...rest])).ratios.length, SIZES.length - 1);
  for (const total_us of [Number.NaN, -1, 0, "7"]) {
    refused(() => alphaBeta(tableOf([{ ...first, total_us }, ...rest])), /a row has 8 bytes in/);
  }
  refused(() => crossover(tableOf([{ ...first, total_us: null }])), /without a time/);
});

function spansOf(list: readonly [SpanKind, number, number][], iteration = 0): Span[] {
  return list.map(([kind, startNs, endNs]) => ({
    kind,
    lane: "x",
    name: "x",
    startNs,
    endNs,
    bytes: 0,
    correlation: 0,
    iteration,
  }));
}

models("overlap is of unions: copies side by side count once", () => {
  const timeline = timelineOf("test", [
    ...spansOf([
      ["copy", 0, 10_000],
      ["copy", 5000, 15_000],
      ["kernel", 10_000, 20_000],
      ["api", 0, 20_000],
    ]),
    ...spansOf([["copy", 30_000, 40_000]], 1),
  ]);
  const [both, alone] = rowsOf(overlap(timeline)) as [Row, Row];
  assert.equal([both.copy_us, both.kernel_us, both.both_us], [15, 10, 5]);
  assert.equal([both.overlap, both.hidden, both.reason], [0.5, 5 / 15, null]);
  assert.equal([alone.overlap, alone.hidden], [null, null]);
  assert.match(String(alone.reason), /no kernel/);
});

models("overlap agrees with counting nanoseconds one by one, on 200 random timelines", () => {
  const random = new Random(12);
  for (let round = 0; round < 200; round++) {
    const list = Array.from({ length: 1 + random.integer(12) }, (): [SpanKind, number, number] => {
      const start = random.integer(100);
      return [random.uniform() < 0.5 ? "copy" : "kernel", start, start + 1 + random.integer(30)];
    });
    const covers = (kind: SpanKind, ns: number) =>
      list.some((span) => span[0] === kind && span[1] <= ns && ns < span[2]);
    const instants = Array.from({ length: 140 }, (_, ns) => ns);
    const count = (test: (ns: number) => boolean) => instants.filter(test).length / 1e3;
    const [row] = rowsOf(overlap(timelineOf("test", spansOf(list)))) as [Row];
    const near = (a: unknown, b: number) => assert.ok(Math.abs((a as number) - b) < 1e-9, `${a} is not ${b}`);
    near(
      row.copy_us,
      count((ns) => covers("copy", ns)),
    );
    near(
      row.kernel_us,
      count((ns) => covers("kernel", ns)),
    );
    near(
      row.both_us,
      count((ns) => covers("copy", ns) && covers("kernel", ns)),
    );
  }
});

models("what has no timeline, or an empty one, is refused by overlap", async () => {
  const machine = SimulatedMachine.open("pcie-gen4-2");
  const run = await machine.run(transfer({ from: 0, to: 1, bytes: 8 }));
  refused(() => overlap(run), /a run without a trace \(none was asked for\)/);
  refused(() => overlap(undefined as never), /no run/);
  refused(() => overlap({} as never), /no run/);
  refused(() => overlap(timelineOf("test", [])), /without copies and kernels/);
});

models(
  "the achieved share is of the link's raw rate, and null with the reason where that says nothing",
  async () => {
    const machine = SimulatedMachine.open("pcie-gen4-2");
    const curve = await sweep(machine, {
      from: 0,
      to: 1,
      bytes: ["8 B", "16 MiB"],
      path: ["peer", "staged"],
    });
    const raw = machine.info.pairs[0]?.rawGbps as number;
    const rows = rowsOf(achieved(machine, curve));
    assert.is(rows[1]?.raw_gbps, raw);
    assert.ok((rows[1]?.of_raw_pct as number) > 50 && (rows[1]?.of_raw_pct as number) < 100);
    assert.ok(Math.abs((rows[1]?.of_raw_pct as number) - (100 * (rows[1]?.gbps as number)) / raw) < 1e-9);
    assert.is(rows[3]?.of_raw_pct, null);
    assert.match(String(rows[3]?.raw_reason), /host memory/);
    assert.equal(achieved(machine, curve).columnNames().slice(-3), ["machine", "provenance", "date"]);
    const recording = RecordedMachine.open("h200x2");
    const recorded = await sweep(recording, { from: 0, to: 1, bytes: "64 MiB" });
    const share = rowsOf(achieved(recording, recorded))[0];
    assert.is(share?.raw_gbps, recording.info.pairs[0]?.rawGbps);
    assert.ok((share?.of_raw_pct as number) > 70 && (share?.of_raw_pct as number) < 95);
    const silent = {
      provenance: recording.provenance,
      run: recording.run.bind(recording),
      info: { ...recording.info, pairs: recording.info.pairs.map((pair) => ({ ...pair, rawGbps: null })) },
    } as unknown as RecordedMachine;
    assert.match(String(rowsOf(achieved(silent, recorded))[0]?.raw_reason), /not known/);
    assert.match(String(rowsOf(achieved(machine, recorded))[0]?.raw_reason), /another machine/);
  },
);

models("one-off costs are spread over the uses, from the nearest size that was measured", () => {
  const parts = tableOf([{ path: "peer", bytes: 2_000_000, total_us: 10, ...ORIGIN }]);
  const cost = (kind: string, bytes: number | null, median_us: number | null, note = "") => ({
    kind,
    bytes,
    median_us,
    first_us: median_us === null ? null : median_us * 3,
    note,
    ...ORIGIN,
  });
  const costs = tableOf([
    cost("malloc", 65_536, 50),
    cost("malloc", 1_048_576, 100),
    cost("peer-enable", null, 10_000),
    cost("stream-create", null, null, "no driver"),
  ]);
  const rows = rowsOf(amortise(parts, costs, { uses: 1000 }));
  assert.equal(
    rows.map(({ kind, cost_bytes, once_us, first_us, per_use_us, reason }) => [
      kind,
      cost_bytes,
      once_us,
      first_us,
      per_use_us,
      reason,
    ]),
    [
      ["malloc", 1_048_576, 200, 600, 0.2, null],
      ["peer-enable", null, 10_000, 30_000, 10, null],
      ["stream-create", null, null, null, null, "no driver"],
      ["event-create", null, null, null, null, "the costs hold no event-create"],
    ],
  );
  assert.is(rows[1]?.share_pct, 50);
  for (const uses of [0, 1.5, Number.NaN, "7"]) {
    refused(() => amortise(parts, costs, { uses: uses as never }), /over .* uses/);
  }
  refused(() => amortise(parts, parts, { uses: 1 }), /needs the columns kind/);
  refused(() => amortise(parts, costs, undefined as never), /no options/);
});

models("a comparison of simulated runs gives the answer of the model's truth", async () => {
  const total = async (bytes: number, seed: number, samples: number) =>
    (
      await SimulatedMachine.open("hgx-h100-8", { seed }).run(transfer({ from: 0, to: 1, bytes }), {
        sampling: { minSamples: samples, maxSamples: samples, budgetMs: 10_000 },
      })
    ).samples;
  const truth = new Map<number, number>();
  for (const bytes of [1_048_576, 1_310_720])
    truth.set(bytes, (await total(bytes, 99, 20_000)).convergence.medianNs);
  const ratio = (truth.get(1_310_720) as number) / (truth.get(1_048_576) as number);
  assert.ok(ratio > 1.05);
  let covered = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const [a, same, more] = [
      (await total(1_048_576, seed, 400)).totalNs,
      (await total(1_048_576, seed + 100, 400)).totalNs,
      (await total(1_310_720, seed, 400)).totalNs,
    ];
    assert.is(compare(a, same).answer, "same");
    assert.is(compare(a, more).answer, "slower");
    assert.is(compare(more, a).answer, "faster");
    const { ratioLow, ratioHigh } = compare(a, more).values;
    if (ratioLow <= ratio && ratio <= ratioHigh) covered++;
  }
  assert.ok(covered >= 17, `${covered} of 20`);
});

models("whatever is handed in by mistake ends in an error that names it", () => {
  const machine = SimulatedMachine.open("pcie-gen4-2");
  const good = curves(CROSSING);
  const column = (values: readonly unknown[]) =>
    tableOf(values.map((total_us) => ({ ...rowsOf(good)[0], total_us })));
  const wrong: readonly unknown[] = [
    ...[undefined, null, 0, Number.NaN, "x", [], {}, () => 1, 10n, new Float64Array(0)],
    ...[
      Promise.resolve(good),
      tableOf([]),
      tableOf([{ a: 1 }]),
      column([10n]),
      column([1e300]),
      column([{}]),
    ],
  ];
  const actions: Record<string, (x: never) => unknown> = {
    alphaBeta: (x) => alphaBeta(x),
    residuals: (x) => residuals(x),
    crossover: (x) => crossover(x),
    overlap: (x) => overlap(x),
    achieved: (x) => achieved(machine, x),
    amortise: (x) => amortise(x, x, { uses: 1 }),
    compare: (x) => compare(x, x),
    "compare, several": (x) => compare([x, x, x, x, x], [x, x, x, x, x]),
  };
  for (const [name, action] of Object.entries(actions)) {
    for (const [index, value] of wrong.entries()) {
      assert.throws(
        () => action(value as never),
        (error: unknown) => error instanceof P2pError && error.code === "usage" && error.hint !== "",
        `${name} of wrong value ${index}`,
      );
    }
  }
});

models.run();
