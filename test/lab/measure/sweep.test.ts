import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { type SweepOptions, sweep } from "../../../kernel/lab/measure/sweep.js";
import { scriptedMachine } from "../scripted-machine.js";

const test = suite("sweep");

test("a column for each axis asked for, every combination, size innermost", async () => {
  const table = await sweep(scriptedMachine("measured"), {
    pair: [
      [0, 1],
      [1, 0],
    ],
    bytes: [64, 128],
    streams: [1, 2],
    sync: "block",
    chunk: ["whole", 32],
  });
  assert.is(table.numRows(), 16);
  assert.equal(table.columnNames().slice(0, 8), [
    "path",
    "from",
    "to",
    "streams",
    "sync",
    "chunk_bytes",
    "bytes",
    "metric",
  ]);
  assert.equal(table.array("bytes").slice(0, 4), [64, 128, 64, 128]);
  assert.equal(table.array("chunk_bytes").slice(0, 4), [null, null, 32, 32]);
  assert.equal(table.array("streams").slice(2, 6), [1, 1, 2, 2]);
  assert.equal(table.array("from"), [...Array(8).fill(0), ...Array(8).fill(1)]);
  assert.equal(table.columnNames().slice(-3), ["machine", "provenance", "date"]);
});

test("lists of from and to give every pair of two GPUs", async () => {
  const table = await sweep(scriptedMachine("measured"), { from: [0, 1], to: [0, 1], bytes: 8 });
  assert.equal(table.array("from"), [0, 1]);
  assert.equal(table.array("to"), [1, 0]);
});

test("both ways count together in the rate", async () => {
  const table = await sweep(scriptedMachine("measured"), {
    from: 0,
    to: 1,
    bytes: 1e6,
    direction: ["one-way", "both-ways"],
  });
  const [one, both] = table.array("gbps") as number[];
  const [oneUs, bothUs] = table.array("total_us") as number[];
  assert.ok(Math.abs((one as number) * (oneUs as number) - 1e3) < 1e-6);
  assert.ok(Math.abs((both as number) * (bothUs as number) - 2e3) < 1e-6);
});

test("on a model pieces through the host overlap, and more pieces of a small message cost more", async () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  const table = await sweep(machine, {
    from: 0,
    to: 1,
    path: "staged",
    bytes: ["64 KiB", "4 MiB"],
    chunk: ["whole", "512 KiB", "16 KiB"],
    sampling: { minSamples: 20, maxSamples: 40 },
  });
  const us = new Map(
    (table.objects() as Record<string, number | null>[]).map((row) => [
      `${row.bytes} ${row.chunk_bytes}`,
      row.total_us as number,
    ]),
  );
  const of = (key: string) => us.get(key) as number;
  assert.ok(of("4194304 524288") < 0.8 * of("4194304 null"), JSON.stringify([...us]));
  assert.ok(of("65536 16384") > of("65536 null"));
});

test("what a sweep cannot go over is refused by name", async () => {
  const machine = scriptedMachine("measured");
  for (const [options, words] of [
    [{ bytes: 8 }, /no pair/],
    [{ from: 0, bytes: 8 }, /no pair/],
    [{ from: 0, to: 1, pair: [0, 1], bytes: 8 }, /beside from and to/],
    [{ pair: [], bytes: 8 }, /no pair/],
    [{ pair: [[0, 1, 2]], bytes: 8 }, /no pair \[0,1,2\]/],
    [{ from: [0, 0], to: 0, bytes: 8 }, /to itself/],
    [{ from: 0, to: 1, bytes: 8, streams: [] }, /no streams/],
    [{ from: 0, to: 1, bytes: 8, metric: "speed" }, /no metric "speed"/],
    [{ from: 0, to: 1, bytes: 8, stream: 2 }, /no option "stream"/],
    [{ from: 0, to: 1, bytes: 8, engine: ["copy-engine", null] }, /no engine "null"/],
    [{ from: 0, to: 1 }, /not a size/],
  ] as const) {
    try {
      await sweep(machine, options as unknown as SweepOptions);
      assert.unreachable(String(words));
    } catch (error) {
      assert.ok(error instanceof P2pError && error.code === "usage", `${words}: ${error}`);
      assert.match(error.message, words);
    }
  }
});

test.run();
