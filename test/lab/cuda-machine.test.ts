import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { countsIn, inLab, missing } from "../native/toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("CudaMachine, on the stand-in driver");

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

const OPEN = "const machine = await CudaMachine.open();";
const REFUSED = ".then(() => print('accepted'), (error) => print(failure(error)));";

function register(): void {
  test("it says what it is: measured, how many GPUs, which pairs", () => {
    const [info, provenance] = inLab(`${OPEN} print(machine.info); print(machine.provenance);`).lines;
    assert.is(info.name, "2 × Fake GPU (NV18)");
    assert.equal(info.gpus[1], {
      index: 1,
      name: "Fake GPU",
      memoryBytes: 1073741824,
      computeCapability: "9.0",
      pci: "0000:11:00.0",
      copyEngines: 3,
    });
    const pair = { peerAccess: true, nativeAtomics: true, link: "NV18", rawGbps: 478.116, reason: null };
    assert.equal(info.pairs, [
      { from: 0, to: 1, ...pair },
      { from: 1, to: 0, ...pair },
    ]);
    assert.is(info.facts.cuda_version, "13.0");
    assert.match(info.facts.clock, /^(time-stamp counter|CLOCK_MONOTONIC_RAW)$/);
    assert.is(provenance.kind, "measured");
    assert.is(provenance.source, "cuda");
  });

  test("without a driver opening it is not-available, with the reason and what to use instead", () => {
    const [error] = inLab(`await CudaMachine.open()${REFUSED}`, { P2PLAB_LIBCUDA: "/no/libcuda" }).lines;
    assert.is(error.name, "P2pError");
    assert.is(error.code, "not-available");
    assert.match(error.message, "cannot be opened");
    assert.match(error.hint, "recording");
  });

  test("a run verifies, samples until the rule ends it, and says so", () => {
    const [run] = inLab(
      `${OPEN} const { samples, verification, trace, traceReason, provenance } = await machine.run(push(), { sampling: quick });
       print({ verification, trace, traceReason, kind: provenance.kind, n: samples.totalNs.length, convergence: samples.convergence,
         sane: samples.totalNs.every((ns, i) => ns >= 50_000 && samples.apiNs[i] <= ns) });`,
      { P2PLAB_FAKE_DELAY_NS: "50000" },
    ).lines;
    assert.equal(run.verification.state, "ok");
    assert.is(run.verification.checkedBytes, 64);
    assert.is(run.verification.wrongBytes, 0);
    assert.is(run.trace, null);
    assert.is(run.traceReason, null);
    assert.is(run.kind, "measured");
    assert.is(run.convergence.n, run.n);
    assert.ok(run.n >= 10 && run.n <= 40);
    assert.is(run.sane, true);
  });

  test("never more samples than maxSamples, and a rule that cannot be met ends there", () => {
    const [convergence] = inLab(
      `${OPEN} print((await machine.run(push(), { sampling: { target: 1e-9, budgetMs: 60_000, minSamples: 5, maxSamples: 70, warmup: 0 } })).samples.convergence);`,
    ).lines;
    assert.is(convergence.n, 70);
    assert.is(convergence.ended, "max-samples");
  });

  test("a traced run gives parts that add up to the host's own total, and a timeline of the same spans", () => {
    const [trace] = inLab(
      `${OPEN} const { trace } = await machine.run(push(), { sampling: quick, trace: "copies", traceIterations: 7 });
       print({ n: trace.totalNs.length, engine: [...trace.engineNs],
         closes: trace.totalNs.every((ns, i) => trace.launchNs[i] + trace.engineNs[i] + trace.receiverNs[i] === ns),
         positive: [trace.launchNs, trace.receiverNs, trace.apiNs].every((part) => part.every((ns) => ns >= 0)),
         kinds: trace.timeline.kind.slice(0, 4), lanes: trace.timeline.lane.slice(0, 4), names: trace.timeline.name.slice(0, 4),
         last: trace.timeline.iteration.at(-1), bytes: trace.timeline.bytes[3] });`,
      { P2PLAB_FAKE_DELAY_NS: "30000" },
    ).lines;
    assert.equal(trace, {
      n: 7,
      engine: Array(7).fill(30000),
      closes: true,
      positive: true,
      kinds: ["iteration", "api", "sync", "copy"],
      lanes: ["host", "host", "host", "GPU 0 stream s"],
      names: ["iteration 0", "submit", "sync", "src → dst"],
      last: 6,
      bytes: 64,
    });
  });

  test("several copies of an iteration count from the first start to the last end", () => {
    const [trace] = inLab(
      `${OPEN} const { trace } = await machine.run(staged(), { sampling: quick, trace: "full", traceIterations: 5 });
       print({ engine: trace.engineNs.every((ns) => ns >= 60000), n: trace.engineNs.length,
         copies: trace.timeline.name.filter((_, i) => trace.timeline.kind[i] === "copy").slice(0, 2),
         calls: trace.timeline.name.filter((_, i) => trace.timeline.kind[i] === "api").slice(0, 2) });`,
      { P2PLAB_FAKE_DELAY_NS: "30000" },
    ).lines;
    assert.equal(trace, {
      engine: true,
      n: 5,
      copies: ["src → stage", "stage → dst"],
      calls: ["cuMemcpyAsync", "cuMemcpyAsync"],
    });
  });

  test("without CUPTI, or with records dropped, there is no trace but the reason, and the samples stand", () => {
    const script = `${OPEN} const run = await machine.run(push(), { sampling: quick, trace: "copies" });
      print([run.trace, run.traceReason, run.samples.totalNs.length > 0]);`;
    const [none] = inLab(script, { P2PLAB_CUPTI: "/no/libcupti" }).lines;
    assert.is(none[0], null);
    assert.match(none[1], "libcupti cannot be opened");
    assert.is(none[2], true);
    assert.match(inLab(script, { P2PLAB_FAKE_CUPTI_DROPPED: "4" }).lines[0][1], "dropped 4 records");
  });

  test("a pair whose writer alone sees the bytes is refused without numbers; the driver's staging passes", () => {
    const [broken, passed] = inLab(
      `${OPEN} await machine.run(push(), { sampling: quick })${REFUSED}
       print((await machine.run(push().peerAccess(false), { sampling: quick })).verification.state);`,
      { P2PLAB_FAKE_MODE: "mirror" },
    ).lines;
    assert.is(broken.name, "VerdictError");
    assert.is(broken.code, "verification");
    assert.match(broken.message, "is mirror at copy-engine write");
    assert.match(broken.hint, ".peerAccess(false)");
    assert.is(passed, "ok");
  });

  test("a byte that is damaged beyond what the ladder sends ends the run without numbers", () => {
    const [broken] = inLab(`${OPEN} await machine.run(push(2 ** 22), { sampling: quick })${REFUSED}`, {
      P2PLAB_FAKE_MODE: "corrupt",
      P2PLAB_FAKE_CORRUPT_AT: "3000000",
    }).lines;
    assert.is(broken.code, "verification");
    assert.match(broken.message, '1 of 4194304 bytes of buffer "dst" are wrong');
    assert.match(broken.message, "first at offset 3000000");
    assert.match(broken.hint, ".peerAccess(false)");
  });

  test("without peer access a direct program is refused with the reason; staged ones run", () => {
    const [info, refused, byHand, byDriver] = inLab(
      `${OPEN} print(machine.info.pairs[0]);
       await machine.run(push(), { sampling: quick })${REFUSED}
       print((await machine.run(staged(), { sampling: quick })).verification.state);
       print((await machine.run(push().peerAccess(false), { sampling: quick })).verification.state);`,
      { P2PLAB_FAKE_MODE: "no-peer" },
    ).lines;
    assert.is(info.peerAccess, false);
    assert.match(info.reason, "does not let GPU 0 access the memory of GPU 1");
    assert.is(refused.code, "not-available");
    assert.match(refused.message, "does not let GPU 0 access the memory of GPU 1");
    assert.match(refused.hint, ".peerAccess(false)");
    assert.is(byHand, "ok");
    assert.is(byDriver, "ok");
  });

  test("a GPU that is not there is named, with how many there are", () => {
    const [error] = inLab(`${OPEN} await machine.run(push())${REFUSED}`, { P2PLAB_FAKE_DEVICES: "1" }).lines;
    assert.is(error.code, "not-available");
    assert.match(error.message, "uses GPU 1, but this machine has 1 (1 × Fake GPU)");
  });

  test("a driver call that fails is a CudaError with the stack of the run, and the next run goes on", () => {
    const [error, next] = inLab(
      `${OPEN} await machine.run(push(2 ** 40))${REFUSED} print((await machine.run(push(), { sampling: quick })).verification.state);`,
    ).lines;
    assert.is(error.name, "CudaError");
    assert.is(error.code, "cuda");
    assert.is(error.message, "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert.is(next, "ok");
  });

  test("an abort ends the run after its iteration; one before it keeps it from starting", () => {
    const { lines } = inLab(
      `${OPEN} const stop = new AbortController(); setTimeout(() => stop.abort(), 50);
       await machine.run(push(), { signal: stop.signal, sampling: { budgetMs: 50_000, target: 1e-9, maxSamples: 1e6 } })${REFUSED}
       await machine.run(push(), { signal: AbortSignal.abort() })${REFUSED}
       print((await machine.run(push(), { sampling: quick })).verification.state);`,
      { P2PLAB_FAKE_DELAY_NS: "20000" },
    );
    assert.is(lines[0].code, "cancelled");
    assert.is(lines[1].code, "cancelled");
    assert.is(lines[2], "ok");
  });

  test("runs asked for at the same time take turns; a closed machine runs nothing", () => {
    const { lines } = inLab(
      `${OPEN} const runs = [push(), staged(), push().peerAccess(false), push()].map((one) => machine.run(one, { sampling: quick }));
       print((await Promise.all(runs)).map((run) => run.verification.state));
       const late = machine.run(push(), { sampling: quick });
       await machine.close(); await machine.close();
       await late${REFUSED}`,
    );
    assert.equal(lines[0], ["ok", "ok", "ok", "ok"]);
    assert.is(lines[1].code, "usage");
  });

  test("page-locked memory is kept from run to run, and given back by a machine that rests or closes", () => {
    const folder = mkdtempSync(join(tmpdir(), "p2plab-counts-"));
    try {
      const made = (script: string) => {
        const child = inLab(
          `${OPEN} const run = () => machine.run(staged(2 ** 21), { sampling: quick }); ${script}`,
          {
            P2PLAB_FAKE_COUNTS: join(folder, "%p.json"),
          },
        );
        assert.is(child.status, 0, child.stderr);
        const { calls, left } = countsIn(folder, child.pid);
        assert.equal(left, []);
        return calls.cuMemHostAlloc ?? 0;
      };
      const once = made("await run();");
      assert.ok(once > 0);
      assert.is(made("await run(); await run(); await machine.close();"), once);
      const rest = "await new Promise((resolve) => setTimeout(resolve, 1300));";
      assert.is(made(`await run(); ${rest} await run();`), 2 * once);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("an injected profiler is said with the samples", () => {
    const [warnings] = inLab(`${OPEN} print((await machine.run(push(), { sampling: quick })).warnings);`, {
      CUDA_INJECTION64_PATH: "/opt/profiler.so",
    }).lines;
    assert.equal(warnings, ["profiled: a profiler is attached (CUDA_INJECTION64_PATH is set)"]);
  });
}

test.run();
