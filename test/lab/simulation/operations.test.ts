import { suite } from "uvu";
import * as assert from "uvu/assert";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { HOPPER } from "../../../kernel/lab/machines/simulation/hopper.js";
import type { SyncMethod } from "../../../kernel/lab/operations.js";
import { type Program, program } from "../../../kernel/lab/program.js";
import { median } from "../../../kernel/lab/sampling.js";
import { FIXED, failure, MIB, medianNs, near, spansOf, traceOf } from "./helpers.js";

const test = suite("simulated operations");

const H200 = "hgx-h200-8";

function pair(bytes: number): Program {
  return program()
    .buffer("src", { gpu: 0, bytes })
    .buffer("dst", { gpu: 1, bytes })
    .stream("s", { gpu: 0 })
    .stream("t", { gpu: 1 });
}

function repeat(of: Program, times: number, add: (p: Program) => Program): Program {
  let result = of;
  for (let i = 0; i < times; i++) result = add(result);
  return result;
}

test("an empty kernel takes what it took on an H200 NVL", async () => {
  // M5: launch of an empty kernel until the synchronisation returns, 6.58 µs, to which nothing was set.
  near(await medianNs(H200, program().stream("s", { gpu: 0 }).launch("s").sync("s")), 6580, 0.05);
});

test("a compute kernel keeps its stream busy for its time and no other stream", async () => {
  const of = program().stream("s", { gpu: 0 }).stream("t", { gpu: 0 });
  const short = await medianNs(H200, of.compute("s", 1000).sync("s"));
  near((await medianNs(H200, of.compute("s", 101_000).sync("s"))) - short, 100_000, 0.01);
  const both = of.compute("s", 100_000).compute("t", 100_000).sync("s").sync("t");
  near(await medianNs(H200, both), short + 99_000, 0.05);
});

test("kernels in a stream start as fast as the host launches them, in a graph as fast as the GPU can", async () => {
  const of = repeat(program().stream("s", { gpu: 0 }), 64, (p) => p.launch("s")).sync("s");
  // TE42 on an H200: 2.5 µs; OWN-LAB in a graph of 32: 0.74 µs, and 1.47 in a stream where the host is ahead.
  near((await medianNs(H200, of)) / 64, 2500, 0.05);
  near((await medianNs(H200, of.submitBy("graph"), { mode: "throughput" })) / 64, 740, 0.03);
  near((await medianNs(H200, of, { mode: "throughput" })) / 64, 1470, 0.03);
});

test("a graph of 32 small copies takes what it took on two H200, and says what it cost to make", async () => {
  const of = repeat(pair(8), 32, (p) => p.copy("s", "src", "dst")).sync("s");
  const stream = await SimulatedMachine.open(H200).run(of, FIXED);
  const graph = await SimulatedMachine.open(H200).run(of.submitBy("graph"), FIXED);
  near(graph.samples.convergence.medianNs, (68_000 * 6780) / 8300, 0.03);
  assert.ok(graph.samples.convergence.medianNs < stream.samples.convergence.medianNs);
  assert.ok(median(graph.samples.apiNs) < 0.1 * median(stream.samples.apiNs));
  assert.is(graph.graph?.nodes, 32);
  assert.ok(graph.graph?.captureNs.every((ns) => ns > 0));
  assert.is(stream.graph, undefined);
});

test("streams of a graph run beside each other and are all waited for", async () => {
  const one = program().stream("s", { gpu: 0 }).stream("t", { gpu: 1 }).compute("s", 50_000);
  const two = one.compute("t", 80_000).sync("s").sync("t").submitBy("graph");
  const alone = await medianNs(H200, one.sync("s").submitBy("graph"));
  near((await medianNs(H200, two)) - alone, 30_000, 0.05);
});

test("copies by kernel stay below the copy engine, by as much as measured", async () => {
  const ns = async (preset: string, engine: "copy-engine" | "kernel-write" | "kernel-read") => {
    const stream = engine === "kernel-read" ? "t" : "s";
    const of = pair(256 * MIB)
      .copy(stream, "src", "dst", { engine })
      .sync(stream);
    return (256 * MIB) / (await medianNs(preset, of, { mode: "throughput" }));
  };
  near(await ns(H200, "copy-engine"), 396.4, 0.02);
  near(await ns(H200, "kernel-write"), 369.9, 0.02);
  near(await ns(H200, "kernel-read"), 376.2, 0.02);
  const share = (await ns("dgx-a100-8", "kernel-write")) / (await ns("dgx-a100-8", "copy-engine"));
  assert.ok(share > 0.74 && share < 0.84, String(share));
});

