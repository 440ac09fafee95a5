import { suite } from "uvu";
import * as assert from "uvu/assert";
import { inLab, missing } from "../../native/toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("CudaMachine: the operations, on the stand-in driver");

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

const OPEN = `const machine = await CudaMachine.open();
  const two = (bytes = 960) => program().buffer("src", { gpu: 0, bytes }).buffer("dst", { gpu: 1, bytes })
    .buffer("w", { gpu: 1, bytes: bytes * 2 }).buffer("f", { gpu: 1, bytes: 8 }).stream("s", { gpu: 0 }).stream("r", { gpu: 1 });
  const tell = ({ verification, mode, samples, graph }) => ({ state: verification.state, checked: verification.checkedBytes, mode,
    sampled: samples.totalNs.length >= 10, graph: graph && [graph.nodes, graph.captureNs.length, graph.instantiateNs.length, graph.updateNs.length] });
  const show = async (one, options = {}) => print(tell(await machine.run(one, { sampling: quick, ...options })));
  const refused = (one, options = {}) => machine.run(one, { sampling: quick, ...options })
    .then(() => print("accepted"), (error) => print(failure(error)));`;

function register(): void {
  test("every way to move bytes between GPUs is verified and timed", () => {
    const { lines, stderr } = inLab(`${OPEN}
      for (const engine of ["copy-engine", "kernel-write"]) await show(two().copy("s", "src", "dst", { engine }).sync("s"));
      await show(two().copy("r", "src", "dst", { engine: "kernel-read" }).sync("r"));
      await show(two().copy("s", "src", "dst", { api: "batch" }).copy("s", "src", "w", { api: "batch" }).sync("s"));
      await show(two().receive("r", "w", { flag: "f", bytes: 960 }).put("s", "src", "w", { flag: "f" }).sync("r").sync("s"));
      for (const protocol of ["ll", "ll128"])
        await show(two().receive("r", "w", { protocol, dst: "dst" }).put("s", "src", "w", { protocol }).sync("r").sync("s"));
      await show(two().await("r", "f").copy("r", "src", "dst").signal("s", "f").sync("r").sync("s"));
      for (const allocator of ["pool", "vmm"])
        await show(program().buffer("src", { gpu: 0, bytes: 960, allocator }).buffer("dst", { gpu: 1, bytes: 960, allocator }).stream("s", { gpu: 0 })
          .copy("s", "src", "dst").sync("s"));`);
    assert.is(stderr, "");
    const moved = { state: "ok", checked: 960, mode: "latency", sampled: true };
    assert.equal(lines, [
      moved,
      moved,
      moved,
      { ...moved, checked: 1920 },
      moved,
      moved,
      moved,
      moved,
      moved,
      moved,
    ]);
  });

  test("every sync method ends an iteration, by calls and by graph", () => {
    const { lines } = inLab(`${OPEN}
      for (const method of ["spin", "yield", "block", "poll-event", "poll-flag"])
        for (const way of ["stream", "graph"]) await show(two().copy("s", "src", "dst").sync("s", method).submitBy(way));`);
    const moved = { state: "ok", checked: 960, mode: "latency", sampled: true };
    const graph = { ...moved, graph: [1, 30, 30, 30] };
    assert.equal(lines, [moved, graph, moved, graph, moved, graph, moved, graph, moved, graph]);
  });

  test("what moves no bytes is run, and says that there was nothing to verify", () => {
    const [verification] = inLab(
      `${OPEN} print((await machine.run(two().compute("s", 1000).launch("s").sync("s"), { sampling: quick })).verification);`,
    ).lines;
    assert.is(verification.state, "ok");
    assert.is(verification.checkedBytes, 0);
    assert.match(verification.detail, "moves no bytes");
  });

  test("between GPUs whose flags never arrive nothing is run by peer access; what the driver stages goes on", () => {
    const { lines } = inLab(
      `${OPEN} await refused(two().receive("r", "w", { protocol: "ll", dst: "dst" }).put("s", "src", "w", { protocol: "ll" }).sync("r"));
       await show(two().copy("s", "src", "dst").sync("s").peerAccess(false));`,
      { P2PLAB_FAKE_MODE: "lost-flag" },
    );
    assert.is(lines[0].name, "VerdictError");
    assert.match(lines[0].message, /GPU 0.*GPU 1/);
    assert.is(lines[1].state, "ok");
  });

  test("kernels are refused where they could not reach, by what and where", () => {
    const { lines } = inLab(
      `${OPEN} await refused(two().copy("s", "src", "dst", { engine: "kernel-write" }).sync("s").peerAccess(false));
       await refused(two().await("s", "f").signal("r", "f").copy("s", "src", "dst").sync("s").sync("r").peerAccess(false));`,
    );
    assert.is(lines[0].code, "program");
    assert.match(
      lines[0].message,
      'kernel-write on GPU 0 cannot reach buffer "dst" on GPU 1 with peer access off',
    );
    assert.match(lines[1].message, 'await on GPU 0 cannot reach buffer "f" on GPU 1 with peer access off');
  });

  test("an operation that a graph cannot hold is named", () => {
    const [error] = inLab(
      `${OPEN} await refused(two().copy("s", "src", "dst", { api: "batch" }).sync("s").submitBy("graph"));`,
      { P2PLAB_FAKE_FAIL: "cuMemcpyBatchAsync_v2=900" },
    ).lines;
    assert.is(error.code, "not-available");
    assert.match(error.message, "does not capture operation 0 (cuMemcpyBatchAsync)");
    assert.match(error.hint, 'submitBy("stream")');
  });

  test("options that make no sense are refused by name before anything runs", () => {
    const { lines } = inLab(`${OPEN}
      for (const traceIterations of [NaN, -1, 0, 1e9, 2.5]) await refused(push(), { trace: "copies", traceIterations });
      for (const batch of [NaN, 0, -1, 1.5, 513]) await refused(push(), { mode: "throughput", batch });
      await refused(push(), { batch: 4 }); await refused(push(), { mode: "fast" });
      for (const sampling of [{ maxSamples: 1e9 }, { warmup: -1 }, { minSamples: 0 }, { budgetMs: Infinity }, { target: NaN }, { wramup: 3 }])
        await refused(push(), { sampling });`);
    assert.equal(
      lines.map(({ code, message }) => [code, message]),
      [
        ["usage", "traceIterations is NaN"],
        ["usage", "traceIterations is -1"],
        ["usage", "traceIterations is 0"],
        ["usage", "traceIterations is 1000000000"],
        ["usage", "traceIterations is 2.5"],
        ["usage", "batch is NaN"],
        ["usage", "batch is 0"],
        ["usage", "batch is -1"],
        ["usage", "batch is 1.5"],
        ["usage", "a batch of 513 iterations does not fit into the queue of a stream"],
        ["usage", "batch is of throughput mode only"],
        ["usage", 'there is no mode "fast"'],
        ["usage", "sampling option maxSamples is 1000000000"],
        ["usage", "sampling option warmup is -1"],
        ["usage", "sampling option minSamples is 0"],
        ["usage", "sampling option budgetMs is Infinity"],
        ["usage", "sampling option target is NaN"],
        ["usage", "there is no sampling option wramup"],
      ],
    );
  });
}

test.run();
