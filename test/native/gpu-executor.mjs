/**
 * The executor on a real machine: every operation by every sync, mode and way to submit, over sizes from 8 B to 256 MiB,
 * within one GPU, between it and the host, and, where there are two, between them. One GPU is enough. Run by hand after
 * `npm run build:addon && npm run build`:
 *
 *     node test/native/gpu-executor.mjs [--no-harness] [--only TEXT] [--most BYTES]
 *
 * Prints one JSON object: `cells`, a row each with its medians, GB/s, `ok` and, where it is not, `why`; `graphs`, what graphs
 * of 1 to 64 nodes cost; `compute`, kernels of known duration; `harness`, what the measured loop adds to a bare one (needs
 * g++). A cell is ok when its bytes were verified and its numbers order as they must. Exits 1 when one is not. Takes less
 * than a minute.
 */
import { execFileSync } from "node:child_process";
import { CudaMachine } from "../../dist/kernel/lab/machines/cuda.js";
import { program } from "../../dist/kernel/lab/program.js";
import { median } from "../../dist/kernel/lab/sampling.js";
import { coreProgram } from "../../dist/test/native/toolchain.js";

const KIB = 1024;
const MIB = 1024 * KIB;
const argument = (name) =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined;
const only = argument("--only") ?? "";
const most = Number(argument("--most") ?? 256 * MIB);
const SIZES = [8, 4 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB].filter((size) => size <= most);
/** What a put carries at the most here: its lines are stored by few threads. */
const MOST_PUT = 16 * MIB;
const LATENCY = { budgetMs: 40, minSamples: 20, maxSamples: 2000, warmup: 10, target: 0.02 };
const THROUGHPUT = { budgetMs: 60, minSamples: 8, maxSamples: 200, warmup: 1, target: 0.01 };

const began = performance.now();
const machine = await CudaMachine.open();
const cells = [];

/** Runs one cell; a failure of it is a row, and the others go on. */
async function cell(name, one, facts, options = {}) {
  if (!name.includes(only)) return null;
  const { mode = "latency", bytes = 0 } = facts;
  const row = { name, mode, submit: one.data.submit ?? "stream", ...facts };
  const start = performance.now();
  try {
    const sampling = mode === "throughput" ? THROUGHPUT : LATENCY;
    const run = await machine.run(one, { mode, sampling, ...options });
    const { convergence, apiNs } = run.samples;
    Object.assign(row, {
      totalUs: convergence.medianNs / 1e3,
      apiUs: median(apiNs) / 1e3,
      gbps: bytes > 0 ? bytes / convergence.medianNs : null,
      n: convergence.n,
      ended: convergence.ended,
      checkedBytes: run.verification.checkedBytes,
      warnings: run.warnings,
    });
    if (run.throughput) {
      const { batch, gateTimeouts, floorNs, streams } = run.throughput;
      Object.assign(row, {
        batch,
        gateTimeouts,
        floorUs: floorNs / 1e3,
        streamsUs: streams.map(({ totalNs }) => median(totalNs) / 1e3),
      });
    }
    if (run.trace) row.engineUs = median(run.trace.engineNs) / 1e3;
    if (options.trace) row.traceReason = run.traceReason;
    row.ok = run.verification.state === "ok" && convergence.medianNs > 0;
    if (!row.ok) row.why = run.verification.detail;
  } catch (error) {
    // A driver that captures no such call into a graph is no fault of ours: said by name, that is the right answer.
    const refused = error.code === "not-available" && / does not capture /.test(error.message);
    Object.assign(row, {
      ok: refused ? null : false,
      why: `${error.code}: ${error.message} → ${error.hint}`,
    });
  }
  row.wallMs = performance.now() - start;
  cells.push(row);
  return row;
}

/** Where bytes go from and to; a kernel runs on the GPU that it is named for. */
const ROUTES = [
  { route: "GPU 0 → GPU 0", from: { gpu: 0 }, to: { gpu: 0 } },
  { route: "host → GPU 0", from: { host: "pinned" }, to: { gpu: 0 } },
  { route: "GPU 0 → host", from: { gpu: 0 }, to: { host: "pinned" } },
  ...(machine.info.pairs.some((pair) => pair.peerAccess)
    ? [
        { route: "GPU 0 → GPU 1", from: { gpu: 0 }, to: { gpu: 1 } },
        { route: "GPU 1 → GPU 0", from: { gpu: 1 }, to: { gpu: 0 } },
      ]
    : []),
];

/** The ways to copy that a route has, each with the GPU whose stream it is on. */
function waysOf({ from, to }) {
  const own = from.gpu ?? to.gpu;
  const ways = [
    { way: "copy engine", gpu: own, options: {} },
    { way: "batch", gpu: own, options: { api: "batch" } },
  ];
  if (from.gpu !== undefined)
    ways.push({ way: "kernel-write", gpu: from.gpu, options: { engine: "kernel-write" } });
  if (to.gpu !== undefined)
    ways.push({ way: "kernel-read", gpu: to.gpu, options: { engine: "kernel-read" } });
  if (from.gpu !== undefined && to.gpu !== undefined)
    ways.push({ way: "peer", gpu: own, options: { api: "peer" } });
  return ways;
}

