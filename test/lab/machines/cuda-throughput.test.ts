import { suite } from "uvu";
import * as assert from "uvu/assert";
import { inLab, missing } from "../../native/toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("CudaMachine in throughput mode, on the stand-in driver");

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

const OPEN = `const machine = await CudaMachine.open();
  const both = () => program().buffer("a", { gpu: 0, bytes: 64 }).buffer("b", { gpu: 1, bytes: 64 }).buffer("c", { gpu: 0, bytes: 64 })
    .buffer("d", { gpu: 1, bytes: 64 }).stream("s", { gpu: 0 }).stream("t", { gpu: 1 }).copy("s", "a", "b").copy("t", "d", "c").sync("s").sync("t");
  const run = async (one, options = {}) => machine.run(one, { mode: "throughput", sampling: { budgetMs: 100, minSamples: 5, maxSamples: 20 }, ...options });`;

function register(): void {
  test("one sample is a batch by the device's events, divided; each stream has its own", () => {
    const [run] = inLab(
      `${OPEN} const { mode, samples, throughput, verification, trace } = await run(both(), { batch: 4 });
       print({ mode, n: samples.totalNs.length, api: samples.apiNs.length, state: verification.state, checked: verification.checkedBytes, trace,
         batch: throughput.batch, gateTimeouts: throughput.gateTimeouts, floor: throughput.floorNs >= 0,
         sane: samples.totalNs.every((ns, i) => ns >= 100_000 && throughput.streams.every(({ totalNs }) => totalNs[i] >= 100_000 && totalNs[i] <= ns)),
         submitted: samples.apiNs.every((ns) => ns > 0 && ns < 100_000_000),
         streams: throughput.streams.map(({ name, gpu, totalNs }) => [name, gpu, totalNs.length]) });`,
      { P2PLAB_FAKE_DELAY_NS: "100000" },
    ).lines;
    assert.equal(
      { ...run, n: run.n === run.api && run.n >= 5 && run.n <= 20 },
      {
        mode: "throughput",
        n: true,
        api: run.api,
        state: "ok",
        checked: 128,
        trace: null,
        batch: 4,
        gateTimeouts: 0,
        floor: true,
        sane: true,
        submitted: true,
        streams: [
          ["s", 0, run.n],
          ["t", 1, run.n],
        ],
      },
    );
  });

  test("without a wish the batch takes about 2 ms; a graph is one stream", () => {
    const [batch, streams] = inLab(
      `${OPEN} print((await run(push())).throughput.batch);
       print((await run(both().submitBy("graph"))).throughput.streams.map(({ name }) => name));`,
      { P2PLAB_FAKE_DELAY_NS: "1000000" },
    ).lines;
    assert.ok(batch >= 2 && batch <= 8, `a copy of a millisecond in batches of ${batch}`);
    assert.equal(streams, ["s"]);
  });

  test("a gate that gives up is counted, the batch halved and measured anew", () => {
    // A queue of 100 entries holds the host before a batch of 512 is submitted, and one of 256 and 128.
    const [throughput, warnings] = inLab(
      `${OPEN} const one = await run(push(), { batch: 512 }); print(one.throughput); print(one.warnings);`,
      { P2PLAB_FAKE_QUEUE: "100" },
    ).lines;
    assert.is(throughput.gateTimeouts, 3);
    assert.is(throughput.batch, 64);
    assert.match(
      warnings.join(),
      "gate: gave up 3 × before a batch was submitted; measured with batches of 64",
    );
  });

  test("a copy that the host takes part in is measured without a gate, and said", () => {
    const [warnings, ok] = inLab(
      `${OPEN} const one = program().buffer("a", { gpu: 0, bytes: 64 }).buffer("h", { host: "pageable", bytes: 64 }).stream("s", { gpu: 0 })
         .copy("s", "a", "h").sync("s");
       const { warnings, verification, samples } = await run(one, { batch: 2 }); print(warnings); print(verification.state === "ok" && samples.totalNs.length >= 5);`,
    ).lines;
    assert.match(warnings.join(), "measured without a gate");
    assert.is(ok, true);
  });

  test("under a profiler there is no gate, and the samples say so", () => {
    const [warnings, gates] = inLab(
      `${OPEN} const { warnings, throughput } = await run(push()); print(warnings); print(throughput.gateTimeouts);`,
      { CUDA_INJECTION64_PATH: "/opt/profiler.so" },
    ).lines;
    assert.match(warnings.join(), "profiled");
    assert.is(gates, 0);
  });

  test("an iteration that waits for the host before its end is refused", () => {
    const [error] = inLab(
      `${OPEN} await run(push().copy("s", "src", "dst").sync("s")).then(() => print("accepted"), (error) => print(failure(error)));`,
    ).lines;
    assert.is(error.code, "program");
    assert.match(error.message, "the host waits within this one");
  });
}

test.run();
