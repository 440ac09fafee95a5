import { suite } from "uvu";
import * as assert from "uvu/assert";
import { sortByColumn } from "../../../kernel/lab/analyze/timeline/by-begin.js";
import { Random } from "../../../kernel/lab/random.js";

const test = suite("rows by their begin");

test("random, sorted, reversed and run-wise columns come out ascending, equal ones in their order", () => {
  const random = new Random(3);
  for (let round = 0; round < 200; round++) {
    const length = Math.floor(random.uniform() * 60);
    const runs = 1 + (round % 5);
    const column = Float64Array.from({ length }, (_, i) =>
      round % 3 === 0
        ? Math.floor(random.uniform() * 10)
        : round % 3 === 1
          ? i % Math.ceil(length / runs)
          : length - i,
    );
    const rows = Uint32Array.from({ length }, (_, i) => i);
    sortByColumn(rows, column);
    const expected = Array.from({ length }, (_, i) => i).sort(
      (a, b) => (column[a] as number) - (column[b] as number) || a - b,
    );
    assert.equal([...rows], expected);
  }
});

test.run();