const two = ({ from, to }, bytes) =>
  program()
    .buffer("src", { ...from, bytes })
    .buffer("dst", { ...to, bytes });

/** The device's own time of an iteration must not exceed what the host sees of one by itself. */
function ordered(latency, throughput) {
  if (!latency?.ok || !throughput?.ok) return;
  if (throughput.totalUs <= latency.totalUs * 1.05) return;
  Object.assign(throughput, {
    ok: false,
    why: `longer than one at a time (${latency.totalUs.toFixed(2)} µs)`,
  });
}

for (const route of ROUTES) {
  for (const bytes of SIZES) {
    for (const { way, gpu, options } of waysOf(route)) {
      const one = two(route, bytes).stream("s", { gpu }).copy("s", "src", "dst", options).sync("s");
      const facts = { route: route.route, way, bytes, sync: "spin" };
      const name = `${way} ${route.route} ${bytes}`;
      const latency = await cell(name, one, facts);
      ordered(latency, await cell(name, one, { ...facts, mode: "throughput" }));
      if (bytes > MIB) continue;
      const graph = one.submitBy("graph");
      const graphed = await cell(name, graph, facts);
      if (bytes <= 64 * KIB) ordered(graphed, await cell(name, graph, { ...facts, mode: "throughput" }));
    }
  }
  // Any alignment and size must be right to the byte.
  for (const { way, gpu, options } of waysOf(route).filter(({ options }) => options.engine)) {
    for (const [srcOffset, dstOffset, bytes] of [
      [0, 0, 1],
      [1, 1, 100_001],
      [3, 7, 65_537],
      [8, 16, 12_345],
      [4, 8, 4099],
      [15, 0, 31],
    ]) {
      const one = two(route, 131_072)
        .stream("s", { gpu })
        .copy("s", "src", "dst", { ...options, srcOffset, dstOffset, bytes })
        .sync("s");
      await cell(`unaligned ${way} ${route.route} ${srcOffset}/${dstOffset}/${bytes}`, one, {
        route: route.route,
        way,
        bytes,
      });
    }
  }
}

// Puts, with their receiver resident first.
for (const route of ROUTES.filter(({ from, to }) => from.gpu !== undefined && to.gpu !== undefined)) {
  for (const protocol of ["flag", "ll", "ll128"]) {
    for (const bytes of SIZES.filter((size) => size <= MOST_PUT)) {
      const flag = protocol === "flag";
      const base = two(route, bytes)
        .buffer("w", { ...route.to, bytes: bytes * 2 + 128 })
        .buffer("f", { ...route.to, bytes: 8 })
        .stream("r", route.to)
        .stream("s", route.from);
      const one = base
        .receive("r", "w", flag ? { protocol, flag: "f", bytes } : { protocol, dst: "dst", bytes })
        .put("s", "src", "w", flag ? { protocol, flag: "f", bytes } : { protocol, bytes })
        .sync("r")
        .sync("s");
      const facts = { route: route.route, way: `put ${protocol}`, bytes, sync: "spin" };
      const name = `put ${protocol} ${route.route} ${bytes}`;
      await cell(name, one, facts);
      if (bytes > MIB) continue;
      await cell(name, one, { ...facts, mode: "throughput" });
      await cell(name, one.submitBy("graph"), facts);
    }
  }
}

const local = ROUTES[0];
const small = () => two(local, 8).stream("s", { gpu: 0 }).copy("s", "src", "dst");
for (const sync of ["spin", "yield", "block", "poll-event", "poll-flag"]) {
  for (const way of ["stream", "graph"])
    await cell(`sync ${sync}`, small().sync("s", sync).submitBy(way), { bytes: 8, sync });
}
await cell(
  "signal and await",
  two(local, 8)
    .buffer("back", { gpu: 0, bytes: 8 })
    .buffer("f", { gpu: 0, bytes: 8 })
    .stream("s", { gpu: 0 })
    .stream("t", { gpu: 0 })
    .await("t", "f")
    .copy("t", "dst", "back")
    .copy("s", "src", "dst")
    .signal("s", "f")
    .sync("t")
    .sync("s"),
  { bytes: 8 },
);
for (const allocator of ["pool", "vmm"]) {
  for (const { route, from, to } of ROUTES.filter(
    ({ from, to }) => from.gpu !== undefined && to.gpu !== undefined,
  )) {
    for (const engine of ["copy-engine", "kernel-write"]) {
      const one = program()
        .buffer("src", { ...from, bytes: MIB, allocator })
        .buffer("dst", { ...to, bytes: MIB, allocator })
        .stream("s", from)
        .copy("s", "src", "dst", { engine })
        .sync("s");
      await cell(`${allocator} ${engine} ${route}`, one, { route, way: engine, bytes: MIB, allocator });
    }
  }
}
const empty = () => program().stream("s", { gpu: 0 }).launch("s");
await cell("empty kernel", empty().sync("s"), {});
await cell("empty kernel", empty().sync("s"), { mode: "throughput" });
await cell("empty kernel", empty().sync("s").submitBy("graph"), {});
await cell("empty kernel", empty().sync("s").submitBy("graph"), { mode: "throughput" });

