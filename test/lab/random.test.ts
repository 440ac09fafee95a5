import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Random, seedOf } from "../../kernel/lab/random.js";

const random = suite("random");

random("the same seed gives the same series, another seed another", () => {
  const series = (seed: number) =>
    Array.from(
      { length: 5 },
      (
        (r) => () =>
          r.integer(1000)
      )(new Random(seed)),
    );
  assert.equal(series(42), series(42));
  assert.not.equal(series(42), series(43));
});

/** PCG-XSH-RR 64/32 in whole numbers of 64 bits, straight from its definition. */
function* pcg(seed: bigint): Generator<number> {
  let state = 0n;
  const next = (): number => {
    const old = state;
    state = BigInt.asUintN(64, old * 6364136223846793005n + 1442695040888963407n);
    const xorshifted = Number(BigInt.asUintN(32, ((old >> 18n) ^ old) >> 27n));
    const rotation = Number(old >> 59n);
    return ((xorshifted >>> rotation) | (xorshifted << (-rotation & 31))) >>> 0;
  };
  next();
  state = BigInt.asUintN(64, state + BigInt.asUintN(64, seed));
  next();
  for (;;) yield next();
}

random("the generator gives what its definition gives, for seeds of all sizes", () => {
  for (const seed of [0n, 1n, 42n, 0xffffffffn, 0x100000000n, 0x123456789abcdef0n, -1n]) {
    const r = new Random(seed);
    let left = 1000;
    for (const expected of pcg(seed)) {
      assert.is(r.uniform() * 2 ** 32, expected);
      if (--left === 0) break;
    }
  }
});

random("uniform stays in [0, 1) with the mean and variance it should have", () => {
  const r = new Random(3);
  const values = Array.from({ length: 20000 }, () => r.uniform());
  assert.ok(values.every((v) => v >= 0 && v < 1));
  const mean = values.reduce((a, b) => a + b) / values.length;
  const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length;
  assert.ok(Math.abs(mean - 0.5) < 0.01, String(mean));
  assert.ok(Math.abs(variance - 1 / 12) < 0.003, String(variance));
});

random("normal has mean 0 and standard deviation 1; logNormal has median 1", () => {
  const r = new Random(5);
  const values = Array.from({ length: 20000 }, () => r.normal());
  const mean = values.reduce((a, b) => a + b) / values.length;
  const sd = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length);
  assert.ok(Math.abs(mean) < 0.03 && Math.abs(sd - 1) < 0.03, `${mean} ${sd}`);
  const above = Array.from({ length: 20000 }, () => r.logNormal(0.5)).filter((v) => v > 1).length;
  assert.ok(Math.abs(above - 10000) < 300, String(above));
});

random("shuffle keeps every item and leaves the list as it was", () => {
  const list = [1, 2, 3, 4, 5, 6];
  const shuffled = new Random(1).shuffle(list);
  assert.equal([...shuffled].sort(), list);
  assert.equal(list, [1, 2, 3, 4, 5, 6]);
});

random("seedOf is FNV-1a", () => {
  assert.is(seedOf(""), 0x811c9dc5);
  assert.is(seedOf("a"), 0xe40c292c);
});

random.run();
