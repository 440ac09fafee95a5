import { suite } from "uvu";
import * as assert from "uvu/assert";
import { NCU_DETAILS, NCU_RAW, NSYS_CSV, NSYS_JSON, NSYS_TABLE, NVPROF } from "./fixtures.js";
import { cells, read, refusal, rows } from "./helpers.js";

const test = suite("imported tables of profilers");

test("nsys stats: reports of one file by name, units from the header, times in µs and bytes", async () => {
  const imported = await read(NSYS_CSV);
  const trace = rows(imported, "cuda_gpu_trace");
  assert.equal(
    cells(trace[1], "start_us", "duration_us", "bytes", "throughput_gbps", "strm", "name", "machine"),
    [1012349.999, 52.304, 16777000, 320.759, 13, "[CUDA memcpy Peer-to-Peer]", "2 × NVIDIA SYNTHETIC"],
  );
  assert.equal(cells(trace[2], "grd_x", "bytes", "name"), [264, null, 'void k<int, 4>(int*, "x")']);
  assert.equal(cells(rows(imported, "cuda_api_sum")[1], "total_time_us", "num_calls", "avg_us", "name"), [
    1332,
    200,
    6.66,
    "cudaMemcpyPeerAsync",
  ]);
  assert.ok(imported.notes.some((note) => /small copies show as 0/.test(note)));
  assert.ok(imported.notes.some((note) => /SKIPPED: .*NVTX/.test(note)));
});

test("nsys stats: a trace is a timeline too", async () => {
  const { timeline } = await read(NSYS_CSV);
  assert.ok(timeline);
  assert.equal(timeline.kind, ["copy", "copy", "kernel"]);
  assert.equal(timeline.lane, ["GPU 0 stream 13", "GPU 0 stream 13", "GPU 1 stream 7"]);
  assert.equal([...timeline.correlation], [132, 133, 134]);
  // From the begin of the first span on.
  assert.equal([timeline.startNs[1], timeline.endNs[1]], [4321, 4321 + 52304]);
  assert.equal(timeline.details?.copyKind, ["PtoP", "PtoP", null]);
  assert.equal(timeline.origin, { machine: "2 × NVIDIA SYNTHETIC", provenance: "imported", date: null });
});

test("nsys stats: tables for reading, with thousands separators, and JSON", async () => {
  const table = await read(NSYS_TABLE);
  assert.equal(
    cells(rows(table, "cuda_gpu_mem_time_sum")[0], "time_percent", "total_time_us", "avg_us", "operation"),
    [60.1, 1234.567, 12.3457, "[CUDA memcpy Peer-to-Peer]"],
  );
  assert.equal(
    cells(rows(table, "cuda_gpu_mem_size_sum")[0], "total_bytes", "count", "avg_bytes"),
    [104858000, 100, 1049000],
  );
  const json = await read(NSYS_JSON);
  assert.equal(cells(rows(json, "cuda_gpu_kern_sum")[0], "total_time_us", "instances", "med_us", "name"), [
    12.345,
    2,
    6.1725,
    "k[1](int)",
  ]);
});

test("nsys stats: other units, old headers, other delimiters", async () => {
  const micro = await read(
    "Start (us),Duration (us),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name\n1.5,2.25,cudaFree,0,1,2,3,20,main\n",
  );
  assert.equal(cells(rows(micro, "cuda_api_trace")[0], "start_us", "duration_us", "result"), [1.5, 2.25, 0]);
  const old = await read(
    "Time(%),Total Time (ns),Num Calls,Average,Minimum,Maximum,Name\n97.5,1000,10,100.0,50,500,cudaFree\n",
  );
  assert.equal(
    cells(rows(old, "cuda_api_sum")[0], "total_time_us", "average_us", "maximum_us"),
    [1, 0.1, 0.5],
  );
  const german = await read(
    "Time (%);Total Time (ns);Num Calls;Avg (ns);Med (ns);Min (ns);Max (ns);StdDev (ns);Name\n97,5;1.234.567;10;123.456,7;100;50;500;1,5;cudaFree\n",
  );
  assert.equal(
    cells(rows(german, "cuda_api_sum")[0], "time_percent", "total_time_us", "avg_us"),
    [97.5, 1234.567, 123.4567],
  );
  assert.ok(german.notes.some((note) => /decimal commas/.test(note)));
});

