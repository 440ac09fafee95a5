/** What a cell may do to itself or to the kernel: each time the front end hears an answer, in order, and the next cell runs. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Answer, KernelClient, PROGRAM } from "./client.js";

export const TIME_LIMIT_S = 240;

const survival = suite("survival");
const client = await KernelClient.start();

survival.after(() => client.stop());

/** The answer, of which busy is the first message and idle the last. */
async function run(code: string): Promise<Answer> {
  const answer = await client.execute(code, { stop_on_error: false });
  const states = answer.published.map(({ content }) => content.execution_state);
  assert.equal([states[0], states.at(-1)], ["busy", "idle"], code.slice(0, 100));
  client.received.length = 0;
  return answer;
}

/** What each cell ends with: the name of its error, or `ok`. */
async function endsWith(cases: readonly (readonly [code: string, end: string])[]): Promise<void> {
  for (const [code, end] of cases) {
    const { reply } = await run(code);
    assert.is(
      reply.status === "ok" ? "ok" : reply.ename,
      end,
      `${code.slice(0, 100)}: ${JSON.stringify(reply).slice(0, 300)}`,
    );
  }
  assert.equal((await run("6 * 7")).outputs[0]?.content.data, { "text/plain": "42" });
}

survival("what would end the process, or close its streams, is an error there", () =>
  endsWith([
    ["process.exit(3)", "P2pError"],
    ["process.abort()", "P2pError"],
    ["(process as any).reallyExit(5)", "P2pError"],
    ["setTimeout(process.exit, 1); await new Promise((r) => setTimeout(r, 30))", "ok"],
    [
      "const leave = process.exit.bind(process); queueMicrotask(() => leave(1)); await new Promise((r) => setTimeout(r, 9))",
      "ok",
    ],
    ["import { closeSync } from 'node:fs'; closeSync(1)", "P2pError"],
    ["require('fs').closeSync(2)", "P2pError"],
    [
      "process.stdin.destroy(); require('child_process').spawnSync('true', [], { stdio: 'inherit' }).status",
      "ok",
    ],
    ["process.kill(process.pid, 'SIGPIPE'); 1", "ok"],
  ]),
);

survival("recursion without end, and nesting that the compiler cannot follow, are errors", () =>
  endsWith([
    ["function down(n: number): number { return down(n + 1) + 1 } down(0)", "RangeError"],
    [
      "async function sink(n: number): Promise<number> { return 1 + await sink(n + 1) } await sink(0)",
      "RangeError",
    ],
    [`${"(".repeat(5000)}1${")".repeat(5000)}`, "RangeError"],
    ["[".repeat(3000) + "]".repeat(3000), "RangeError"],
  ]),
);

survival("values and errors whose own code throws are shown as far as they can be", () =>
  endsWith([
    ["const round: any = {}; round.round = round; round", "ok"],
    ["class Loud { toString(): string { throw new TypeError('loud') } } new Loud()", "TypeError"],
    ["({ get [Symbol.for('Jupyter.display')]() { throw new RangeError('no') } })", "RangeError"],
    [
      "new Proxy({}, { get() { throw new RangeError('trap') }, getPrototypeOf() { throw new RangeError('trap') } })",
      "RangeError",
    ],
    ["const gone = Proxy.revocable({}, {}); gone.revoke(); gone.proxy", "TypeError"],
    ["({ [Symbol.for('Jupyter.display')]: () => ({ 'text/plain': 'x', data: 1n }) })", "TypeError"],
    [
      "class Mute extends Error { get name(): string { throw 1 } get message(): string { throw 2 } } throw new Mute()",
      "(cannot be shown)",
    ],
    [
      "const odd: any = new Error('x'); odd.message = { toString() { throw 1 } }; Object.defineProperty(odd, 'cause', { get() { throw 1 } }); throw odd",
      "Error",
    ],
    ["throw new Proxy(new Error('p'), { get() { throw new Error('trap') } })", "(cannot be shown)"],
    ["throw { [Symbol.for('nodejs.util.inspect.custom')]() { throw 1 } }", "Thrown"],
    [
      "setTimeout(() => { const e = new Error('q'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); throw e }, 1); await new Promise((r) => setTimeout(r, 30))",
      "ok",
    ],
    [
      "setTimeout(() => Promise.reject(new Proxy({}, { get() { throw 1 } })), 1); await new Promise((r) => setTimeout(r, 30))",
      "ok",
    ],
  ]),
);

