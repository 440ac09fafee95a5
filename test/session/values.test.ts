/** What a reader sees of the kinds of values that this kernel knows, and of the notebook's variables. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { openSession } from "./open.js";

const values = suite("values");
const { close, run, resultOf, textOf, errorOf } = await openSession();

type Row = Record<"name" | "type" | "size" | "bytes" | "gpu" | "preview", unknown>;

async function variables(): Promise<Map<string, Row>> {
  const text = String(await textOf("JSON.stringify(lab.vars().objects())"));
  const rows = JSON.parse(text.slice(1, -1)) as Row[];
  return new Map(rows.map((row) => [String(row.name), row]));
}

values("each kind of the library's values has a bundle that says where it comes from", async () => {
  await run(`const machine = await lab.open("sim:pcie-gen4-2");
const program = lab.program().buffer("a", { gpu: 0, bytes: 64 }).buffer("b", { gpu: 1, bytes: 64 })
  .stream("s", { gpu: 0 }).copy("s", "a", "b").sync("s", "spin");
const run = await machine.run(program, { mode: "latency" });`);
  for (const [code, html] of [
    ["machine", true],
    ["lab.topology(machine)", true],
    ["run", true],
    ["program", false],
  ] as const) {
    const bundle = await resultOf(code);
    assert.is("text/html" in bundle, html, code);
    const text = String(bundle["text/plain"]);
    assert.ok(text.length > 20 && text.length < 4000, `${code}: ${text}`);
    assert.not.match(text, /\[Object\]|NaN/, code);
    if (html) {
      assert.match(text, /simulated/, code);
      assert.match(String(bundle["text/html"]), /simulated/, code);
    }
  }
  const shown = await resultOf("run");
  assert.match(String(shown["text/plain"]), /^median: [\d.]+ µs \(95 % interval .*\nsamples: \d+/);
  assert.match(String(shown["text/html"]), /color:var\(--jp-error-color1,#B00020\)/);
});

values("a claim shows its sentence, whether it holds, and where its numbers come from", async () => {
  const text = String(
    await textOf(`lab.claim("small", { says: "it is quick", column: "total_us", between: [1, 10] },
  aq.table({ total_us: [3], machine: ["m1"], provenance: ["recorded"], date: ["2026-11-30"] }))`),
  );
  assert.match(text, /it is quick/);
  assert.match(text, /recorded/);
});

values("long arrays of numbers tell their bytes and their range; short ones are as they are", async () => {
  assert.match(
    String(await textOf("Float64Array.from({ length: 1001 }, (_, i) => i)")),
    /\n\(7\.82 KiB; least 0, median 500, most 1000\)$/,
  );
  assert.match(String(await textOf("new Float32Array(30).fill(NaN)")), /\n\(120 B, 30 not finite\)$/);
  assert.is(await textOf("new Uint8Array(3)"), "Uint8Array(3) [ 0, 0, 0 ]");
  assert.not.match(String(await textOf("new BigInt64Array(40)")), /least/);
});

values(
  "lab.vars lists what cells declared: name, type, size, bytes and the beginning of the value",
  async () => {
    await run(`const rows = aq.table({ a: [1, 2], b: [3, 4] }); let list = new Float32Array(100); const text = "x".repeat(500);
class Link { get boom() { throw new Error("ran"); } } const link = new Link(); function act() {} let unset: number;
const big = 10n, none = null, map = new Map([[1, 2]]); interface Gone { a: 1 }`);
    const found = await variables();
    const of = (name: string) => {
      const { type, size, bytes } = found.get(name) as Row;
      return [type, size, bytes];
    };
    assert.equal(of("rows"), ["ColumnTable", "2 rows × 2 columns", null]);
    assert.equal(of("list"), ["Float32Array", "100", 400]);
    assert.equal(of("text"), ["string", "500 characters", null]);
    assert.equal(of("Link"), ["class", null, null]);
    assert.equal(of("link"), ["Link", null, null]);
    assert.equal(of("act"), ["function", null, null]);
    assert.equal(of("unset"), ["undefined", null, null]);
    assert.equal(of("big"), ["bigint", null, null]);
    assert.equal(of("none"), ["null", null, null]);
    assert.equal(of("map"), ["Map", "1 entries", null]);
    for (const row of found.values())
      assert.ok(String(row.preview).length <= 80 && !/\n/.test(String(row.preview)), String(row.preview));
    for (const name of ["lab", "aq", "display", "Gone"]) assert.not(found.has(name), name);
  },
);

values("lab.vars runs nothing of what it lists", async () => {
  await run(`let ran = 0; const count = () => { ran++; throw new Error("ran"); };
const trap = new Proxy({}, { get: count, has: count, ownKeys: count, getPrototypeOf: count, getOwnPropertyDescriptor: count });
const child = Object.create(trap); const getter = { get numRows() { return count(); }, toString: count, toJSON: count };`);
  const found = await variables();
  assert.is(found.get("trap")?.type, "Proxy");
  assert.ok(found.has("child") && found.has("getter"));
  assert.is(await textOf("ran"), "0");
});

values(
  "a name that was declared anew stands once, and names of a failed cell are those that came to be",
  async () => {
    await run("const twice = 1;");
    await run("const twice = 'two';");
    await errorOf("const came = 1; throw new Error(); const never = 2;");
    const found = await variables();
    assert.is(found.get("twice")?.type, "string");
    assert.ok(found.has("came"));
    assert.not(found.has("never"));
  },
);

values("the library's own frames between a cell and its callback are left out", async () => {
  const { traceback } = await errorOf("await lab.time(() => { throw new RangeError('mine'); })");
  assert.not.match(traceback.join("\n"), /dist/);
});

values.after(close);
values.run();
