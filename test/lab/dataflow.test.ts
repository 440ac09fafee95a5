import { suite } from "uvu";
import * as assert from "uvu/assert";
import { dataflow } from "../../kernel/lab/dataflow.js";
import { P2pError } from "../../kernel/lab/errors.js";
import { windowBytes } from "../../kernel/lab/operations.js";
import { type Program, program } from "../../kernel/lab/program.js";
import { Random } from "../../kernel/lab/random.js";

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

test("a program that moves no bytes has nothing to fill and nothing to check", () => {
  const flow = dataflow(buffers().compute("s", 1000).launch("s").signal("s", "a").sync("s"));
  assert.equal(flow, { sources: [], checks: [] });
});

/** Two GPUs; `f` and `g` are flags, `w` a window. */
const pair = () =>
  program()
    .buffer("src", { gpu: 0, bytes: 240 })
    .buffer("w", { gpu: 1, bytes: 512 })
    .buffer("dst", { gpu: 1, bytes: 240 })
    .buffer("out", { gpu: 1, bytes: 240 })
    .buffer("f", { gpu: 1, bytes: 8 })
    .stream("s", { gpu: 0 })
    .stream("r", { gpu: 1 });

test("a put by flag leaves its payload in the window; the flag is not checked", () => {
  const flow = dataflow(
    pair()
      .receive("r", "w", { flag: "f", bytes: 240 })
      .put("s", "src", "w", { flag: "f" })
      .sync("r")
      .sync("s"),
  );
  assert.equal(flow.sources, [{ buffer: "src", seed: 1 }]);
  assert.equal(flow.checks, [{ buffer: "w", offset: 0, bytes: 240, seed: 1, patternOffset: 0 }]);
});

test("what is put by ll or ll128 is checked where it is unpacked, whoever was submitted first", () => {
  for (const protocol of ["ll", "ll128"] as const) {
    const checks = [
      { buffer: "dst", offset: 0, bytes: 240, seed: 1, patternOffset: 0 },
      { buffer: "out", offset: 0, bytes: 240, seed: 1, patternOffset: 0 },
    ];
    const received = pair().receive("r", "w", { protocol, dst: "dst" }).copy("r", "dst", "out");
    assert.equal(dataflow(received.put("s", "src", "w", { protocol }).sync("r")).checks, checks);
    const put = pair().put("s", "src", "w", { protocol });
    assert.equal(
      dataflow(put.receive("r", "w", { protocol, dst: "dst" }).copy("r", "dst", "out").sync("r")).checks,
      checks,
    );
  }
});

test("a window is not checked itself, and a put that nobody receives proves nothing", () => {
  assert.throws(
    () => dataflow(pair().put("s", "src", "w", { protocol: "ll" }).sync("s")),
    (error: unknown) => error instanceof P2pError && error.code === "program" && /receive/.test(error.hint),
  );
});

test("words that are signalled are no part of what is filled or checked", () => {
  const flow = dataflow(buffers().signal("s", "a", 40).copy("s", "a", "b"));
  assert.equal(flow.checks, [
    { buffer: "b", offset: 0, bytes: 40, seed: 1, patternOffset: 0 },
    { buffer: "b", offset: 44, bytes: 56, seed: 1, patternOffset: 44 },
  ]);
});

test("copies behind an await take place after what the signal follows", () => {
  const flow = dataflow(
    pair()
      .await("r", "f")
      .copy("r", "dst", "out")
      .copy("s", "src", "dst")
      .signal("s", "f")
      .sync("r")
      .sync("s"),
  );
  assert.equal(flow.sources, [{ buffer: "src", seed: 1 }]);
  assert.is(flow.checks.length, 2);
});

test("an iteration that waits for what comes only after it is refused by name", () => {
  const refused = (one: Program, what: RegExp) =>
    assert.throws(
      () => dataflow(one),
      (error: unknown) => error instanceof P2pError && error.code === "program" && what.test(error.message),
    );
  refused(
    pair()
      .receive("s", "w", { protocol: "ll", dst: "dst" })
      .put("s", "src", "w", { protocol: "ll" })
      .sync("s"),
    /stream "s" waits for a put into "w"/,
  );
  refused(
    pair().await("r", "f").sync("r").copy("s", "src", "dst").signal("s", "f").sync("s"),
    /stream "r" waits for a signal to f\+0/,
  );
  refused(
    pair()
      .put("s", "src", "w", { protocol: "ll" })
      .receive("r", "w", { protocol: "ll", dst: "dst" })
      .receive("r", "w", { protocol: "ll", dst: "out" })
      .sync("r"),
    /stream "r" waits for a put into "w"/,
  );
});

