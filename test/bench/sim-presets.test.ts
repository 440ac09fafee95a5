import { suite } from "uvu";
import * as assert from "uvu/assert";
import { PUBLISHED } from "./published.js";
import { presetRows, presetScores } from "./sim-presets.js";

export const TIME_LIMIT_S = 240;

const test = suite("presets against published matrices");

test("an entry names its source, positive values and pairs, and no pair twice", () => {
  for (const { source, preset, quantity, pairs, value } of PUBLISHED) {
    const name = `${source} ${preset} ${quantity}`;
    assert.match(source, /^(M\d\d|OWN-H200)$/, name);
    assert.ok(value > 0, name);
    assert.ok(pairs.length > 0, name);
    assert.is(new Set(pairs.map(String)).size, pairs.length, name);
  }
});

test("a score is model over published, less 1", async () => {
  const entry = PUBLISHED.find(({ preset, input }) => preset === "hgx-h100-8" && input === undefined);
  assert.ok(entry);
  const [first] = await presetScores([entry]);
  const [second] = await presetScores([{ ...entry, value: 2 * (first?.model ?? 0) }]);
  assert.ok(Math.abs((second?.error ?? 0) + 0.5) < 1e-9);
});

test("every large miss is explained, and an explanation is not handed out where nothing is missed", async () => {
  const rows = await presetRows();
  const [, unexplained] = rows;
  assert.is(unexplained?.value, 0, String(unexplained?.detail.which));
  for (const row of rows.slice(2)) {
    assert.is.not(row.value, null, row.name);
    if (row.detail.miss) assert.ok(Math.abs(row.value as number) > 0.3, row.name);
  }
});

test.run();