survival(
  "where no folder can be written and no home is known, cells run, and what has to write says so",
  async () => {
    const nowhere = { HOME: "", TMPDIR: "/proc/none", XDG_DATA_HOME: "/dev/null", XDG_RUNTIME_DIR: "/nope" };
    const other = await KernelClient.start({ cwd: "/proc", env: nowhere });
    try {
      const measuring = `const m = await lab.open("recorded:h200x2");
(await lab.sweep(m, { from: 0, to: 1, bytes: ["8 B"] })).numRows()`;
      assert.is((await other.execute(measuring)).reply.status, "ok");
      const { reply } = await other.execute('lab.predict("nowhere", "3 us")');
      assert.match(String(reply.evalue), /^cannot write \/proc\/p2plab-ledger\.json/);
      assert.match(String(reply.traceback), /→ Name a file that can be written: process\.env\.P2PLAB_LEDGER/);
      assert.is(
        (await other.execute('process.env.P2PLAB_LEDGER = "/dev/null/x"; console.log(1)')).reply.status,
        "ok",
      );
    } finally {
      await other.stop();
    }
  },
);

survival("an error of any size is told in a few lines, with what it says", async () => {
  const sizes: readonly (readonly [string, RegExp])[] = [
    ["throw new Error('m'.repeat(5e6))", /^m{100}/],
    [
      "const e = new Error('x'); e.stack = 'Error: x\\n' + '    at f (file.js:1:1)\\n'.repeat(2e5); throw e",
      /^x$/,
    ],
    [
      "let e0: any = new Error('0'); for (let i = 1; i < 20000; i++) e0 = new Error(String(i), { cause: e0 }); throw e0",
      /^19999$/,
    ],
    [
      "throw new AggregateError(Array.from({ length: 1e5 }, (_, i) => new Error(String(i))), 'many')",
      /^many$/,
    ],
  ];
  for (const [code, evalue] of sizes) {
    const { reply } = await run(code);
    assert.match(String(reply.evalue), evalue);
    assert.ok(JSON.stringify(reply).length < 50_000, code);
  }
});

survival("halves of surrogate pairs, NUL and long text arrive as UTF-8 can hold them", async () => {
  const { outputs, reply } = await run(
    "console.log('a\\ud800\\\\ud800 b\\0'); display.text('\\udc00'); throw new Error('\\ud83d')",
  );
  assert.is(outputs[0]?.content.text, "a\ufffd\\ud800 b\0\n");
  assert.equal(outputs[1]?.content.data, { "text/plain": "\ufffd" });
  assert.is(reply.evalue, "\ufffd");
  const whole = await run("process.stdout.write('😀'.repeat(1.5e6))");
  assert.ok(KernelClient.text(whole) === "😀".repeat(1.5e6), "a pair was taken apart");
  assert.ok(whole.outputs.every(({ content }) => String(content.text).length <= 1_048_576));
});

survival("a cell of ten megabytes runs", async () => {
  const { outputs } = await run(`const long = "${"y".repeat(10e6)}"; long.length`);
  assert.equal(outputs[0]?.content.data, { "text/plain": "10000000" });
});