test("nsys stats: tables of 2019 to 2021, whose units stand in the heading", async () => {
  const first = await read(`Generating CUDA API Statistics...
CUDA API Statistics (nanoseconds)

Time(%)      Total Time       Calls         Average  Name
-------  --------------  ----------  --------------  ---------------
   87.5            4000           2          2000.0  cudaMalloc

Generating CUDA Memory Operation Statistics...
CUDA Memory Operation Statistics (nanoseconds)
Time(%)      Total Time  Operations         Average  Name
-------  --------------  ----------  --------------  ------------------
  100.0            5000          10           500.0  [CUDA memcpy PtoP]
CUDA Memory Operation Statistics (KiB)
              Total      Operations         Average  Name
-------------------  --------------  --------------  ------------------
             40.000              10           4.000  [CUDA memcpy PtoP]
`);
  assert.equal(cells(rows(first, "cuda_api_sum")[0], "total_time_us", "average_us"), [4, 2]);
  assert.equal(cells(rows(first, "cuda_gpu_mem_time_sum")[0], "total_time_us", "operations"), [5, 10]);
  assert.equal(cells(rows(first, "cuda_gpu_mem_size_sum")[0], "total_bytes", "average_bytes"), [40960, 4096]);
  const bare = await read(
    "Time(%)  Total Time  Calls  Average  Name\n-------  ----------  -----  -------  ----------\n   87.5        4000      2   2000.0  cudaMalloc\n",
  );
  assert.equal(cells(rows(bare, "cuda_api_sum")[0], "total_time", "average"), [4000, 2000]);
  assert.ok(bare.notes.some((note) => /cuda_api_sum names no unit/.test(note)));
  const later = await read(`CUDA Memory Operation Statistics (by time):

 Time(%)  Total Time (ns)  Operations  Average      Operation
 -------  ---------------  ----------  -------  ------------------
   100.0            7,000           7  1,000.0  [CUDA memcpy HtoD]

CUDA Memory Operation Statistics (by size in KiB):

    Total    Operations   Average       Operation
 ----------  ----------  ---------  ------------------
 14,336.000           7  2,048.000  [CUDA memcpy HtoD]
`);
  assert.equal(cells(rows(later, "cuda_gpu_mem_time_sum")[0], "total_time_us", "average_us"), [7, 1]);
  assert.equal(cells(rows(later, "cuda_gpu_mem_size_sum")[0], "total_bytes", "operation"), [
    14336 * 1024,
    "[CUDA memcpy HtoD]",
  ]);
});

test("nsys stats: boxes, seconds in other words, and the same report twice", async () => {
  const box = `+----------+-----------------+-------+----------+----------------------+
| Time (%) | Total Time (ms) | Count | Avg (ms) |      Operation       |
+----------+-----------------+-------+----------+----------------------+
|     99.7 |       1,786.968 |   895 |    1.997 | [CUDA memcpy PtoP]   |
+----------+-----------------+-------+----------+----------------------+
`;
  const twice = await read(
    `[3/8] Executing 'gpumemtimesum' stats report\n\n${box}\n[4/8] Executing 'gpumemtimesum' stats report\n\n${box.replaceAll("(ms)", "(msec)")}`,
  );
  assert.equal(
    rows(twice, "cuda_gpu_mem_time_sum").map((row) =>
      cells(row, "part", "total_time_us", "avg_us", "operation"),
    ),
    [
      [0, 1786968, 1997, "[CUDA memcpy PtoP]"],
      [1, 1786968, 1997, "[CUDA memcpy PtoP]"],
    ],
  );
});

