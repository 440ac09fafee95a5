import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import { COSTS } from "../../../kernel/lab/machines/simulation/costs.js";
import { execute } from "../../../kernel/lab/machines/simulation/execute.js";
import { planOf } from "../../../kernel/lab/machines/simulation/plan.js";
import { type Program, program } from "../../../kernel/lab/program.js";
import { Random } from "../../../kernel/lab/random.js";
import { Graph, type TopologyLink } from "../../../kernel/lab/topology/graph.js";
import type { TopologyNode } from "../../../kernel/lab/topology/layout.js";
import { TOPOLOGIES } from "../../../kernel/lab/topology/presets.js";
import type { Topology } from "../../../kernel/lab/topology/topology.js";

const test = suite("conservation");

const pick = <T>(random: Random, list: readonly T[]): T => list[random.integer(list.length)] as T;

/** Two to six GPUs on one or two PCIe switches, with NVLink through a switch, between pairs or not at all; any rates. */
function randomTopology(random: Random): Topology {
  const base = pick(random, TOPOLOGIES);
  const gpuCount = 2 + random.integer(5);
  const nodes: TopologyNode[] = [{ name: "cpu0", kind: "cpu" }];
  const links: TopologyLink[] = [];
  const join = (from: string, to: string, kind: TopologyLink["kind"]) => {
    const gbps = () => 5 + 400 * random.uniform();
    const [forwardGbps, backwardGbps] = [gbps(), gbps()];
    const most = Math.max(forwardGbps, backwardGbps);
    links.push({
      from,
      to,
      kind,
      width: 1,
      rawGbps: most * (1 + random.uniform()),
      forwardGbps,
      backwardGbps,
      bothGbps: random.uniform() < 0.3 ? most * (1 + random.uniform()) : null,
      latencyNs: 500 * random.uniform(),
      source: "drawn at random",
    });
  };
  const switches = 1 + random.integer(2);
  for (let i = 0; i < switches; i++) {
    nodes.push(
      { name: `root-port${i}`, kind: "root-port" },
      { name: `pcie-switch${i}`, kind: "pcie-switch" },
    );
    join(`pcie-switch${i}`, `root-port${i}`, "pcie");
    join(`root-port${i}`, "cpu0", "host");
  }
  const fabric = pick(random, ["switch", "pairs", "none"] as const);
  if (fabric === "switch") nodes.push({ name: "nvswitch0", kind: "nvswitch" });
  for (let i = 0; i < gpuCount; i++) {
    nodes.push({ name: `gpu${i}`, kind: "gpu" });
    join(`gpu${i}`, `pcie-switch${i % switches}`, "pcie");
    if (fabric === "switch") join(`gpu${i}`, "nvswitch0", "nvlink");
    if (fabric === "pairs" && i % 2 === 1) join(`gpu${i - 1}`, `gpu${i}`, "nvlink");
  }
  return { ...base, gpuCount, graph: new Graph(nodes, links) };
}

