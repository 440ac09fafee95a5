import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Simulation } from "../../../kernel/lab/machines/simulation/engine.js";
import { type FlowPath, fairRates, Network } from "../../../kernel/lab/machines/simulation/links.js";
import { Random } from "../../../kernel/lab/random.js";

const test = suite("simulated links");

function near(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected} ± ${tolerance}`);
}

const free = (...resources: number[]): FlowPath => ({ resources, capGbps: Infinity });

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

test.run();
