import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import { Graph, type LinkSpec } from "../../../kernel/lab/topology/graph.js";
import { TOPOLOGIES } from "../../../kernel/lab/topology/presets.js";
import type { Topology } from "../../../kernel/lab/topology/topology.js";

const test = suite("topology");

function preset(name: string): Topology {
  const found = TOPOLOGIES.find((topology) => topology.name === name);
  if (!found) throw new Error(`no preset ${name}`);
  return found;
}

function link(change: Partial<LinkSpec> = {}): LinkSpec {
  return {
    kind: "pcie",
    width: 16,
    rawGbps: 32,
    forwardGbps: 20,
    backwardGbps: 25,
    bothGbps: null,
    latencyNs: 100,
    source: "test",
    ...change,
  };
}

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof P2pError) return error.code;
    throw error;
  }
  return "none";
}

test("a preset has a name of its own, and the GPUs that its description counts", () => {
  const names = TOPOLOGIES.map((topology) => topology.name);
  assert.is(new Set(names).size, names.length);
  for (const { name, describes, gpu, gpuCount, graph } of TOPOLOGIES) {
    assert.match(name, /^[a-z0-9]+(-[a-z0-9]+)+$/);
    assert.is(graph.named("gpu").length, gpuCount, name);
    const [, computers, gpus, model] = /^(?:(\d+) computers of )?(\d+) × (?:GeForce )?((?:RTX )?\w+)/.exec(
      describes,
    ) as RegExpExecArray;
    assert.is(Number(computers ?? 1) * Number(gpus), gpuCount, describes);
    assert.ok(gpu.name.includes(model as string), `${describes}: ${gpu.name}`);
  }
});

test("pairs have the class that nvidia-smi topo -m prints", () => {
  assert.is(preset("hgx-h100-8").graph.pairClass(0, 7), "NV18");
  assert.is(preset("hgx-h200-8").graph.pairClass(3, 2), "NV18");
  assert.is(preset("dgx-a100-8").graph.pairClass(0, 1), "NV12");
  assert.is(preset("pcie-gen4-2").graph.pairClass(0, 1), "PIX");
  assert.is(preset("rtx4090-2").graph.pairClass(0, 1), "PHB");
});

test("classes without NVLink follow from the PCIe tree", () => {
  const graph = new Graph(
    [
      ...[0, 1, 2, 3, 4].map((gpu) => ({ name: `gpu${gpu}`, kind: "gpu" as const })),
      { name: "switch0", kind: "pcie-switch" },
      { name: "switch1", kind: "pcie-switch" },
      { name: "root0", kind: "root-port" },
      { name: "root1", kind: "root-port" },
      { name: "root2", kind: "root-port" },
      { name: "cpu0", kind: "cpu" },
      { name: "cpu1", kind: "cpu" },
    ],
    [
      { from: "gpu0", to: "switch0", ...link() },
      { from: "gpu1", to: "switch0", ...link() },
      { from: "gpu2", to: "switch1", ...link() },
      { from: "switch1", to: "switch0", ...link() },
      { from: "switch0", to: "root0", ...link() },
      { from: "gpu3", to: "root1", ...link() },
      { from: "gpu4", to: "root2", ...link() },
      { from: "root0", to: "cpu0", ...link({ kind: "host" }) },
      { from: "root1", to: "cpu0", ...link({ kind: "host" }) },
      { from: "root2", to: "cpu1", ...link({ kind: "host" }) },
      { from: "cpu0", to: "cpu1", ...link({ kind: "socket" }) },
    ],
  );
  assert.is(graph.pairClass(0, 1), "PIX");
  assert.is(graph.pairClass(0, 2), "PXB");
  assert.is(graph.pairClass(0, 3), "PHB");
  assert.is(graph.pairClass(0, 4), "SYS");
});

test("root ports of one host bridge give PHB, of two bridges of a CPU NODE", () => {
  const graph = new Graph(
    [
      ...[0, 1, 2].map((gpu) => ({ name: `gpu${gpu}`, kind: "gpu" as const })),
      { name: "root0", kind: "root-port", bridge: "a" },
      { name: "root1", kind: "root-port", bridge: "a" },
      { name: "root2", kind: "root-port", bridge: "b" },
      { name: "cpu0", kind: "cpu" },
    ],
    [0, 1, 2].flatMap((i) => [
      { from: `gpu${i}`, to: `root${i}`, ...link() },
      { from: `root${i}`, to: "cpu0", ...link({ kind: "host" }) },
    ]),
  );
  assert.is(graph.pairClass(0, 1), "PHB");
  assert.is(graph.pairClass(0, 2), "NODE");
  assert.is(graph.pairClass(2, 1), "NODE");
});

test("NVLinks of unequal number give the class of the narrower one", () => {
  const graph = new Graph(
    [
      { name: "gpu0", kind: "gpu" },
      { name: "gpu1", kind: "gpu" },
      { name: "nvswitch", kind: "nvswitch" },
    ],
    [
      { from: "gpu0", to: "nvswitch", ...link({ kind: "nvlink", width: 6 }) },
      { from: "gpu1", to: "nvswitch", ...link({ kind: "nvlink", width: 4 }) },
    ],
  );
  assert.is(graph.pairClass(0, 1), "NV4");
});

