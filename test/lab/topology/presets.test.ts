import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { transfer } from "../../../kernel/lab/measure/transfer.js";
import { program } from "../../../kernel/lab/program.js";
import { TOPOLOGIES } from "../../../kernel/lab/topology/presets.js";
import { peerCopyGbps, peerRefusal, type Topology } from "../../../kernel/lab/topology/topology.js";

const test = suite("presets");

function preset(name: string): Topology {
  const found = TOPOLOGIES.find((topology) => topology.name === name);
  if (!found) throw new Error(`no preset ${name}`);
  return found;
}

/** Rows of classes, as the published outputs print them. */
function rowsOf({ graph, gpuCount }: Topology, to: "gpu" | "nic" = "gpu"): string[] {
  const others = graph.named(to);
  return Array.from({ length: gpuCount }, (_, gpu) =>
    others
      .map((other) => (other === `gpu${gpu}` ? "X" : (graph.classOf(`gpu${gpu}`, other) ?? "?")))
      .join(" "),
  );
}

test("a DGX-1 has the hybrid cube mesh that its owners print (T1)", () => {
  assert.equal(rowsOf(preset("dgx1-v100-8")), [
    "X NV1 NV1 NV2 NV2 SYS SYS SYS",
    "NV1 X NV2 NV1 SYS NV2 SYS SYS",
    "NV1 NV2 X NV2 SYS SYS NV1 SYS",
    "NV2 NV1 NV2 X SYS SYS SYS NV1",
    "NV2 SYS SYS SYS X NV1 NV1 NV2",
    "SYS NV2 SYS SYS NV1 X NV2 NV1",
    "SYS SYS NV1 SYS NV1 NV2 X NV2",
    "SYS SYS SYS NV1 NV2 NV1 NV2 X",
  ]);
  assert.equal(rowsOf(preset("dgx1-v100-8"), "nic").slice(0, 3), [
    "PIX PHB SYS SYS",
    "PIX PHB SYS SYS",
    "PHB PIX SYS SYS",
  ]);
});

test("a DGX-2 is NV6 everywhere, its network cards PIX, PXB, NODE or SYS (T6)", () => {
  const dgx2 = preset("dgx2-v100-16");
  const classes = new Set(rowsOf(dgx2).flatMap((row) => row.split(" ")));
  assert.equal([...classes].sort(), ["NV6", "X"]);
  const nics = rowsOf(dgx2, "nic");
  assert.is(nics[0], "PIX PXB NODE NODE SYS SYS SYS SYS");
  assert.is(nics[2], "PXB PIX NODE NODE SYS SYS SYS SYS");
  assert.is(nics[4], "NODE NODE PIX PXB SYS SYS SYS SYS");
});

test("an HGX board has a network card PIX a GPU and the rest NODE or SYS (T12-T14), a DGX A100 PXB pairs (T7)", () => {
  assert.is(rowsOf(preset("hgx-h200-8"), "nic")[1], "NODE PIX NODE NODE SYS SYS SYS SYS");
  assert.is(rowsOf(preset("dgx-a100-8"), "nic")[2]?.split(" ").slice(2, 4).join(" "), "PXB PXB");
});

test("bridge pairs are NV4, the others PHB or NODE (T23)", () => {
  assert.equal(rowsOf(preset("rtx3090-4")), [
    "X PHB NV4 NODE",
    "PHB X NODE NV4",
    "NV4 NODE X PHB",
    "NODE NV4 PHB X",
  ]);
});

test("all 72 GPUs of a GB200 rack are NV18, and so are the GPUs of a VM", () => {
  const rack = preset("gb200-nvl72");
  assert.is(rack.graph.pairClass(0, 71), "NV18");
  assert.is(rack.graph.pairClass(4, 5), "NV18");
  assert.is(preset("vm-h200-2").graph.pairClass(0, 1), "NV18");
});

test("what a VM hides has no class", () => {
  const { graph } = preset("vm-h200-2");
  assert.is(graph.classOf("gpu0", "cpu0"), null);
  assert.ok(preset("vm-h200-2").unknown.length > 0);
});

