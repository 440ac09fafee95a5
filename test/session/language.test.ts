import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { openSession, written } from "./open.js";

const language = suite("language of cells");
const { session, close, folder, run, textOf, errorOf } = await openSession();

language("preloading shows nothing and counts nothing", async () => {
  assert.is(session.executionCount, 0);
  assert.is(session.history.size, 0);
});

language("types of Node.js are known without a node_modules", async () => {
  assert.is(
    await textOf("typeof console.log + typeof process.pid + Buffer.from('a').length"),
    "'functionnumber1'",
  );
  assert.match((await errorOf("const pid: string = process.pid")).evalue, /^TS2322/);
});

language("arquero, p2plab and Node's modules are imported, with types", async () => {
  assert.is(await textOf('import * as arquero from "arquero"; arquero.table({ a: [1, 2] }).numRows()'), "2");
  assert.is(await textOf('import { lab as again } from "p2plab"; again.formatBytes(8)'), "'8 B'");
  assert.match((await errorOf('import { nothing } from "p2plab";')).evalue, /^TS2305/);
});

language("a package that is nowhere is a type error that names it", async () => {
  assert.match((await errorOf('import x from "no-such-package";')).evalue, /no-such-package/);
});

language("a package of the notebook's own folder is found, an ES module too", async () => {
  const home = join(folder, "node_modules", "own-package");
  mkdirSync(home, { recursive: true });
  writeFileSync(
    join(home, "package.json"),
    JSON.stringify({ name: "own-package", type: "module", main: "./index.js", types: "./index.d.ts" }),
  );
  writeFileSync(join(home, "index.js"), "export const answer = 42;");
  writeFileSync(join(home, "index.d.ts"), "export declare const answer: number;");
  const ran = await run('import { answer } from "own-package"; answer');
  const shown = ran.outputs.at(-1);
  assert.equal(shown?.type === "execute_result" && shown.data, { "text/plain": "42" });
  assert.is(written(ran, "stderr"), "", "no warning of Node.js");
});

language("a package installed while the session runs is found, by the very cell that missed it", async () => {
  const cell = 'import { late } from "late-package"; late';
  assert.match((await errorOf(cell)).evalue, /late-package/);
  const home = join(folder, "node_modules", "late-package");
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "package.json"), JSON.stringify({ name: "late-package", main: "./index.js" }));
  writeFileSync(join(home, "index.js"), "exports.late = 7;");
  writeFileSync(join(home, "index.d.ts"), "export declare const late: number;");
  assert.is(await textOf(cell), "7");
});

language("the reader may declare the preloaded names anew; the others stay", async () => {
  await run("const plot = 3; function op() { return 4; }");
  assert.is(await textOf("plot + op()"), "7");
  assert.is(await textOf("typeof aq.table + typeof lab.open"), "'functionfunction'");
});

language(
  "const, let, class, enum, interface and function can all be declared again, any number of times",
  async () => {
    const cell = `const a = 1; let b = 2; class C { x = 1; } enum E { One } interface I { x: number } function f(): number { return a; }
const made: I = new C(); [a, b, E.One, f(), made.x].join()`;
    for (let i = 0; i < 5; i++) assert.is(await textOf(cell), "'1,2,0,1,1'");
  },
);

language("top-level await and dynamic import run", async () => {
  assert.is(await textOf('const { sep } = await import("node:path"); await Promise.resolve(sep)'), "'/'");
});

language("code that is not counted has no number in the history", async () => {
  const before = session.executionCount;
  await run("1", { storeHistory: false });
  await run("2", { silent: true });
  assert.is(session.executionCount, before);
  await run("3");
  assert.is(session.history.get(before + 1), "3");
});

language("cells sent together run one after the other", async () => {
  const order = await Promise.all([
    run("await new Promise((resolve) => setTimeout(resolve, 40)); console.log('first')"),
    run("console.log('second')"),
  ]);
  const [first, second] = order.map((ran) => ran.result.executionCount) as [number, number];
  assert.is(second, first + 1);
  assert.equal(
    order.map((ran) => written(ran)),
    ["first\n", "second\n"],
  );
});

