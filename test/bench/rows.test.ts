import { spawnSync } from "node:child_process";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { packagePath } from "../../kernel/lab/index.js";
import { nativeSpecs } from "./native.js";
import { exitCode, failed, measured, notRun, ratio, tableOf, tally } from "./row.js";

const rows = suite("rows of a benchmark");

rows("a bar is met between its ends, which belong to it", () => {
  const bar = { min: 0.995, max: 1.01 };
  assert.equal(
    [0.9949, 0.995, 1, 1.01, 1.0101].map((value) => measured("row", value, "ratio", bar).ok),
    [false, true, true, true, false],
  );
  assert.is(measured("row", 51, "ns", { max: 50 }).ok, false);
  assert.is(measured("row", -3, "ns", { max: 50 }).ok, true);
});

rows("a row without a bar has no verdict, and a value that is no number is no value", () => {
  assert.is(measured("row", 7, "ns", null).ok, null);
  const row = measured("row", Number.NaN, "ns", { max: 50 });
  assert.is(row.value, null);
  assert.is(row.ok, null);
  assert.is(row.reason, "the value is NaN");
});

rows("a ratio is the median of the ratios of its rounds, with both sides beside it", () => {
  const rounds = [
    { ours: 10, theirs: 10 },
    { ours: 21, theirs: 20 },
    { ours: 30, theirs: 31 },
  ];
  const row = ratio("row", rounds, { max: 1.02 }, "GB/s", { testcase: "x" });
  assert.is(row.value, 1);
  assert.is(row.ok, true);
  assert.is(row.detail.ours, 21);
  assert.is(row.detail.theirs, 20);
  assert.is(row.detail.rounds, 3);
  assert.is(row.detail.highest_ratio, 1.05);
  assert.is(row.detail.testcase, "x");
});

rows("a row that was not run is neither met nor missed, and nothing run is a failure", () => {
  const skipped = notRun("pair", "ratio", { max: 1.02 }, "needs 2 GPUs; this machine has 1");
  assert.equal(tally([skipped]), { met: 0, missed: 0, notRun: 1 });
  assert.is(exitCode([skipped]), 1);
  assert.is(exitCode([skipped, measured("row", 1, "ratio", { max: 1.02 })]), 0);
  assert.is(exitCode([measured("a", 1, "ratio", { max: 2 }), measured("b", 3, "ratio", { max: 2 })]), 1);
});

rows("a row that failed counts as missed, with what happened on one line", () => {
  const row = failed("row", "ns", { max: 50 }, new Error("it died\n  of this"));
  assert.is(row.ok, false);
  assert.is(row.reason, "failed: it died; of this");
  assert.equal(tally([row]), { met: 0, missed: 1, notRun: 0 });
  assert.is(tableOf([row]), "✘  row  failed  ≤ 50  failed: it died; of this");
});

rows("the table gives a line a row, with the bar and the reason", () => {
  const table = tableOf([
    ratio("bandwidth", [{ ours: 53.1, theirs: 53.2 }], { min: 0.995, max: 1.01 }, "GB/s"),
    notRun("peer", "ratio", { max: 1.02 }, "needs 2 GPUs; this machine has 1"),
  ]);
  assert.equal(table.split("\n"), [
    "✓  bandwidth  0.9981 ratio  ≥ 0.995, ≤ 1.01  53.1 against 53.2 GB/s, 1 rounds",
    "–  peer       not run       ≤ 1.02           needs 2 GPUs; this machine has 1",
  ]);
});

rows("every row of the native bench has a name of its own, and some need one GPU only", () => {
  const specs = nativeSpecs();
  assert.is(new Set(specs.map((spec) => spec.name)).size, specs.length);
  assert.ok(specs.some((spec) => spec.gpus === 1));
  assert.ok(specs.some((spec) => spec.gpus === 2));
});

rows.run();

const command = suite("npm run bench");

function bench(args: readonly string[], environment: Record<string, string> = {}) {
  return spawnSync(process.execPath, [packagePath("dist/test/bench/run.js"), ...args], {
    encoding: "utf8",
    env: { ...process.env, ...environment },
  });
}

command("an unknown name is refused with the names there are", () => {
  for (const [args, reason] of [
    [["nativ"], 'there is no benchmark "nativ"'],
    [["toString"], 'there is no benchmark "toString"'],
    [[], "no benchmark is named"],
    [["native", "native"], "one benchmark at a time"],
    [["native", "--rounds", "0"], "--rounds is 0"],
    [["native", "--bad"], "--bad"],
  ] as const) {
    const { status, stdout, stderr } = bench(args);
    assert.is(status, 2, stderr);
    assert.is(stdout, "");
    assert.ok(stderr.includes(reason), stderr);
    assert.match(stderr, /usage: npm run bench -- NAME[\s\S]*\n {4}native /);
  }
});

command("without a GPU every row says so, nothing counts as met, and the exit code is 1", () => {
  const { status, stdout, stderr } = bench(["native", "--json"], { P2PLAB_LIBCUDA: "/no/libcuda.so.1" });
  assert.is(status, 1, stderr);
  const result = JSON.parse(stdout);
  assert.equal(result.schema, { name: "p2plab-bench", version: 1 });
  assert.is(result.bench, "native");
  assert.is(result.machine, "no GPU");
  assert.is(result.rows.length, nativeSpecs().length);
  for (const row of result.rows) {
    assert.is(row.value, null);
    assert.is(row.ok, null);
    assert.match(row.reason, /^no GPU can be used: /);
  }
  assert.match(stderr, /0 bars met, 0 missed, \d+ rows not run/);
});

command.run();
