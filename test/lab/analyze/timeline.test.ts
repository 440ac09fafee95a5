import { suite } from "uvu";
import * as assert from "uvu/assert";
import { overlap } from "../../../kernel/lab/analyze/overlap.js";
import * as timelines from "../../../kernel/lab/analyze/timeline/index.js";
import { P2pError } from "../../../kernel/lab/errors.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import type { Table } from "../../../kernel/lab/measure/table.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";
import type { Timeline } from "../../../kernel/lab/timeline.js";
import { timelineFrom } from "./timeline-fixture.js";

const test = suite("analyses of timelines");

type Row = Record<string, unknown>;
const rowsOf = (table: Table) => table.objects() as Row[];
/** Every analysis that there is, by name. */
const ALL = Object.entries(timelines) as [string, (of: unknown, options?: unknown) => Table][];

function near(actual: unknown, expected: number, message?: string): void {
  assert.ok(Math.abs((actual as number) - expected) < 1e-9 * Math.max(1, expected), `${message}: ${actual}`);
}

test("launches: from the call's begin, from its return; what the profiler held up is left out", () => {
  const rows = rowsOf(
    timelines.launches(
      timelineFrom([
        { us: [0, 2], correlation: 1 },
        { kind: "copy", us: [5, 8], correlation: 1 },
        { us: [10, 20], correlation: 2 },
        { kind: "copy", us: [12, 19], correlation: 2 },
        { us: [30, 40], correlation: 3 },
        { kind: "overhead", us: [31, 39] },
        { kind: "copy", us: [45, 46], correlation: 3 },
        { kind: "copy", us: [50, 51], correlation: 77 },
      ]),
    ),
  );
  assert.is(rows.length, 1);
  const [row] = rows as [Row];
  assert.equal(
    [row.call, row.work, row.n, row.left_out, row.began_in_call],
    ["cudaMemcpyAsync", "PtoP", 2, 1, 1],
  );
  assert.equal([row.start_min_us, row.start_max_us, row.queue_min_us, row.queue_max_us], [2, 5, 0, 3]);
  assert.match(String(row.inputs), /^3 of 4 pieces of work joined to 3 calls/);
});