language("what is whole, open and wrong is told apart", () => {
  const status = (code: string) => session.isComplete(code).status;
  for (const code of [
    "1 + 1",
    "await f()",
    "for await (const x of y) {}",
    "function f() {}",
    "const f = <T>(x: T) => x",
    "",
  ])
    assert.is(status(code), "complete", code);
  for (const code of ["function f() {", "f(", "`text", "/* text", "const a =", "[1,", "x => {\n  if (x) {"])
    assert.is(status(code), "incomplete", code);
  for (const code of ["const x = ;", "1 +* 2", "'text", "}"]) assert.is(status(code), "invalid", code);
  assert.is(session.isComplete("function f() {").indent, "  ");
  assert.is(session.isComplete("function f() {\n  if (x) {\n    }").indent, "  ");
});

language("completion and inspection know preloaded names, earlier cells and documentation", async () => {
  await run("/** Links of one GPU. */\nconst links = { active: 18 };");
  const at = (code: string) => session.complete(code, code.length).candidates.map(({ name }) => name);
  assert.ok(at("aq.tab").includes("table"));
  assert.ok(at("lab.").includes("sweep"));
  assert.ok(at("display.prog").includes("progress"));
  assert.ok(at("links.ac").includes("active"));
  assert.ok(at("link").includes("links"));
  const info = session.inspect("display.html", 9);
  assert.match(info?.signature ?? "", /html\(html: string\): void/);
  assert.match(info?.documentation ?? "", /Shows HTML/);
  assert.is(session.inspect("   ", 1), null);
});

language(
  "files of the notebook's folder are imported by each extension, and read again once changed",
  async () => {
    const save = (name: string, text: string) => writeFileSync(join(folder, name), text);
    save("own.ts", "export const one: number = 1;");
    save("module.mts", "export const two: number = 2; export default 'two';");
    save("script.cts", "export const three: number = 3;");
    save("plain.mjs", "export default 4;");
    save("data.json", '{ "five": 5 }');
    assert.is(
      await textOf(`import { one } from "./own.ts"; import named, { two } from "./module.mts"; import { three } from "./script.cjs";
import four from "./plain.mjs"; import data from "./data.json"; [one, named, two, three, four, data.five].join()`),
      "'1,two,2,3,4,5'",
    );
    assert.is(await textOf('(await import("./own.ts")).one'), "1");
    save("data.json", '{ "five": 55, "six": 6 }');
    assert.is(await textOf('import data from "./data.json"; data.five + data.six'), "61");
  },
);

language(
  "modules have import.meta, may await, import each other and data, and stand in folders",
  async () => {
    const save = (name: string, text: string) => writeFileSync(join(folder, name), text);
    mkdirSync(join(folder, "parts"), { recursive: true });
    save("parts/index.ts", "export const where: string = import.meta.dirname;");
    save(
      "slow.ts",
      "export const slow: number = await Promise.resolve(1);\nexport const isOnce = !('seen' in globalThis);\nObject.assign(globalThis, { seen: 1 });",
    );
    save(
      "slower.ts",
      "import { slow } from './slow.ts';\nfor await (const one of [1]) void one;\nexport const slower = slow + 1;",
    );
    save(
      "reader.ts",
      "import data from './given.json';\nimport { slower } from './slower';\nexport const sum: number = data.given + slower;",
    );
    save("given.json", '{ "given": 10 }');
    assert.is(
      await textOf('import { where } from "./parts"; where === import.meta.dirname + "/parts"'),
      "true",
    );
    assert.is(
      await textOf('import { sum } from "./reader"; import { isOnce } from "./slow"; [sum, isOnce].join()'),
      "'12,true'",
    );
    save("given.json", '{ "given": 100 }');
    assert.is(await textOf('import { sum } from "./reader"; sum'), "102");
    await run("/** @module waits */\nexport const later = await Promise.resolve(5);");
    assert.is(await textOf('(await import("./waits")).later'), "5");
    save("one.ts", "import './other.ts'; await null; export {};");
    save("other.ts", "import './one.ts'; await null; export {};");
    assert.match((await errorOf('import "./one.ts"')).evalue, /wait for each other: one, other, one/);
  },
);

language("an error of a module names its own file and line", async () => {
  const text =
    "interface Gone {\n  x: number;\n}\n\nexport function fail(at: Gone): never {\n  throw new Error('failed');\n}\n";
  writeFileSync(join(folder, "failing.ts"), text);
  const { traceback } = await errorOf('import { fail } from "./failing";\nfail({ x: 1 });');
  assert.match(
    traceback.join("\n"),
    /at fail, failing\.ts, line 6\n.*→ +6 │ {3}throw new Error.*at Cell In\[\d+\], line 2/s,
  );
});

language.after(close);
language.run();
