import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../kernel/lab/errors.js";
import { transfer } from "../../kernel/lab/measure/transfer.js";
import { Program, program } from "../../kernel/lab/program.js";

const programs = suite("program");

const HASH_PEER_8 = "67a86393246521a0";
const HASH_STAGED_8 = "05c1471a9f981584";

function base(): Program {
  return program()
    .buffer("src", { gpu: 0, bytes: 64 })
    .buffer("dst", { gpu: 1, bytes: 64 })
    .stream("s", { gpu: 0 });
}

function refused(action: () => unknown, words: RegExp): void {
  assert.throws(
    action,
    (error: unknown) => error instanceof P2pError && error.code === "program" && words.test(error.message),
  );
}

programs("the builder leaves the program it extends as it was", () => {
  const one = base();
  const two = one.copy("s", "src", "dst").sync("s");
  assert.is(one.data.operations.length, 0);
  assert.is(two.data.operations.length, 2);
});

programs("the hash is the same for the same content however it was built, and differs otherwise", () => {
  const a = base().copy("s", "src", "dst").sync("s", "spin");
  const b = new Program(JSON.parse(JSON.stringify(a)));
  assert.is(a.hash, b.hash);
  assert.match(a.hash, /^[0-9a-f]{16}$/);
  const renamed = program()
    .buffer("a", { gpu: 0, bytes: 64 })
    .buffer("b", { gpu: 1, bytes: 64 })
    .stream("x", { gpu: 0 });
  assert.is(a.hash, renamed.copy("x", "a", "b").sync("x", "spin").hash);
  assert.is.not(a.hash, renamed.copy("x", "b", "a").sync("x", "spin").hash);
  assert.is.not(a.hash, base().copy("s", "src", "dst").sync("s", "block").hash);
  assert.is.not(a.hash, a.peerAccess(false).hash);
});

programs("a transfer's hash is pinned: recordings are looked up by it", () => {
  assert.is(transfer({ from: 0, to: 1, bytes: 8 }).hash, HASH_PEER_8);
  assert.is(transfer({ from: 0, to: 1, bytes: 8, path: "staged" }).hash, HASH_STAGED_8);
});

programs("what does not exist, does not fit or makes no sense is refused by name", () => {
  refused(() => base().copy("s", "src", "nowhere"), /no buffer "nowhere".*src, dst/);
  refused(() => base().copy("t", "src", "dst"), /no stream "t"/);
  refused(() => base().copy("s", "src", "dst", { bytes: 65 }), /do not fit/);
  refused(() => base().copy("s", "src", "dst", { srcOffset: 60, bytes: 8 }), /do not fit/);
  refused(() => base().copy("s", "src", "dst", { dstOffset: -8 }), /do not fit/);
  refused(() => base().copy("s", "src", "src"), /onto itself/);
  refused(() => base().buffer("src", { gpu: 0, bytes: 8 }), /already a buffer/);
  refused(() => base().wait("s", "e"), /no event "e"/);
  refused(() => base().buffer("x", { gpu: -1, bytes: 8 }), /not a GPU number/);
  refused(
    () => base().buffer("h", { host: "pinned", bytes: 8 }).copy("s", "src", "h", { api: "peer" }),
    /joins two GPUs/,
  );
});

programs("validate wants a copy, and a sync at the end", () => {
  refused(() => base().sync("s").validate(), /copies nothing/);
  refused(() => base().copy("s", "src", "dst").validate(), /nothing waits|does not end/);
  assert.ok(base().copy("s", "src", "dst").sync("s").validate());
});

programs("pairs and gpus list what the copies join", () => {
  const staged = transfer({ from: 2, to: 1, bytes: 8, path: "staged" });
  assert.equal(staged.gpus, [1, 2]);
  assert.equal(staged.pairs, []);
  assert.equal(transfer({ from: 2, to: 1, bytes: 8 }).pairs, [{ from: 2, to: 1 }]);
});

programs("the three paths differ in what they submit", () => {
  const ops = (path: "peer" | "staged" | "driver-staged") =>
    transfer({ from: 0, to: 1, bytes: 8, path })
      .data.operations.map((o) => o.op)
      .join(" ");
  assert.is(ops("peer"), "copy sync");
  assert.is(ops("staged"), "copy copy sync");
  assert.is(ops("driver-staged"), "copy sync");
  assert.is(transfer({ from: 0, to: 1, bytes: 8, path: "driver-staged" }).data.peerAccess, false);
});

programs("a transfer from a GPU to itself, or by an unknown path, is refused", () => {
  for (const bad of [
    () => transfer({ from: 1, to: 1, bytes: 8 }),
    () => transfer({ from: 0, to: 1, bytes: 8, path: "teleport" as never }),
  ]) {
    assert.throws(bad, (error: unknown) => error instanceof P2pError && error.code === "usage");
  }
});

programs.run();
