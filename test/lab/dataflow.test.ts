import { suite } from "uvu";
import * as assert from "uvu/assert";
import { dataflow } from "../../kernel/lab/dataflow.js";
import { P2pError } from "../../kernel/lab/errors.js";
import { program } from "../../kernel/lab/program.js";

const test = suite("dataflow");

function buffers() {
  return program()
    .buffer("a", { gpu: 0, bytes: 100 })
    .buffer("b", { gpu: 1, bytes: 100 })
    .buffer("h", { host: "pinned", bytes: 100 })
    .stream("s", { gpu: 0 });
}

test("the destination of a copy must hold the pattern of its source", () => {
  assert.equal(dataflow(buffers().copy("s", "a", "b")), {
    sources: [{ buffer: "a", seed: 1 }],
    checks: [{ buffer: "b", offset: 0, bytes: 100, seed: 1, patternOffset: 0 }],
  });
});

test("bytes are followed through a staging buffer, which is checked too and is no source", () => {
  const flow = dataflow(buffers().copy("s", "a", "h").copy("s", "h", "b"));
  assert.equal(flow.sources, [{ buffer: "a", seed: 1 }]);
  assert.equal(flow.checks, [
    { buffer: "b", offset: 0, bytes: 100, seed: 1, patternOffset: 0 },
    { buffer: "h", offset: 0, bytes: 100, seed: 1, patternOffset: 0 },
  ]);
});

test("offsets move a stretch of the pattern", () => {
  const flow = dataflow(buffers().copy("s", "a", "b", { bytes: 10, srcOffset: 30, dstOffset: 50 }));
  assert.equal(flow.checks, [{ buffer: "b", offset: 50, bytes: 10, seed: 1, patternOffset: 30 }]);
});

test("a later write replaces the part of an earlier one that it covers", () => {
  const flow = dataflow(
    buffers().copy("s", "a", "b").copy("s", "h", "b", { bytes: 20, srcOffset: 5, dstOffset: 40 }),
  );
  assert.equal(flow.sources, [
    { buffer: "a", seed: 1 },
    { buffer: "h", seed: 2 },
  ]);
  assert.equal(flow.checks, [
    { buffer: "b", offset: 0, bytes: 40, seed: 1, patternOffset: 0 },
    { buffer: "b", offset: 40, bytes: 20, seed: 2, patternOffset: 5 },
    { buffer: "b", offset: 60, bytes: 40, seed: 1, patternOffset: 60 },
  ]);
});

test("chunks that continue each other are one check", () => {
  const flow = dataflow(
    buffers()
      .copy("s", "a", "b", { bytes: 60 })
      .copy("s", "a", "b", { bytes: 40, srcOffset: 60, dstOffset: 60 }),
  );
  assert.equal(flow.checks, [{ buffer: "b", offset: 0, bytes: 100, seed: 1, patternOffset: 0 }]);
});

test("a buffer that is only partly written before it is read is a source as well", () => {
  const flow = dataflow(buffers().copy("s", "a", "h", { bytes: 50 }).copy("s", "h", "b"));
  assert.equal(flow.sources, [
    { buffer: "a", seed: 1 },
    { buffer: "h", seed: 2 },
  ]);
  assert.equal(flow.checks, [
    { buffer: "b", offset: 0, bytes: 50, seed: 1, patternOffset: 0 },
    { buffer: "b", offset: 50, bytes: 50, seed: 2, patternOffset: 50 },
    { buffer: "h", offset: 0, bytes: 50, seed: 1, patternOffset: 0 },
  ]);
});

test("what comes back to where it was proves nothing and is not checked", () => {
  const flow = dataflow(buffers().copy("s", "a", "b").copy("s", "b", "a"));
  assert.equal(flow.checks, [{ buffer: "b", offset: 0, bytes: 100, seed: 1, patternOffset: 0 }]);
});

test("an exchange through a third buffer leaves each with the other's pattern", () => {
  const flow = dataflow(buffers().copy("s", "a", "h").copy("s", "b", "a").copy("s", "h", "b"));
  assert.equal(flow.sources, [
    { buffer: "a", seed: 1 },
    { buffer: "b", seed: 2 },
  ]);
  assert.equal(flow.checks, [
    { buffer: "a", offset: 0, bytes: 100, seed: 2, patternOffset: 0 },
    { buffer: "b", offset: 0, bytes: 100, seed: 1, patternOffset: 0 },
    { buffer: "h", offset: 0, bytes: 100, seed: 1, patternOffset: 0 },
  ]);
});

test("a program that moves nothing has nothing to verify", () => {
  assert.throws(
    () => dataflow(buffers().sync("s")),
    (error: unknown) => error instanceof P2pError && error.code === "program",
  );
});

test.run();