// Both directions at once, each by its own events.
const pair = ROUTES.find(({ route }) => route === "GPU 0 → GPU 1");
for (const bytes of pair ? [MIB, 256 * MIB] : []) {
  for (const engine of ["copy-engine", "kernel-write", "kernel-read"]) {
    const [a, b] = engine === "kernel-read" ? ["t", "s"] : ["s", "t"];
    const one = two(pair, bytes)
      .buffer("src1", { gpu: 1, bytes })
      .buffer("dst0", { gpu: 0, bytes })
      .stream("s", { gpu: 0 })
      .stream("t", { gpu: 1 })
      .copy(a, "src", "dst", { engine })
      .copy(b, "src1", "dst0", { engine })
      .sync("s")
      .sync("t");
    const row = await cell(`both ways ${engine} ${bytes}`, one, { way: engine, bytes, mode: "throughput" });
    if (row?.ok) row.gbpsBoth = row.streamsUs.reduce((sum, us) => sum + bytes / us / 1e3, 0);
  }
}
// What the driver stages through the host: measured behind a gate or without one, and its trace refused where it is cut.
if (pair) {
  for (const bytes of [8, 16 * MIB]) {
    const one = two(pair, bytes)
      .stream("s", { gpu: 0 })
      .copy("s", "src", "dst", { api: "peer" })
      .sync("s")
      .peerAccess(false);
    await cell(`driver-staged ${bytes}`, one, { way: "driver-staged", bytes, mode: "throughput" });
    await cell(
      `driver-staged ${bytes}, traced`,
      one,
      { way: "driver-staged", bytes },
      { trace: "copies", traceIterations: 20 },
    );
  }
}

// Kernels of known duration, by the device's events: never shorter, and longer by a launch at the most.
const compute = [];
for (const ns of [10_000, 100_000, 1_000_000]) {
  const row = await cell(
    `compute ${ns}`,
    program().stream("s", { gpu: 0 }).compute("s", ns).sync("s"),
    { mode: "throughput" },
    { batch: 20 },
  );
  if (!row?.ok) continue;
  const overUs = row.totalUs - ns / 1e3;
  compute.push({ ns, measuredUs: row.totalUs, overUs });
  if (overUs < 0 || overUs > 10) Object.assign(row, { ok: false, why: `off by ${overUs.toFixed(2)} µs` });
}

// Traces of what kernels and graphs do.
for (const way of ["stream", "graph"]) {
  const row = await cell(
    `traced kernel-write, ${way}`,
    two(local, MIB)
      .stream("s", { gpu: 0 })
      .copy("s", "src", "dst", { engine: "kernel-write" })
      .sync("s")
      .submitBy(way),
    { way: "kernel-write", bytes: MIB },
    { trace: "copies", traceIterations: 20 },
  );
  if (row?.ok && row.engineUs === undefined)
    Object.assign(row, { ok: false, why: `no trace: ${row.traceReason}` });
}

const graphs = [];
for (const nodes of only ? [] : [1, 4, 16, 64]) {
  let one = program().stream("s", { gpu: 0 });
  for (let i = 0; i < nodes; i++) one = one.launch("s");
  const { graph, samples } = await machine.run(one.sync("s").submitBy("graph"), { sampling: LATENCY });
  graphs.push({
    nodes: graph.nodes,
    captureUs: median(graph.captureNs) / 1e3,
    instantiateUs: median(graph.instantiateNs) / 1e3,
    updateUs: graph.updateNs.length > 0 ? median(graph.updateNs) / 1e3 : null,
    totalUs: samples.convergence.medianNs / 1e3,
    ok: graph.nodes === nodes,
  });
}
await machine.close();

let harness = null;
if (!process.argv.includes("--no-harness")) {
  try {
    const file = coreProgram("harness", "test/native/harness.cc", ["-O2"]);
    harness = [8, 65536].map((bytes) =>
      JSON.parse(execFileSync(file, [String(bytes)], { encoding: "utf8" })),
    );
  } catch (error) {
    harness = { why: error.message.split("\n")[0] };
  }
}
const failed = [...cells, ...graphs].filter(({ ok }) => ok === false);
const result = {
  ok: failed.length === 0,
  machine: machine.info.name,
  facts: machine.info.facts,
  refused: cells.filter(({ ok }) => ok === null).length,
  failed: failed.map(({ name, mode, submit, why }) => `${name} (${mode}, ${submit}): ${why}`),
  harness,
  compute,
  graphs,
  cells,
  wallS: (performance.now() - began) / 1e3,
};
console.log(
  JSON.stringify(result, (_, value) => (typeof value === "number" ? Number(value.toPrecision(6)) : value), 1),
);
process.exitCode = result.ok ? 0 : 1;