test("loads wait for their answer, stores only at the end: both pay one round trip", async () => {
  const small = (engine: "kernel-write" | "kernel-read") => {
    const stream = engine === "kernel-read" ? "t" : "s";
    return pair(16).copy(stream, "src", "dst", { engine }).sync(stream);
  };
  const write = await medianNs(H200, small("kernel-write"));
  near(write, await medianNs(H200, small("kernel-read")), 0.02);
  const launch = await medianNs(H200, program().stream("s", { gpu: 0 }).launch("s").sync("s"));
  near(write - launch, 660, 0.1);
});

test("a batch of copies costs the host one call", async () => {
  const of = (api: "default" | "batch") =>
    repeat(pair(8), 32, (p) => p.copy("s", "src", "dst", { api })).sync("s");
  const run = async (api: "default" | "batch") =>
    median((await SimulatedMachine.open(H200).run(of(api), FIXED)).samples.apiNs);
  near(await run("default"), 32 * HOPPER.submitNs.value, 0.03);
  near(await run("batch"), 2020 + 31 * 100, 0.03);
});

test("batch copies of different streams, or with another call between, are calls of their own", async () => {
  const batch = { api: "batch" } as const;
  const calls = async (of: Program) => {
    const run = await SimulatedMachine.open(H200).run(of, { ...FIXED, trace: "full", traceIterations: 1 });
    return spansOf(traceOf(run)).filter((span) => span.name === "cuMemcpyBatchAsync").length;
  };
  const of = pair(8).copy("s", "src", "dst", batch);
  assert.is(await calls(of.copy("s", "src", "dst", batch).sync("s")), 1);
  assert.is(await calls(of.copy("t", "src", "dst", batch).sync("s").sync("t")), 2);
  assert.is(await calls(of.record("s", "e").copy("s", "src", "dst", batch).sync("s")), 2);
});

test("a signal releases the stream that awaits it, later the farther away its word lies", async () => {
  const of = (gpu: number) =>
    pair(MIB)
      .buffer("word", { gpu, bytes: 4 })
      .copy("s", "src", "dst")
      .signal("s", "word")
      .await("t", "word")
      .compute("t", 10_000)
      .sync("t");
  const local = await medianNs(H200, of(0));
  near((await medianNs(H200, of(1))) - local, 330, 0.3);
  const byEvent = pair(MIB)
    .copy("s", "src", "dst")
    .record("s", "e")
    .wait("t", "e")
    .compute("t", 10_000)
    .sync("t");
  // Writing the word takes the stream longer than recording an event, which takes it nothing.
  near(local - (await medianNs(H200, byEvent)), HOPPER.wordNs.value, 0.1);
});

test("puts by lines overtake puts by flag where they are small, and lose where they are large", async () => {
  const ns = async (bytes: number, protocol: "flag" | "ll" | "ll128") => {
    const of = program()
      .buffer("src", { gpu: 0, bytes })
      .buffer("window", { gpu: 1, bytes: 2 * bytes + 256 })
      .buffer("out", { gpu: 1, bytes })
      .buffer("flag", { gpu: 1, bytes: 8 })
      .stream("s", { gpu: 0 })
      .stream("t", { gpu: 1 });
    // The receiver is there before the put, so that its launch hides nothing.
    const wired =
      protocol === "flag"
        ? of
            .receive("t", "window", { protocol, flag: "flag", bytes })
            .put("s", "src", "window", { protocol, flag: "flag" })
        : of.receive("t", "window", { protocol, dst: "out", bytes }).put("s", "src", "window", { protocol });
    return await medianNs(H200, wired.sync("t").sync("s"));
  };
  assert.ok((await ns(960, "ll")) < (await ns(960, "flag")));
  assert.ok((await ns(960, "ll128")) < (await ns(960, "flag")));
  const large = 15_360 * 1024;
  assert.ok((await ns(large, "flag")) < (await ns(large, "ll128")));
  assert.ok((await ns(large, "ll128")) < (await ns(large, "ll")));
});

