import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { CellOutput } from "../../kernel/session/index.js";
import { openSession, written } from "./open.js";

const shows = suite("display");
const { session, close, run, resultOf, textOf } = await openSession();

/** Outputs without the ids that differ from run to run. */
const bare = (outputs: readonly CellOutput[]) =>
  outputs.map((output) => {
    if (output.type === "clear_output") return { type: output.type, wait: output.wait };
    return "data" in output ? { type: output.type, data: output.data } : output;
  });

shows("each method shows its MIME type, with a text beside it, in the order of the calls", async () => {
  const { outputs } =
    await run(`display.text("t"); display.html("<b>h</b>"); display.markdown("*m*"); display.latex("$x$");
display.svg("<svg/>"); display.png(new Uint8Array([1, 2])); display.jpeg(new Uint8Array([3])); display.json({ a: 1 });
display.raw({ "text/x": "r", "text/plain": "p" }, { size: 1 });`);
  assert.equal(bare(outputs), [
    { type: "display_data", data: { "text/plain": "t" } },
    { type: "display_data", data: { "text/html": "<b>h</b>", "text/plain": "h" } },
    { type: "display_data", data: { "text/markdown": "*m*", "text/plain": "*m*" } },
    { type: "display_data", data: { "text/latex": "$x$", "text/plain": "$x$" } },
    { type: "display_data", data: { "image/svg+xml": "<svg/>", "text/plain": "[SVG]" } },
    { type: "display_data", data: { "image/png": "AQI=", "text/plain": "[PNG]" } },
    { type: "display_data", data: { "image/jpeg": "Aw==", "text/plain": "[JPEG]" } },
    { type: "display_data", data: { "application/json": { a: 1 }, "text/plain": '{"a":1}' } },
    { type: "display_data", data: { "text/x": "r", "text/plain": "p" } },
  ]);
  const last = outputs.at(-1);
  assert.equal(last?.type === "display_data" && last.metadata, { size: 1 });
});

shows("where there is a pager, a page goes there; where there is none, into the cell", async () => {
  const code = "display.page('text'); display.page(aq.table({ a: [1] }))";
  assert.equal(
    bare((await run(code)).outputs).map((output) => output.type),
    ["display_data", "display_data"],
  );
  const pages: Record<string, unknown>[] = [];
  await session.execute(code, { onPage: (data) => pages.push(data) });
  assert.equal(pages[0], { "text/plain": "text" });
  assert.match(String(pages[1]?.["text/html"]), /^<table>/);
});

shows("a display is changed in place by its handle, and by its id from another cell", async () => {
  const { outputs } = await run('const place = display("a"); place.update("b");');
  const later = await run('display.update(place.id, "c", { "text/plain": { wide: true } })');
  const changed = later.outputs.find((output) => output.type === "update_display_data");
  assert.equal(changed?.type === "update_display_data" && changed.metadata, { "text/plain": { wide: true } });
  const ids = [...outputs, ...later.outputs].map((output) => "displayId" in output && output.displayId);
  assert.equal(
    [...outputs, ...later.outputs].map((output) => output.type),
    ["display_data", "update_display_data", "update_display_data"],
  );
  assert.is(new Set(ids).size, 1);
});

shows("bundles that take time keep their place", async () => {
  const { outputs } = await run(`const slow = { [Symbol.for("Jupyter.display")]: async () => {
  await new Promise((resolve) => setTimeout(resolve, 20));
  return { "text/plain": "slow" };
} };
display(slow); display("quick"); display.clear({ wait: true }); slow`);
  assert.equal(bare(outputs), [
    { type: "display_data", data: { "text/plain": "slow" } },
    { type: "display_data", data: { "text/plain": "'quick'" } },
    { type: "clear_output", wait: true },
    { type: "execute_result", data: { "text/plain": "slow" } },
  ]);
});

shows("a display that throws fails its cell", async () => {
  const { result } = await run(
    'display({ [Symbol.for("Jupyter.display")]: async () => { throw new Error("no picture"); } }); 1',
  );
  assert.is(result.error?.evalue, "no picture");
});

