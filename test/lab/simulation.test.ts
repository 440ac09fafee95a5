import { suite } from "uvu";
import * as assert from "uvu/assert";
import { AMPERE, type Costs, HOPPER } from "../../kernel/lab/machines/simulation/costs.js";
import { Simulation } from "../../kernel/lab/machines/simulation/engine.js";
import { type FlowPath, fairRates, Network } from "../../kernel/lab/machines/simulation/links.js";
import { Random } from "../../kernel/lab/random.js";

const test = suite("simulation");

function near(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected} ± ${tolerance}`);
}

const free = (...resources: number[]): FlowPath => ({ resources, capGbps: Infinity });

test("actions run in order of time, and of entry at equal times", () => {
  const simulation = new Simulation();
  const seen: string[] = [];
  for (const [time, name] of [
    [30, "d"],
    [10, "a"],
    [20, "b"],
    [20, "c"],
  ] as const) {
    simulation.at(time, () => seen.push(`${name}@${simulation.nowNs}`));
  }
  simulation.run();
  assert.equal(seen, ["a@10", "b@20", "c@20", "d@30"]);
});

test("an action entered for the past runs now, and time never goes back", () => {
  const simulation = new Simulation();
  const times: number[] = [];
  simulation.at(50, () => simulation.at(10, () => times.push(simulation.nowNs)));
  simulation.run();
  assert.equal(times, [50]);
});

test("a thousand shuffled times come out sorted", () => {
  const simulation = new Simulation();
  const times: number[] = [];
  for (const time of new Random(3).shuffle([...Array(1000).keys()])) {
    simulation.at(time, () => times.push(simulation.nowNs));
  }
  simulation.run();
  assert.equal(times, [...Array(1000).keys()]);
});

test("two flows on one link get half each", () => {
  assert.equal([...fairRates([free(0), free(0)], [100])], [50, 50]);
});

test("flows on different links do not disturb each other", () => {
  assert.equal([...fairRates([free(0), free(1)], [100, 40])], [100, 40]);
});

test("what a capped flow leaves over goes to the others", () => {
  assert.equal([...fairRates([{ resources: [0], capGbps: 10 }, free(0), free(0)], [100])], [10, 45, 45]);
});

test("a flow held on one link leaves room on its other link", () => {
  // Flows 0 and 1 share link 0 (10 each); flow 2 gets what flow 1 leaves of link 1.
  assert.equal([...fairRates([free(0), free(0, 1), free(1)], [20, 100])], [10, 10, 90]);
});

test("over random networks capacity is never exceeded and every flow is held by something", () => {
  const random = new Random(11);
  for (let round = 0; round < 200; round++) {
    const capacities = Array.from({ length: 1 + random.integer(6) }, () => 1 + 100 * random.uniform());
    const flows = Array.from({ length: 1 + random.integer(12) }, () => ({
      resources: random.shuffle([...capacities.keys()]).slice(0, 1 + random.integer(capacities.length)),
      capGbps: random.uniform() < 0.3 ? 0.5 + 20 * random.uniform() : Infinity,
    }));
    const rates = fairRates(flows, capacities);
    const used = capacities.map((_, resource) =>
      flows.reduce((sum, flow, i) => sum + (flow.resources.includes(resource) ? (rates[i] as number) : 0), 0),
    );
    for (const [resource, capacity] of capacities.entries()) {
      assert.ok((used[resource] as number) <= capacity * (1 + 1e-9), "capacity exceeded");
    }
    for (const [i, flow] of flows.entries()) {
      const rate = rates[i] as number;
      assert.ok(rate > 0 && rate <= flow.capGbps);
      // Max–min: at its cap, or on a full resource on which no other flow has more.
      const bottleneck = flow.resources.some(
        (resource) =>
          (used[resource] as number) >= (capacities[resource] as number) * (1 - 1e-9) &&
          flows.every(
            (other, j) => !other.resources.includes(resource) || (rates[j] as number) <= rate * (1 + 1e-9),
          ),
      );
      assert.ok(rate >= flow.capGbps * (1 - 1e-9) || bottleneck, "a flow could have more");
    }
  }
});

test("flows that start and end share only while they are together", () => {
  const simulation = new Simulation();
  const network = new Network(simulation, [10]);
  const ends: [string, number][] = [];
  // Alone 1000 bytes take 100 ns. From 50 ns on two share: the first has 500 left, done at 150; the second 500 left then.
  simulation.at(0, () => network.start(free(0), 1000, () => ends.push(["first", simulation.nowNs])));
  simulation.at(50, () => network.start(free(0), 1000, () => ends.push(["second", simulation.nowNs])));
  simulation.run();
  assert.equal(
    ends.map(([name]) => name),
    ["first", "second"],
  );
  near(ends[0]?.[1] as number, 150, 1e-6);
  near(ends[1]?.[1] as number, 200, 1e-6);
});

test("flows that end at the same moment both end", () => {
  const simulation = new Simulation();
  const network = new Network(simulation, [10, 10]);
  let ended = 0;
  for (const resource of [0, 1]) {
    simulation.at(0, () =>
      network.start(free(resource), 1000, () => {
        ended++;
        near(simulation.nowNs, 100, 1e-6);
      }),
    );
  }
  simulation.run();
  assert.is(ended, 2);
});

test("the costs of Hopper are the published figures less the tracer", () => {
  near(HOPPER.submitNs.value, 1760, 1);
  near(HOPPER.submitNs.value + HOPPER.doorbellNs.value, 3203, 1);
  near(HOPPER.receiverNs.spin.value, 2077, 1);
  near(HOPPER.engineNs.value, 840, 1);
  near(HOPPER.handoverNs.value, 2953, 1);
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
    assert.is(all.length, 25);
    for (const { value, source } of all) assert.ok(value > 0 && source.length > 5, source);
  }
});

test.run();