test("nsys stats: nothing captured is told in its words", async () => {
  const error = await refusal(
    read(
      "Processing [s.sqlite] with [x/cuda_gpu_trace.py]...\nSKIPPED: s.sqlite does not contain CUDA trace data.\n",
    ),
  );
  assert.match(error.message, /SKIPPED: s.sqlite does not contain CUDA trace data/);
});

test("ncu: the details page gives metrics and rules, rows of unequal length", async () => {
  const imported = await read(NCU_DETAILS);
  assert.equal(
    rows(imported, "metrics").map((row) =>
      cells(row, "launch", "kernel", "metric", "unit", "value", "base_value", "base_unit"),
    ),
    [
      [0, "copy(uint4 *, const uint4 *)", "Duration", "ns", 182048, 182.048, "us"],
      [0, "copy(uint4 *, const uint4 *)", "Throughput", "Gbyte/second", 210.5, 210.5, "gbps"],
    ],
  );
  assert.equal(cells(rows(imported, "rules")[0], "rule", "description", "speedup_percent"), [
    "SmallGrid",
    'Too small, by "far".',
    12.5,
  ]);
  assert.equal(cells(rows(imported, "launches")[0], "grid", "compute_capability", "device"), [
    "(264, 1, 1)",
    "9.0",
    0,
  ]);
});

test("ncu: the raw page gives the same, its row of units told by the empty ID", async () => {
  const imported = await read(NCU_RAW);
  assert.equal(
    rows(imported, "metrics").map((row) =>
      cells(row, "launch", "metric", "value", "base_value", "base_unit", "text"),
    ),
    [
      [0, "gpu__time_duration.sum", 182.05, 182.05, "us", null],
      [0, "nvltx__bytes.sum", 16.78, 16780000, "bytes", null],
      [0, "launch__cluster", null, null, null, null],
      [1, "gpu__time_duration.sum", 181.05, 181.05, "us", null],
      [1, "nvltx__bytes.sum", 16.78, 16780000, "bytes", null],
      [1, "launch__cluster", null, null, null, "(1, 2)"],
    ],
  );
});

test("ncu: decimal commas are told from numbers that leave no doubt; where marks are mixed, doubt is null", async () => {
  const value = async (...texts: string[]) => {
    const [header, ...others] = NCU_DETAILS.split("\n").filter((line) => line.startsWith('"'));
    const lines = texts.map((text) => (others[0] as string).replace('"182,048"', `"${text}"`));
    const imported = await read([header, ...lines].join("\n"));
    return { values: rows(imported, "metrics").map((row) => row.value), notes: imported.notes };
  };
  assert.equal((await value("117.344")).values, [117.344]);
  const german = await value("117.344", "27.595.520", "16,4");
  assert.equal(german.values, [117344, 27595520, 16.4]);
  assert.ok(german.notes.some((note) => /decimal commas/.test(note)));
  const mixed = await value("117.344", "27.595.520", "16.4");
  assert.equal(mixed.values, [null, 27595520, 16.4]);
  assert.ok(mixed.notes.some((note) => /may be read two ways/.test(note)));
});

test("ncu: a summary over launches, which has no ID, is no table of nvprof", async () => {
  const own = '"4711","synthetic","localhost","copy(int)","1","7"';
  const imported = await read(
    `"Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Invocations","Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"
${own},"(256, 1, 1)","(8, 1, 1)","0","9.0","10","Synthetic","nvltx__bytes.sum","Kbyte","1.50","2.50","2.00"
${own},"(256, 1, 1)","(16, 1, 1)","0","9.0","2","Synthetic","nvltx__bytes.sum","Kbyte","3.00","3.50","3.25"
`,
  );
  assert.is(imported.format, "ncu-csv");
  assert.equal(
    rows(imported, "launches").map((row) => cells(row, "grid", "invocations")),
    [
      ["(8, 1, 1)", 10],
      ["(16, 1, 1)", 2],
    ],
  );
  assert.equal(cells(rows(imported, "metrics")[1], "minimum", "average", "unit"), [3, 3.25, "Kbyte"]);
});

