import { suite } from "uvu";
import * as assert from "uvu/assert";
import { inChild, missing } from "./toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("bad arguments never crash the addon");

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

function register(): void {
  test("each refusal names function, argument, what was expected and what came", () => {
    const { lines } = inChild(
      `for (const call of [
         () => addon.peer(0), () => addon.peer(0, -1), () => addon.peer(0, 1.5), () => addon.peer(0, 0), () => addon.peer("0", 1),
         () => addon.alloc("vram", 0, 8), () => addon.alloc("device", 0, 0), () => addon.alloc("device", 0, NaN),
         () => addon.alloc("device", 7, 8), () => addon.copy({}, 0, {}, 0, 8), () => addon.retainContext(2 ** 40),
       ]) try { call(); print("accepted"); } catch (error) { print(error.message); }`,
    );
    assert.equal(
      lines,
      [
        "peer takes 2 arguments, not 1",
        "peer: to must be a whole number from 0 to 1023, not number -1",
        "peer: to must be a whole number from 0 to 1023, not number 1.5",
        "GPU 0 is no peer of itself",
        'peer: from must be a whole number from 0 to 1023, not string "0"',
        'alloc: kind must be one of "device", "pinned", "pageable", "registered", "managed", not string "vram"',
        "alloc: bytes must be a whole number from 1 to 9007199254740991, not number 0",
        "alloc: bytes must be a whole number from 1 to 9007199254740991, not number NaN",
        "there is no GPU 7 (the driver shows 2)",
        "copy: dst must be a buffer of alloc()",
        "there is no GPU 1099511627776 (the driver shows 2)",
      ].map((message) =>
        message.replace(
          "there is no GPU 1099511627776 (the driver shows 2)",
          "retainContext: gpu must be a whole number from 0 to 1023, not number 1099511627776",
        ),
      ),
    );
  });

  test("rows of a program are refused by array, row and column", () => {
    const { lines } = inChild(
      `for (const change of [
         { buffers: Float64Array.of(0, 0) }, { buffers: Float64Array.of(6, 0, 8, 0, 1, 64) }, { buffers: Float64Array.of(0, 0, 64, 5, 1, 64) }, { handles: [1] }, { buffers: Float64Array.of(0, 0, 63, 0, 1, 64) },
         { operations: new Float64Array(0) }, { operations: Float64Array.of(1, 0, 0, 2, 64, 0, 0, 0) },
         { operations: Float64Array.of(3, 0, 0, 0, 0, 0, 0, 0), eventCount: 1 }, { eventCount: -1 }, { checks: Float64Array.of(1, 60, 5, 7, 0) },
         { streams: Int32Array.of(-1) }, { peers: Int32Array.of(1, 1, 1) }, { sources: [0, 7] }, { sources: new Float32Array(2) },
         { checks: new Float64Array(new SharedArrayBuffer(40)) },
       ]) await addon.prepare(push(change)).then(() => print("accepted"), (error) => print(error.message));
       const gone = Float64Array.of(0, 7); structuredClone(gone.buffer, { transfer: [gone.buffer] });
       await addon.prepare(push({ sources: gone })).catch((error) => print(error.message));
       await addon.prepare(null).catch((error) => print(error.message));`,
    );
    assert.equal(lines, [
      "buffers has 2 elements, not rows of 3",
      "buffers, row 0: place is 6.000000, not a whole number from 0 to 5",
      "buffers, row 1: handles holds no 64 bytes for it",
      "prepare: program.handles must be a Uint8Array, not an array",
      "operations, row 0: 64 bytes at offset 0 do not fit in the source of 63 bytes",
      "operations is empty",
      "operations, row 0: destination buffer is 2.000000, not a whole number from 0 to 1",
      "event 0 is waited for but never recorded",
      "eventCount, row 0: eventCount is -1.000000, not a whole number from 0 to 65536",
      "checks, row 0: 5 bytes at offset 60 do not fit in the buffer of 64 bytes",
      "streams, row 0: GPU is -1.000000, not a whole number from 0 to 1023",
      "peers, row 0: a GPU is no peer of itself",
      "prepare: program.sources must be a Float64Array, not an array",
      "prepare: program.sources must be a Float64Array, not an object",
      "prepare: program.checks must not be shared between threads",
      "prepare: program.sources was transferred away (detached)",
      "prepare: program must be an object, not null",
    ]);
  });

  test("objects are made by the addon only, and methods take their own objects only", () => {
    const { lines } = inChild(
      `const executor = await addon.prepare(push()), buffer = addon.alloc("device", 0, 8);
       for (const call of [
         () => new executor.constructor(), () => new buffer.constructor(1), () => buffer.read.call(executor, 1, 0),
         () => executor.close.call({}), () => addon.copy(executor, 0, buffer, 0, 8), () => addon.copy(Object.create(buffer), 0, buffer, 0, 8),
       ]) try { call(); print("accepted"); } catch (error) { print(error instanceof Error); }`,
    );
    assert.equal(lines, Array(6).fill(true));
  });

  test("a getter that takes the memory of another member away is caught", () => {
    const { lines, status } = inChild(
      `const program = push(), buffers = program.buffers;
       Object.defineProperty(program, "checks", { get() { structuredClone(buffers.buffer, { transfer: [buffers.buffer] }); return Float64Array.of(1, 0, 64, 7, 0); } });
       await addon.prepare(program).then(() => print("accepted"), (error) => print(error.message));`,
    );
    assert.is(status, 0);
    assert.match(lines[0], "transferred away");
  });

  test("ten thousand calls with noise for arguments end in answers or errors", () => {
    const { lines, status, stderr } = inChild(
      `let seed = 1;
       const below = (n) => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return (seed >>> 8) % n; };
       const executor = await addon.prepare(push()), buffer = addon.alloc("device", 0, 64), host = addon.alloc("pageable", 0, 64);
       const detached = new Float64Array(4); structuredClone(detached.buffer, { transfer: [detached.buffer] });
       const values = [undefined, null, true, false, 0, 1, 2, -1, 8, 64, 0.5, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 32, 2 ** 53, 1e300, "device", "pinned",
         "pageable", "x", Symbol("s"), 10n, {}, [], () => 1, buffer, host, executor, new Float64Array(4), new Float64Array(0), detached, new Uint8Array(8),
         new Uint8Array(new SharedArrayBuffer(8)), new Float64Array(new SharedArrayBuffer(64)), new Int32Array(3), new DataView(new ArrayBuffer(8)), push(),
         new Proxy({}, { get() { throw new RangeError("trap"); } })];
       const targets = [[addon, ["availability", "devices", "peer", "prepare", "alloc", "copy", "enablePeer", "disablePeer", "retainContext"]],
         [executor, ["time", "verify", "cancel"]], [buffer, ["write", "read"]], [host, ["write", "read"]]];
       let answers = 0, errors = 0;
       for (let i = 0; i < 10000; i++) {
         const [target, names] = targets[below(targets.length)];
         const name = names[below(names.length)];
         const given = Array.from({ length: below(7) }, () => values[below(values.length)]);
         try { const answer = target[name](...given); if (answer instanceof Promise) await answer; answers++; } catch (error) { if (!(error instanceof Error)) throw error; errors++; }
       }
       print(answers > 500 && errors > 500);
       print(host.read(1, 0).length);`,
    );
    assert.is(status, 0, stderr);
    assert.equal(lines, [true, 1]);
  });
}

test.run();
