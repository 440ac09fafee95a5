import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../kernel/lab/errors.js";
import { Random } from "../../kernel/lab/random.js";
import { median, medianInterval, quantileSorted, samplingOf, stop } from "../../kernel/lab/sampling.js";

const sampling = suite("sampling");

sampling("quantiles interpolate between order statistics", () => {
  assert.is(quantileSorted([1, 2, 3, 4], 0.5), 2.5);
  assert.is(quantileSorted([1, 2, 3, 4, 5], 0.99), 4.96);
  assert.is(median([9, 1, 5]), 5);
});

sampling("the interval of the median has the ranks of the binomial", () => {
  const values = Array.from({ length: 100 }, (_, i) => i + 1);
  assert.equal(medianInterval(values), { low: 40, high: 61 });
});

sampling("the 95 % interval covers the true median in about 95 % of seeded series", () => {
  const random = new Random(7);
  let covered = 0;
  for (let series = 0; series < 2000; series++) {
    const values = Float64Array.from({ length: 200 }, () => 1000 * random.logNormal(0.3)).sort();
    const { low, high } = medianInterval(values);
    if (low <= 1000 && 1000 <= high) covered++;
  }
  assert.ok(covered >= 1860 && covered <= 1980, `covered ${covered} of 2000`);
});

sampling("stop goes on below the minimum, ends at the target, and says when it did not get there", () => {
  const options = samplingOf({ minSamples: 50, maxSamples: 1000, budgetMs: 100, target: 0.02 });
  const steady = new Float64Array(60).fill(500);
  assert.is(stop(steady.slice(0, 10), 1, options), null);
  assert.is(stop(steady, 1, options)?.ended, "target");
  const random = new Random(1);
  const wild = Float64Array.from({ length: 60 }, () => 500 * random.logNormal(2));
  assert.is(stop(wild, 1, options), null);
  const late = stop(wild, 101, options);
  assert.is(late?.ended, "budget");
  assert.is(late?.converged, false);
  assert.is(
    stop(
      Float64Array.from({ length: 1000 }, () => 500 * random.logNormal(9)),
      1,
      options,
    )?.ended,
    "max-samples",
  );
});

sampling("a series that never reaches the minimum still ends, and no samples give no number", () => {
  const options = samplingOf({ minSamples: 50, budgetMs: 100 });
  assert.is(stop(new Float64Array(3).fill(1), 401, options)?.ended, "budget");
  assert.is(stop(new Float64Array(0), 1e9, options), null);
});

sampling("options that make no sense are refused", () => {
  for (const bad of [
    { target: 0 },
    { budgetMs: -1 },
    { minSamples: Number.NaN },
    { minSamples: 10, maxSamples: 5 },
  ]) {
    assert.throws(
      () => samplingOf(bad),
      (error: unknown) => error instanceof P2pError && error.code === "usage",
    );
  }
});

sampling.run();
