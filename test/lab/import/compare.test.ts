import { suite } from "uvu";
import * as assert from "uvu/assert";
import { lab } from "../../../kernel/lab/index.js";
import { type Table, tableOf } from "../../../kernel/lab/measure/table.js";
import { GPU_COPY, NCCL_TESTS, NVBANDWIDTH, P2P_TEST, PERFTEST, SMI, UCX_CSV } from "./fixtures.js";
import { cells, type Row, read, refusal } from "./helpers.js";

const test = suite("lab.compare of a table and an import");

const ORIGIN = { machine: "a machine", provenance: "measured", date: "2026-11-30" };

/** Rows as lab.matrix has them. */
function ours(metric: string, ...rows: Row[]): Table {
  const usual = { path: "peer", engine: "copy-engine", direction: "one-way", initiator_gpu: 0 };
  return tableOf(rows.map((row) => ({ metric, from: 0, to: 1, ...usual, ...row, ...ORIGIN })));
}

async function beside(table: Table, text: string): Promise<Row[]> {
  return lab.compare(table, await read(text)).objects() as Row[];
}

test("both latencies of p2pBandwidthLatencyTest stand beside what they are nearest to, and are told to be something else", async () => {
  const rows = await beside(
    ours("latency", { bytes: 8, total_us: 9, api_us: 3.5 }, { bytes: 1024, total_us: 9.5, api_us: 3.5 }),
    P2P_TEST,
  );
  assert.equal(
    rows.map((row) =>
      cells(row, "from", "to", "ours", "theirs", "unit", "ratio", "same_quantity", "same_size"),
    ),
    [
      [0, 1, 9, 2.25, "us", 4, false, false],
      [0, 1, 3.5, 1.75, "us", 2, false, false],
    ],
  );
  assert.match(String(rows[0]?.differences), /in a filled queue.*Sizes differ: ours 8 B, theirs 16 B/);
  assert.match(String(rows[1]?.differences), /what the API call costs the host/);
  assert.match(String(rows[1]?.ours_definition), /^api_us/);
  assert.equal(cells(rows[0], "machine", "provenance", "date"), [
    "a machine + 2 × NVIDIA SYNTHETIC",
    "measured + imported",
    "2026-11-30 + date not stated",
  ]);
});

test("what is bidirectional is held against both ways only, and its meaning named", async () => {
  const one = ours("bandwidth", { bytes: 2 ** 26, gbps: 195 });
  assert.match((await refusal(beside(one, P2P_TEST))).message, /nothing of .* stands beside the table/);
  const both = ours("bandwidth", { bytes: 2 ** 26, gbps: 780, direction: "both-ways" });
  const [row] = await beside(both, P2P_TEST);
  assert.equal(cells(row, "ours", "theirs", "ratio", "same_quantity"), [780, 390, 2, false]);
  assert.match(String(row?.differences), /from the first begin to the last end/);
  const total = NVBANDWIDTH.replace("Write1 bandwidth", "Total bandwidth");
  const [sum] = await beside(both, total);
  assert.equal(cells(sum, "theirs", "same_quantity"), [190, false]);
  assert.match(String(sum?.differences), /timed by events of its own and the two rates are added/);
});

test("nvbandwidth: the cell of the same pair, way and issuing GPU; loads beside loads", async () => {
  const read01 = { from: 0, to: 1, initiator_gpu: 1, bytes: 2 ** 26, gbps: 399.5 };
  const [row, ...others] = await beside(
    ours("bandwidth", { ...read01, initiator_gpu: 0 }, read01),
    NVBANDWIDTH,
  );
  assert.is(others.length, 0);
  // The data of a read go from the column's GPU to the row's: 0 → 1 is row 1, column 0.
  assert.equal(cells(row, "ours", "theirs", "ratio", "same_quantity", "same_size"), [
    399.5,
    199.75,
    2,
    true,
    null,
  ]);
  const loads = await beside(
    ours("load-latency", { bytes: 2 ** 21, load_ns: 880, engine: "load", initiator_gpu: 1 }),
    NVBANDWIDTH,
  );
  assert.equal(cells(loads[0], "theirs", "unit", "same_size"), [810, "ns", true]);
  const old = NVBANDWIDTH.replaceAll("v0.8", "v0.7");
  await refusal(beside(ours("load-latency", { bytes: 2 ** 21, load_ns: 880, engine: "load" }), old));
});

test("tools that measure many sizes stand beside the same size only", async () => {
  const latency = ours(
    "latency",
    { bytes: 8, total_us: 23, direction: "both-ways", engine: "kernel-write" },
    { bytes: 64, total_us: 24, direction: "both-ways" },
  );
  const [row, ...others] = await beside(latency, NCCL_TESTS);
  assert.is(others.length, 0);
  assert.equal(cells(row, "ours", "theirs", "ours_bytes", "theirs_bytes", "theirs_name"), [
    23,
    11.5,
    8,
    8,
    "sendrecv_perf",
  ]);
  const perftest = await beside(
    ours("latency", { bytes: 4, total_us: 7 }, { bytes: 64, total_us: 9 }),
    PERFTEST,
  );
  assert.equal(
    perftest.map((found) => cells(found, "theirs", "same_size")),
    [[1.75, true]],
  );
  assert.match(String(perftest[0]?.differences), /Half a round trip/);
  const copies = await beside(ours("bandwidth", { bytes: 2 ** 26, gbps: 559 }), GPU_COPY);
  assert.equal(
    copies.map((found) => cells(found, "theirs", "ratio")),
    [[279.5, 2]],
  );
  const [ucx] = await beside(ours("latency", { bytes: 8, total_us: 2.5 }), UCX_CSV);
  assert.match(String(ucx?.differences), /does not say whether it is of a ping-pong/);
});

test("what cannot be held side by side is refused with why", async () => {
  const table = ours("latency", { bytes: 8, total_us: 9 });
  const imported = await read(P2P_TEST);
  const complaint = async (action: () => unknown) => (await refusal((async () => action())())).message;
  assert.match(
    await complaint(async () => lab.compare(table, await read(SMI))),
    /no figure that this library has a counterpart of/,
  );
  assert.match(
    await complaint(() => lab.compare(imported.tables.cells as Table, imported)),
    /no column metric, from or to/,
  );
  assert.match(
    await complaint(() => lab.compare(imported as never, table as never)),
    /the import stands first/,
  );
  assert.match(await complaint(() => lab.compare(imported as never, imported)), /cannot hold a Imported/);
  for (const wrong of [null, undefined, 7, "x", [], {}]) {
    assert.match(await complaint(() => lab.compare(wrong as never, imported)), /cannot hold/);
  }
  assert.match(
    await complaint(() => lab.compare(ours("latency", { bytes: 8, total_us: null }), imported)),
    /holds no figure/,
  );
  assert.match(
    await complaint(() => lab.compare(ours("latency", { from: 3, to: 4, bytes: 8, total_us: 1 }), imported)),
    /the table has latency 3 → 4/,
  );
});

test("series of times are compared as ever", () => {
  const series = (at: number) => Float64Array.from({ length: 40 }, (_, i) => at + (i % 5));
  assert.is(lab.compare(series(1000), series(800)).answer, "faster");
});

test.run();