/** A byte's origin: seed and place in the pattern; null when nothing is known of it. */
type Origin = string | null;

/** Byte by byte what a program does whose operations can take place in the order submitted. */
function byBytes(one: Program, sources: ReturnType<typeof dataflow>["sources"]): Map<string, Origin[]> {
  const content = new Map<string, Origin[]>(
    one.data.buffers.map(({ name, bytes }) => {
      const seed = sources.find((source) => source.buffer === name)?.seed;
      return [name, Array.from({ length: bytes }, (_, i) => (seed === undefined ? null : `${seed}:${i}`))];
    }),
  );
  const of = (name: string) => content.get(name) as Origin[];
  const forget = (name: string, from: number, bytes: number) => of(name).fill(null, from, from + bytes);
  for (const o of one.data.operations) {
    if (o.op === "signal") forget(o.buffer, o.offset, 4);
    if (o.op === "put") forget(o.flag ?? o.dst, 0, o.flag ? 8 : windowBytes(o.protocol, o.bytes));
  }
  const packed = new Map<string, Origin[]>();
  for (const o of one.data.operations) {
    if (o.op === "copy")
      of(o.dst).splice(o.dstOffset, o.bytes, ...of(o.src).slice(o.srcOffset, o.srcOffset + o.bytes));
    else if (o.op === "signal") forget(o.buffer, o.offset, 4);
    else if (o.op === "put" && o.flag) of(o.dst).splice(0, o.bytes, ...of(o.src).slice(0, o.bytes));
    else if (o.op === "put") {
      packed.set(o.dst, of(o.src).slice(0, o.bytes));
      forget(o.dst, 0, windowBytes(o.protocol, o.bytes));
    } else if (o.op === "receive" && o.dst)
      of(o.dst).splice(0, o.bytes, ...(packed.get(o.window) as Origin[]));
    if (o.op === "put" && o.flag) forget(o.flag, 0, 8);
  }
  return content;
}

test("for any program: what is checked is what is there byte by byte, and each buffer once", () => {
  const random = new Random(7);
  let checked = 0;
  for (let round = 0; round < 300; round++) {
    let one = program().stream("s", { gpu: 0 }).stream("t", { gpu: 1 });
    const names = ["a", "b", "c", "d"];
    for (const name of names) one = one.buffer(name, { gpu: random.integer(2), bytes: 400 });
    const pick = () => names[random.integer(4)] as string;
    for (let i = 1 + random.integer(8); i > 0; i--) {
      const stream = random.integer(2) === 0 ? "s" : "t";
      const [x, y, z] = [pick(), pick(), pick()];
      const bytes = 8 * (1 + random.integer(12));
      const kind = random.integer(6);
      const distinct = new Set([x, y, z]).size === 3;
      if (kind === 0) one = one.signal(stream, x, 4 * random.integer(90));
      else if (kind === 1 && distinct) one = one.put(stream, x, y, { bytes, flag: z });
      else if (kind === 2 && distinct) {
        const protocol = random.integer(2) === 0 ? "ll" : "ll128";
        one = one.put(stream, x, y, { bytes, protocol }).receive(stream, y, { bytes, protocol, dst: z });
      } else if (x !== y) {
        one = one.copy(stream, x, y, {
          bytes: 1 + random.integer(100),
          srcOffset: random.integer(300),
          dstOffset: random.integer(300),
        });
      }
    }
    let flow: ReturnType<typeof dataflow>;
    try {
      flow = dataflow(one);
    } catch (error) {
      assert.instance(error, P2pError);
      continue;
    }
    const content = byBytes(one, flow.sources);
    for (const [name, origins] of content) {
      const covered = new Array<boolean>(origins.length).fill(false);
      for (const check of flow.checks.filter((c) => c.buffer === name)) {
        for (let i = 0; i < check.bytes; i++) {
          assert.is(origins[check.offset + i], `${check.seed}:${check.patternOffset + i}`);
          assert.not(covered[check.offset + i], "checked twice");
          covered[check.offset + i] = true;
          checked++;
        }
      }
      const own = flow.sources.find((source) => source.buffer === name)?.seed;
      for (const [i, origin] of origins.entries()) {
        if (origin !== null && origin !== `${own}:${i}`) assert.ok(covered[i], `${name}+${i} is not checked`);
      }
    }
  }
  assert.ok(checked > 10_000);
});

test.run();
