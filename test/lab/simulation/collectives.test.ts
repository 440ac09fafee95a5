import { suite } from "uvu";
import * as assert from "uvu/assert";
import { RecordedMachine } from "../../../kernel/lab/machines/recorded.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { collectives } from "../../../kernel/lab/measure/collectives.js";
import type { Collective } from "../../../kernel/lab/model.js";
import { flatFabric, ringError } from "../../bench/fabrics.js";
import { failure, MIB, near } from "./helpers.js";

const test = suite("simulated collectives");

const h100 = SimulatedMachine.open("hgx-h100-8");
const eight = [...Array(8).keys()];

test("a ring all-reduce takes what α–β theory says, small and large, over 2 to 64 GPUs", () => {
  for (const ranks of [2, 3, 8, 64]) {
    for (const bytes of [1024, MIB, 256 * MIB]) {
      assert.ok(ringError(ranks, bytes) < 0.02, `${ranks} ranks, ${bytes} bytes: ${ringError(ranks, bytes)}`);
    }
  }
});

test("a tree is faster than a ring for small buffers of many GPUs, and not for large ones", () => {
  const machine = SimulatedMachine.of(flatFabric(64));
  const ns = (algorithm: "ring" | "tree", bytes: number) =>
    machine.collective({ operation: "all-reduce", algorithm, gpus: [...Array(64).keys()], bytes }).ns;
  assert.ok(ns("tree", 1024) < 0.2 * ns("ring", 1024));
  assert.ok(ns("ring", 1024 * MIB) < ns("tree", 1024 * MIB));
});

test("every rank's bytes move, and no link carries more than it can", () => {
  for (const [operation, algorithm, parts] of [
    ["all-reduce", "ring", 2 * 7 * 8],
    ["all-reduce", "direct", 2 * 7 * 8],
    ["all-gather", "ring", 7 * 8],
    ["reduce-scatter", "direct", 7 * 8],
    ["all-to-all", "direct", 7 * 8],
  ] as const) {
    const { movedBytes, peakShare, messages } = h100.collective({
      operation,
      algorithm,
      gpus: eight,
      bytes: 8 * MIB,
    });
    assert.is(messages, parts);
    near(movedBytes, parts * MIB, 1e-9);
    assert.ok(peakShare <= 1 + 1e-9, `${operation} ${algorithm}: ${peakShare}`);
  }
  const tree = h100.collective({ operation: "all-reduce", algorithm: "tree", gpus: eight, bytes: 8 * MIB });
  near(tree.movedBytes, 2 * 7 * 8 * MIB, 1e-9);
});

test("all-to-all of 72 GPUs fills every link once", () => {
  const rack = SimulatedMachine.open("gb200-nvl72");
  const gpus = [...Array(72).keys()];
  const { ns, peakShare } = rack.collective({
    operation: "all-to-all",
    algorithm: "direct",
    gpus,
    bytes: 72 * MIB,
  });
  assert.ok(peakShare <= 1 + 1e-9);
  const leastNs = (71 * MIB) / 900;
  assert.ok(ns > leastNs && ns < 1.6 * leastNs, `${ns} of ${leastNs}`);
});

test("between computers a rank sends by the network card next to its GPU, and a ring is as fast as that", () => {
  const two = SimulatedMachine.open("hgx-h100-16");
  const gpus = [...Array(16).keys()];
  const bytes = 1024 * MIB;
  const large = two.collective({ operation: "all-reduce", algorithm: "ring", gpus, bytes });
  // Two of the ring's sixteen links go over one card each, at 46.25 GB/s.
  near((2 * 15 * bytes) / 16 / large.ns, 46.25, 0.01);
  assert.ok(large.peakShare <= 1 + 1e-9);
  // All-to-all: each GPU sends half of its bytes by its own card.
  const all = two.collective({ operation: "all-to-all", algorithm: "direct", gpus, bytes });
  near((8 * bytes) / 16 / all.ns, 46.25, 0.02);
  const small = (names: number[]) =>
    two.collective({ operation: "all-gather", algorithm: "direct", gpus: names, bytes: 64 }).ns;
  assert.ok(small([0, 8]) > small([0, 1]) + 4000, `${small([0, 8])} ${small([0, 1])}`);
});

test("an algorithm between GPUs that do not reach each other has no number, and says why", async () => {
  const mesh = SimulatedMachine.open("dgx1-v100-8");
  const gpus = [0, 4, 7, 6, 5, 1, 2, 3];
  const rows = collectives(mesh, { operation: "all-reduce", bytes: MIB, gpus }).objects() as Record<
    string,
    unknown
  >[];
  assert.equal(
    rows.map(({ algorithm, total_us, note }) => [algorithm, total_us === null, note === null]),
    [
      ["ring", false, true],
      ["tree", true, false],
      ["direct", true, false],
    ],
  );
  assert.match(String(rows[2]?.note), /no peer access from GPU/);
  const none = await failure(() => collectives(mesh, { operation: "all-reduce", bytes: 8, gpus: [0, 5] }));
  assert.is(none.code, "not-available");
});

test("the table has a row an algorithm and size, with its provenance", () => {
  const table = collectives(h100, { operation: "all-reduce", bytes: ["8 B", "1 MiB"] });
  const rows = table.objects() as Record<string, unknown>[];
  assert.equal(
    rows.map((row) => [row.algorithm, row.bytes, row.ranks, row.provenance]),
    ["ring", "tree", "direct"].flatMap((name) => [8, MIB].map((bytes) => [name, bytes, 8, "simulated"])),
  );
});

test("wrong collectives end in typed errors", async () => {
  const good: Collective = { operation: "all-reduce", algorithm: "ring", gpus: eight, bytes: 8 };
  for (const [change, code] of [
    [{ operation: "all-in" }, "usage"],
    [{ operation: "all-to-all" }, "usage"],
    [{ gpus: [] }, "usage"],
    [{ gpus: [0, 0] }, "usage"],
    [{ gpus: [0, 99] }, "not-available"],
    [{ bytes: Number.NaN }, "usage"],
    [{ bytes: 0 }, "usage"],
  ] as const) {
    const wanted = { ...good, ...change } as unknown as Collective;
    assert.is((await failure(() => h100.collective(wanted))).code, code, JSON.stringify(change));
  }
  const recorded = RecordedMachine.open("h200x2");
  const error = await failure(() => collectives(recorded, { operation: "all-reduce", bytes: 8 }));
  assert.is(error.code, "not-available");
});

test.run();
