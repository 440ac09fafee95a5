import { suite } from "uvu";
import * as assert from "uvu/assert";
import { openSession, written } from "./open.js";

const errors = suite("errors of cells");
const { session, close, run, errorOf, textOf } = await openSession();
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

errors(
  "a frame is numbered by the cell's own lines, whatever TypeScript left out of its JavaScript",
  async () => {
    const { traceback } = await errorOf(`interface Row {
  bytes: number;
}
type Pair = [Row, Row];

function check(row: Row): number {
  if (row.bytes < 0)
    throw new RangeError("negative");
  return row.bytes;
}
check({ bytes: 1 });
check({ bytes: -1 });`);
    const count = session.executionCount;
    assert.equal(traceback, [
      "RangeError: negative",
      `  at check, Cell In[${count}], line 8`,
      "      7 │   if (row.bytes < 0)",
      '  →   8 │     throw new RangeError("negative");',
      "      9 │   return row.bytes;",
      `  at Cell In[${count}], line 12: check({ bytes: -1 });`,
    ]);
  },
);

errors("lines that are alike, shorthand, imports and await do not shift the numbers", async () => {
  const { traceback } = await errorOf(`import { basename } from "node:path";
const name = basename("/a/b"), other = { name };
await null;
const fail = (n: number) => { if (n > 1) throw new Error(name); };
fail(1);
fail(1);
fail(2);`);
  assert.match(traceback.join("\n"), /→ +4 │ const fail/);
  assert.match(traceback.at(-1) as string, /line 7: fail\(2\);$/);
});

errors("a function of an earlier cell is found in its own cell", async () => {
  await run("// one\n// two\nfunction earlier() { throw new Error('deep'); }");
  const cell = session.executionCount;
  const { traceback } = await errorOf("earlier()");
  assert.match(traceback.join("\n"), new RegExp(`at earlier, Cell In\\[${cell}\\], line 3`));
  assert.match(traceback.at(-1) as string, new RegExp(`Cell In\\[${cell + 1}\\], line 1: earlier\\(\\)`));
});

errors("frames of asynchronous callers are mapped as well", async () => {
  const { traceback } = await errorOf(`const slow = async () => {
  await new Promise((resolve) => setTimeout(resolve, 1));
  throw new Error("late");
};
await slow();`);
  assert.match(traceback.join("\n"), /at slow, Cell In\[\d+\], line 3/);
  assert.match(traceback.at(-1) as string, /line 5: await slow\(\);$/);
});

errors("causes, members of an AggregateError and a loop of causes are shown once each", async () => {
  const { traceback } = await errorOf(
    `const inner = new Error("inner"); const outer = new AggregateError([new Error("one"), "two"], "outer", { cause: inner });
inner.cause = outer; throw outer;`,
  );
  const heads = traceback.filter((line) => !line.startsWith("  "));
  assert.equal(heads, [
    "AggregateError: outer",
    "one of them Error: one",
    "one of them two",
    "caused by Error: inner",
  ]);
});

errors("what is no Error is shown by its value", async () => {
  assert.is((await errorOf("throw { code: 7 }")).evalue, "{ code: 7 }");
  assert.is((await errorOf("throw 'text'")).evalue, "text");
  assert.is((await errorOf("throw undefined")).evalue, "undefined");
});

errors("the library's errors come with their hint and without its frames", async () => {
  const { ename, traceback } = await errorOf('await lab.open("sim:none")');
  assert.is(ename, "P2pError");
  assert.match(traceback.join("\n"), /→ /);
  assert.not.match(traceback.join("\n"), /kernel\/|node_modules|node:/);
});

errors("no traceback holds colour codes", async () => {
  const { traceback } = await errorOf("throw new Error('plain', { cause: { a: 1 } })");
  assert.not(traceback.join("").includes("\x1b"));
});

errors("a type error is explained in one block with its place marked", async () => {
  const { ename, evalue, traceback } = await errorOf('const shape: { side: number } =\n\t{ side: "long" };');
  assert.is(ename, "TypeScriptError");
  assert.is(evalue, "TS2322: Type 'string' is not assignable to type 'number'.");
  assert.match(traceback[0] as string, /^Cell In\[\d+\], line 2, column 4: TS2322: /);
  assert.equal(traceback.slice(1), ['  \t{ side: "long" };', "  \t  ^^^^"]);
});

errors("of many type errors the first are told, and how many more there are", async () => {
  const { traceback } = await errorOf("unknownName;\n".repeat(1000));
  assert.is(traceback.filter((line) => /TS2304/.test(line)).length, 20);
  assert.is(traceback.at(-1), "… and 980 more findings");
});

errors("a syntax error is a TypeScriptError as well; other errors of the cell are told with it", async () => {
  assert.match((await errorOf("const = 1")).evalue, /^TS1134/);
  const { traceback } = await errorOf("let both + nowhere;");
  assert.match(traceback.join("\n"), /column 10: TS1005[\s\S]*column 12: TS2304/);
});

errors("a module cell with a type error fails; without, it can be imported", async () => {
  const { ename, traceback } = await errorOf("/** @module broken */\nexport const n: number = 'x';");
  assert.is(ename, "TypeScriptError");
  assert.match(traceback.join("\n"), /broken\.ts, line 2, column 14: TS2322/);
  await run("/** @module sound */\nexport const n: number = 4;");
  assert.is(await textOf('import { n } from "./sound"; n'), "4");
});

errors("a variable of an earlier cell survives a failing cell", async () => {
  await run("const kept = 5;");
  await errorOf("throw new Error()");
  assert.is(await textOf("kept"), "5");
});