test("copies: sizes and pairs apart, the rate over the engine's time", () => {
  const rows = rowsOf(
    timelines.copies(
      timelineFrom([
        { kind: "copy", us: [0, 10], bytes: 1_000_000 },
        { kind: "copy", us: [20, 40], bytes: 1_000_000 },
        { kind: "copy", us: [50, 50], bytes: 8 },
        { kind: "copy", us: [60, 61], bytes: 1000, from: 1, to: 0 },
      ]),
    ),
  );
  const big = rows.find(({ bytes_from }) => bytes_from === 1_000_000) as Row;
  assert.equal(
    [big.n, big.bytes, big.gbps_median, big.gbps_best, big.from, big.to],
    [2, 2_000_000, 75, 100, 0, 1],
  );
  const small = rows.find(({ bytes_from }) => bytes_from === 8) as Row;
  assert.is(small.gbps_median, null);
  assert.match(String(small.reason), /less than the clock's step/);
  assert.equal([rows.length, rows.find(({ from }) => from === 1)?.to], [3, 0]);
});

test("copies: many sizes fall into classes that each span a factor of two, and none is lost", () => {
  const sizes = Array.from({ length: 300 }, (_, i) => 1 + i * 7);
  const rows = rowsOf(
    timelines.copies(
      timelineFrom(sizes.map((bytes, i) => ({ kind: "copy" as const, us: [i, i + 0.5] as const, bytes }))),
    ),
  );
  assert.is(
    rows.reduce((sum, { n }) => sum + (n as number), 0),
    300,
  );
  assert.ok(rows.every(({ bytes_from, bytes_to }) => (bytes_to as number) < 2 * (bytes_from as number)));
});

test("gaps, overlaps: unions and intersections", () => {
  const timeline = timelineFrom([
    { kind: "copy", us: [0, 10] },
    { kind: "copy", us: [5, 15], lane: "GPU 0 stream 8" },
    { kind: "kernel", us: [12, 22] },
    { kind: "copy", us: [30, 40] },
  ]);
  const [overlap] = rowsOf(timelines.overlaps(timeline)) as [Row];
  assert.equal([overlap.copy_us, overlap.kernel_us, overlap.both_us, overlap.hidden_pct], [25, 10, 3, 12]);
  assert.equal([overlap.most_copies_at_once, overlap.mean_copies_at_once], [2, 30 / 25]);
  const gaps = rowsOf(timelines.gaps(timeline));
  const own = gaps.find(({ lane, between }) => lane === "GPU 0" && between === "copies") as Row;
  assert.equal(
    [own.n, own.gap_min_us, own.gap_max_us, own.overlapping, own.idle_us, own.idle_pct],
    [2, 0, 15, 1, 15, 37.5],
  );
  const all = gaps.find(({ lane, between }) => lane === "GPU 0" && between === "all work") as Row;
  assert.equal([all.n, all.idle_us], [3, 8]);
});

test("lab.overlap takes an import as it takes a run, and says where it is from", () => {
  const timeline = timelineFrom([
    { kind: "copy", us: [0, 10] },
    { kind: "kernel", us: [5, 25] },
  ]);
  for (const of of [timeline, { timeline }]) {
    const [row] = rowsOf(overlap(of)) as [Row];
    assert.equal([row.iteration, row.both_us, row.hidden, row.overlap], [-1, 5, 0.5, 0.5]);
    assert.equal([row.machine, row.provenance, row.date], ["test machine", "imported", "2026-01-02"]);
  }
});

test("waits: the outer of two, and those right behind a copy", () => {
  const [row] = rowsOf(
    timelines.waits(
      timelineFrom([
        { us: [0, 2], correlation: 1 },
        { kind: "copy", us: [3, 9], correlation: 1 },
        { kind: "sync", us: [2, 12] },
        { kind: "sync", us: [3, 11], name: "cuStreamSynchronize" },
        { us: [13, 14], name: "cudaFree" },
        { kind: "sync", us: [15, 16] },
      ]),
    ),
  ) as [Row];
  assert.equal([row.call, row.n, row.total_us, row.after_copy], ["cudaStreamSynchronize", 2, 11, 1]);
});

test("firsts: a first call far above the others, and why", () => {
  const rows = rowsOf(
    timelines.firsts(
      timelineFrom([
        { us: [0, 500], name: "cudaMalloc" },
        { kind: "overhead", us: [100, 400], name: "lazy function loading" },
        ...[600, 610, 620, 630].map((at) => ({ us: [at, at + 2] as const, name: "cudaMalloc" })),
        ...[700, 710, 720, 730].map((at) => ({ us: [at, at + 2] as const, name: "cudaFree" })),
        { us: [800, 900], name: "cudaHostAlloc" },
      ]),
    ),
  );
  const [first] = rows as [Row];
  assert.equal(
    [first.name, first.first_us, first.others_median_us, first.outlier, first.because],
    ["cudaMalloc", 500, 2, true, "lazy function loading"],
  );
  assert.is(rows.find(({ name }) => name === "cudaFree")?.outlier, false);
  const lone = rows.find(({ name }) => name === "cudaHostAlloc") as Row;
  assert.equal([lone.outlier, lone.times], [null, null]);
  assert.match(String(lone.reason), /too few to compare with/);
});

test("staged: down and up again with the same bytes to another GPU, each copy once", () => {
  const down = { kind: "copy", copyKind: "DtoH", from: 0, to: -1 } as const;
  const up = { kind: "copy", copyKind: "HtoD", from: -1, to: 1, device: 1, lane: "GPU 1 stream 7" } as const;
  const rows = rowsOf(
    timelines.staged(
      timelineFrom([
        { ...down, us: [0, 10], bytes: 1000 },
        { ...up, us: [12, 22], bytes: 1000 },
        // Same GPU, other bytes, too late: none of these is a transfer.
        { ...down, us: [100, 110], bytes: 8 },
        { ...up, us: [112, 122], bytes: 8, to: 0 },
        { ...up, us: [130, 140], bytes: 16 },
        { ...up, us: [900, 910], bytes: 8 },
        { kind: "copy", us: [950, 951], bytes: 8 },
      ]),
    ),
  );
  assert.is(rows.length, 1);
  const [row] = rows as [Row];
  assert.equal(
    [row.from, row.to, row.n, row.bytes, row.pair_median_us, row.peer_copies],
    [0, 1, 1, 1000, 22, 1],
  );
});

test("ranges: work belongs to the ranges that its call begins in", () => {
  const rows = rowsOf(
    timelines.ranges(
      timelineFrom([
        { kind: "range", us: [0, 100], name: "outer" },
        { kind: "range", us: [10, 30], name: "inner" },
        { us: [12, 14], correlation: 1 },
        { kind: "copy", us: [200, 210], bytes: 64, correlation: 1 },
        { us: [40, 41], correlation: 2, name: "cudaLaunchKernel" },
        { kind: "kernel", us: [300, 305], correlation: 2 },
        { kind: "range", us: [40, 60], name: "elsewhere", lane: "host thread 2" },
        { kind: "range", us: [0, 50], name: "any thread", lane: "host thread 2", crossThread: true },
        { kind: "range", us: [400, 410], name: "aten::add, seq = 12, op_id = 3" },
      ]),
    ),
  );
  const of = (range: string) => rows.find((row) => row.range === range) as Row;
  assert.equal(
    [of("outer").copies, of("outer").copy_bytes, of("outer").kernels, of("outer").calls],
    [1, 64, 1, 2],
  );
  assert.equal([of("inner").copies, of("inner").kernels, of("inner").gpu_span_us], [1, 0, 10]);
  assert.is(of("outer").gpu_span_us, 105);
  assert.equal([of("elsewhere").calls, of("any thread").calls], [0, 2]);
  assert.is(of("aten::add").n, 1);
});

test("critical path: its parts add up to its length, and name what was waited for", () => {
  const timeline = timelineFrom([
    { us: [0, 4], correlation: 1 },
    { kind: "copy", us: [6, 16], correlation: 1 },
    { us: [5, 7], correlation: 2, name: "cudaLaunchKernel" },
    { kind: "kernel", us: [17, 30], correlation: 2 },
    { kind: "sync", us: [8, 33] },
    { us: [35, 36], name: "cudaFree" },
  ]);
  const rows = rowsOf(timelines.criticalPath(timeline));
  const part = (name: string) => rows.find((row) => row.part === name)?.total_us;
  assert.equal(
    ["launch", "copy", "GPU idle", "kernel", "notice", "host", "call"].map(part),
    [6, 10, 1, 13, 3, 2, 1],
  );
  near(
    rows.reduce((sum, { total_us }) => sum + (total_us as number), 0),
    36,
    "length",
  );
});

test("bytes: what a program asked for against what was seen; of an import it has to be said", () => {
  const timeline = timelineFrom([
    { kind: "copy", us: [0, 1], bytes: 600 },
    { kind: "copy", us: [2, 3], bytes: 200 },
  ]);
  const [unknown] = rowsOf(timelines.bytes(timeline)) as [Row];
  assert.equal([unknown.seen_bytes, unknown.requested_bytes, unknown.missing_bytes], [800, null, null]);
  assert.match(String(unknown.reason), /give \{ requested \}/);
  const [known] = rowsOf(timelines.bytes(timeline, { requested: 1000 })) as [Row];
  assert.equal([known.missing_bytes, known.seen_times], [200, 0.8]);
});

test("communication: kernels whose transfers are no copies", () => {
  const rows = rowsOf(
    timelines.communication(
      timelineFrom([
        { kind: "kernel", us: [0, 5], name: "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)" },
        { kind: "kernel", us: [0, 5], name: "gemm" },
      ]),
    ),
  );
  assert.equal(
    rows.map(({ library, n }) => [library, n]),
    [["NCCL", 1]],
  );
});

test("overheads: the profiler's own and the driver's apart", () => {
  const rows = rowsOf(
    timelines.overheads(
      timelineFrom([
        { us: [0, 10] },
        { kind: "overhead", us: [2, 4] },
        { kind: "overhead", us: [20, 30], name: "lazy function loading" },
      ]),
    ),
  );
  assert.equal(
    rows.map(({ by, n, total_us, calls_touched }) => [by, n, total_us, calls_touched]),
    [
      ["driver", 1, 10, 0],
      ["profiler", 1, 2, 1],
    ],
  );
});

test("a window keeps what begins in it", () => {
  const timeline = timelineFrom(
    [0, 10, 20, 30].map((at) => ({ kind: "copy" as const, us: [at, at + 1] as const, bytes: 8 })),
  );
  assert.is(rowsOf(timelines.copies(timeline, { window: [10, 30] }))[0]?.n, 2);
  for (const window of [[5], [3, 3], "all", [Number.NaN, 1], [100, 200]]) {
    assert.throws(
      () => timelines.copies(timeline, { window } as never),
      (error: unknown) => (error as P2pError).code === "usage",
    );
  }
});

test("each analysis abstains with a reason, never with nothing, and ends with where the numbers come from", () => {
  const empty = timelineFrom([]);
  const copyOnly = timelineFrom([{ kind: "copy", us: [0, 1], bytes: 8 }]);
  for (const [name, run] of ALL) {
    for (const timeline of [empty, copyOnly]) {
      const table = run(timeline);
      assert.ok(table.numRows() > 0, name);
      assert.equal(
        table.columnNames().slice(-5),
        ["inputs", "reason", "machine", "provenance", "date"],
        name,
      );
      for (const row of rowsOf(table)) {
        assert.equal([row.machine, row.provenance, row.date], ["test machine", "imported", "2026-01-02"]);
        for (const value of Object.values(row))
          assert.not(typeof value === "number" && !Number.isFinite(value), name);
      }
    }
    assert.type(rowsOf(run(empty))[0]?.reason, "string", name);
  }
});

test("what is no timeline is refused in every analysis", () => {
  const broken: Timeline = { ...timelineFrom([{ us: [0, 1] }]), startNs: Float64Array.of(1e9) };
  const given = [
    null,
    undefined,
    5,
    "trace",
    [],
    {},
    { timeline: null },
    Promise.resolve(),
    { trace: null, traceReason: "none asked for" },
    broken,
  ];
  for (const [name, run] of ALL) {
    for (const of of given) {
      try {
        run(of);
        assert.unreachable(`${name} ${String(of)}`);
      } catch (error) {
        assert.instance(error, P2pError, `${name}: ${error}`);
        assert.is((error as P2pError).code, "usage");
      }
    }
  }
});

test("a traced run of a model gives the same answers as its program", async () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  const bytes = 2 ** 20;
  const traced = await machine.run(transfer({ from: 0, to: 1, bytes, path: "peer" }), {
    trace: "full",
    traceIterations: 5,
  });
  const [copy] = rowsOf(timelines.copies(traced)) as [Row];
  assert.equal([copy.copy, copy.from, copy.to, copy.n, copy.bytes_from], ["PtoP", 0, 1, 5, bytes]);
  assert.is(copy.provenance, "simulated");
  for (const row of rowsOf(timelines.bytes(traced)))
    assert.equal([row.seen_bytes, row.missing_bytes], [bytes, 0]);
  const staged = await machine.run(transfer({ from: 0, to: 1, bytes, path: "staged" }), {
    trace: "full",
    traceIterations: 5,
  });
  const found = rowsOf(timelines.staged(staged, { withinUs: 1000 }))[0] as Row;
  assert.equal([found.from, found.to, found.n], [0, 1, 5]);
  assert.is(rowsOf(timelines.launches(traced))[0]?.n, 5);
});

test.run();
