import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../../kernel/lab/errors.js";
import type { Machine } from "../../../kernel/lab/machine.js";
import { SimulatedMachine } from "../../../kernel/lab/machines/simulated.js";
import { type MatrixOptions, matrix } from "../../../kernel/lab/measure/matrix.js";
import { pivot } from "../../../kernel/lab/measure/matrix-pivot.js";
import { roundsOf } from "../../../kernel/lab/measure/matrix-rounds.js";
import { CancelledError, partial } from "../../../kernel/lab/measure/partial.js";
import { tableOf } from "../../../kernel/lab/measure/table.js";
import type { Verdict } from "../../../kernel/lab/verdict.js";
import { scriptedMachine } from "../scripted-machine.js";

const test = suite("matrix");

const QUICK = { sampling: { minSamples: 20, maxSamples: 20 } };

async function failure(action: () => Promise<unknown>): Promise<P2pError> {
  try {
    await action();
  } catch (error) {
    assert.ok(error instanceof P2pError, String(error));
    return error;
  }
  return assert.unreachable() as never;
}

test("rounds hold every ordered pair once, and no GPU twice in a round, for even and odd numbers of GPUs", () => {
  for (let gpus = 1; gpus <= 17; gpus++) {
    const rounds = roundsOf(Array.from({ length: gpus }, (_, index) => 3 * index));
    assert.is(rounds.length, gpus < 2 ? 0 : 2 * (gpus % 2 === 0 ? gpus - 1 : gpus));
    for (const round of rounds) {
      assert.is(round.length, Math.floor(gpus / 2));
      assert.is(new Set(round.flat()).size, 2 * round.length);
    }
    const pairs = new Set(rounds.flat().map(([from, to]) => `${from}>${to}`));
    assert.is(pairs.size, gpus * (gpus - 1));
  }
});

test("a row a cell with its arrow, the GPU that starts it, engine, payload and what the figure is", async () => {
  const table = await matrix(SimulatedMachine.open("hgx-h100-8"), { ...QUICK, gpus: [0, 1, 2] });
  assert.is(table.numRows(), 9);
  assert.equal(table.array("arrow").slice(0, 4), ["0 → 0", "0 → 1", "0 → 2", "1 → 0"]);
  assert.equal(table.array("path").slice(0, 2), ["local", "peer"]);
  assert.equal(table.array("initiator_gpu").slice(0, 4), [0, 0, 0, 1]);
  assert.equal(
    [table.get("engine", 1), table.get("bytes", 1), table.get("measured", 1)],
    ["copy-engine", 8, "alone"],
  );
  assert.match(table.get("definition", 1), /a copy of 8 B from → to, one at a time/);
  assert.equal(table.columnNames().slice(-4), ["reason", "machine", "provenance", "date"]);
  assert.ok((table.get("total_us", 0) as number) < (table.get("total_us", 1) as number));
});

test("pulled, it is started by the destination; both ways, the rate is that of both", async () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  const options = { ...QUICK, gpus: [0, 1], metric: "bandwidth" } as const;
  const pulled = await matrix(machine, { ...options, initiator: "destination" });
  assert.equal(pulled.array("initiator_gpu"), [0, 1, 0, 1]);
  const both = await matrix(machine, { ...options, direction: "both-ways" });
  const one = await matrix(machine, options);
  assert.equal(both.array("direction"), ["one-way", "both-ways", "both-ways", "one-way"]);
  assert.match(both.get("definition", 1), /at the same time.*both ways together/);
  const ratio = (both.get("gbps", 1) as number) / (one.get("gbps", 1) as number);
  assert.ok(ratio > 1.5 && ratio < 2.1, `${ratio}`);
});

test("where pairs do not disturb each other they are measured at once, and give what each gives alone", async () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  const options = { ...QUICK, metric: "bandwidth", bytes: "16 MiB", gpus: [0, 1, 2, 3, 4] } as const;
  const rounds = await matrix(machine, options);
  const apart = await matrix(machine, { ...options, together: false });
  const how = rounds.array("measured") as string[];
  assert.is(how.filter((text) => text === "with 1 other pair").length, 20);
  assert.is(how.filter((text) => text === "alone").length, 5);
  assert.equal(new Set(apart.array("measured")), new Set(["alone"]));
  for (let row = 0; row < 25; row++) {
    const ratio = (rounds.get("gbps", row) as number) / (apart.get("gbps", row) as number);
    assert.ok(Math.abs(ratio - 1) < 0.01, `${rounds.get("arrow", row)}: ${ratio}`);
  }
});

test("where pairs share a bus they are measured one at a time, and the table says so", async () => {
  const machine = SimulatedMachine.open("pcie-8");
  const options = { ...QUICK, metric: "bandwidth", bytes: "4 MiB" } as const;
  const table = await matrix(machine, options);
  const apart = await matrix(machine, { ...options, together: false });
  const disturbed = (table.array("measured") as string[]).filter((text) =>
    /^alone: \d → \d is \d+ % slower/.test(text),
  );
  assert.ok(disturbed.length >= 40, `${disturbed.length}`);
  // No cell shows the rate of a shared bus.
  for (let row = 0; row < 64; row++) {
    const ratio = (table.get("gbps", row) as number) / (apart.get("gbps", row) as number);
    assert.ok(Math.abs(ratio - 1) < 0.02, `${table.get("arrow", row)}: ${ratio}`);
  }
});

