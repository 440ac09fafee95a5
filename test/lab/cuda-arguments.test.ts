import { suite } from "uvu";
import * as assert from "uvu/assert";
import { inLab, missing } from "../native/toolchain.js";

export const TIME_LIMIT_S = 120;

const test = suite("cuda: wrong arguments, on the stand-in driver");

const SOURCE = `const source = \`extern "C" __global__ void touch(int* p) { atomicAdd(p, 1); }
  extern "C" __global__ void pause(unsigned long long ns) {}\`;
  const a = cuda.alloc(0, 8), b = cuda.alloc(0, 8), s = cuda.stream(), e = cuda.event();
  const touch = cuda.compile(source, "touch"), one = { grid: 1, block: 1 };`;

/** Calls with one wrong value `w` each; \`none\` says that leaving the value out is right. */
const CALLS: Readonly<Record<string, string>> = {
  "hostAlloc options": "none cuda.hostAlloc(8, w)",
  "hostAlloc pinned": "none cuda.hostAlloc(8, { pinned: w })",
  "event options": "none cuda.event(0, w)",
  "event timing": "none cuda.event(0, { timing: w })",
  "copy to": "cuda.copy(w, a)",
  "copy from": "cuda.copy(a, w)",
  "copy offsets": "none cuda.copy(a, b, 8, w)",
  "copy offset": "none cuda.copy(a, b, 4, { srcOffset: w })",
  write: "a.write(w)",
  as: "a.as(w)",
  "as.write": 'a.as("i32").write(w)',
  "as.get": 'a.as("i32").get(w)',
  "as.fill": 'a.as("i32").fill(w)',
  memset: "cuda.memset(w, 0)",
  "memset options": "none cuda.memset(a, 0, w)",
  "fill width": "none s.fill(a, 0, { width: w })",
  "stream.copy": "s.copy(a, w)",
  "stream.wait": "s.wait(w)",
  "stream.record": "none s.record(w)",
  "stream.sync": "none s.sync(w)",
  "stream.done": "none s.done(w)",
  "stream.done signal": "none s.done({ signal: w })",
  "event.record": "e.record(w)",
  "event.sync": "none e.sync(w)",
  "event.elapsedNs": "e.elapsedNs(w)",
  "graph stream": "cuda.graph(w, () => {})",
  "graph function": "cuda.graph(s, w)",
  "module options": "none cuda.module(source, w)",
  "compile name": "cuda.compile(source, w)",
  "compile options": 'none cuda.compile(source, "touch", w)',
  "compile file": 'none cuda.compile(source, "touch", { file: w })',
  "compile flags": 'none cuda.compile(source, "touch", { options: w })',
  "compile gpu": 'none cuda.compile(source, "touch", { gpu: w })',
  launch: "touch.launch(w, a)",
  "launch grid": "touch.launch({ grid: w, block: 1 }, a)",
  "launch block": "touch.launch({ grid: 1, block: [w] }, a)",
  "launch stream": "none touch.launch({ ...one, stream: w }, a)",
  "launch gpu": "none touch.launch({ ...one, gpu: w }, a)",
  "launch deadline": "none touch.launch({ ...one, deadlineMs: w }, a)",
  time: "touch.time(w, a)",
  "time signal": "none touch.time({ ...one, repetitions: 1, signal: w }, a)",
};

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

function register(): void {
  test("every wrong value ends in a usage error with a hint, and everything works afterwards", () => {
    const calls = Object.entries(CALLS).map(([name, text]) => {
      const optional = text.startsWith("none ");
      return `[${JSON.stringify(name)}, ${optional}, (w) => ${optional ? text.slice(5) : text}]`;
    });
    const { lines, stderr } = inLab(`${SOURCE}
      const thrower = () => { throw new Error("read"); };
      const proxy = new Proxy({}, { get: thrower });
      const values = [undefined, null, Number.NaN, -1.5, "sx", Symbol("s"), 1n << 70n, ["x", {}], proxy];
      // What a getter of the reader's own throws is the reader's own error.
      const right = (error, w) => error.message === "read" ? w === proxy : error.code === "usage" && error.hint.length > 9;
      const wrong = [];
      let tried = 0;
      for (const [name, optional, call] of [${calls.join(",\n")}]) {
        for (const w of values) {
          if (optional && w === undefined) continue;
          // A list of a number is a stretch, and this text a file's name.
          if (name === "compile file" && w === "sx") continue;
          tried++;
          const told = name + " of " + (w === proxy ? "a proxy" : Array.isArray(w) ? "a list" : String(w)) + ": ";
          try { await call(w); wrong.push(told + "accepted"); }
          catch (error) { if (!right(error, w)) wrong.push(told + error.stack); }
        }
      }
      print(wrong); print(tried);
      a.as("i32").fill(0); touch.launch({ grid: 1, block: 32 }, a); print(a.as("i32").get(0));
      const graph = cuda.graph(s, () => touch.launch({ ...one, stream: s }, a));
      graph.launch(s); s.sync(); print(a.as("i32").get(0));`);
    assert.is(stderr, "");
    assert.equal(lines[0], []);
    assert.ok(lines[1] > 300);
    assert.equal(lines.slice(2), [32, 33]);
  });

  test("options that do not exist are named, and a launch waits for work on an array as for work on its buffer", () => {
    const { lines, stderr } = inLab(`${SOURCE}
      const says = (work) => { try { work(); return "accepted"; } catch (error) { return error.message; } };
      print([
        says(() => cuda.hostAlloc(8, { pined: false })),
        says(() => touch.launch({ ...one, blocks: 2 }, a)),
        says(() => a.write(5)),
      ]);
      a.as("i32").fill(0);
      cuda.compile(source, "pause").launch({ ...one, stream: s }, 20e6);
      s.fill(a, 1, { width: 4, count: 1 });
      touch.launch(one, a.as("i32"));
      print(a.as("i32").get(0));`);
    assert.is(stderr, "");
    assert.equal(lines, [
      [
        'cuda.hostAlloc has no option "pined"',
        'kernel.launch has no option "blocks"',
        "buffer.write: the data is 5",
      ],
      2,
    ]);
  });
}

test.run();
