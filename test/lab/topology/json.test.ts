import { suite } from "uvu";
import * as assert from "uvu/assert";
import { topologyJson } from "../../../kernel/lab/topology/json.js";
import { TOPOLOGIES } from "../../../kernel/lab/topology/presets.js";
import { parseTopology } from "../../../kernel/lab/topology/read.js";
import { complaint, errorOf, HWLOC, NCCL } from "./helpers.js";

const test = suite("topology JSON");

test("every preset is read back whole", () => {
  for (const topology of TOPOLOGIES) {
    const text = topologyJson(topology);
    const back = parseTopology(text).topology;
    assert.ok(back);
    assert.is(topologyJson(back), text);
    assert.equal({ ...back, graph: null }, { ...topology, graph: null });
    assert.equal(back.graph.nodes, topology.graph.nodes);
    assert.equal(back.graph.links, topology.graph.links);
  }
});

test("what files tell is read back whole, what they do not tell stays unknown", () => {
  for (const text of [NCCL, HWLOC]) {
    const told = parseTopology(text);
    const json = topologyJson(told);
    const back = parseTopology(json);
    assert.is(topologyJson(back), json);
    assert.equal(back.layout.links, told.layout.links);
    assert.equal(back.gpus, told.gpus);
    assert.equal(back.unknown, told.unknown);
    assert.is(back.topology, null);
  }
});

const PLAIN = topologyJson(parseTopology(NCCL));

test("malformed JSON is refused at its line and column", () => {
  assert.match(complaint('{\n "schema": }'), /malformed JSON.*\(line 2, column \d+\)/);
  assert.match(complaint(`${PLAIN}x`), /malformed JSON/);
  assert.match(complaint(PLAIN.slice(0, -20)), /malformed JSON/);
  assert.match(complaint('{"schema": [1, 2,]}'), /malformed JSON/);
});

test("a value of the wrong kind is refused by its path, line and column", () => {
  assert.match(complaint("{}"), /lacks "schema" \(line 1, column 1\)/);
  assert.match(complaint(PLAIN.replace("p2plab-topology", "other")), /schema.name is "other"/);
  assert.match(
    complaint(PLAIN.replace('"version": 1', '"version": 7')),
    /schema.version is above 1.*line \d+, column/,
  );
  assert.match(complaint(PLAIN.replace('"kind":"cpu"', '"kind":"cake"')), /nodes\[0\].kind is "cake".*line/);
  assert.match(complaint(PLAIN.replace(/"width":16/, '"width":-1')), /links\[\d+\].width is -1, below 1/);
  assert.match(
    complaint(PLAIN.replace(/"raw_gbps":[\d.]+/, '"raw_gbps":"fast"')),
    /raw_gbps must be a number/,
  );
  assert.match(complaint(PLAIN.replace('"from":"', '"from":"no')), /is no node/);
  assert.match(complaint(PLAIN.replace('"name":"gpu1"', '"name":"gpu7"')), /gpu/);
});

test("a topology without all its rates is none to simulate, and says which one is missing", () => {
  const preset = TOPOLOGIES[0];
  assert.ok(preset);
  const text = topologyJson(preset);
  assert.match(complaint(text.replace(/"latency_ns":[\d.]+,/, "")), /links\[0\] lacks "latency_ns"/);
  assert.match(complaint(text.replace(/"forward_gbps":[\d.]+/, '"forward_gbps":0')), /forward_gbps is 0/);
  assert.match(complaint(text.replace('"generation": "hopper"', '"generation": "h"')), /generation is "h"/);
});

test("nested deeper than any topology it ends in an error", () => {
  assert.match(complaint(`{"a":${"[".repeat(100_000)}`), /nests more than 50/);
});

test("what is no topology is not written", () => {
  assert.is(errorOf(() => topologyJson(null as never)).code, "usage");
  assert.is(errorOf(() => topologyJson({} as never)).code, "usage");
});

test.run();
