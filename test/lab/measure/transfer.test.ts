import { suite } from "uvu";
import * as assert from "uvu/assert";
import { dataflow } from "../../../kernel/lab/dataflow.js";
import { P2pError } from "../../../kernel/lab/errors.js";
import { type TransferOptions, transfer, WORDS } from "../../../kernel/lab/measure/transfer.js";
import { Random } from "../../../kernel/lab/random.js";

const test = suite("transfer");

const lines = (options: Partial<TransferOptions>) =>
  transfer({ from: 0, to: 1, bytes: 64, ...options }).data.operations.map((o) => {
    if (o.op === "copy") return `${o.stream}: ${o.src} → ${o.dst} ${o.srcOffset}+${o.bytes}`;
    return "stream" in o ? `${o.stream}: ${o.op}` : o.op;
  });

test("one piece is one copy, or through host memory two in one stream", () => {
  assert.equal(lines({}), ["s: src → dst 0+64", "s: sync"]);
  assert.equal(lines({ path: "staged" }), ["s: src → stage 0+64", "s: stage → dst 0+64", "s: sync"]);
});

test("streams split the message evenly, pieces follow each other in a stream", () => {
  assert.equal(lines({ streams: 2, chunk: 16 }), [
    "s: src → dst 0+16",
    "s1: src → dst 32+16",
    "s: src → dst 16+16",
    "s1: src → dst 48+16",
    "s: sync",
    "s1: sync",
  ]);
});

test("staged in pieces: a piece goes on when it has arrived, by a stream of the destination", () => {
  const staged = transfer({ from: 0, to: 1, bytes: 64, path: "staged", chunk: 32 });
  assert.equal(lines({ path: "staged", chunk: 32 }), [
    "s: src → stage 0+32",
    "s: record",
    "t: wait",
    "t: stage → dst 0+32",
    "s: src → stage 32+32",
    "s: record",
    "t: wait",
    "t: stage → dst 32+32",
    "t: sync",
  ]);
  assert.equal(staged.data.streams, [
    { name: "s", gpu: 0 },
    { name: "t", gpu: 1 },
  ]);
  // One piece is no pipeline.
  assert.is(
    transfer({ from: 0, to: 1, bytes: 64, path: "staged", chunk: "1 MiB" }).hash,
    transfer({ from: 0, to: 1, bytes: 64, path: "staged" }).hash,
  );
});

test("both ways: a second message of the same size from a stream of the other GPU", () => {
  const both = transfer({ from: 0, to: 1, bytes: 64, direction: "both-ways" });
  assert.equal(both.pairs, [
    { from: 0, to: 1 },
    { from: 1, to: 0 },
  ]);
  assert.equal(
    both.data.streams.map((stream) => stream.gpu),
    [0, 1],
  );
});

test("a kernel-write runs on the source, a kernel-read on the destination, a copy engine on either", () => {
  const gpu = (options: Partial<TransferOptions>) =>
    transfer({ from: 0, to: 1, bytes: 64, ...options }).data.streams[0]?.gpu;
  assert.is(gpu({ engine: "kernel-write" }), 0);
  assert.is(gpu({ engine: "kernel-read" }), 1);
  assert.is(gpu({ initiator: "destination" }), 1);
});

test("whatever the options, every byte of the destination is checked, each once, and arrives from the same place", () => {
  const random = new Random(4);
  const pick = <T>(list: readonly T[]) => list[random.integer(list.length)] as T;
  let built = 0;
  while (built < 300) {
    const bytes = 1 + random.integer(pick([40, 5000, 3_000_000]));
    const options: TransferOptions = {
      from: 0,
      to: 1,
      bytes,
      path: pick(WORDS.path),
      engine: pick(WORDS.engine),
      sync: pick(WORDS.sync),
      submit: pick(WORDS.submit),
      allocator: pick(WORDS.allocator),
      initiator: pick(WORDS.initiator),
      direction: pick(WORDS.direction),
      streams: 1 + random.integer(Math.min(8, bytes)),
      chunk: pick(["whole" as const, Math.ceil(bytes / (1 + random.integer(20)))]),
    };
    let built_program: ReturnType<typeof transfer>;
    try {
      built_program = transfer(options);
    } catch (error) {
      // Options that exclude each other.
      assert.ok(error instanceof P2pError && error.code === "usage", String(error));
      continue;
    }
    built++;
    const { checks } = dataflow(built_program.validate());
    for (const dst of options.direction === "both-ways" ? ["dst", "dst-back"] : ["dst"]) {
      const own = checks.filter((check) => check.buffer === dst);
      const where = JSON.stringify(options);
      assert.is(own.length, 1, where);
      assert.equal([own[0]?.offset, own[0]?.patternOffset, own[0]?.bytes], [0, 0, bytes], where);
    }
  }
});

test("api names the function of the copy engine; the usual one depends on the path", () => {
  const apisOf = (options: Partial<TransferOptions>) =>
    transfer({ from: 0, to: 1, bytes: 64, ...options }).data.operations.flatMap((o) =>
      o.op === "copy" ? [o.api] : [],
    );
  assert.equal(apisOf({}), ["default"]);
  assert.equal(apisOf({ path: "driver-staged" }), ["peer"]);
  assert.equal(apisOf({ api: "peer-3d" }), ["peer-3d"]);
  assert.equal(apisOf({ path: "driver-staged", api: "default" }), ["default"]);
  assert.equal(apisOf({ path: "staged", api: "batch" }), ["batch", "batch"]);
});

test("what does not exist or excludes each other is refused by name", () => {
  const refused = (options: Record<string, unknown>, words: RegExp) =>
    assert.throws(
      () => transfer({ from: 0, to: 1, bytes: 64, ...options } as TransferOptions),
      (error: unknown) => error instanceof P2pError && error.code === "usage" && words.test(error.message),
    );
  refused({ sync: "stare" }, /no sync "stare"/);
  refused({ engine: "dma" }, /no engine "dma"/);
  refused({ path: "teleport" }, /no path "teleport"/);
  refused({ stream: 2 }, /no option "stream"/);
  refused({ streams: 65 }, /cannot be split over 65/);
  refused({ streams: Number.NaN }, /cannot be split over NaN/);
  refused({ chunk: "x" }, /not a size/);
  refused({ bytes: "64 MiB", chunk: "4 KiB" }, /16384 copies/);
  refused({ engine: "kernel-write", path: "staged" }, /on path "staged"/);
  refused({ api: "memcpy" }, /no api "memcpy"/);
  refused({ engine: "kernel-write", api: "peer" }, /by a kernel-write/);
  refused({ path: "staged", api: "peer-3d" }, /on path "staged"/);
  refused({ engine: "kernel-write", initiator: "destination" }, /started by the destination/);
  refused({ path: "staged", chunk: 8, initiator: "destination" }, /by both GPUs/);
  assert.throws(
    () => transfer(undefined as never),
    (error: unknown) => error instanceof P2pError,
  );
});

test.run();
