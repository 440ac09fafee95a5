import { suite } from "uvu";
import * as assert from "uvu/assert";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { fences } from "../../../kernel/lab/measure/fences.js";
import { loadLatency } from "../../../kernel/lab/measure/load-latency.js";
import { pingPong } from "../../../kernel/lab/measure/ping-pong.js";
import { setupCosts } from "../../../kernel/lab/measure/setup-costs.js";
import { program } from "../../../kernel/lab/program.js";
import { failure, near } from "./helpers.js";

const test = suite("simulated probes");

const machine = SimulatedMachine.open("hgx-h200-8");

test("loads take what a pointer chase took, by memory and level", async () => {
  const table = await loadLatency(machine, {
    gpu: 0,
    memory: [{ gpu: 0 }, { gpu: 1 }, "host"],
    footprints: ["128 KiB", "512 MiB"],
  });
  const rows = table.objects() as Record<string, number | string | null>[];
  const [local, dram, peer, farDram, host] = rows as [
    (typeof rows)[0],
    (typeof rows)[0],
    (typeof rows)[0],
    (typeof rows)[0],
    (typeof rows)[0],
  ];
  near(local.load_ns as number, 147, 0.02);
  near(peer.load_ns as number, 807, 0.02);
  near(host.load_ns as number, 1217, 0.02);
  assert.equal([local.level, dram.level], ["L2", "memory"]);
  assert.ok((dram.load_ns as number) > 1.5 * (local.load_ns as number));
  assert.ok((farDram.load_ns as number) > (peer.load_ns as number));
  assert.equal(new Set(rows.map((row) => row.provenance)), new Set(["simulated"]));
});

test("a flag takes one way and the time to see it", async () => {
  const [row] = (await pingPong(machine, { from: 0, to: 1 })).objects() as { one_way_ns: number }[];
  near(row?.one_way_ns as number, 646, 0.02);
});

test("a fence behind stores to a peer takes the way there and back; others have no figure", async () => {
  const table = await fences(machine, {
    gpu: 0,
    memory: { gpu: 1 },
    scope: ["system", "gpu"],
    stores: [0, 1],
  });
  const rows = table.objects() as {
    scope: string;
    stores: number;
    fence_ns: number | null;
    note: string | null;
  }[];
  for (const { scope, stores, fence_ns, note } of rows) {
    if (scope === "system" && stores === 1) near(fence_ns as number, 660, 0.02);
    else {
      assert.is(fence_ns, null);
      assert.match(note ?? "", /no figure/);
    }
  }
});

test("what has no published figure is refused by name", async () => {
  const of = program()
    .buffer("word", { gpu: 1, bytes: 8 })
    .buffer("data", { gpu: 0, bytes: 8 })
    .stream("s", { gpu: 0 })
    .stream("t", { gpu: 1 });
  for (const [lacking, name] of [
    [of.probeAtomic("s", "word"), /atomics/],
    [of.probeMessagePassing("s", "t", { data: "data", flag: "word" }), /order/],
    [program().setup("event-create"), /event-create/],
  ] as const) {
    const error = await failure(() => machine.run(lacking));
    assert.is(error.code, "not-available");
    assert.match(error.message, name);
  }
});

test("set-up costs are given where there is a figure, the first call apart", async () => {
  const table = await setupCosts(machine, { kinds: ["peer-enable", "ipc-open", "malloc"], bytes: ["1 MiB"] });
  const rows = table.objects() as { kind: string; median_us: number | null; first_us: number | null }[];
  const [peer, ipc, malloc] = rows as [(typeof rows)[0], (typeof rows)[0], (typeof rows)[0]];
  near(peer.first_us as number, 11_000, 0.01);
  near(ipc.median_us as number, 1330, 0.03);
  assert.is(malloc.median_us, null);
});

test("peers that the driver refuses cannot be enabled or probed", async () => {
  const pair = SimulatedMachine.open("rtx4090-2");
  const enable = program().setup("peer-enable", { gpu: 0, peer: 1 });
  assert.is((await failure(() => pair.run(enable))).code, "not-available");
  const chase = program()
    .buffer("chain", { gpu: 1, bytes: 4096 })
    .stream("s", { gpu: 0 })
    .probeLoad("s", "chain");
  assert.is((await failure(() => pair.run(chase))).code, "not-available");
  assert.is((await failure(() => machine.run(chase.peerAccess(false)))).code, "program");
});

test.run();
