import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { fakeCuda, inChild, missing } from "./toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("the addon through Node.js, on the stand-in driver");

/** Runs a script; also gives what the driver still held when the process ended, by kind. */
function leftBy(script: string, settings: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-counts-"));
  try {
    const file = join(folder, "counts.json");
    const child = inChild(script, { ...settings, P2PLAB_FAKE_COUNTS: file });
    assert.ok(existsSync(file), `no counts; ${child.stderr}`);
    const { calls, ...counts } = JSON.parse(readFileSync(file, "utf8"));
    const live = Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
    return { child, live, calls };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const NOTHING = {};

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

function register(): void {
  test("it loads without a driver and says why nothing else works", () => {
    const { lines, status } = inChild(
      `print(addon.availability());
       for (const call of [() => addon.devices(), () => addon.peer(0, 1), () => addon.alloc("device", 0, 8), () => addon.retainContext(0)])
         try { call(); print("?"); } catch (error) { print(failure(error).code); }
       await addon.prepare(push()).catch((error) => print(failure(error).code));`,
      { P2PLAB_LIBCUDA: "/no/libcuda", P2PLAB_CUPTI: "/no/libcupti" },
    );
    assert.is(status, 0);
    assert.is(lines[0].cuda.available, false);
    assert.match(lines[0].cuda.reason, "cannot be opened");
    assert.is(lines[0].cupti.available, false);
    assert.is(lines[0].deviceCount, 0);
    assert.equal(lines.slice(1), Array(5).fill("not-available"));
  });

  test("a driver without GPUs, and one that lacks a symbol, are stated conditions", () => {
    const none = inChild("print(addon.availability())", { P2PLAB_FAKE_DEVICES: "0" }).lines[0];
    assert.match(none.cuda.reason, "shows no GPU");
    const old = inChild("print(addon.availability())", { P2PLAB_LIBCUDA: fakeCuda(true) }).lines[0];
    assert.match(old.cuda.reason, "cuDeviceGetP2PAttribute");
  });

  test("with one GPU its own copies run, and a second GPU is refused by name", () => {
    const { lines } = inChild(
      `print(addon.devices().length);
       const alone = push({ buffers: Float64Array.of(0, 0, 64, 0, 0, 64), peers: new Int32Array(0) });
       const executor = await addon.prepare(alone);
       print(await executor.verify(1000));
       await addon.prepare(push()).catch((error) => print(failure(error)));`,
      { P2PLAB_FAKE_DEVICES: "1" },
    );
    assert.is(lines[0], 1);
    assert.equal(lines[1], [
      { buffer: 1, bytes: 64, wrongByOwner: 0, wrongByReadBack: 0, sentinelBytes: 0, firstWrong: -1 },
    ]);
    assert.is(lines[2].code, "usage");
    assert.match(lines[2].message, "no GPU 1");
  });

  test("facts of a GPU and of a pair come from the driver", () => {
    const [device, pair] = inChild("print(addon.devices()[1]); print(addon.peer(0, 1))").lines;
    assert.is(device.name, "Fake GPU");
    assert.is(device.uuid, "GPU-01010101-0101-0101-0101-010101010101");
    assert.is(device.pci, "0000:11:00.0");
    assert.is(device.computeMajor, 9);
    assert.is(device.numaNode, -1);
    assert.equal(pair, { access: true, nativeAtomics: true, cudaArrayAccess: true, performanceRank: 0 });
  });

  test("the host clock has a name, a step and a cost", () => {
    const [clock] = inChild("print(addon.clock())").lines;
    assert.match(clock.name, /^(time-stamp counter|CLOCK_MONOTONIC_RAW)$/);
    assert.ok(clock.resolutionNs >= 1 && clock.costNs > 0);
    const [asked] = inChild("print(addon.clock())", { P2PLAB_CLOCK: "system" }).lines;
    assert.is(asked.name, "CLOCK_MONOTONIC_RAW");
  });

  test("prepare, verify, time, trace and close leave nothing in the driver", () => {
    const { child, live } = leftBy(
      `const executor = await addon.prepare(push());
       await executor.verify(1000);
       const total = new Float64Array(50), api = new Float64Array(50);
       print(await executor.time(total, api, 1000));
       print(total.every((ns, i) => ns >= 5000 && api[i] <= ns));
       const trace = await executor.trace(10, true, 1000);
       print([trace.t0.length, trace.kind.length, trace.name[1], trace.bytes[1], trace.dropped, trace.cancelled]);
       executor.close(); executor.close();
       await executor.time(total, api, 1000).catch((error) => print(failure(error).message));`,
      { P2PLAB_FAKE_DELAY_NS: "5000" },
    );
    assert.equal(child.lines, [
      { done: 50, cancelled: false },
      true,
      [10, 20, "PtoP", 64, 0, false],
      "the executor is closed",
    ]);
    assert.equal(live, NOTHING);
  });

  test("page-locked memory serves the next program of its size, makes room when there is none, and goes when asked", () => {
    const MIB = 2 ** 20;
    const once = (bytes: number) =>
      `{ const executor = await addon.prepare(push({ buffers: Float64Array.of(1, -1, ${bytes}, 0, 1, 64) }));
         print((await executor.verify(1000))[0].wrongByReadBack); executor.close(); }`;
    // The piece that bytes are read back through is small here, and made anew each time.
    const made = (script: string, settings: Record<string, string> = {}) => {
      const { child, live, calls } = leftBy(script, settings);
      assert.equal(live, NOTHING, child.stderr);
      return { lines: child.lines, made: calls.cuMemHostAlloc };
    };
    const two = `${once(2 * MIB)} ${once(2 * MIB)}`;
    assert.equal(made(two), { lines: [0, 0], made: 1 + 2 });
    assert.is(made(`${once(2 * MIB)} ${once(3 * MIB)}`).made, 2 + 2);
    assert.is(made(`${once(2 * MIB)} await addon.releaseKeptMemory(); ${once(2 * MIB)}`).made, 2 + 2);
    // Its third allocation is refused, and once more when what was kept is freed.
    const refused = made(
      `${once(2 * MIB)} try ${once(3 * MIB)} catch (error) { print(failure(error).result); }`,
      { P2PLAB_FAKE_FAIL: "cuMemHostAlloc=2@3" },
    );
    assert.equal(refused, { lines: [0, 2], made: 4 });
  });

  test("a process that ends with everything open lets go of all of it", () => {
    const open = `globalThis.kept = [await addon.prepare(push()), addon.alloc("device", 1, 64), addon.alloc("pinned", -1, 64)];
      addon.retainContext(1); addon.enablePeer(0, 1);`;
    assert.equal(leftBy(open).live, NOTHING);
    assert.equal(leftBy(`${open} process.exit(0);`).live, NOTHING);
  });

  test("process.exit during a call ends the call after its iteration", () => {
    const { child, live } = leftBy(
      `const executor = await addon.prepare(push());
       executor.time(new Float64Array(1e7), new Float64Array(1e7), 1000);
       setTimeout(() => process.exit(3), 30);`,
      { P2PLAB_FAKE_DELAY_NS: "100000" },
    );
    assert.is(child.status, 3, child.stderr);
    assert.equal(live, NOTHING);
  });

  test("objects that nobody holds are freed by the collector", () => {
    const { lines } = inChild(
      `const full = () => { try { addon.alloc("device", 0, 600e6).close(); return false; } catch (error) { return error.result === 2; } };
       (() => { addon.alloc("device", 0, 600e6); })();
       print(full());
       for (let i = 0; i < 5; i++) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)); }
       print(full());`,
    );
    assert.equal(lines, [true, false]);
  });

  test("memory that the collector frees keeps nothing waiting, and is gone at the end", () => {
    const { child, live } = leftBy(
      `(() => { for (let i = 0; i < 5; i++) addon.alloc("device", 0, 64); })();
       let turns = 0;
       const timer = setInterval(() => turns++, 1);
       const begin = performance.now();
       gc();
       while (performance.now() - begin < 200) await new Promise((resolve) => setTimeout(resolve, 5));
       clearInterval(timer);
       print(turns);`,
      { P2PLAB_FAKE_FREE_NS: "100000000" },
    );
    assert.is(child.status, 0, child.stderr);
    // 500 ms of freeing at once would have let none through.
    assert.ok(child.lines[0] > 10, `${child.lines[0]} turns in 200 ms`);
    assert.equal(live, NOTHING);
  });

  test("an executor that is collected during its call lets the call end", () => {
    const { lines } = inChild(
      `let executor = await addon.prepare(push());
       const done = executor.time(new Float64Array(3000), new Float64Array(3000), 1000);
       executor = null; gc();
       print(await done);`,
      { P2PLAB_FAKE_DELAY_NS: "10000" },
    );
    assert.equal(lines, [{ done: 3000, cancelled: false }]);
  });

  test("errors carry result, name, call, hint and the stack of the caller", () => {
    const { lines } = inChild(
      `function asked() { return addon.prepare(push()); }
       try { await asked(); } catch (error) { print({ ...failure(error), name: error.resultName, here: error.stack.includes("asked") }); }`,
      { P2PLAB_FAKE_MAX_PEERS: "0" },
    );
    const { hint, ...rest } = lines[0];
    assert.match(hint, "at most 8 peers");
    assert.equal(rest, {
      code: "cuda",
      message: "cuCtxEnablePeerAccess failed: CUDA_ERROR_TOO_MANY_PEERS (711)",
      result: 711,
      call: "cuCtxEnablePeerAccess",
      name: "CUDA_ERROR_TOO_MANY_PEERS",
      here: true,
    });
  });

  test("a copy that never completes ends at the deadline, and the process still ends", () => {
    const { lines, status } = inChild(
      `const executor = await addon.prepare(push());
       await executor.verify(50).catch((error) => print(failure(error)));
       executor.close();
       const again = await addon.prepare(push({ peers: Int32Array.of(0, 1, 0, 1, 0, 0) }));
       print((await again.verify(1000))[0].wrongByOwner);`,
      { P2PLAB_FAKE_MODE: "hang" },
    );
    assert.is(status, 0);
    assert.is(lines[0].result, 600);
    assert.match(lines[0].hint, "Its memory is kept");
    assert.is(lines[1], 0);
  });

  test("a second call and close are refused while a call is in flight; cancel ends it", () => {
    const { lines } = inChild(
      `const executor = await addon.prepare(push());
       const total = new Float64Array(1e6), api = new Float64Array(1e6);
       const call = executor.time(total, api, 1000);
       await executor.time(total, api, 1000).catch((error) => print(failure(error).message));
       await executor.verify(1000).catch((error) => print(failure(error).code));
       try { executor.close(); } catch (error) { print(failure(error).code); }
       try { addon.disablePeer(0, 1); } catch (error) { print(failure(error).message); }
       setTimeout(() => executor.cancel(), 20);
       const { done, cancelled } = await call;
       print([cancelled, done < 1e6, total.subarray(0, done).every((ns) => ns > 0), total[done]]);
       executor.close();`,
      { P2PLAB_FAKE_DELAY_NS: "10000" },
    );
    assert.equal(lines, [
      "another call of this executor is in flight",
      "usage",
      "usage",
      "peer access from GPU 0 to GPU 1 cannot change while a call is in flight",
      [true, true, true, 0],
    ]);
  });

  test("arrays that are transferred away during a call reject it, and nothing is written to them", () => {
    const { lines, status } = inChild(
      `const executor = await addon.prepare(push());
       const total = new Float64Array(2000), api = new Float64Array(2000);
       const call = executor.time(total, api, 1000);
       structuredClone(total.buffer, { transfer: [total.buffer] });
       await call.catch((error) => print(failure(error).message));`,
      { P2PLAB_FAKE_DELAY_NS: "10000" },
    );
    assert.is(status, 0);
    assert.match(lines[0], "transferred away");
  });

  test("peer access is enabled once and disabled once", () => {
    const { lines } = inChild(
      "print([addon.enablePeer(0, 1), addon.enablePeer(0, 1), addon.disablePeer(0, 1), addon.disablePeer(0, 1)]);",
    );
    assert.equal(lines, [[true, false, true, false]]);
  });

  test("buffers hold what is written, move it between places, and refuse after close", () => {
    const { lines } = inChild(
      `const a = addon.alloc("device", 0, 100), b = addon.alloc("pinned", 5, 100), c = addon.alloc("pageable", NaN, 100);
       a.write(Uint8Array.of(1, 2, 3, 4), 10);
       addon.copy(b, 0, a, 10, 4); addon.copy(c, 96, b, 0, 4);
       print([...c.read(4, 96)]);
       print([a.kind, a.gpu, a.bytes, typeof a.address, b.gpu, c.kind]);
       a.close(); a.close();
       try { a.read(1, 0); } catch (error) { print(failure(error).message); }`,
    );
    assert.equal(lines, [[1, 2, 3, 4], ["device", 0, 100, "bigint", -1, "pageable"], "the buffer is closed"]);
  });

  test("the tracer's refusal is not-available with what to do", () => {
    const script = `const executor = await addon.prepare(push());
       await executor.trace(5, false, 1000).catch((error) => print(failure(error)));`;
    const attached = inChild(script, { P2PLAB_FAKE_CUPTI_ENABLE: "39" }).lines[0];
    assert.is(attached.code, "not-available");
    assert.match(attached.hint, "Another profiler");
    assert.match(
      inChild(script, { P2PLAB_FAKE_CUPTI_ENABLE: "35" }).lines[0].hint,
      "RestrictProfilingToAdminUsers",
    );
    assert.match(inChild(script, { P2PLAB_CUPTI: "/no/libcupti" }).lines[0].hint, "Install CUPTI");
  });
}

test.run();