test("a way over NVLink is taken even where PCIe has as few hops", () => {
  assert.equal(preset("dgx-a100-8").graph.route("gpu0", "gpu1").nodes, ["gpu0", "nvswitch0", "gpu1"]);
});

test("no way passes through another GPU", () => {
  const graph = new Graph(
    [0, 1, 2].map((gpu) => ({ name: `gpu${gpu}`, kind: "gpu" as const })),
    [
      { from: "gpu0", to: "gpu1", ...link({ kind: "nvlink" }) },
      { from: "gpu1", to: "gpu2", ...link({ kind: "nvlink" }) },
    ],
  );
  assert.is(
    codeOf(() => graph.route("gpu0", "gpu2")),
    "usage",
  );
});

test("of ways with as many hops the one with less latency is taken", () => {
  const graph = new Graph(
    [
      { name: "gpu0", kind: "gpu" },
      { name: "gpu1", kind: "gpu" },
      { name: "slow", kind: "pcie-switch" },
      { name: "fast", kind: "pcie-switch" },
    ],
    [
      { from: "gpu0", to: "slow", ...link({ latencyNs: 200 }) },
      { from: "gpu1", to: "slow", ...link({ latencyNs: 200 }) },
      { from: "gpu0", to: "fast", ...link({ latencyNs: 50 }) },
      { from: "gpu1", to: "fast", ...link({ latencyNs: 60 }) },
    ],
  );
  assert.equal(graph.route("gpu0", "gpu1").nodes, ["gpu0", "fast", "gpu1"]);
  assert.is(graph.route("gpu0", "gpu1").latencyNs, 110);
});

test("a way's rate is its narrowest hop's in the direction it is taken", () => {
  const graph = new Graph(
    [
      { name: "gpu0", kind: "gpu" },
      { name: "root0", kind: "root-port" },
      { name: "cpu0", kind: "cpu" },
    ],
    [
      { from: "gpu0", to: "root0", ...link({ rawGbps: 31 }) },
      { from: "root0", to: "cpu0", ...link({ kind: "host", forwardGbps: 22, backwardGbps: 24 }) },
    ],
  );
  assert.is(graph.route("gpu0", "cpu0").copyGbps, 20);
  assert.is(graph.route("cpu0", "gpu0").copyGbps, 24);
  assert.is(graph.route("gpu0", "cpu0").rawGbps, 31);
});

test("every GPU reaches every other and the memory of its computer, both ways alike", () => {
  for (const { graph, gpuCount } of TOPOLOGIES) {
    assert.is(graph.gpuCount, gpuCount);
    for (let gpu = 0; gpu < gpuCount; gpu++) {
      const memory = graph.memoryOf(gpu);
      const up = graph.route(`gpu${gpu}`, memory);
      assert.equal([...graph.route(memory, `gpu${gpu}`).nodes].reverse(), up.nodes);
      assert.is(up.nodes.filter((node) => graph.kindOf(node) === "gpu").length, 1);
      assert.not.ok(up.nodes.some((node) => graph.kindOf(node) === "network"));
      for (let to = 0; to < gpuCount; to++) {
        if (to !== gpu) assert.is(graph.pairClass(gpu, to), graph.pairClass(to, gpu));
      }
    }
  }
});

test("GPUs of the second half of an eight-GPU machine reach the first CPU through the second", () => {
  const { graph } = preset("hgx-h100-8");
  assert.equal(graph.route("gpu4", "cpu0").nodes, ["gpu4", "pcie-switch4", "root-port4", "cpu1", "cpu0"]);
});

test("every link names its source, and no copy rate is above its line rate", () => {
  for (const { graph } of TOPOLOGIES) {
    for (const spec of graph.links) {
      assert.ok(spec.source.length > 5, spec.from);
      assert.ok(Math.max(spec.forwardGbps, spec.backwardGbps) <= spec.rawGbps, `${spec.from} – ${spec.to}`);
      assert.ok((spec.bothGbps ?? 0) <= spec.forwardGbps + spec.backwardGbps, `${spec.from} – ${spec.to}`);
    }
  }
});

test("a topology that cannot be is refused", () => {
  const gpu0 = { name: "gpu0", kind: "gpu" } as const;
  assert.is(
    codeOf(() => new Graph([gpu0, gpu0], [])),
    "usage",
  );
  assert.is(
    codeOf(() => new Graph([gpu0], [{ from: "gpu0", to: "cpu0", ...link() }])),
    "usage",
  );
  assert.is(
    codeOf(
      () =>
        new Graph(
          [gpu0, { name: "gpu1", kind: "gpu" }],
          [{ from: "gpu0", to: "gpu1", ...link({ forwardGbps: 0 }) }],
        ),
    ),
    "usage",
  );
  assert.is(
    codeOf(() => preset("rtx4090-2").graph.route("gpu0", "gpu9")),
    "usage",
  );
});

test.run();