/** Copies by every engine, kernels, events and words over some streams; every stream is waited for at the end. */
function randomProgram(random: Random, gpuCount: number): Program {
  const peerAccess = random.uniform() < 0.7;
  let of = program().peerAccess(peerAccess);
  const gpus = [...Array(gpuCount).keys()];
  for (const gpu of gpus) of = of.buffer(`g${gpu}`, { gpu, bytes: 1 + random.integer(2 ** 21) });
  of = of.buffer("pinned", { host: "pinned", bytes: 1 + random.integer(2 ** 21) });
  of = of.buffer("word", { gpu: 0, bytes: 4 });
  const streams = Array.from({ length: 1 + random.integer(3) }, (_, i) => ({
    name: `s${i}`,
    gpu: pick(random, gpus),
  }));
  for (const { name, gpu } of streams) of = of.stream(name, { gpu });
  const places = [...gpus.map((gpu) => `g${gpu}`), "pinned"];
  const copy = () => {
    const [src, dst] = random.shuffle(places) as [string, string];
    of = of.copy(pick(random, streams).name, src, dst);
  };
  copy();
  let events = 0;
  let signals = 0;
  for (let i = random.integer(12); i > 0; i--) {
    const { name, gpu } = pick(random, streams);
    const kind = random.uniform();
    if (kind < 0.4) copy();
    else if (kind < 0.55 && peerAccess) {
      const other = pick(
        random,
        places.filter((place) => place !== `g${gpu}`),
      );
      of =
        random.uniform() < 0.5
          ? of.copy(name, `g${gpu}`, other, { engine: "kernel-write" })
          : of.copy(name, other, `g${gpu}`, { engine: "kernel-read" });
    } else if (kind < 0.65) of = of.compute(name, 1 + random.integer(20_000));
    else if (kind < 0.75) of = of.record(name, `e${events++}`);
    else if (kind < 0.85 && events > 0) of = of.wait(name, `e${random.integer(events)}`);
    else if (kind < 0.93 && (peerAccess || gpu === 0) && signals++ === 0) of = of.signal(name, "word");
    else of = of.launch(name);
  }
  for (const { name } of streams)
    of = of.sync(name, pick(random, ["spin", "poll-event", "poll-flag"] as const));
  return of;
}

test("1,000 random programs on random topologies: bytes in are bytes out, no link over its rate, no time before its cause", () => {
  const random = new Random(2026);
  let copies = 0;
  for (let round = 0; round < 1000; round++) {
    const topology = randomTopology(random);
    const of = randomProgram(random, topology.gpuCount).validate();
    const quiet = round % 2 === 0;
    const costs = COSTS[topology.generation];
    const plan = planOf(of, topology, costs, () => quiet);
    const done = execute(plan, new Random(round));
    const asked = of.data.operations.reduce((sum, o) => sum + (o.op === "copy" ? o.bytes : 0), 0);
    const moved = (engine: boolean) =>
      done.spans
        .filter((span) => (span.engine !== null) === engine)
        .reduce((sum, span) => sum + span.bytes, 0);
    const byEngine = plan.works.reduce(
      (sum, work) => sum + (work.op === "copy" ? work.bytes * work.legs.length : 0),
      0,
    );
    const byKernel = plan.works.reduce((sum, work) => sum + (work.op === "kernel" ? work.bytes : 0), 0);
    const name = `round ${round}\n${of}`;
    assert.is(moved(true), byEngine, name);
    assert.is(moved(false), byKernel, name);
    assert.ok(byEngine + byKernel >= asked, name);
    for (const share of done.peakShare) assert.ok(share <= 1 + 1e-9, `${share}: ${name}`);
    for (const { startNs, endNs } of [...done.spans, ...done.calls]) {
      assert.ok(startNs >= 0 && endNs >= startNs && Number.isFinite(endNs), name);
    }
    assert.ok(done.apiNs > 0 && done.totalNs >= done.apiNs && done.idleNs >= 0, name);
    // Every span that the host waited for ended before it returned.
    for (const span of done.spans) assert.ok(span.endNs <= done.totalNs, name);
    // A resource carried what its flows brought, to the spread of a flow's time.
    const carried = done.carriedBytes.reduce((sum, bytes) => sum + bytes, 0);
    assert.ok(carried >= 0.98 * Math.min(asked, byEngine + byKernel), name);
    copies += plan.works.length;
  }
  assert.ok(copies > 3000);
});

test("a program that waits for itself ends with an error, and not with a time", () => {
  const topology = TOPOLOGIES[0] as Topology;
  const of = program()
    .buffer("word", { gpu: 0, bytes: 4 })
    .stream("s", { gpu: 0 })
    .await("s", "word")
    .signal("s", "word")
    .sync("s");
  const plan = planOf(of, topology, COSTS[topology.generation], () => false);
  assert.throws(
    () => execute(plan, new Random(1)),
    (error: unknown) => error instanceof P2pError && error.code === "program",
  );
});

test.run();
