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

comparison.run();
