import { suite } from "uvu";
import * as assert from "uvu/assert";
import { openSession, written } from "./open.js";

const language = suite("language level");
const { session, close, run, textOf, errorOf } = await openSession();

language("cells are in strict mode, and have the module of a script that is run", async () => {
  assert.is(await textOf("(function () { return this === undefined; })()"), "true");
  assert.match((await errorOf("(Object.freeze({ a: 1 }) as any).a = 2")).evalue, /read only/);
  assert.is(
    await textOf("module.exports = {}; require.main === module && module.filename === __filename"),
    "true",
  );
  assert.is(await textOf("const module = 5; module"), "5");
});

language("using frees at the end of the cell, in reverse order, also when it throws", async () => {
  const make =
    "const make = (name: string) => ({ name, [Symbol.dispose]() { console.log('freed ' + name); } });";
  await run(make);
  const ran = await run(
    "using a = make('a'); using b = make('b'); console.log('used ' + a.name + b.name); const kept = a.name;",
  );
  assert.is(written(ran), "used ab\nfreed b\nfreed a\n");
  assert.is(await textOf("kept"), "'a'");
  const failed = await run("using c = make('c'); throw new Error('x');");
  assert.is(written(failed), "freed c\n");
  const waited = await run(
    "await using d = { async [Symbol.asyncDispose]() { await null; console.log('gone'); } }; 5",
  );
  assert.is(written(waited), "gone\n");
});

language("for await, ES2023, import.meta, export and every form of import run in a cell", async () => {
  assert.is(
    await textOf("let all = ''; for await (const x of [1, Promise.resolve(2)]) all += x; all"),
    "'12'",
  );
  assert.is(await textOf("[3, 1, 2].toSorted().with(0, 9).findLast((x) => x > 2)"), "3");
  assert.is(await textOf("import.meta.dirname === process.cwd()"), "true");
  assert.is(
    await textOf("[import.meta.resolve('fs'), import.meta.resolve('node:os')].join()"),
    "'node:fs,node:os'",
  );
  await run("export const exported = 4; export function doubled() { return exported * 2; }");
  assert.is(await textOf("doubled() + exported"), "12");
  assert.is(
    await textOf(`const before = basename("/a/b");
import { basename } from "node:path"; import path, { type ParsedPath } from "node:path"; import * as fs from "node:fs";
import "node:os"; const parsed: ParsedPath = path.parse("/x/y.z"); [before, parsed.ext, typeof fs.statSync].join()`),
    "'b,.z,function'",
  );
  assert.is(await textOf("basename('/later/cell')"), "'cell'");
});

language("labels, loops without braces and generators survive what is added to loops", async () => {
  assert.is(
    await textOf(`const seen: number[] = [];
outer: for (const i of [1, 2, 3]) for (let j = 0; ; j++) if (j > i) continue outer; else if (i > 2) break outer; else seen.push(i * 10 + j);
let k = 0; do k++; while (k < 3); while (k < 6) k++; for (const key in { a: 1, b: 2 }) seen.push(key.length);
function* up() { for (let i = 0; ; i++) yield i; } for (const x of up()) { if (x > 2) break; seen.push(x); }
[k, ...seen].join()`),
    "'6,10,11,20,21,22,1,1,0,1,2'",
  );
});

language("one cell run 20 times gives the same, and var inside of blocks is known later", async () => {
  for (let i = 0; i < 20; i++)
    assert.is(
      await textOf(
        "const a = 1; let b = [a]; class C {} enum E { X } for (var v = 0; v < 3; v++); b.length + E.X + v",
      ),
      "4",
    );
  assert.is(await textOf("v"), "3");
});

language("a value whose type has no name outside of its package keeps it", async () => {
  await run(
    'import { lab as own } from "p2plab"; interface Mine { n: number } const guess = own.predict("x", "10 us"); const mine: Mine = { n: 1 };',
  );
  assert.match(session.inspect("guess", 2)?.signature ?? "", /guess: Prediction/);
  assert.match((await errorOf("guess.nowhere")).evalue, /^TS2339/);
  assert.is(await textOf("const copy: Mine = mine; copy.n"), "1");
});

language("exports is what tslab has it be, and a cell may declare what it is given", async () => {
  await run("let shared = 1; const read = () => shared;");
  assert.is(
    await textOf(`exports.shared = 5; exports.made = 6;
Object.defineProperty(exports, "twice", { value: 1 }); Object.defineProperty(exports, "twice", { value: 2 });
[read(), exports.made, exports.twice].join()`),
    "'5,6,2'",
  );
  assert.is(
    await textOf(
      'const require = 1, __filename = "f", __dirname = "d"; [require, __filename, __dirname].join()',
    ),
    "'1,f,d'",
  );
  // To later cells they are what this cell made them.
  assert.is(await textOf("require + __filename"), "'1f'");
});

language("a type may take the name of an imported value, and the value stays typed", async () => {
  await run('import { cpus } from "node:os";');
  await run("type cpus = number;");
  assert.match((await errorOf("const n: string = cpus().length")).evalue, /^TS2322/);
  assert.is(await textOf("const c: cpus = cpus().length; typeof c"), "'number'");
});

language("a module for a browser knows the DOM, and is not run; a cell of Node.js does not", async () => {
  const module = "/** @browser @module page */ const box = document.createElement('div');";
  assert.equal((await run(module)).outputs, []);
  assert.match((await errorOf("document.createElement('div')")).evalue, /^TS2584/);
  const typed = "/** @browser */ document.querySe";
  assert.equal(
    session.complete(typed, typed.length).candidates.map(({ name }) => name),
    ["querySelector", "querySelectorAll"],
  );
  assert.match(session.inspect(typed, typed.indexOf("document") + 1)?.signature ?? "", /document: Document/);
});

language("tags that follow each other are each read, and a module can go over to JSX", async () => {
  await run("/** @module part */ export const n = 1;");
  assert.is(await textOf('import { n } from "./part"; n'), "1");
  await run(
    "/** @jsx @module part */ let React: any; const make = () => <div></div>; export const n = 'jsx';",
  );
  assert.is(await textOf('import { n } from "./part"; n'), "'jsx'");
});

language("a syntax error at the end of the cell is told within it", async () => {
  const { traceback } = await errorOf("function open() {\n  return (1");
  assert.match(traceback[0] as string, /line 2, column \d+: TS1005/);
});

language(
  "what scripts and other runtimes are used to runs: `#!`, flag v, decorators of both kinds, import x = require()",
  async () => {
    assert.is(await textOf("#!/usr/bin/env node\nconst first = 1; first + 1"), "2");
    assert.is(await textOf("/^[\\p{L}--[a-z]]$/v.test('A')"), "true");
    await run(`function standard(f: () => number, about: ClassMethodDecoratorContext) { return () => f() + 1; }
function tslabs(target: object, key: string, about: PropertyDescriptor) { about.value = () => 20; }`);
    assert.is(await textOf("class A { @standard f() { return 1; } } new A().f()"), "2");
    assert.is(await textOf("class B { @tslabs f() { return 1; } } new B().f()"), "20");
    await run(`/** @module with-decorator */
export function named(c: Function, about: ClassDecoratorContext) { console.log(about.name); }
@named export class C {}`);
    assert.is(written(await run("import { C } from './with-decorator'; new C();")), "C\n");
    assert.is(await textOf("import os = require('node:os'); typeof os.cpus"), "'function'");
  },
);

language.after(close);
language.run();
