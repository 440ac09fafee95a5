import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../kernel/lab/errors.js";
import { Random } from "../../kernel/lab/random.js";
import {
  median,
  medianInterval,
  mergedConvergence,
  quantileSorted,
  StoppingRule,
  samplingOf,
  shareOf,
  stop,
} from "../../kernel/lab/sampling.js";

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

/** Shapes of known median. */
const SHAPES: Record<string, { draw: (random: Random) => number; medianNs: number }> = {
  normal: { draw: (random) => 1000 + 300 * random.normal(), medianNs: 1000 },
  "log-normal": { draw: (random) => 1000 * random.logNormal(0.35), medianNs: 1000 },
  // Pareto, shape 1.5: no variance.
  "heavy tail": {
    draw: (random) => 1000 * (1 - random.uniform()) ** (-1 / 1.5),
    medianNs: 1000 * 2 ** (1 / 1.5),
  },
  // The median of the mixture is that of the lower mode at the quantile 0.5 / 0.7 (0.5659 standard deviations above).
  "two modes": {
    draw: (random) => (random.uniform() < 0.7 ? 1000 + 150 * random.normal() : 2000 + 30 * random.normal()),
    medianNs: 1000 + 150 * 0.565949,
  },
};

for (const [name, { draw, medianNs }] of Object.entries(SHAPES)) {
  sampling(`where the rule stops, the 95 % interval covers the true median in 93 to 97 %: ${name}`, () => {
    const options = samplingOf({ target: 0.05 });
    const random = new Random(11);
    let covered = 0;
    const lengths = new Set<number>();
    for (let series = 0; series < 2000; series++) {
      const rule = new StoppingRule(options);
      let samples = new Float64Array(0);
      let ended = null;
      while (!ended) {
        const more = Float64Array.from({ length: rule.wanted(samples.length) }, () => draw(random));
        samples = Float64Array.from([...samples, ...more]);
        ended = rule.ended(samples, 1);
      }
      lengths.add(ended.n);
      if (ended.ciLowNs <= medianNs && medianNs <= ended.ciHighNs) covered++;
    }
    assert.ok(lengths.size > 1, "the rule itself decided when to stop");
    assert.ok(covered >= 1860 && covered <= 1940, `covered ${covered} of 2000`);
  });
}

sampling(
  "the rule looks at the minimum, then at half as many more each time, and when the budget is spent",
  () => {
    const rule = new StoppingRule(samplingOf({ minSamples: 100, maxSamples: 200, budgetMs: 10 }));
    const random = new Random(3);
    const wild = Float64Array.from({ length: 200 }, () => random.logNormal(3));
    assert.is(rule.wanted(30), 70);
    assert.is(rule.ended(wild.slice(0, 99), 1), null);
    assert.is(rule.ended(wild.slice(0, 100), 1), null);
    assert.is(rule.wanted(100), 50);
    assert.is(rule.ended(wild.slice(0, 120), 10)?.ended, "budget");
    assert.is(rule.ended(wild.slice(0, 150), 1), null);
    assert.is(rule.wanted(150), 50);
    assert.is(rule.ended(wild, 1)?.ended, "max-samples");
  },
);

sampling("visits share the sampling, and together they meet the target", () => {
  const whole = samplingOf({ target: 0.02, minSamples: 101, maxSamples: 2000, budgetMs: 900 });
  const share = shareOf(whole, 2);
  assert.equal([share.minSamples, share.maxSamples, share.budgetMs], [51, 1000, 450]);
  assert.ok(Math.abs(share.target - 0.02 * Math.SQRT2) < 1e-12);
  const visit = (base: number) => {
    const random = new Random(base);
    const rule = new StoppingRule(share);
    let samples = new Float64Array(0);
    for (;;) {
      samples = Float64Array.from([
        ...samples,
        ...Array.from({ length: rule.wanted(samples.length) }, () => base + 60 * random.normal()),
      ]);
      const ended = rule.ended(samples, 1);
      if (ended) return { samples, ended };
    }
  };
  const together = (a: number, b: number) => {
    const [one, two] = [visit(a), visit(b)];
    return mergedConvergence(
      Float64Array.from([...one.samples, ...two.samples]),
      [one.ended, two.ended],
      whole,
    );
  };
  assert.equal([together(1000, 1000).converged, together(1000, 1000).ended], [true, "target"]);
  assert.equal([together(1000, 1400).converged, together(1000, 1400).ended], [false, "unsteady"]);
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