shows("what no front end could show is an error that says what to give, and nothing is sent", async () => {
  const wrong = [
    ...["text", "html", "markdown", "latex", "svg", "png", "jpeg"].map(
      (name) => `(display as any).${name}(5)`,
    ),
    "display.json(undefined)",
    "display.json(1n)",
    "const ring: any = {}; ring.ring = ring; display.json(ring)",
    "display.raw(5 as any)",
    "display.raw({ 'text/plain': 5 })",
    "display.raw({ 'image/png': [1] })",
    "display.raw({ 'text/plain': 'x' }, 5 as any)",
    "({ [Symbol.for('Jupyter.display')]: () => ({ 'text/html': {} }) })",
    "display.update(5 as any, 1)",
    "display.update('x', 1, [] as any)",
    "display.clear(null as any)",
    "display.progress(Infinity)",
    "display.progress(2, 5 as any)",
    "comms.open('x', 5 as any)",
    "comms.open('x', {}, null as any)",
    "comms.open('x', {}, { buffers: [5] as any })",
  ];
  for (const code of wrong) {
    const { result, outputs } = await run(code);
    assert.is(result.error?.ename, "P2pError", code);
    assert.match(result.error?.traceback.join("\n") ?? "", /^→ Give /m, code);
    assert.equal(
      outputs.map(({ type }) => type),
      ["error"],
      code,
    );
  }
  assert.match((await run("display.progress(2).tick(NaN)")).result.error?.evalue ?? "", /moves by NaN/);
  const { outputs } = await run(
    "display.raw({ 'image/png': new Uint8Array([1, 2]), 'text/plain': ['a\\n', 'b'], 'text/html': undefined })",
  );
  assert.equal(bare(outputs), [
    { type: "display_data", data: { "image/png": "AQI=", "text/plain": "a\nb" } },
  ]);
});

shows("a progress bar moves in place and goes away", async () => {
  const { outputs } = await run(
    'const bar = display.progress(4, "copies"); bar.tick(); bar.set(9); bar.close();',
  );
  assert.equal(
    outputs.map((output) => ("data" in output ? output.data["text/plain"] : "")),
    [
      `${"░".repeat(30)} 0/4 copies`,
      `${"█".repeat(8)}${"░".repeat(22)} 1/4 copies`,
      `${"█".repeat(30)} 4/4 copies`,
      "",
    ],
  );
  assert.match((await run("display.progress(0)")).result.error?.evalue ?? "", /progress bar of 0 steps/);
});

shows("late output goes to the cell that began it", async () => {
  const early = await run('setTimeout(() => { console.log("late"); display.text("later"); }, 30);');
  const now = await run("await new Promise((resolve) => setTimeout(resolve, 80)); console.log('now')");
  assert.is(written(early), "late\n");
  // On a loaded machine the timer fires before the cell's own value is shown: only whose output it is, is decided here.
  const displays = bare(early.outputs).filter((output) => output.type === "display_data");
  assert.equal(displays, [{ type: "display_data", data: { "text/plain": "later" } }]);
  assert.is(written(now), "now\n");
});

shows("bytes written in pieces are decoded whole; other encodings are understood", async () => {
  const ran = await run(
    'process.stdout.write(new Uint8Array([0xe6, 0xb1])); process.stdout.write(new Uint8Array([0x89])); process.stdout.write("ISE=", "base64"); process.stdout.write("x", () => {});',
  );
  assert.is(written(ran), "汉!!x".replace("!!", "!\x21"));
});

shows("console prints without colours, whatever the server's terminal is", async () => {
  const ended =
    await run(`import { Readable } from "node:stream"; import { pipeline } from "node:stream/promises";
await pipeline(Readable.from(["a", "b"]), process.stdout);
await new Promise<void>((done) => process.stdout.end("c", done)); console.log("d");`);
  assert.is(written(ended), "abcd\n", "the stream goes on after its end");
  assert.is(written(await run("console.log({ a: 1 }, process.stdout.isTTY)")), "{ a: 1 } false\n");
});

shows("tslab's own display works from its package", async () => {
  const { outputs } = await run(`import * as tslab from "tslab";
const box = tslab.newDisplay(); box.html("<i>1</i>"); box.html("<i>2</i>"); tslab.display.markdown("m");`);
  assert.equal(bare(outputs), [
    { type: "display_data", data: { "text/html": "<i>1</i>", "text/plain": "[text/html]" } },
    { type: "update_display_data", data: { "text/html": "<i>2</i>", "text/plain": "[text/html]" } },
    { type: "display_data", data: { "text/markdown": "m", "text/plain": "[text/markdown]" } },
  ]);
});

