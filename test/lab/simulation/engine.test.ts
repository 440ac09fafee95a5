import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Simulation } from "../../../kernel/lab/machines/simulation/engine.js";
import { Random } from "../../../kernel/lab/random.js";

const test = suite("simulation events");

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

test.run();
