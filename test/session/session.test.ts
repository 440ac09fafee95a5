import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type CellOutput, type ExecuteResult, Session } from "../../kernel/session/index.js";

const cells = suite("session");
// An empty folder: nothing may come from a node_modules of the notebook's own.
const session = await Session.create({ cwd: mkdtempSync(join(tmpdir(), "p2plab-session-")) });

async function run(code: string, options = {}): Promise<{ result: ExecuteResult; outputs: CellOutput[] }> {
  const outputs: CellOutput[] = [];
  const result = await session.execute(code, { ...options, onOutput: (output) => outputs.push(output) });
  return { result, outputs };
}

async function resultOf(code: string): Promise<Record<string, unknown>> {
  const { outputs } = await run(code);
  const shown = outputs.find((output) => output.type === "execute_result");
  if (shown?.type !== "execute_result") throw new Error(`no value: ${JSON.stringify(outputs)}`);
  return shown.data;
}

async function errorOf(code: string): Promise<{ ename: string; evalue: string; traceback: string[] }> {
  const { result, outputs } = await run(code);
  assert.is(result.status, "error", code);
  const last = outputs.at(-1);
  if (last?.type !== "error") throw new Error(`no error output: ${JSON.stringify(outputs)}`);
  return last;
}

cells(
  "the value of the last expression is the result; undefined, null and declarations give none",
  async () => {
    assert.equal(await resultOf("1 + 1"), { "text/plain": "2" });
    for (const code of ["undefined", "null", "const nothing = 1", ""])
      assert.equal((await run(code)).outputs, [], code);
  },
);

cells("names live on, and can be declared anew", async () => {
  await run("let count = 0; const fixed = 1; function more() { return count + 1; }");
  await run("const fixed = 2; count += 1;");
  assert.equal(await resultOf("[count, fixed, typeof more]"), { "text/plain": "[ 1, 2, 'function' ]" });
});

cells("an object literal may name variables of earlier cells in short", async () => {
  await run("const left = 5, right = 6;");
  assert.equal(await resultOf("({ left, right })"), { "text/plain": "{ left: 5, right: 6 }" });
});

cells("everything is preloaded and typed: lab, cuda, plot, aq, op, display", async () => {
  assert.equal(
    await resultOf(
      "[lab.sizes, plot.latency, aq.table, op.mean, display.html, cuda.availability].map((f) => typeof f).join()",
    ),
    {
      "text/plain": "'function,function,function,function,function,function'",
    },
  );
  assert.match((await errorOf("const n: number = lab.formatBytes(8)")).evalue, /TS2322/);
  const answer = await resultOf("const table: lab.Table = aq.table({ a: [1] }); table.numRows()");
  assert.equal(answer, { "text/plain": "1" });
});

cells("packages and Node's modules can be imported without a node_modules", async () => {
  assert.equal(
    await resultOf(
      'import * as arquero from "arquero"; import { basename } from "node:path"; basename("/a/b") + typeof arquero.table',
    ),
    {
      "text/plain": "'bfunction'",
    },
  );
  assert.equal(await resultOf("Buffer.from(process.argv0).length > 0"), { "text/plain": "true" });
});

cells("a type error stops the cell before it runs, with code, line and caret", async () => {
  const error = await errorOf('globalThis.ran = true;\nconst wrong: number = "text";');
  assert.is(error.ename, "TypeScriptError");
  assert.match(error.traceback.join("\n"), /line 2, column 7: TS2322/);
  assert.equal(await resultOf("(globalThis as any).ran === undefined"), { "text/plain": "true" });
});

cells(
  "what is thrown shows its cell's line, its causes and the hint, and no frame of the kernel",
  async () => {
    const error = await errorOf(
      'const before = 1;\nfunction fail() { throw new Error("outer", { cause: new lab.P2pError("usage", "inner", "do this") }); }\nfail();',
    );
    const text = error.traceback.join("\n");
    assert.is(error.ename, "Error");
    assert.is(error.evalue, "outer");
    assert.match(text, /at fail, Cell In\[\d+\], line 2/);
    assert.match(text, /line 3: fail\(\);/);
    assert.match(text, /caused by P2pError: inner/);
    assert.match(text, /→ do this/);
    assert.not.match(text, /node_modules|kernel\/session|node:internal/);
    assert.is((await errorOf("throw 7")).evalue, "7");
  },
);

