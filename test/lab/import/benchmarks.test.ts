import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  BANDWIDTH_TEST,
  GPU_COPY,
  NCCL_TESTS,
  NCCL_TESTS_JSON,
  NVBANDWIDTH,
  P2P_TEST,
  PERFTEST,
  PERFTEST_JSON,
  UCX_CSV,
  UCX_PERFTEST,
} from "./fixtures.js";
import { cells, read, refusal, rows } from "./helpers.js";

const test = suite("imported benchmarks");

test("nccl-tests: a row for each place, the run and its devices", async () => {
  const imported = await read(NCCL_TESTS);
  assert.equal([imported.format, imported.version], ["nccl-tests", "2.17.9"]);
  const results = rows(imported, "results");
  assert.equal(
    results.map((row) => cells(row, "test", "bytes", "place", "time_us", "busbw_gbps", "wrong")),
    [
      ["sendrecv_perf", 8, "out-of-place", 11.5, 0, 0],
      ["sendrecv_perf", 8, "in-place", 11.25, 0, null],
      ["sendrecv_perf", 4096, "out-of-place", 12.75, 0.32, 0],
      ["sendrecv_perf", 4096, "in-place", 12.5, 0.33, null],
    ],
  );
  assert.equal(cells(results[0], "machine", "provenance", "date"), [
    "2 × NVIDIA SYNTHETIC",
    "imported",
    null,
  ]);
  assert.equal(
    cells(
      rows(imported, "runs")[0],
      "warmup_iterations",
      "iterations",
      "average_busbw_gbps",
      "out_of_bounds_verdict",
    ),
    [5, 20, 0.1625, "OK"],
  );
  assert.equal(cells(rows(imported, "devices")[1], "rank", "device", "pci"), [1, 1, "0000:10:00"]);
});

test("nccl-tests: rows that a log line breaks are put together, and the log is read too", async () => {
  const [first, second] = ["    11.50    0.00    0.00      0", "    11.25    0.00    0.00    N/A"];
  const broken = NCCL_TESTS.replace(
    "# Using devices",
    "synthetic:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n# Using devices",
  ).replace(
    `-1${first}${second}`,
    `-1synthetic:1:1 [1] NCCL INFO AllReduce: opCount 0\n${first}synthetic:1:1 [1] NCCL INFO x\n${second}`,
  );
  assert.ok(broken.includes("-1synthetic"));
  const imported = await read(broken);
  assert.equal(
    rows(imported, "results").map((row) => cells(row, "bytes", "root", "time_us")),
    [
      [8, -1, 11.5],
      [8, -1, 11.25],
      [4096, -1, 12.75],
      [4096, -1, 12.5],
    ],
  );
  assert.is(rows(imported, "runs")[0]?.nccl_version, "2.28.9+cuda13.0");
  assert.ok(imported.notes.some((note) => /also holds the log of NCCL: tables subjects/.test(note)));
});

test("nccl-tests: old headers, blank columns, times of iterations, halves that are missing, rows that are cut off", async () => {
  const columns = (text: string) => `#       size         count    ${text}\n#        (B)    (elements)\n`;
  const old = await read(`${columns("type     time   algbw   busbw  error     time   algbw   busbw  error")}
      32      8   float    35.00    0.00    0.00    N/A    34.00    0.01    0.01  0e+00
      64     16   float    36.00    0.00    0.00    N/A
     128     32   float    36.00    0.00\n`);
  assert.equal(
    rows(old, "results").map((row) => cells(row, "bytes", "redop", "root", "time_us", "wrong")),
    [
      [32, null, null, 35, null],
      [32, null, null, 34, 0],
      [64, null, null, 36, null],
    ],
  );
  assert.ok(old.notes.some((note) => /^Rows that are cut off.*: 1\./.test(note)));
  const blank =
    await read(`${columns("type   redop     time   algbw   busbw  error     time   algbw   busbw  error")}
      32      8   float            89.00    0.10    0.20    N/A    85.00    0.00    0.00    N/A\n`);
  assert.equal(cells(rows(blank, "results")[0], "redop", "time_us", "busbw_gbps"), [null, 89, 0.2]);
  const each =
    await read(`${columns("type root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min i_max i_p99 i_cv% #iters")}
      32      8   float  0  89.00  0.10  0.20  0  80 99 98 1.5  85.00  0.00  0.00  0 81 98 97 2.5  20\n`);
  assert.equal(
    rows(each, "results").map((row) =>
      cells(row, "root", "time_us", "iteration_min_us", "iteration_cv_percent", "iterations"),
    ),
    [
      [0, 89, 80, 1.5, 20],
      [0, 85, 81, 2.5, 20],
    ],
  );
});

