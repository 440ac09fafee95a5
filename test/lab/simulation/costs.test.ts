import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AMPERE } from "../../../kernel/lab/machines/simulation/ampere.js";
import type { Costs } from "../../../kernel/lab/machines/simulation/constants.js";
import { HOPPER } from "../../../kernel/lab/machines/simulation/hopper.js";

const test = suite("costs of the model");

function near(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected} ± ${tolerance}`);
}

test("the costs of Hopper are the published figures less the tracer", () => {
  near(HOPPER.submitNs.value, 1760, 1);
  near(HOPPER.submitNs.value + HOPPER.doorbellNs.value, 3203, 1);
  near(HOPPER.receiverNs.spin.value, 2077, 1);
  near(HOPPER.engineNs.value, 840, 1);
  near(HOPPER.handoverNs.value, 3488, 1);
  near(HOPPER.stagedExtraNs.value, 2124, 1);
});

test("every cost has a source and is positive", () => {
  const figures = (value: unknown): { value: number; source: string }[] =>
    value !== null && typeof value === "object"
      ? "source" in value
        ? [value as { value: number; source: string }]
        : Object.values(value).flatMap(figures)
      : [];
  for (const costs of [HOPPER, AMPERE] satisfies Costs[]) {
    const all = figures(costs);
    assert.ok(all.length > 40);
    for (const { value, source } of all) assert.ok(value > 0 && source.length > 5, source);
  }
});

test.run();