test("nvprof: traces, summaries and metrics of several runs, KB of 1024 and units of their own row", async () => {
  const imported = await read(NVPROF);
  const trace = rows(imported, "gpu_trace");
  assert.equal(
    cells(
      trace[0],
      "run",
      "process",
      "start_us",
      "duration_us",
      "size_bytes",
      "throughput_gbps",
      "dst_dev",
      "correlation_id",
    ),
    [0, 4711, 1000000, 125.5, 16000000, 107.3741824, "Tesla SYNTHETIC (1)", 101],
  );
  assert.equal(cells(trace[1], "grid_x", "static_smem_bytes", "size_bytes"), [12, 1536, null]);
  assert.equal(cells(rows(imported, "summary")[0], "run", "type", "time_us", "calls", "avg_us", "name"), [
    1,
    "GPU activities",
    1255,
    10,
    125.5,
    "[CUDA memcpy PtoP]",
  ]);
  assert.equal(
    rows(imported, "metrics").map((row) => cells(row, "metric_name", "avg", "unit", "instances")),
    [
      ["nvlink_total_data_transmitted", 26.224721 * 2 ** 20, "bytes", null],
      ["nvlink_user_data (4 instances)", null, null, "4512 240 240 240"],
    ],
  );
  assert.equal(imported.timeline?.kind, ["copy", "kernel"]);
  assert.equal([imported.timeline?.details?.from[0], imported.timeline?.details?.to[0]], [0, 1]);
});

test("nvprof: values of several instances, wherever in the row they begin", async () => {
  for (const commas of [",,,", ",,,,"]) {
    const imported = await read(NVPROF.replace('"By link",,,,4512', `"By link (4 instances)"${commas}4512`));
    const [, row] = rows(imported, "metrics");
    assert.equal(cells(row, "min", "max", "avg", "instances"), [null, null, null, "4512 240 240 240"]);
  }
});

test("nvprof: unified memory has sizes with units of their own, and faults counted as if they were bytes", async () => {
  const imported = await read(
    `${NVPROF}==4714== Unified Memory profiling result:
"Device","Count","Avg Size","Min Size","Max Size","Total Size","Total Time",""
"NVIDIA Synthetic (0)",4,3.500000KB,1.000000KB,8.000000KB,14.000000KB,0.000000,"Host To Device"
"NVIDIA Synthetic (0)",2,4.000000KB,4.000000KB,4.000000KB,8.000000KB,2.500000ms,"Device To Host"
"NVIDIA Synthetic (0)",,,,,19B,0.000000,"Gpu page fault groups"
Total CPU Page faults: 49
`,
  );
  assert.equal(
    rows(imported, "unified_memory").map((row) =>
      cells(row, "name", "count", "avg_bytes", "total_bytes", "total_us"),
    ),
    [
      ["Host To Device", 4, 3584, 14336, null],
      ["Device To Host", 2, 4096, 8192, 2500],
      ["Gpu page fault groups", 19, null, null, null],
    ],
  );
  for (const told of [/the number stands in count/, /without its unit: null/, /Total CPU Page faults: 49/])
    assert.ok(
      imported.notes.some((note) => told.test(note)),
      String(told),
    );
});

test("nvprof: its table for reading is no CSV, and a run without kernels says so", async () => {
  const table =
    "==1== NVPROF is profiling process 1, command: ./x\n==1== Profiling result:\n            Type  Time(%)      Time     Calls\n";
  assert.match((await refusal(read(table))).message, /the table that nvprof prints for reading/);
  const none = "==1== NVPROF is profiling process 1, command: ./x\n==1== No kernels were profiled.\n";
  assert.match((await refusal(read(none))).message, /No kernels were profiled/);
});

test.run();