shows("JavaScript comes by both of its names, tslab's own display among it", async () => {
  const both = { "text/javascript": "f()", "application/javascript": "f()" };
  for (const code of [
    'import * as tslab from "tslab"; tslab.display.javascript("f()");',
    'display.raw({ "application/javascript": "f()" });',
  ]) {
    const [shown] = (await run(code)).outputs;
    const { "text/plain": _, ...data } = (shown?.type === "display_data" && shown.data) || {};
    assert.equal(data, both);
  }
});

shows("the running cell's signal is aborted by an interrupt, and the next cell has a new one", async () => {
  const waiting = run(
    'let heard = false; await new Promise((resolve) => display.signal.addEventListener("abort", () => { heard = true; }))',
  );
  setTimeout(() => session.interrupt(), 40);
  assert.is((await waiting).result.error?.ename, "Interrupted");
  assert.is(await textOf("display.signal.aborted"), "false");
});

shows("a table is capped, says so, and hoists only what is the same in every row", async () => {
  const bundle = await resultOf(`const n = 100;
aq.table({
  size: Array.from({ length: n }, (_, i) => i + 0.5),
  machine: Array.from({ length: n }, (_, i) => (i < 99 ? "m1" : "m2")),
  provenance: Array.from({ length: n }, () => "recorded"),
})`);
  const html = String(bundle["text/html"]);
  assert.is(html.match(/<tr>/g)?.length, 61);
  assert.match(html, />recorded · 60 of 100 rows</);
  assert.match(html, /<th[^>]*>machine<\/th>/, "the last row differs");
  assert.not.match(html, /<th[^>]*>provenance/);
});

shows("numbers of a table keep four digits and all before the point", async () => {
  const text = await textOf(
    "aq.table({ x: [1.23456, 123456.7, 0.000123456, NaN, null, 7], d: Array(6).fill(new Date(0)), o: Array(6).fill({ a: 1 }) })",
  );
  const rows = String(text).split("\n");
  assert.equal(
    rows.slice(1, 7).map((row) => row.slice(0, 9).trim()),
    ["1.235", "123457", "0.0001235", "NaN", "", "7"],
  );
  assert.match(rows[1] as string, /1970-01-01T00:00:00\.000Z +\{ a: 1 \}$/);
});

shows("sizes of a table are shown in binary units where that is exact for all of them", async () => {
  const text = await textOf(
    "aq.table({ bytes: [8, 65536, null], bar1_bytes: [1.5 * 2 ** 20, 2 ** 38, 0], odd_bytes: [2 ** 20, 1e6, 3], kilobytes: [1024, 1024, 1024] })",
  );
  assert.equal(
    String(text)
      .split("\n")
      .slice(1, 4)
      .map((row) => row.trim().split(/ {2,}/)),
    [
      ["8 B", "1.5 MiB", "1048576", "1024"],
      ["64 KiB", "256 GiB", "1000000", "1024"],
      ["0 B", "3", "1024"],
    ],
  );
});

shows("columns of a table that hold nothing are named under it instead", async () => {
  assert.is(
    await textOf('aq.table({ x: [1, 2], note: ["", null], y: [null, 2 ** 31] })'),
    "x           y\n1            \n2  2147483648\n(2 rows · 没有值的列 empty columns: note)".replace(
      / +\n/,
      "\n",
    ),
  );
  assert.is(await textOf("aq.table({ a: [null], b: [''] })"), "a  b\n\n(1 row)");
});

shows("an empty table shows its columns", async () => {
  assert.is(await textOf("aq.table({ machine: [], x: [] })"), "machine  x\n(0 rows)");
});

shows("typed arrays, maps, promises and classes are shown as text", async () => {
  assert.is(await textOf("new Float64Array([1, 2.5])"), "Float64Array(2) [ 1, 2.5 ]");
  assert.is(await textOf("new Map([['a', { b: 1 }]])"), "Map(1) { 'a' => { b: 1 } }");
  assert.is(await textOf("Promise.resolve(3)"), "Promise { 3 }");
  assert.is(await textOf("class Link { toString() { return 'a link'; } }\nnew Link()"), "a link");
});

shows("a figure whose data hold a closing tag cannot leave its script", async () => {
  const bundle = await resultOf(
    `({ [Symbol.for("Jupyter.display")]: () => ({ "application/vnd.plotly.v1+json": { data: [{ name: "</script><b>" }], layout: {} } }) })`,
  );
  assert.not.match(String(bundle["text/html"]), /<\/script><b>/);
  assert.is(bundle["text/plain"], "[application/vnd.plotly.v1+json, text/html]");
});

shows.after(close);
shows.run();