cells("console and the process's streams are shown in order, by name", async () => {
  const { outputs } = await run('console.log("one"); process.stdout.write("two\\n"); console.error("three")');
  assert.equal(
    outputs.filter((output) => output.type === "stream").map((output) => `${output.name}:${output.text}`),
    ["stdout:one\n", "stdout:two\n", "stderr:three\n"],
  );
});

cells("a table is HTML with numbers to the right, its provenance in one line, text escaped", async () => {
  const bundle = await resultOf(
    'aq.table({ x: [1.23456789, null], s: ["<b>", "y"], machine: ["m", "m"], provenance: ["simulated", "simulated"], date: ["d", "d"] })',
  );
  const html = bundle["text/html"] as string;
  assert.match(html, /1\.235/);
  assert.match(html, /&#60;b&#62;/);
  assert.match(html, /color:var\(--jp-error-color1,#B00020\)">simulated · m · d · 2 rows/);
  assert.not.match(html, /<th[^>]*>provenance/);
  assert.match(bundle["text/plain"] as string, /simulated · m · d · 2 rows/);
});

cells("a figure comes as Plotly JSON, guarded offline HTML and text", async () => {
  const bundle = await resultOf(
    'plot.latency(await lab.sweep(await lab.open("sim:hgx-h100-8"), { from: 0, to: 1, bytes: [8, 64], path: "peer" }))',
  );
  assert.equal(Object.keys(bundle).sort(), ["application/vnd.plotly.v1+json", "text/html", "text/plain"]);
  assert.match(bundle["text/html"] as string, /kernelspecs\/p2plab\/plotly\.min\.js/);
  assert.not.match(bundle["text/html"] as string, /https?:\/\//);
});

cells("display shows at once, in place when asked, and clears", async () => {
  const { outputs } = await run(
    'const h = display("a"); h.update("b"); display.markdown("**m**"); display.clear({ wait: true });',
  );
  assert.equal(outputs.map((output) => output.type).sort(), [
    "clear_output",
    "display_data",
    "display_data",
    "update_display_data",
  ]);
});

cells(
  "process.exit is an error in the cell, and a rejection that nobody awaits is shown in its own",
  async () => {
    assert.match((await errorOf("process.exit(3)")).evalue, /process\.exit\(3\)/);
    const { outputs } = await run('Promise.reject(new Error("stray")); 1');
    assert.ok(outputs.some((output) => output.type === "stream" && /stray/.test(output.text)));
  },
);

cells("an interrupt ends a pending await, and a measurement; variables are kept", async () => {
  await run("const kept = 1;");
  const waiting = run("await new Promise(() => {})");
  setTimeout(() => session.interrupt(), 50);
  assert.is((await waiting).result.error?.ename, "Interrupted");
  assert.equal(await resultOf("kept"), { "text/plain": "1" });
});

cells("silent cells neither count nor show a value", async () => {
  const before = session.executionCount;
  const { outputs } = await run("40 + 2", { silent: true });
  assert.equal(outputs, []);
  assert.is(session.executionCount, before);
});

cells("completion and inspection know the preloaded names and earlier cells", async () => {
  await run("const fabric = { links: 18 };");
  assert.ok(
    session
      .complete("aq.tab", 6)
      .candidates.map(({ name }) => name)
      .includes("table"),
  );
  assert.ok(
    session
      .complete("fabric.li", 9)
      .candidates.map(({ name }) => name)
      .includes("links"),
  );
  assert.ok(
    session
      .complete("display.ht", 10)
      .candidates.map(({ name }) => name)
      .includes("html"),
  );
  const info = session.inspect("lab.sweep", 6);
  assert.match(info?.signature ?? "", /sweep\(machine: lab\.Machine/);
  assert.match(info?.documentation ?? "", /latency/);
});

cells("a second session in the process is refused", async () => {
  try {
    await Session.create();
    assert.unreachable("two sessions share tslab's globals");
  } catch (error) {
    assert.match(String(error), /already open/);
  }
});

cells("close gives the streams back", () => {
  session.close();
  assert.is(process.listenerCount("uncaughtException"), 0);
});

cells.run();