survival("a working directory that is gone is an error where it is asked for, and nowhere else", async () => {
  await run(
    "const fs = require('fs'); const gone2 = fs.mkdtempSync('/tmp/p2plab-gone-'); process.chdir(gone2); fs.rmdirSync(gone2);",
  );
  assert.match(String((await run("process.cwd()")).reply.evalue), /ENOENT/);
  assert.is((await run("import { basename } from 'node:path'; basename('/a/b')")).reply.status, "ok");
  await run("process.chdir(__dirname)");
});

survival("thousands of comms are opened, listed, refused and closed", async () => {
  const { outputs } = await run(
    "const many = Array.from({ length: 3000 }, () => comms.open('many')); many.length",
  );
  assert.is(outputs.filter(({ type }) => type === "comm_open").length, 3000);
  const listed = (await client.ask("shell", "comm_info_request", { target_name: "many" })).reply;
  assert.is(Object.keys(listed.comms as object).length, 3000);
  for (let i = 0; i < 1000; i++)
    await client.send("shell", "comm_open", { comm_id: `r${i}`, target_name: "none", data: {} });
  assert.is((await run("for (const one of many) one.close(); 1")).reply.status, "ok");
  assert.equal((await client.ask("shell", "comm_info_request", {})).reply.comms, {});
});

survival("a storm of signals stops the cell that runs, and no other", async () => {
  for (let i = 0; i < 100; i++) client.process.kill("SIGINT");
  assert.is((await run("1")).reply.status, "ok");
  const cell = await client.sendCell("console.log('loops'); while (true) {}");
  await client.wait((message) => message.parent === cell && message.type === "stream");
  for (let i = 0; i < 100; i++) client.process.kill("SIGINT");
  assert.is((await client.answerOf(cell)).reply.ename, "Interrupted");
  assert.is((await run("2")).reply.status, "ok");
});

survival(
  "built-in functions that a cell replaces are put back where the kernel needs them, and variables stay",
  async () => {
    await run("let kept = 41;");
    const spoilt: readonly string[] = [
      "Array.prototype.push = (() => { throw new Error('p') }) as never; Array.prototype.map = (() => { throw new Error('m') }) as never; 1",
      "(Array.prototype as any)[Symbol.iterator] = () => { throw new Error('i') }; 1",
      "Promise.prototype.then = (() => { throw new Error('t') }) as never; 1",
      "String.prototype.replace = (() => { throw new Error('r') }) as never; 1",
      "Map.prototype.get = () => undefined; 1",
      "(globalThis as any).Error = undefined; throw 5",
      "(globalThis as any).Promise = class { constructor() { throw new Error('no') } }; 1",
      "(globalThis as any).setImmediate = (globalThis as any).setTimeout = () => undefined; 1",
      "delete (globalThis as any).process; delete (globalThis as any).performance; delete (globalThis as any).Buffer; 1",
      "(globalThis as any).process = undefined; (globalThis as any).Buffer = 5; 1",
      "delete (globalThis as any).Atomics; delete (globalThis as any).globalThis; 1",
      "(globalThis as any).Proxy = (globalThis as any).Reflect = (globalThis as any).Symbol = (globalThis as any).Object = undefined; 1",
      "Object.defineProperty(Object.prototype, 'then', { get() { throw new Error('then') }, configurable: true }); 1",
      "Object.defineProperty(Object.prototype, 'value', { get: () => 5, configurable: true }); 1",
      "Object.defineProperty(Array.prototype, '0', { set() { throw new Error('item') }, configurable: true }); 1",
      "(Object.prototype as any).toJSON = (Array.prototype as any).toJSON = (String.prototype as any).toJSON = () => 'gone'; 1",
      "Array.prototype.push = (() => { throw new Error('p') }) as never; setTimeout(() => { throw new Error('late') }, 1); await new Promise((r) => setTimeout(r, 30));",
    ];
    for (const code of spoilt) {
      await run(code);
      // The kernel may learn of it at a later cell only.
      await run("1");
      const { outputs } = await run("kept + 1");
      const value = outputs.find(({ type }) => type === "execute_result")?.content.data;
      assert.equal(value, { "text/plain": "42" }, code);
    }
  },
);