test("GPUs of two computers have neither a class nor peer access, those of an NVLink domain have both", () => {
  const two = preset("hgx-h100-16");
  assert.is(two.graph.pairClass(0, 8), null);
  assert.ok(two.graph.route("gpu0", "gpu8").nodes.includes("network0"));
  assert.match(peerRefusal(two, 0, 8)?.reason ?? "", /two computers/);
  assert.is(peerRefusal(two, 8, 15), null);
  assert.is(peerRefusal(preset("gb200-nvl72"), 0, 71), null);
});

test("without NVLink a DGX-1 and GeForce boards refuse, PCIe servers do not", () => {
  assert.is(peerRefusal(preset("dgx1-v100-8"), 0, 3), null);
  assert.ok(peerRefusal(preset("dgx1-v100-8"), 0, 5));
  assert.is(peerRefusal(preset("rtx3090-4"), 0, 2), null);
  assert.ok(peerRefusal(preset("rtx3090-4"), 0, 1));
  assert.is(peerRefusal(preset("pcie-8"), 0, 7), null);
});

test("peer copies through a CPU are slower than those within a switch", () => {
  const pcie = preset("pcie-8");
  assert.is(peerCopyGbps(pcie, 0, 1, "write"), 24.18);
  assert.ok(peerCopyGbps(pcie, 0, 4, "write") < 24.18);
});

test("loads between GPUs without NVLink take what they were measured to take, there and back with a local load", () => {
  const loadNs = (name: string, to: number) => {
    const { latencyNs } = preset(name).graph.route("gpu0", `gpu${to}`);
    return 147 + 2 * latencyNs;
  };
  // Behind one switch 0.71-0.74 µs (M09, M10); between sockets 1.27-1.36 (M10).
  assert.ok(Math.abs(loadNs("pcie-8", 1) - 725) < 20, `${loadNs("pcie-8", 1)}`);
  assert.ok(loadNs("pcie-8", 4) > 1200 && loadNs("pcie-8", 4) < 1400, `${loadNs("pcie-8", 4)}`);
});

test("a load from host memory behind a switch takes what it was measured to take", () => {
  const { latencyNs } = preset("hgx-h200-8").graph.route("gpu0", "cpu0");
  assert.ok(Math.abs(147 + 2 * latencyNs - 1217) < 1e-6);
});

test("every preset opens and moves bytes; staging between two computers is refused", async () => {
  for (const { name } of TOPOLOGIES) {
    const machine = SimulatedMachine.open(name);
    const pair = machine.info.pairs.find(({ peerAccess }) => peerAccess);
    const path = pair ? "peer" : "driver-staged";
    const { from, to } = pair ?? { from: 0, to: 1 };
    const run = await machine.run(transfer({ from, to, bytes: 4096, path }), {
      sampling: { minSamples: 20, maxSamples: 20 },
    });
    assert.ok(run.samples.convergence.medianNs > 0, name);
    assert.is(run.provenance.kind, "simulated");
  }
  const two = SimulatedMachine.open("hgx-h100-16");
  try {
    await two.run(transfer({ from: 0, to: 8, bytes: 4096, path: "staged" }));
    assert.unreachable("staged between two computers");
  } catch (error) {
    assert.instance(error, P2pError);
    assert.match((error as P2pError).message, /2 computers/);
  }
});

test("a host copy of the second computer goes through its own memory", async () => {
  const two = SimulatedMachine.open("hgx-h100-16");
  const copy = (gpu: number) =>
    program()
      .buffer("a", { gpu, bytes: "64 MiB" })
      .buffer("b", { host: "pinned", bytes: "64 MiB" })
      .stream("s", { gpu })
      .copy("s", "a", "b")
      .sync("s", "spin");
  const [near, far] = await Promise.all(
    [0, 8].map(async (gpu) => (await two.run(copy(gpu))).samples.convergence.medianNs),
  );
  assert.ok(Math.abs((far as number) / (near as number) - 1) < 0.02);
});

test.run();
