import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { inLab, missing } from "../native/toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("cuda: kernels, streams, events and graphs, on the stand-in driver");

const SOURCE = `const source = \`extern "C" __global__ void touch(int* p) { atomicAdd(p, 1); }
  extern "C" __global__ void echo(unsigned long long* out, int a, float b, unsigned long long c, bool d, Pair e) {}
  extern "C" __global__ void pause(unsigned long long ns) {}
  extern "C" __global__ void empty() {}
  extern "C" __global__ void stuck(int* p) {}
  extern "C" __global__ void fault(int* p) {}
  template <typename T> __global__ void scale(T * p, float factor, int count) {}\`;
  const counter = cuda.alloc(0, 4); counter.as("i32").fill(0);
  const attempt = (work) => { try { return work() ?? "accepted"; } catch (error) { return error.name + ": " + error.message; } };`;

/** Runs a script; also gives what the driver still held at the end. */
function leftBy(script: string, settings: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-counts-"));
  try {
    const file = join(folder, "counts.json");
    const child = inLab(`${SOURCE}${script}`, { ...settings, P2PLAB_FAKE_COUNTS: file });
    const { calls, ...live } = JSON.parse(readFileSync(file, "utf8"));
    return { ...child, alive: Object.entries(live).filter(([, count]) => count !== 0) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

function register(): void {
  test("a kernel written in a cell runs in three lines", () => {
    const { lines, stderr, alive } = leftBy(
      `using touch = cuda.compile(source, "touch");
       touch.launch({ grid: 1, block: 32 }, counter);
       print(counter.as("i32").get(0));
       touch.launch({ grid: [2, 3], block: [4, 4, 2] }, counter);
       print([counter.as("i32").get(0), String(touch), touch.facts().maxThreadsPerBlock]);`.replace(
        "using",
        "const",
      ),
    );
    assert.is(stderr, "");
    assert.equal(lines, [32, [224, "kernel touch(int* p)", 1024]]);
    assert.equal(alive, []);
  });

  test("on a stream a launch returns at once; reads wait for it, done() does not hold up the loop", () => {
    const { lines, stderr } = leftBy(
      `const pause = cuda.compile(source, "pause"), touch = cuda.compile(source, "touch"), s = cuda.stream();
       pause.launch({ grid: 1, block: 1, stream: s }, 50e6);
       touch.launch({ grid: 1, block: 5, stream: s }, counter);
       print(s.idle);
       print(counter.as("i32").get(0));
       print(s.idle);
       pause.launch({ grid: 1, block: 1, stream: s }, 50e6);
       let turns = 0; const timer = setInterval(() => turns++, 1);
       await s.done(); clearInterval(timer);
       print([turns > 3, s.idle]);`,
    );
    assert.is(stderr, "");
    assert.equal(lines, [false, 5, true, [true, true]]);
  });

  test("arguments of all kinds arrive: buffers, arrays, addresses, numbers, bigints, structures, null", () => {
    const { lines, stderr } = leftBy(
      `const out = cuda.alloc(0, 80).as("u64"), echo = cuda.compile(source, "echo", { parameters: ["ptr", "i32", "f32", "u64", "bool", "bytes:12"] });
       echo.launch({ grid: 1, block: 1 }, out, -1, 0.5, 2n ** 64n - 1n, true, Uint32Array.of(1, 2, 3));
       print([...out.read(0, 5)].map(String));
       echo.launch({ grid: 1, block: 1 }, out.buffer.address + 40n, 7, 0, 8, false, new ArrayBuffer(12));
       print([...out.read(5)].map(String));
       print(attempt(() => echo.launch({ grid: 1, block: 1 }, null, 1, 1, 1, true, new ArrayBuffer(12))));`,
    );
    assert.is(stderr, "");
    assert.equal(lines.slice(0, 2), [
      ["4294967295", "1056964608", "18446744073709551615", "1", "8589934593"],
      ["7", "0", "8", "0", "0"],
    ]);
    assert.match(lines[2], "CUDA_ERROR_ILLEGAL_ADDRESS");
  });

  test("what a parameter does not take is refused by the parameter's name, and never launched", () => {
    const { lines } = leftBy(
      `const touch = cuda.compile(source, "touch"), pause = cuda.compile(source, "pause");
       const on = { grid: 1, block: 1 }, closed = cuda.alloc(0, 4); closed.close();
       for (const args of [[], [counter, 1], [5], ["p"], [undefined], [{}], [() => 1], [16n], [closed], [cuda.hostAlloc(4, { pinned: false })], [new Uint8Array(8)]])
         print(attempt(() => touch.launch(on, ...args)));
       for (const value of [-1, 0.5, NaN, 2 ** 60, -1n, 2n ** 64n, counter, true, null])
         print(attempt(() => pause.launch(on, value)));
       print(counter.as("i32").get(0));`,
    );
    const takes =
      "P2pError: touch: argument 1 (int* p) must be a buffer of cuda.alloc() or cuda.hostAlloc(), or an address as a BigInt, not ";
    const whole =
      "P2pError: pause: argument 1 (unsigned long long ns) must be a whole number from 0 to 2^64 - 1, a BigInt beyond 2^53, not ";
    assert.equal(lines, [
      "P2pError: touch takes 1 argument (int* p), not 0",
      "P2pError: touch takes 1 argument (int* p), not 2",
      `${takes}number 5`,
      `${takes}string "p"`,
      `${takes}undefined`,
      `${takes}an object`,
      `${takes}a function`,
      `${takes}an address that lies in no open buffer`,
      "P2pError: the buffer is closed",
      "P2pError: an argument of touch is pageable host memory, which a GPU cannot reach",
      `${takes}a Uint8Array of 8 bytes`,
      `${whole}-1`,
      `${whole}number 0.500000`,
      `${whole}number nan`,
      `${whole}number 1152921504606846976.000000`,
      `${whole}-1`,
      `${whole}a BigInt of more bits`,
      `${whole}a buffer`,
      `${whole}true`,
      "accepted",
      0,
    ]);
  });

  test("a shape that the GPU does not take is refused by its dimension", () => {
    const { lines } = leftBy(
      `const touch = cuda.compile(source, "touch");
       for (const shape of [{}, { grid: 1 }, { grid: 0, block: 1 }, { grid: [1, 2, 3, 4], block: 1 }, { grid: 1, block: [1, "2"] }, { grid: 1.5, block: 1 },
         { grid: 1, block: 2048 }, { grid: [1, 1e5], block: 1 }, { grid: 2 ** 40, block: 1 }, { grid: 1, block: 1, shared: "1 MiB" }, { grid: 1, block: 1, shared: -1 }, { grid: 1, block: 1, gpu: 7 }])
         print(attempt(() => touch.launch(shape, counter)).replace("P2pError: ", ""));`,
    );
    assert.equal(lines, [
      "grid is undefined, not one to three whole numbers from 1 on",
      "block is undefined, not one to three whole numbers from 1 on",
      "grid is 0, not one to three whole numbers from 1 on",
      "grid is [1,2,3,4], not one to three whole numbers from 1 on",
      'block is [1,"2"], not one to three whole numbers from 1 on',
      "grid is 1.5, not one to three whole numbers from 1 on",
      "block.x is 2048, not from 1 to 1024",
      "grid.y is 100000, not from 1 to 65535",
      "launch: grid.x must be a whole number from 0 to 4294967295",
      "touch: 1048576 bytes of dynamic shared memory are more than the 232448 that this GPU has left for a block",
      "not a size in bytes: -1",
      "there is no GPU 7 (the driver shows 2)",
    ]);
  });

  test("a source that does not compile is a CompileError with the log; other wrong sources say what is wrong", () => {
    const { lines } = leftBy(
      `try { cuda.compile("int a;\\n#error nothing here", "touch", { file: "mine.cu" }); } catch (error) { print([error.name, error.code, error.message, error.log]); }
       for (const call of [() => cuda.compile(source, "tuch"), () => cuda.compile(source, "echo"), () => cuda.compile(source, "scale<float>", { parameters: ["ptr"] }),
         () => cuda.compile(source, "touch", { options: ["--bogus"] }), () => cuda.compile(source, "touch", { options: ["-arch=sm_80"] }), () => cuda.compile(5, "touch"),
         () => cuda.compile(new Uint8Array(100), "touch", { parameters: ["ptr"] }), () => cuda.compile(new Uint8Array(100), "touch"),
         () => cuda.compile(source, "touch", { parameters: ["int"] })])
         print(attempt(call).replace("P2pError: ", ""));`,
    );
    assert.equal(lines[0], [
      "CompileError",
      "compile",
      'NVRTC cannot compile mine.cu\nmine.cu(2): catastrophic error: #error nothing here\n\n1 catastrophic error detected in the compilation of "mine.cu".\n',
      'mine.cu(2): catastrophic error: #error nothing here\n\n1 catastrophic error detected in the compilation of "mine.cu".\n',
    ]);
    assert.equal(lines.slice(1), [
      "there is no kernel tuch; the source has touch, echo, pause, empty, stuck, fault, scale",
      "echo: the source does not tell the type of the parameter Pair e",
      "scale<float> has 3 parameters (T * p, float factor, int count), and 1 are declared",
      "NVRTC does not know an option: nvrtc: error: unrecognized option --bogus found",
      "the architecture is that of the GPU and cannot be given",
      "device code is a text or a Uint8Array, not number",
      "the device code is neither PTX text nor a cubin nor a fat binary",
      "the parameters of touch are not known from a cubin",
      '"int" is no type of a kernel parameter',
    ]);
  });

  test("instances of templates, PTX and modules with several kernels work alike", () => {
    const { lines, stderr, alive } = leftBy(
      `const data = cuda.alloc(0, 16).as("f32").write([1, 2, 3, 4]);
       cuda.compile(source, "scale<float>").launch({ grid: 1, block: 1 }, data, 2, 3);
       print([...data]);
       const ptx = ".version 7.0\\n.target sm_70\\n.visible .entry touch(\\n.param .u64 touch_param_0\\n)\\n{ ret; }";
       cuda.compile(ptx, "touch").launch({ grid: 1, block: 3 }, counter);
       print(attempt(() => cuda.compile(ptx, "tuch")));
       const all = cuda.module(source);
       print([all.kernels, all.architecture, String(all)]);
       all.kernel("touch").launch({ grid: 1, block: 4 }, counter);
       print(counter.as("i32").get(0));
       all.close(); all.close();
       print(attempt(() => all.kernel("touch")));`,
    );
    assert.is(stderr, "");
    assert.equal(lines, [
      [2, 4, 6, 4],
      "P2pError: there is no kernel tuch; the source has touch",
      [
        ["touch", "echo", "pause", "empty", "stuck", "fault", "scale"],
        "sm_90",
        "module: touch, echo, pause, empty, stuck, fault, scale for sm_90",
      ],
      7,
      "P2pError: the module is closed",
    ]);
    assert.equal(alive, []);
  });

  test("a kernel runs on the GPU of its buffer, stream or options", () => {
    const { lines, stderr } = leftBy(
      `const there = cuda.alloc(1, 4); there.as("i32").fill(0);
       const touch = cuda.compile(source, "touch"), s = cuda.stream(1);
       touch.launch({ grid: 1, block: 1 }, there);
       touch.launch({ grid: 1, block: 2, stream: s }, there); s.sync();
       print(attempt(() => touch.launch({ grid: 1, block: 1, gpu: 0 }, there)));
       cuda.enablePeer(0, 1);
       touch.launch({ grid: 1, block: 4, gpu: 0 }, there);
       print(there.as("i32").get(0));
       const fixed = cuda.compile(source, "touch", { gpu: 1 });
       print(attempt(() => fixed.launch({ grid: 1, block: 1 }, counter)));`,
    );
    assert.is(stderr, "");
    assert.equal(lines, [
      "P2pError: an argument of touch is memory of GPU 1, which GPU 0 may not access",
      7,
      "P2pError: an argument of touch is memory of GPU 0, which GPU 1 may not access",
    ]);
  });

  test("events order streams and tell the GPU's time", () => {
    const { lines, stderr } = leftBy(
      `const s = cuda.stream(), t = cuda.stream(), pause = cuda.compile(source, "pause");
       const begin = s.record();
       pause.launch({ grid: 1, block: 1, stream: s }, 400e6);
       const end = cuda.event(0).record(s);
       t.wait(end);
       print([end.reached, t.idle]);
       print(attempt(() => end.elapsedNs(begin)));
       end.sync(); t.sync();
       print([end.elapsedNs(begin) >= 400e6, begin.elapsedNs(end) <= -400e6]);
       print(attempt(() => end.elapsedNs(s.record(cuda.event(0, { timing: false })).sync())));
       print(attempt(() => cuda.event(0).reached));
       print(attempt(() => s.record(cuda.event(1))));`,
    );
    assert.is(stderr, "");
    assert.equal(lines, [
      [false, false],
      "P2pError: the GPU has not passed both events yet",
      [true, true],
      "P2pError: an event without timing has no time",
      "P2pError: the event was never recorded",
      "P2pError: the event belongs to GPU 1, the stream to GPU 0",
    ]);
  });

  test("a graph does what was submitted to it, each time it is launched", () => {
    const { lines, stderr, alive } = leftBy(
      `const s = cuda.stream(), t = cuda.stream(), touch = cuda.compile(source, "touch");
       const other = cuda.alloc(0, 4); other.as("i32").fill(0);
       const graph = cuda.graph(s, () => {
         touch.launch({ grid: 1, block: 1, stream: s }, counter);
         t.wait(s.record());
         touch.launch({ grid: 1, block: 2, stream: t }, other);
         s.wait(t.record()).copy(counter, other);
       });
       print([graph.nodes, counter.as("i32").get(0), String(graph)]);
       graph.launch(); graph.launch(t); t.sync(); s.sync();
       print([counter.as("i32").get(0), other.as("i32").get(0)]);
       for (const wrong of [() => { throw new Error("mine"); }, async () => {}, () => s.sync(), () => touch.launch({ grid: 1, block: 1 }, counter), () => cuda.memset(counter, 0),
         () => { t.wait(s.record()); touch.launch({ grid: 1, block: 1, stream: t }, counter); }])
         print(attempt(() => cuda.graph(s, wrong)));
       touch.launch({ grid: 1, block: 1, stream: s }, counter); s.sync();
       print(attempt(() => cuda.graph(cuda.stream(1), () => touch.launch({ grid: 1, block: 1, stream: s }, counter)).nodes));
       graph.close();
       print(attempt(() => graph.launch()));`,
    );
    assert.is(stderr, "");
    assert.equal(lines, [
      [3, 0, "graph of 3 nodes on GPU 0"],
      [4, 4],
      "Error: mine",
      "P2pError: a graph cannot be captured from an asynchronous function",
      "P2pError: the stream is being captured: nothing runs on it that could be waited for",
      "P2pError: a call that waits for its work cannot be part of a graph",
      "P2pError: a call that waits for its work cannot be part of a graph",
      "CudaError: cuStreamEndCapture failed: CUDA_ERROR_STREAM_CAPTURE_UNJOINED (904)",
      0,
      "P2pError: the graph is closed",
    ]);
    assert.equal(alive, []);
  });

  test("time() gives the kernel's time beside the floor of the events, and no figure below it", () => {
    const { lines, stderr } = leftBy(
      `const pause = cuda.compile(source, "pause"), empty = cuda.compile(source, "empty");
       const timing = await pause.time({ grid: 1, block: 1, repetitions: 20, warmup: 1 }, 2e6);
       print([timing.samplesNs.length, timing.emptyNs.length, timing.medianNs >= 2e6, timing.reason, /ms \\(median of 20; floor of the events/.test(String(timing))]);
       const none = await empty.time({ grid: 1, block: 1, repetitions: 200 });
       print([none.medianNs === null ? /no more than an empty interval/.test(none.reason) : none.medianNs > none.floorNs]);
       const stop = new AbortController(); setTimeout(() => stop.abort(), 30);
       const failed = (error) => print([error.code, error.message]);
       await pause.time({ grid: 1, block: 1, repetitions: 100000, signal: stop.signal }, 1e5).catch(failed);
       await pause.time({ grid: 1, block: 1, signal: stop.signal }, 1e5).catch(failed);
       await pause.time({ grid: 1, block: 1, repetitions: 0 }, 1e5).catch(failed);
       const first = pause.time({ grid: 1, block: 1, repetitions: 50 }, 1e5);
       await pause.time({ grid: 1, block: 1 }, 1e5).catch(failed);
       print((await first).samplesNs.length);`,
    );
    assert.is(stderr, "");
    assert.equal(lines, [
      [20, 20, true, null, true],
      [true],
      ["cancelled", "the timing was stopped on request"],
      ["cancelled", "the timing was stopped on request"],
      ["usage", "time: repetitions must be a whole number from 1 to 1000000, not number 0"],
      ["usage", "another timing of this kernel is in flight"],
      50,
    ]);
  });

  test("waits end at their deadline or on request, and the work goes on", () => {
    const { lines, stderr } = leftBy(
      `const pause = cuda.compile(source, "pause"), s = cuda.stream();
       pause.launch({ grid: 1, block: 1, stream: s }, 300e6);
       const failed = (error) => print([error.code, error.result ?? null, error.hint]);
       try { s.sync({ deadlineMs: 5 }); } catch (error) { failed(error); }
       await s.done({ deadlineMs: 5 }).catch(failed);
       const stop = new AbortController(); setTimeout(() => stop.abort(), 10);
       await s.done({ signal: stop.signal }).catch(failed);
       await s.done({ signal: stop.signal }).catch(failed);
       await s.done(); print(s.idle);
       try { pause.launch({ grid: 1, block: 1, deadlineMs: 5 }, 100e6); } catch (error) { failed(error); }`,
    );
    assert.is(stderr, "");
    assert.equal(
      lines.map((line) => (line === true ? line : line.slice(0, 2))),
      [["cuda", 600], ["cuda", 600], ["cancelled", null], ["cancelled", null], true, ["cuda", 600]],
    );
    assert.match(lines[0][2], "goes on");
  });

  test("an illegal address is named where the kernel was waited for, and says to restart", () => {
    const { lines } = leftBy(
      `const fault = cuda.compile(source, "fault");
       try { fault.launch({ grid: 1, block: 1 }, counter); } catch (error) { print([error.resultName, error.hint]); }
       print(attempt(() => cuda.alloc(0, 4)));
       print(attempt(() => cuda.alloc(1, 4).bytes));`,
    );
    assert.is(lines[0][0], "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert.match(lines[0][1], "context is lost");
    assert.match(lines[0][1], "Restart the kernel");
    assert.match(lines[1], "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert.is(lines[2], 4);
  });

  test("everything that is closed is gone from the driver, whatever order it is closed in", () => {
    const { alive, stderr } = leftBy(
      `const s = cuda.stream(), pause = cuda.compile(source, "pause"), touch = cuda.compile(source, "touch");
       const end = s.record();
       const graph = cuda.graph(s, () => touch.launch({ grid: 1, block: 1, stream: s }, counter));
       pause.launch({ grid: 1, block: 1, stream: s }, 20e6);
       graph.launch();
       touch.launch({ grid: 1, block: 1, stream: s }, counter);
       for (const thing of [counter, touch, pause, end, graph, s]) { thing.close(); thing.close(); }
       process.exit(0);`,
    );
    assert.is(stderr, "");
    assert.equal(alive, []);
  });

  test("a process that ends with everything open, and with waits in progress, leaves nothing", () => {
    const { alive, stderr, status } = leftBy(
      `const s = cuda.stream(), pause = cuda.compile(source, "pause"), touch = cuda.compile(source, "touch");
       globalThis.kept = [s, s.record(), pause, touch, cuda.graph(s, () => touch.launch({ grid: 1, block: 1, stream: s }, counter))];
       pause.launch({ grid: 1, block: 1, stream: s }, 300e6);
       s.done().catch(() => {});
       pause.time({ grid: 1, block: 1, repetitions: 100000 }, 1e5).catch(() => {});
       setTimeout(() => process.exit(4), 400);`,
    );
    assert.is(status, 4, stderr);
    assert.is(stderr, "");
    assert.equal(alive, []);
  });

  test("a process with a kernel that never ends still ends, and frees nothing under it", () => {
    const { status, stderr } = leftBy(
      `const s = cuda.stream(), stuck = cuda.compile(source, "stuck");
       stuck.launch({ grid: 1, block: 1, stream: s }, counter);
       process.exit(5);`,
    );
    assert.is(status, 5, stderr);
    assert.is(stderr, "");
  });

  test("without NVRTC, PTX still loads and a source says what to install", () => {
    const { lines } = inLab(
      `print(cuda.availability().nvrtc);
       try { cuda.compile("", "touch"); } catch (error) { print(failure(error)); }
       print(cuda.compile(".version 7.0\\n.entry empty()\\n{ ret; }", "empty").launch({ grid: 1, block: 1 }) ?? "launched");`,
      { P2PLAB_NVRTC: "/no/nvrtc" },
    );
    assert.equal(lines[0], {
      available: false,
      reason: "there is no file /no/nvrtc",
      version: null,
      path: null,
    });
    assert.is(lines[1].code, "not-available");
    assert.match(lines[1].hint, "Install NVRTC");
    assert.is(lines[2], "launched");
  });

  test("arrays read and write elements of their type, and refuse what it does not hold", () => {
    const { lines, stderr } = leftBy(
      `const buffer = cuda.alloc(0, 10);
       print([...buffer.as("u8").fill(255).read()]);
       print([buffer.as("i16").length, buffer.as("f64").length, buffer.as("i16").get(4), String(buffer.as("i32").set(1, -5).get(1))]);
       print(String(buffer.as("u64").set(0, 2n ** 63n).get(0)));
       print(String(buffer.as("f32")));
       for (const wrong of [() => buffer.as("f16"), () => buffer.as("i8").write([128]), () => buffer.as("u8").write([-1]), () => buffer.as("u32").set(0, 1.5), () => buffer.as("i64").set(0, 5),
         () => buffer.as("i32").set(0, 5n), () => buffer.as("u64").fill(-1n), () => buffer.as("f32").set(0, 1e300), () => buffer.as("i16").get(5), () => buffer.as("i16").read(4, 2), () => buffer.as("i16").write([1, 2], 4), () => buffer.as("i32").set(0, "1")])
         print(attempt(() => String(wrong())));
       print(attempt(() => cuda.memset(buffer, 7, { width: 4, offset: 4, count: 1 })));
       print(buffer.as("u32").get(1));
       for (const wrong of [() => cuda.memset(buffer, 256), () => cuda.memset(buffer, 1, { width: 3 }), () => cuda.memset(buffer, 1, { count: 11 }), () => cuda.memset(buffer, 1, { width: 2, offset: 1 }), () => cuda.memset(buffer, -1)])
         print(attempt(wrong));
       print([cuda.limits(0).maxGrid, cuda.memory(0).totalBytes > 0]);`,
    );
    assert.is(stderr, "");
    assert.equal(lines, [
      Array(10).fill(255),
      [5, 1, -1, "-5"],
      "9223372036854775808",
      "2 × f32 in 10 B on GPU 0",
      'P2pError: no type of elements: "f16"',
      "P2pError: 128 is no i8",
      "P2pError: -1 is no u8",
      "P2pError: 1.5 is no u32",
      "P2pError: 5 is no i64",
      "P2pError: 5n is no i32",
      "P2pError: -1n is no u64",
      "P2pError: 1e+300 is no f32",
      "P2pError: elements 5 to 6 are not inside an array of 5",
      "P2pError: elements 4 to 6 are not inside an array of 5",
      "P2pError: elements 4 to 6 are not inside an array of 5",
      'P2pError: "1" is no i32',
      "accepted",
      7,
      "P2pError: fill: value must be a whole number from 0 to 255, not number 256",
      "P2pError: fill: width must be 1, 2 or 4, not number 3",
      "P2pError: 11 bytes at offset 0 do not fit in a buffer of 10 bytes",
      "P2pError: offset 1 is no multiple of the element's 2 bytes",
      "P2pError: fill: value must be a whole number from 0 to 255, not number -1",
      [[2147483647, 65535, 65535], true],
    ]);
  });
}

test.run();
