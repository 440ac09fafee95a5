import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../kernel/lab/errors.js";
import { Random } from "../../kernel/lab/random.js";
import { median, samplingOf, stop } from "../../kernel/lab/sampling.js";
import { flagsOf, shapeOf } from "../../kernel/lab/series.js";

export const TIME_LIMIT_S = 120;

const series = suite("series");

type Draw = (random: Random) => number;

/** Distributions with a median that is known, or found from two million draws. */
const SHAPES: Readonly<Record<string, Draw>> = {
  normal: (random) => 1000 * (1 + 0.05 * random.normal()),
  "log-normal": (random) => 1000 * random.logNormal(0.3),
  "heavy tail": (random) => 1000 * (1 + 0.02 * Math.abs(random.normal() / random.normal())),
  "two modes": (random) => (random.uniform() < 0.6 ? 1000 : 1300) * (1 + 0.03 * random.normal()),
};

function drawn(n: number, draw: (random: Random, i: number) => number, seed = 3): Float64Array {
  const random = new Random(seed);
  return Float64Array.from({ length: n }, (_, i) => draw(random, i));
}

for (const [name, draw] of Object.entries(SHAPES)) {
  series(
    `the interval that the stopping rule ends with covers the true median in 93 to 97 %: ${name}`,
    () => {
      const truth = median(drawn(2_000_001, draw, 99));
      const random = new Random(5);
      const options = samplingOf();
      let covered = 0;
      for (let i = 0; i < 2000; i++) {
        const values: number[] = [];
        let ended = null;
        while (!ended) {
          for (let k = 0; k < 100; k++) values.push(draw(random));
          ended = stop(Float64Array.from(values), 1, options);
        }
        if (ended.ciLowNs <= truth && truth <= ended.ciHighNs) covered++;
      }
      assert.ok(covered >= 1860 && covered <= 1940, `${covered} of 2000`);
    },
  );

  series(`a steady series raises no flag of drift or jump in 500 draws: ${name}`, () => {
    let flagged = 0;
    for (let seed = 0; seed < 500; seed++) {
      const shape = shapeOf(drawn(300, draw, seed));
      if (shape.drift || shape.changePoint) flagged++;
    }
    assert.ok(flagged <= 3, `${flagged} of 500`);
  });
}

series("one mode is one mode, whatever its tail; two that lie apart are two", () => {
  for (const name of ["normal", "log-normal", "heavy tail"]) {
    let flagged = 0;
    for (let seed = 0; seed < 200; seed++)
      if (shapeOf(drawn(500, SHAPES[name] as Draw, seed)).modes) flagged++;
    assert.ok(flagged <= 2, `${name}: ${flagged} of 200`);
  }
  const uniform = shapeOf(drawn(1000, (random) => 1000 + 500 * random.uniform()));
  assert.is(uniform.modes, null);
  for (let seed = 0; seed < 50; seed++) {
    const { modes } = shapeOf(drawn(500, SHAPES["two modes"] as Draw, seed));
    assert.ok(modes, `seed ${seed}`);
    assert.ok(Math.abs(modes.lowNs - 1000) < 15 && Math.abs(modes.highNs - 1300) < 20);
    assert.ok(Math.abs(modes.highShare - 0.4) < 0.1);
  }
});

series("two neighbouring steps of a clock are no modes", () => {
  assert.is(shapeOf(drawn(500, (random) => (random.uniform() < 0.5 ? 7000 : 7001))).modes, null);
});

series("a slope is a drift, with its size and sign", () => {
  for (const sign of [1, -1]) {
    const shape = shapeOf(
      drawn(400, (random, i) => 1000 * (1 + (sign * 0.1 * i) / 400 + 0.02 * random.normal())),
    );
    assert.ok(shape.drift && Math.abs(shape.drift.change - sign * 0.1) < 0.02, JSON.stringify(shape));
    assert.is(shape.changePoint, null);
  }
  assert.is(
    shapeOf(drawn(400, (random, i) => 1000 * (1 + (0.01 * i) / 400 + 0.001 * random.normal()))).drift,
    null,
  );
});

series("a step is a jump, at its place", () => {
  const { changePoint, drift } = shapeOf(
    drawn(400, (random, i) => (i < 250 ? 1000 : 1200) * (1 + 0.03 * random.normal())),
  );
  assert.ok(changePoint && Math.abs(changePoint.at - 250) <= 3, JSON.stringify(changePoint));
  assert.ok(Math.abs(changePoint.beforeNs - 1000) < 10 && Math.abs(changePoint.afterNs - 1200) < 10);
  assert.is(drift, null);
});

series("a slow beginning is told by its length", () => {
  const { unsettled } = shapeOf(
    drawn(400, (random, i) => 1000 * (i < 40 ? 2 : 1) * (1 + 0.03 * random.normal())),
  );
  assert.ok(unsettled >= 35 && unsettled <= 45, String(unsettled));
  // As many samples as a series has by default, and independent ones: nothing is unlike the rest.
  for (const n of [60, 100, 400]) {
    let flagged = 0;
    for (const draw of Object.values(SHAPES) as Draw[])
      for (let seed = 0; seed < 100; seed++) if (shapeOf(drawn(n, draw, seed)).unsettled > 0) flagged++;
    assert.ok(flagged <= 4, `${flagged} of 400 series of ${n}`);
  }
});

series("few samples say nothing, equal ones neither, and none are refused", () => {
  const quiet = { unsettled: 0, drift: null, changePoint: null, modes: null };
  assert.equal(shapeOf(drawn(20, (_, i) => 1000 + 100 * i)), quiet);
  assert.equal(shapeOf(new Float64Array(500).fill(7)), quiet);
  assert.throws(
    () => shapeOf(new Float64Array()),
    (error: unknown) => error instanceof P2pError && error.code === "usage",
  );
});

series("flags are said in words", () => {
  assert.equal(flagsOf({ unsettled: 0, drift: null, changePoint: null, modes: null }), []);
  assert.equal(
    flagsOf({
      unsettled: 40,
      drift: { change: -0.123 },
      changePoint: { at: 250, beforeNs: 7000, afterNs: 8100 },
      modes: { lowNs: 7000, highNs: 8100, highShare: 0.4 },
    }),
    [
      "unsettled: the first 40 samples are unlike the rest",
      "drift: −12 % over the series",
      "jump: 7 µs before sample 250, 8.1 µs after",
      "two modes: 7 µs and 8.1 µs (40 % of samples)",
    ],
  );
});

series.run();