test("nccl-tests: a table that somebody shortened, its program told by the command line", async () => {
  const imported = await read(
    "$ ./build/all_reduce_perf -b 32k -g 8\n[...]\n           size    time   algbw   busbw\n            (B)    (us)  (GB/s)  (GB/s)\n      1_048_576   101.9   10.29   18.00\n",
  );
  assert.equal(
    rows(imported, "results").map((row) => cells(row, "test", "bytes", "count", "time_us", "busbw_gbps")),
    [["all_reduce_perf", 1048576, null, 101.9, 18]],
  );
});

test("nccl-tests: a parameter with more digits than a number has is left out", async () => {
  const odd = await read(NCCL_TESTS.replace(/maxBytes \d+/, `maxBytes ${"9".repeat(400)}`));
  assert.is(rows(odd, "runs")[0]?.max_bytes ?? null, null);
});

test("nccl-tests: JSON gives the same and nothing of the environment", async () => {
  const imported = await read(NCCL_TESTS_JSON);
  assert.equal(
    rows(imported, "results").map((row) => cells(row, "test", "bytes", "place", "time_us", "date")),
    [["all_reduce_perf", 8, "out-of-place", 10.5, "2026-11-30T08:00:00"]],
  );
  assert.not(JSON.stringify([imported, rows(imported, "runs")]).includes("not to be shown"));
  assert.match((await refusal(read(NCCL_TESTS_JSON.slice(0, -40)))).message, /damaged or cut off/);
});

test("nccl-tests: a run that failed is told by what it complained of", async () => {
  const failed = `${NCCL_TESTS.split("\n").slice(0, 11).join("\n")}\nsynthetic: Test NCCL failure common.cu:1279 'unhandled cuda error'\n`;
  assert.match((await refusal(read(failed))).message, /no row of results: Test NCCL failure common.cu:1279/);
});

test("nvbandwidth: cells with the way of the data, and what is cut off", async () => {
  const imported = await read(NVBANDWIDTH);
  assert.equal([imported.format, imported.version], ["nvbandwidth", "v0.8"]);
  const all = rows(imported, "cells");
  assert.equal(cells(all[1], "testcase", "row", "column", "from", "to", "engine", "gbps", "machine"), [
    "device_to_device_memcpy_read_ce",
    0,
    1,
    "gpu1",
    "gpu0",
    "CE",
    200.25,
    "2 × NVIDIA SYNTHETIC",
  ]);
  const latency = all.filter((row) => row.testcase === "device_to_device_latency_sm");
  assert.equal(
    latency.map((row) => row.latency_us),
    [null, 0.8, 0.81, null],
  );
  const open = all.filter((row) => row.part === "write1");
  assert.equal(
    open.map((row) => cells(row, "from", "gbps")),
    [
      [null, null],
      [null, 190],
    ],
  );
  assert.equal(
    rows(imported, "testcases").map((row) => row.status),
    ["passed", "waived", "passed", "cut off"],
  );
  assert.ok(
    imported.notes.some((note) =>
      /ends before the sum of device_to_device_bidirectional_memcpy_write_ce/.test(note),
    ),
  );
});

test("nvbandwidth: a latency between GPUs of a version that measured the host's is called so", async () => {
  const note = /before 0\.8 it held the latency between host and GPU/;
  assert.not((await read(NVBANDWIDTH)).notes.some((text) => note.test(text)));
  assert.ok((await read(NVBANDWIDTH.replaceAll("v0.8", "v0.7"))).notes.some((text) => note.test(text)));
});

test("p2pBandwidthLatencyTest: both latencies, by their clock, and what neither of them is", async () => {
  const imported = await read(P2P_TEST);
  const pair = rows(imported, "cells").filter((row) => row.row === 0 && row.column === 1);
  assert.equal(
    pair.map((row) =>
      cells(row, "metric", "peer_access", "direction", "operation", "clock", "gbps", "latency_us"),
    ),
    [
      ["bandwidth", true, "both", null, null, 390, null],
      ["latency", true, "one", "write", "GPU", null, 2.25],
      ["latency", true, "one", "write", "CPU", null, 1.75],
    ],
  );
  assert.ok(imported.notes.some((note) => /neither is the time of one copy/.test(note)));
  const cut = await read(P2P_TEST.slice(0, P2P_TEST.indexOf("     1 391.00")));
  assert.ok(
    cut.notes.some((note) =>
      /Cut off: "Bidirectional P2P=Enabled Bandwidth Matrix" has 1 rows of 2/.test(note),
    ),
  );
});

