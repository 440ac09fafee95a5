import { suite } from "uvu";
import * as assert from "uvu/assert";
import { compare } from "../../kernel/lab/analyze/compare.js";
import { P2pError } from "../../kernel/lab/errors.js";
import type { Run } from "../../kernel/lab/machine.js";
import { Random } from "../../kernel/lab/random.js";
import { peerRun } from "./runs.js";

const comparison = suite("compare");

function drawn(random: Random, factor: number, n = 400): Float64Array {
  return Float64Array.from({ length: n }, () => 8000 * factor * random.logNormal(0.05));
}

comparison("a change beyond the tolerance is found, with its direction and size", () => {
  const random = new Random(1);
  const faster = compare(drawn(random, 1), drawn(random, 0.9));
  assert.is(faster.answer, "faster");
  assert.ok(Math.abs(faster.ratio - 0.9) < 0.01);
  assert.ok(faster.values.superiority > 0.9);
  const slower = compare(drawn(random, 1), drawn(random, 1.1));
  assert.is(slower.answer, "slower");
  assert.match(String(slower), /^slower: .*× 1\.(09|1)/);
});

comparison("two draws of the same are never called different, and mostly the same", () => {
  const random = new Random(2);
  const answers = Array.from({ length: 300 }, () => compare(drawn(random, 1), drawn(random, 1)).answer);
  assert.is(answers.filter((answer) => answer === "faster" || answer === "slower").length, 0);
  assert.ok(answers.filter((answer) => answer === "same").length >= 270);
});

comparison("what the samples do not decide is ambiguous", () => {
  const random = new Random(3);
  assert.is(compare(drawn(random, 1, 400), drawn(random, 1.02, 400)).answer, "ambiguous");
  assert.is(compare(drawn(random, 1, 12), drawn(random, 1.03, 12), { tolerance: 0.01 }).answer, "ambiguous");
});

comparison("the interval of the ratio covers the true ratio in 92 to 98 % of draws", () => {
  const random = new Random(4);
  let covered = 0;
  for (let i = 0; i < 1000; i++) {
    const { ratioLow, ratioHigh } = compare(drawn(random, 1, 200), drawn(random, 1.05, 150)).values;
    if (ratioLow <= 1.05 && 1.05 <= ratioHigh) covered++;
  }
  assert.ok(covered >= 920 && covered <= 980, `${covered} of 1000`);
});

comparison("superiority counts pairs, ties half", () => {
  const tens = new Float64Array(10).fill(10);
  assert.is(compare(tens, tens).values.superiority, 0.5);
  assert.is(compare(tens, new Float64Array(10).fill(5)).values.superiority, 1);
});

comparison("series that cannot be compared are refused by name", () => {
  const some = new Float64Array(20).fill(1);
  const throughput: Run = { ...peerRun(some), mode: "throughput" };
  for (const action of [
    () => compare(some, new Float64Array(3).fill(1)),
    () => compare(some, new Float64Array(20)),
    () => compare(undefined as never, some),
    () => compare(some, some, { tolerance: Number.NaN }),
    () => compare(peerRun(some), throughput),
  ]) {
    assert.throws(action, (error: unknown) => error instanceof P2pError && error.code === "usage");
  }
});

comparison("runs carry their provenance into the answer", () => {
  const some = new Float64Array(20).fill(8000);
  const [bundle] = [compare(peerRun(some), peerRun(some))].map((answer) =>
    Object.getOwnPropertySymbols(Object.getPrototypeOf(answer)).map((symbol) =>
      (answer as unknown as Record<symbol, () => Record<string, string>>)[symbol]?.(),
    ),
  );
  assert.match(bundle?.[0]?.["text/plain"] ?? "", /\[measured, test machine, 2026-01-02\]$/);
});

/** Runs of a program that is in one of two clusters, 16 % apart, run by run. */
function clustered(random: Random, factor: number, runs: number): Float64Array[] {
  return Array.from({ length: runs }, () => drawn(random, factor * (random.uniform() < 0.5 ? 1 : 1.16), 60));
}

comparison(
  "several runs of the same program in two clusters are not called different, as two of them may be",
  () => {
    const random = new Random(6);
    let alarms = 0;
    let pairs = 0;
    for (let i = 0; i < 200; i++) {
      const [a, b] = [clustered(random, 1, 12), clustered(random, 1, 12)];
      if (["faster", "slower"].includes(compare(a, b).answer)) alarms++;
      if (["faster", "slower"].includes(compare(a[0] as Float64Array, b[0] as Float64Array).answer)) pairs++;
    }
    assert.ok(alarms <= 10, `${alarms} of 200`);
    assert.ok(pairs >= 60, `${pairs} of 200`);
  },
);

comparison("a change is found over several runs, within what runs differ by", () => {
  const random = new Random(7);
  const runsOf = (factor: number) =>
    Array.from({ length: 12 }, () => drawn(random, factor * (1 + 0.005 * random.normal()), 60));
  assert.is(compare(runsOf(1), runsOf(1.06)).answer, "slower");
  assert.is(compare(runsOf(1), runsOf(0.94)).answer, "faster");
  const same = compare(runsOf(1), runsOf(1));
  assert.is(same.answer, "same");
  assert.match(String(same), /; 12 and 12 runs\)$/);
  assert.equal(same.values.runs, [12, 12]);
});

comparison("one run against several, and few against few, are refused", () => {
  const random = new Random(8);
  const runs = clustered(random, 1, 6);
  for (const [a, b] of [
    [runs, runs[0]],
    [runs.slice(0, 3), runs.slice(0, 3)],
    [[], runs],
    [runs, [...runs, null]],
  ] as const) {
    assert.throws(
      () => compare(a as never, b as never),
      (error: unknown) => error instanceof P2pError && error.code === "usage",
    );
  }
});

comparison.run();