test("without peer access a cell is host-staged, says why, and no kernel or load takes its place", async () => {
  const machine = SimulatedMachine.open("rtx4090-2");
  const copies = await matrix(machine, QUICK);
  assert.equal(copies.array("path"), ["local", "host-staged", "host-staged", "local"]);
  assert.match(copies.get("reason", 1), /no peer access from GPU 0 to GPU 1/);
  for (const options of [{ engine: "kernel-write" }, { metric: "load-latency" }] as const) {
    const table = await matrix(machine, { ...QUICK, ...options });
    const values = table.array(options.metric ? "load_ns" : "total_us") as (number | null)[];
    assert.equal(
      values.map((value) => value === null),
      [false, true, true, false],
    );
    assert.match(table.get("reason", 1), /no peer access/);
  }
});

/** The scripted machine with a ladder whose verdict of 0 → 1 is `broken`. */
function brokenPair(): Machine {
  const verdict = (from: number, to: number): Verdict => ({
    from,
    to,
    allocator: "malloc",
    outcome: from === 0 ? "broken" : "ok",
    stage: from === 0 ? "copy-engine write" : "ping-pong",
    reason: from === 0 ? "64 of 64 bytes are wrong" : "all arrived",
    next: "",
  });
  return {
    ...scriptedMachine("measured"),
    verdicts: async ({ pairs = [] } = {}) => pairs.map(({ from, to }) => verdict(from, to)),
  };
}

test("a pair whose verdict is not ok is not shown as P2P", async () => {
  const table = await matrix(brokenPair());
  assert.equal(table.array("verdict"), [null, "broken", "ok", null]);
  assert.equal(table.array("path"), ["local", "host-staged", "peer", "local"]);
  assert.match(table.get("reason", 1), /broken at copy-engine write: 64 of 64 bytes are wrong/);
});

test("a cell that fails leaves the others alone; when all fail the first failure is thrown", async () => {
  const machine = scriptedMachine("measured");
  const failing: Machine = {
    ...machine,
    run: async (program, options) => {
      if (program.pairs[0]?.from === 1)
        throw new P2pError("cuda", "the driver said no:\nthe program", "Look.");
      return machine.run(program, options);
    },
  };
  const table = await matrix(failing);
  assert.equal(table.array("reason"), [null, null, "the driver said no", null]);
  assert.is(table.get("total_us", 2), null);
  assert.is(table.get("provenance", 2), "measured");
  const none: Machine = {
    ...machine,
    run: async () => {
      throw new P2pError("not-recorded", "nothing here", "Look elsewhere.");
    },
  };
  assert.is((await failure(() => matrix(none))).code, "not-recorded");
  const kept = (await matrix(none, { failing: "keep" })).objects() as Record<string, unknown>[];
  assert.ok(
    kept.length > 0 && kept.every((row) => row.total_us === null && /nothing here/.test(String(row.reason))),
  );
});

test("a stop keeps what is done", async () => {
  const machine = SimulatedMachine.open("hgx-h100-8");
  const stop = new AbortController();
  let runs = 0;
  const stopping: Machine = {
    info: machine.info,
    provenance: machine.provenance,
    deterministic: true,
    run: (program, options) => {
      if (++runs === 10) stop.abort();
      return machine.run(program, options);
    },
    close: () => machine.close(),
  };
  const error = await failure(() => matrix(stopping, { ...QUICK, signal: stop.signal }));
  assert.ok(error instanceof CancelledError);
  assert.match(error.message, /after 9 of 64 cells/);
  assert.is(error.partial.numRows(), 9);
  assert.is(partial(), error.partial);
});

test("pivoted, a row is a source and a column a destination", async () => {
  const table = await matrix(SimulatedMachine.open("rtx4090-2"), { ...QUICK, metric: "load-latency" });
  const square = pivot(table);
  assert.equal(square.columnNames(), ["from", "to_0", "to_1", "machine", "provenance", "date"]);
  assert.is(square.get("to_0", 0), table.get("load_ns", 0));
  assert.is(square.get("to_1", 0), null);
  const twice = tableOf([
    { from: 0, to: 1, gbps: 1 },
    { from: 0, to: 1, gbps: 2 },
  ]);
  assert.throws(
    () => pivot(twice, "gbps"),
    (error: unknown) => error instanceof P2pError && /two rows for 0 → 1/.test(error.message),
  );
  assert.throws(
    () => pivot(twice, "speed"),
    (error: unknown) => error instanceof P2pError && error.code === "usage",
  );
});

test("what a matrix cannot take is refused by name", async () => {
  const machine = scriptedMachine("measured");
  for (const [options, words] of [
    [{ metric: "speed" }, /no metric "speed"/],
    [{ gpus: [] }, /no GPUs \[\]/],
    [{ gpus: [0, 0] }, /no GPUs/],
    [{ gpus: [0, 2] }, /no GPUs \[0,2\]/],
    [{ gpus: 2 }, /no GPUs 2/],
    [{ bytes: 0 }, /not a size/],
    [{ engine: "kernel" }, /no engine "kernel"/],
    [{ engine: "kernel-read", initiator: "source" }, /started by the source/],
    [{ engine: "kernel-read", path: "staged" }, /on path "staged"/],
    [{ gpu: 1 }, /no option "gpu"/],
    [{ rounds: 0 }, /rounds is 0/],
    [{ sampling: { minSamples: -1 } }, /minSamples/],
  ] as const) {
    const error = await failure(() => matrix(machine, options as unknown as MatrixOptions));
    assert.is(error.code, "usage", `${words}: ${error}`);
    assert.match(error.message, words);
  }
});

test.run();