test("perftest: a column a figure, in the library's units", async () => {
  const imported = await read(PERFTEST);
  assert.equal(
    rows(imported, "latency").map((row) =>
      cells(row, "test", "device", "bytes", "median_us", "p99_us", "p999_us"),
    ),
    [
      ["RDMA_Write Latency Test", "synth_0", 2, 1.75, 2.5, 8],
      ["RDMA_Write Latency Test", "synth_0", 4, 1.75, 2.75, 8.25],
    ],
  );
  assert.ok(imported.notes.some((note) => /half a round trip/.test(note)));
  assert.ok(imported.notes.some((note) => /conflicting CPU frequencies/.test(note)));
  const bandwidth = (unit: string) =>
    read(
      ` #bytes     #iterations    BW peak[${unit}]    BW average[${unit}]   MsgRate[Mpps]\n 65536  1000   200.00   160.00  0.5\n`,
    );
  const figures = ["peak_gbps", "mean_gbps", "messages_per_second"];
  assert.equal(
    cells(rows(await bandwidth("MB/sec"), "bandwidth")[0], ...figures),
    [0.2097152, 0.16777216, 500000],
  );
  assert.equal(
    cells(rows(await bandwidth("MiB/sec"), "bandwidth")[0], ...figures),
    [0.2097152, 0.16777216, 500000],
  );
  assert.equal(cells(rows(await bandwidth("Gb/sec"), "bandwidth")[0], ...figures), [25, 20, 500000]);
});

test("perftest: a peak that was not measured is printed as 0.00, and is null", async () => {
  const imported = await read(
    "                    RDMA_Write BW Test\n #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      10000            0.00               80.00              0.152588\n",
  );
  assert.equal(cells(rows(imported, "bandwidth")[0], "peak_gbps", "mean_gbps"), [null, 10]);
  assert.ok(imported.notes.some((note) => /did not measure the peak/.test(note)));
});

test("perftest: JSON, with its key that has no quotation marks; the unit that it does not name stays unnamed", async () => {
  const imported = await read(PERFTEST_JSON);
  assert.equal(cells(rows(imported, "latency")[0], "test", "bytes", "median_us", "p999_us"), [
    "RDMA_Write",
    8,
    1.75,
    8,
  ]);
  const json = {
    test_info: { test: "x" },
    results: { MsgSize: 8, n_iterations: 10, BW_peak: 1, BW_average: 2, MsgRate: 3 },
  };
  const bandwidth = await read(JSON.stringify(json));
  assert.equal(cells(rows(bandwidth, "bandwidth")[0], "mean_printed", "messages_per_second"), [2, 3e6]);
});

test("ucx_perftest: table and CSV, what its times are, and its MB of 2^20 bytes", async () => {
  const table = rows(await read(UCX_PERFTEST), "results");
  const figures = [
    "final",
    "iterations",
    "percentile",
    "percentile_us",
    "overall_us",
    "overall_gbps",
    "time_is",
  ];
  assert.equal(cells(table[1], ...figures), [true, 20000, 50, 1.25, 1.625, 2.097152, "latency"]);
  assert.is(table[0]?.final, false);
  const csv = rows(await read(UCX_CSV), "results");
  assert.equal(cells(csv[0], ...figures), [true, 20000, 50, 1.25, 1.625, 2.097152, null]);
  const grouped = await read(UCX_PERFTEST.replace("20000 ", "20,000"));
  assert.is(rows(grouped, "results")[1]?.iterations, 20000);
  const typical = await read(UCX_PERFTEST.replace("50.0%ile", "typical "));
  assert.is(rows(typical, "results")[1]?.percentile, 50);
});

test("bandwidthTest and gpu_copy: lines of names and numbers", async () => {
  const results = rows(await read(BANDWIDTH_TEST), "results");
  assert.equal(
    results.map((row) => cells(row, "from", "to", "memory", "bytes", "gbps", "time_us")),
    [
      ["host", "gpu", "pinned", 1000, 0.5, null],
      ["host", "gpu", "pinned", 41943040, 26.2, 1600],
    ],
  );
  assert.equal(
    rows(await read(GPU_COPY), "results").map((row) =>
      cells(row, "from", "to", "direction", "operation", "engine", "numa", "gbps"),
    ),
    [
      ["host", "gpu0", "one", null, "SM", 0, 26.25],
      ["gpu0", "gpu1", "one", "write", "CE", null, 279.5],
      ["gpu0", "gpu1", "both", "read", "SM", null, 460.5],
    ],
  );
});

test.run();
