import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { P2pError } from "../../kernel/lab/errors.js";
import { breakdown } from "../../kernel/lab/measure/breakdown.js";
import { fitCurve, fitLine, timeAt } from "../../kernel/lab/measure/fit.js";
import { sweep } from "../../kernel/lab/measure/sweep.js";
import { provenancesOf } from "../../kernel/lab/measure/table.js";
import { onProgress, type Progress } from "../../kernel/lab/progress.js";
import { scriptedMachine } from "./scripted-machine.js";

const measure = suite("measure");
const near = (actual: number, expected: number, tolerance: number) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not within ${tolerance} of ${expected}`);

measure("a sweep recovers the scripted medians, one row a cell in the order asked for", async () => {
  const curve = await sweep(scriptedMachine("measured"), {
    from: 0,
    to: 1,
    bytes: [8, 1048576],
    path: ["peer", "staged"],
  });
  assert.equal(curve.array("path"), ["peer", "peer", "staged", "staged"]);
  assert.equal(curve.array("bytes"), [8, 1048576, 8, 1048576]);
  near(curve.get("total_us", 0), 7.50002, 1e-9); // 4 + 1.5 + 8 B at 400 GB/s + 2
  near(curve.get("total_us", 1), 10.12144, 1e-9); // + 1 MiB at 400 GB/s
  near(curve.get("total_us", 2), 9.00004, 1e-9); // two setups
  near(curve.get("api_us", 0), 2.5, 1e-9);
  near(curve.get("gbps", 1), 1048576 / 10121.44, 1e-9);
  assert.is(curve.get("n", 0), 400, "two visits");
  assert.equal(provenancesOf(curve), [
    { machine: "2 × scripted GPU", provenance: "measured", date: "2026-01-02" },
  ]);
});

measure(
  "a breakdown recovers the scripted parts, and its closure errors are those of the script",
  async () => {
    const parts = await breakdown(scriptedMachine("recorded"), { from: 0, to: 1, bytes: ["8 B", "64 MiB"] });
    for (const row of [0, 1]) {
      near(parts.get("launch_us", row), 5, 1e-9); // 4 and the observer's 1
      near(parts.get("setup_us", row), 1.5, 1e-6);
      near(parts.get("receiver_us", row), 2, 1e-9);
      near(parts.get("observer_us", row), 1, 1e-9);
      near(parts.get("closure_traced_pct", row), 0, 1e-3);
      near(parts.get("closure_pct", row), 0, 1e-3);
      near(parts.get("rate_gbps", row), 400, 1e-3);
    }
    near(parts.get("link_us", 1), 67108864 / 400e3, 1e-6);
    assert.is(parts.get("provenance", 0), "recorded");
  },
);

measure("a closure error is seen where the parts do not add up", async () => {
  const machine = scriptedMachine("measured");
  const broken = {
    ...machine,
    run: async (...args: Parameters<typeof machine.run>) => {
      const run = await machine.run(...args);
      return run.trace
        ? { ...run, trace: { ...run.trace, totalNs: run.trace.totalNs.map((ns) => ns * 1.1) } }
        : run;
    },
  };
  const parts = await breakdown(broken, { from: 0, to: 1, bytes: 8 });
  near(parts.get("closure_traced_pct", 0), -9.09, 0.01);
});

measure("a machine without a tracer gives no breakdown but the reason", async () => {
  const machine = scriptedMachine("measured");
  const blind = {
    ...machine,
    run: async (...args: Parameters<typeof machine.run>) => ({
      ...(await machine.run(...args)),
      trace: null,
      traceReason: "libcupti.so was not found",
    }),
  };
  try {
    await breakdown(blind, { from: 0, to: 1, bytes: 8 });
    assert.unreachable("parts were made up");
  } catch (error) {
    assert.is((error as P2pError).code, "not-available");
    assert.match((error as P2pError).message, /libcupti\.so was not found/);
  }
});

measure("progress counts up to the total", async () => {
  const seen: Progress[] = [];
  const before = onProgress((progress) => seen.push(progress));
  try {
    await sweep(scriptedMachine("measured"), { from: 0, to: 1, bytes: [8, 16, 32] });
  } finally {
    onProgress(before);
  }
  assert.equal(
    seen.map((progress) => progress.done),
    [0, 1, 2, 3, 4, 5, 6],
  );
  assert.ok(seen.every((progress) => progress.total === 6));
  assert.is(seen[0]?.remainingS, null);
  assert.ok(seen.slice(1).every((progress) => (progress.remainingS as number) >= 0));
  assert.is(seen.at(-1)?.remainingS, 0);
});

measure("fitLine recovers an exact line, and gives neither a negative intercept nor a negative slope", () => {
  const exact = [8, 4096, 1048576].map((bytes) => ({ bytes, ns: 1500 + bytes / 400 }));
  const line = fitLine(exact);
  near(line.alphaNs, 1500, 1e-6);
  near(line.rateGbps, 400, 1e-6);
  near(line.worstResidual, 0, 1e-9);
  const through = fitLine([
    { bytes: 100, ns: 50 },
    { bytes: 1000, ns: 1000 },
  ]);
  assert.is(through.alphaNs, 0);
  assert.ok(through.rateGbps > 0 && through.worstResidual > 0.1);
  const falling = fitLine([
    { bytes: 100, ns: 200 },
    { bytes: 1000, ns: 100 },
  ]);
  assert.is(falling.rateGbps, Number.POSITIVE_INFINITY);
  near(falling.alphaNs, 120, 1e-9);
});

measure("fitCurve takes one line where one does, and finds the bend where two are needed", () => {
  const sizes = [8, 64, 512, 4096, 32768, 262144, 2097152, 16777216, 67108864];
  const one = fitCurve(sizes.map((bytes) => ({ bytes, ns: 1500 + bytes / 400 })));
  assert.is(one.segments.length, 1);
  const bent = fitCurve(
    sizes.map((bytes) => ({ bytes, ns: bytes <= 32768 ? 1540 + bytes / 131 : 1770 + bytes / 394 })),
  );
  assert.is(bent.segments.length, 2);
  assert.is(bent.segments[0]?.upToBytes, 32768);
  near(timeAt(bent, 67108864), 1770 + 67108864 / 394, 1);
  near(timeAt(bent, 8), 1540 + 8 / 131, 0.1);
});

measure("fitCurve owns up to what it cannot fit", () => {
  const noisy = [8, 64, 512, 4096, 32768, 262144].map((bytes, i) => ({ bytes, ns: i % 2 ? 2000 : 1000 }));
  assert.ok(fitCurve(noisy).worstResidual > 0.2);
});

measure("no machine, an unawaited one, no options and empty lists are refused by name", async () => {
  const machine = scriptedMachine("measured");
  for (const [action, words] of [
    [() => sweep({} as never, { from: 0, to: 1, bytes: 8 }), /no machine/],
    [() => sweep(Promise.resolve(machine) as never, { from: 0, to: 1, bytes: 8 }), /not awaited/],
    [() => sweep(machine, undefined as never), /no options/],
    [() => sweep(machine, { from: 0, to: 1, bytes: [] }), /no bytes/],
    [() => sweep(machine, { from: 0, to: 1, bytes: 8, path: [] }), /no path/],
    [() => breakdown(machine, { from: 0, to: 1, bytes: [] }), /no bytes/],
  ] as const) {
    try {
      await action();
      assert.unreachable(String(words));
    } catch (error) {
      assert.is((error as P2pError).code, "usage", String(error));
      assert.match((error as P2pError).message, words);
    }
  }
});

measure.run();