test("every receive of a route takes a put of its own, in throughput mode too", async () => {
  const flag = { protocol: "flag", flag: "flag", bytes: 8 } as const;
  const of = pair(8)
    .buffer("flag", { gpu: 1, bytes: 8 })
    .put("s", "src", "dst", flag)
    .put("s", "src", "dst", flag)
    .receive("t", "dst", flag)
    .receive("t", "dst", flag)
    .sync("t")
    .sync("s");
  const run = await SimulatedMachine.open(H200).run(of, { mode: "throughput", batch: 5 });
  assert.ok(run.samples.totalNs.every((ns) => ns > 0));
});

test("the ways of waiting: each returns after the work is done, a word later than a query", async () => {
  const ns: Partial<Record<SyncMethod, number>> = {};
  for (const method of ["spin", "yield", "block", "poll-event", "poll-flag"] as const) {
    ns[method] = await medianNs(H200, pair(MIB).copy("s", "src", "dst").sync("s", method));
  }
  const {
    spin,
    yield: yields,
    block,
    "poll-event": event,
    "poll-flag": flag,
  } = ns as Record<SyncMethod, number>;
  assert.ok(spin < yields && spin < flag);
  near(block, spin, 0.02);
  near(event, spin, 0.05);
  assert.ok(flag > HOPPER.submitNs.value + MIB / 396.4);
});

test("throughput mode times the device, not the host", async () => {
  const of = pair(8).copy("s", "src", "dst").sync("s");
  const run = await SimulatedMachine.open(H200).run(of, { mode: "throughput" });
  // OWN-H200: small copies follow each other by 2.2 µs on the GPU.
  near(run.samples.convergence.medianNs, 2200, 0.02);
  assert.is(run.mode, "throughput");
  assert.ok((run.throughput?.batch ?? 0) >= 2);
  assert.equal(
    run.throughput?.streams.map(({ name, gpu }) => [name, gpu]),
    [["s", 0]],
  );
  near(median(run.samples.apiNs), HOPPER.submitNs.value, 0.02);
});

test("throughput in both directions gives each stream's own time", async () => {
  const of = pair(64 * MIB)
    .buffer("back", { gpu: 0, bytes: 64 * MIB })
    .buffer("there", { gpu: 1, bytes: 64 * MIB })
    .copy("s", "src", "dst")
    .copy("t", "there", "back")
    .sync("s")
    .sync("t");
  const run = await SimulatedMachine.open(H200).run(of, { mode: "throughput" });
  const streams = run.throughput?.streams ?? [];
  assert.is(streams.length, 2);
  for (const { totalNs } of streams) near((64 * MIB) / median(totalNs), 396, 0.03);
});

test("pageable copies have no gate, and say so", async () => {
  const of = program()
    .buffer("h", { host: "pageable", bytes: MIB })
    .buffer("d", { gpu: 0, bytes: MIB })
    .stream("s", { gpu: 0 })
    .copy("s", "h", "d")
    .sync("s");
  const run = await SimulatedMachine.open(H200).run(of, { mode: "throughput" });
  assert.match(run.warnings[0] ?? "", /^gate:/);
});

test("throughput mode refuses a host that waits within an iteration, and batches that do not fit", async () => {
  const machine = SimulatedMachine.open(H200);
  const of = pair(8).copy("s", "src", "dst").sync("s");
  const twice = of.copy("s", "src", "dst").sync("s");
  assert.is((await failure(() => machine.run(twice, { mode: "throughput" }))).code, "program");
  for (const batch of [0, -1, 1.5, Number.NaN, 100_000]) {
    assert.is((await failure(() => machine.run(of, { mode: "throughput", batch }))).code, "usage");
  }
});

test("memory of every allocator runs, and kernels with peer access off are refused", async () => {
  for (const allocator of ["malloc", "pool", "vmm"] as const) {
    const of = program()
      .buffer("a", { gpu: 0, bytes: 8, allocator })
      .buffer("b", { gpu: 1, bytes: 8, allocator })
      .stream("s", { gpu: 0 })
      .copy("s", "a", "b")
      .sync("s");
    assert.ok((await medianNs(H200, of)) > 0);
  }
  const of = pair(8).copy("s", "src", "dst", { engine: "kernel-write" }).sync("s").peerAccess(false);
  assert.is((await failure(() => medianNs(H200, of))).code, "program");
});

test.run();