errors("an error thrown in a timer, and one in a promise, belong to the cell that began them", async () => {
  const first = await run(
    `setTimeout(() => { throw new Error("in a timer"); }, 30);
setTimeout(() => Promise.reject(new Error("in a promise")), 40);`,
  );
  const second = await run("await new Promise((resolve) => setTimeout(resolve, 120)); console.log('mine')");
  assert.match(written(first, "stderr"), /in a timer[\s\S]*line 1[\s\S]*in a promise/);
  assert.is(written(second, "stderr"), "");
  assert.is(written(second), "mine\n");
});

errors("process.exit in a cell's timer is an error there; the session lives on", async () => {
  const ran = await run("setTimeout(() => process.exit(4), 5);");
  await wait(60);
  assert.match(written(ran, "stderr"), /process\.exit\(4\) in a cell/);
  assert.is(await textOf("1 + 1"), "2");
});

errors("SIGINT ends a loop, the error says so, and the next cell runs", async () => {
  const { ename, evalue } = await errorOf('process.kill(process.pid, "SIGINT"); while (true) {}');
  assert.is(ename, "Interrupted");
  assert.match(evalue, /variables are kept/);
  assert.is(await textOf("2 + 2"), "4");
});

errors("an uncounted cell is named by a star", async () => {
  const { result } = await run("throw new Error('uncounted')", { storeHistory: false });
  assert.match(result.error?.traceback.join("\n") ?? "", /Cell In\[\*\], line 1/);
});

errors("a value that is an Error shows its line, not the kernel's stack", async () => {
  const text = String(await textOf("new Error('shown')"));
  assert.match(text, /^Error: shown\n {2}at Cell In\[\d+\], line 1/);
  assert.not.match(text, /tslab|node:/);
});

errors(
  "what TypeScript cannot know is told with what to do: a missing package, JSX, a cell too long",
  async () => {
    const told = async (code: string) => (await errorOf(code)).traceback.join("\n");
    assert.match(await told('import a from "absent"'), /TS2307.*→ Run npm install absent in/s);
    assert.match(
      await told('import a from "npm:@scope/absent@2/part"'),
      /→ Run npm install @scope\/absent@2 in .* import it as "@scope\/absent\/part"/,
    );
    assert.match(await told('import a from "jsr:@std/csv"'), /→ Run npx jsr add @std\/csv in/);
    assert.match(await told('import a from "https://example.org/a.ts"'), /→ Modules come from npm/);
    assert.match(await told('import a from "./absent"'), /→ Paths begin at the notebook's folder/);
    const required = await errorOf('require("absent")');
    assert.is(required.evalue, "Cannot find module 'absent'");
    assert.match(required.traceback.join("\n"), /→ Run npm install absent in/);
    assert.is(
      await textOf('let code = ""; try { require("absent"); } catch (e) { code = e.code; } code'),
      "'MODULE_NOT_FOUND'",
    );
    assert.match(
      await told("const part = <p>text</p>;"),
      /line 1, column 14: TS17004: Cells have no JSX.*→ JSX stands/s,
    );
    assert.match(
      await told(`const long = "${"x".repeat(17_000_000)}"`),
      /the most is 16777216.*→ Put the data into a file/s,
    );
  },
);

errors(
  "error.stack, and what the console prints of it, has the cell's lines and none of the kernel's",
  async () => {
    const ran = await run(`// a comment
function fail(): Error {
  return new TypeError("told");
}
console.error([fail()]);
new Promise(() => { throw new Error("rejected", { cause: fail() }); });`);
    const cell = `Cell In[${session.executionCount}]`;
    const [printed] = written(ran, "stderr").split("]\n");
    assert.is(printed, `[\n  TypeError: told\n      at fail (${cell}:3:10)\n      at ${cell}:5:16\n`);
    const shown = ran.outputs.at(-1);
    const text = shown?.type === "execute_result" ? String(shown.data["text/plain"]) : "";
    assert.match(text, /Error: rejected\n.*\[cause\]: TypeError: told/s);
    assert.not.match(text, /node:|file:|p2plab/);
    assert.is(
      await textOf("new Error('a').stack"),
      `'Error: a\\n    at Cell In[${session.executionCount}]:1:1'`,
    );
    // Packages that want the frames themselves take this function and put it back.
    assert.is(
      await textOf(`const { prepareStackTrace } = Error; Error.prepareStackTrace = (_, sites) => sites;
const sites: any = new Error().stack; Error.prepareStackTrace = prepareStackTrace; typeof sites[0].getLineNumber()`),
      "'number'",
    );
  },
);

errors("what other notebooks and runtimes have is told with what stands for it here", async () => {
  const told = async (code: string) => (await errorOf(code)).traceback.at(-1) ?? "";
  assert.match(await told("%time 1 + 1"), /^→ Cells have no magics: await lab\.time/);
  assert.match(await told("!ls -l"), /^→ .*execSync\("ls -l", \{ stdio: "inherit" \}\)$/);
  assert.match(await told("plot.latency?"), /^→ Shift-Tab/);
  assert.match(await told('await Deno.readTextFile("a")'), /^→ Cells run in Node\.js .*not in Deno/);
  assert.match(await told("document.body"), /^→ Cells run in Node\.js .*display\.html/);
  assert.match(await told('eval("self.x")'), /^→ Cells run in Node\.js .*not in a page/);
  assert.not.match(await told("unknownName"), /→/);
  assert.is(await textOf("const zero = 0;\n!zero"), "true");
});

errors.after(close);
errors.run();