survival("what a cell has not touched is not said to be put back, and what it added stays", async () => {
  await run("(Object.prototype as any).own = 1; (Array.prototype as any).last = 2; new AbortController()");
  const fails = "display({ [Symbol.for('Jupyter.display')]: async () => { throw new Error('no picture') } })";
  const first = await run(fails);
  assert.is(first.reply.evalue, "no picture");
  assert.is(KernelClient.text(first, "stderr").split(": ").at(-1), "Object.prototype.own\n");
  assert.is(KernelClient.text(await run(fails), "stderr"), "");
  assert.equal((await run("([] as any).last")).outputs[0]?.content.data, { "text/plain": "2" });
});

survival("listeners of the kernel come back when a cell removes all: a signal ends no kernel", async () => {
  for (const code of [
    "process.removeAllListeners(); 1",
    "await null; process.removeAllListeners('SIGINT')",
  ]) {
    assert.is((await run(code)).reply.status, "ok");
    for (let i = 0; i < 3; i++) client.process.kill("SIGINT");
    assert.equal((await run("6 * 7")).outputs[0]?.content.data, { "text/plain": "42" }, code);
  }
  await run("process.on('SIGUSR2', () => console.log('mine')); process.removeAllListeners('SIGUSR2'); 1");
  assert.equal((await run("process.listenerCount('SIGUSR2')")).outputs[0]?.content.data, {
    "text/plain": "0",
  });
});

survival(
  "an error that nobody awaits ends no kernel, whatever listeners a cell adds or removes",
  async () => {
    const late = "await new Promise((r) => setTimeout(r, 30));";
    for (const code of [
      `process.on('uncaughtException', () => { throw new Error('again') }); setTimeout(() => { throw new Error('late') }, 1); ${late}`,
      `process.removeAllListeners('uncaughtException'); setTimeout(() => { throw new Error('late') }, 1); ${late}`,
      `process.removeAllListeners('unhandledRejection'); void Promise.reject(new Error('late')); ${late}`,
    ]) {
      const answer = await run(code);
      assert.is(answer.reply.status, "ok", code);
      assert.match(KernelClient.text(answer, "stderr"), /Error: (again|late)/);
    }
  },
);

survival(
  "microtasks without end: the cell is told that a restart is needed, and a shutdown is heard",
  async () => {
    const cell = await client.sendCell(
      "console.log('turns'); const turn = (): Promise<void> => Promise.resolve().then(turn); await turn();",
    );
    await client.wait((message) => message.parent === cell && message.type === "stream");
    await client.ask("control", "interrupt_request", {});
    await client.wait((message) => message.parent === cell && /restart/.test(String(message.content.text)));
    const id = await client.send("control", "shutdown_request", { restart: true });
    await client.wait((message) => message.parent === id && message.type === "shutdown_reply");
    await client.exited();
  },
);

survival(
  "a kernel whose log is full, that has no stdin, and whose objects a cell freezes, runs",
  async () => {
    const full = await KernelClient.start({
      logFile: "/dev/full",
      command: (file) => ["/bin/sh", "-c", `exec "$0" "$@" <&-`, process.execPath, PROGRAM, file],
    });
    try {
      await full.sendFrames("shell", full.frames("execute_request", {}, "forged", "another key"));
      assert.equal((await full.execute("require('fs').writeSync(2, 'x'); 3")).reply.status, "ok");
      await full.execute(
        "[globalThis, Object.prototype, Array.prototype, Function.prototype, Promise.prototype, process].forEach(Object.freeze)",
      );
      const { outputs } = await full.execute(
        "await null; class A { toString() { return 'a' } } String(new A())",
      );
      assert.equal(outputs[0]?.content.data, { "text/plain": "'a'" });
    } finally {
      await full.stop();
    }
  },
);

survival.run();
