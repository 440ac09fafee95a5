import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Random } from "../../kernel/lab/random.js";
import { openSession } from "./open.js";

const bindings = suite("names between cells");
const { session, close, run, textOf, errorOf } = await openSession();

bindings("what one cell assigns, functions and closures of another see", async () => {
  await run("let n = 0; function inc() { n++; return n; } const read = () => n;");
  assert.is(await textOf("n = 10; inc(); [n, read()]"), "[ 11, 11 ]");
  await run("n += 4; ({ n } = { n: n * 2 }); [n] = [n + 1]; for (n of [40]); n++;");
  assert.is(await textOf("read()"), "41");
  await run("const later = { read, get own() { return n; } };");
  assert.is(await textOf("n = 7; later.read() + later.own"), "14");
});

bindings(
  "a name declared anew is another one: closures keep the one that they were written with",
  async () => {
    await run("const size = 1; const old = () => size;");
    await run("const size = 'two';");
    assert.is(await textOf("[size, old()].join()"), "'two,1'");
  },
);

bindings("a helper that is declared anew is used by functions of other cells", async () => {
  await run("function unit() { return 'us'; }");
  await run("const label = () => '1 ' + unit();");
  await run("function unit() { return 'ns'; }");
  assert.is(await textOf("label()"), "'1 ns'");
});

bindings("random assignments from random cells leave what one long program would", async () => {
  const random = new Random(20261130);
  await run(
    "let p = 0, q = 0, r = 0; const sum = () => p + q + r; const bump = (by: number) => { q += by; };",
  );
  const model = { p: 0, q: 0, r: 0 };
  for (let i = 0; i < 25; i++) {
    const name = (["p", "q", "r"] as const)[random.integer(3)] as "p" | "q" | "r";
    const value = random.integer(1000);
    await run(`${name} = ${value}; bump(1);`);
    model[name] = value;
    model.q += 1;
  }
  assert.is(await textOf("sum()"), String(model.p + model.q + model.r));
});

bindings("names that a failing cell has made stay, those it had not reached do not", async () => {
  await run("const shadow = 'first';");
  await errorOf(
    "const reached = 3; function always() { return reached; } throw new Error('here'); const shadow = 4; let unreached = 5;",
  );
  assert.is(await textOf("[reached, always(), shadow]"), "[ 3, 3, 'first' ]");
  assert.match((await errorOf("unreached")).evalue, /^TS2552: Cannot find name/);
  await errorOf("const awaited = 1; await Promise.reject(new Error('later'));");
  assert.is(await textOf("awaited"), "1");
  await errorOf("const checked: number = 'no';");
  assert.match((await errorOf("checked")).evalue, /^TS2304/);
});

bindings("names that an interrupted cell has made stay", async () => {
  const cell = run("let turns = 1; await new Promise(() => {});");
  setTimeout(() => session.interrupt(), 60);
  assert.is((await cell).result.error?.ename, "Interrupted");
  assert.is(await textOf("turns"), "1");
});

bindings("names that begin with underscores are names like others", async () => {
  await run("let _one = 1, __two = 2, ___three = 3; function __sum() { return _one + __two + ___three; }");
  assert.is(
    await textOf("__two = 20; const { __two: again } = { __two }; [__sum(), again, ___three].join()"),
    "'24,20,3'",
  );
});

bindings("types, classes, enums and namespaces reach later cells, and are replaced one by one", async () => {
  await run(
    "interface Row { bytes: number } type Maybe = Row | null; enum Kind { Peer, Staged } namespace Deep { export const z = 9; }",
  );
  await run(
    "class Base<T> { constructor(readonly value: T) {} twice(): T[] { return [this.value, this.value]; } }",
  );
  assert.is(
    await textOf(
      "class Own extends Base<number> {} const row: Maybe = { bytes: Deep.z }; [new Own(2).twice(), row.bytes, Kind[1]]",
    ),
    "[ [ 2, 2 ], 9, 'Staged' ]",
  );
  await run("interface Row { gbps: number }");
  assert.match((await errorOf("const wrong: Row = { bytes: 1 }")).evalue, /^TS2353/);
  await run("const Kind = 3;");
  assert.is(await textOf("Kind + 1"), "4");
});

bindings("the preloaded names cannot be assigned, and can be declared", async () => {
  assert.match((await errorOf("lab = null")).evalue, /^TS2632/);
  await run("const prompt = 5;");
  assert.is(await textOf("prompt"), "5");
});

bindings.after(close);
bindings.run();
