import { suite } from "uvu";
import * as assert from "uvu/assert";
import { inChild, missing } from "./toolchain.js";

export const TIME_LIMIT_S = 600;

const test = suite("every export refuses every wrong argument");

const reason = missing("compiler") ?? missing("addon");
if (reason) test.skip(`skipped: ${reason}`, () => {});
else register();

/** Objects of every class, closed ones of the same, and good arguments for every function and method, by its name. */
const SETTING = `
  const u8 = (n) => new Uint8Array(n), f64 = (n) => new Float64Array(n);
  const source = 'extern "C" __global__ void touch(int* p) { atomicAdd(p, 1); }';
  const probeRows = { kind: 0, buffers: Float64Array.of(0, 0, 8192), gpus: Int32Array.of(0), peers: new Int32Array(0), parameters: Float64Array.of(200, 8192, 128, 0, 0, 0) };
  const make = async () => {
    const image = addon.compileSource(0, source, "a.cu", [], ["touch"]).image, module = addon.loadModule(0, image);
    const stream = addon.openStream(0);
    stream.beginCapture();
    return { buffer: addon.alloc("device", 0, 64), other: addon.alloc("device", 1, 64), host: addon.alloc("pageable", 0, 64), executor: await addon.prepare(push()),
      probe: await addon.prepareProbe(probeRows), setup: await addon.setup("malloc", 0, -1, 4096, 0, null),
      exported: await addon.exportMemory(0, 4096, "ipc"), stream, graph: stream.endCapture(), event: addon.openEvent(0, true),
      since: addon.openEvent(0, true), module, image, kernel: module.kernel("touch", ["ptr"], ["int*"]) };
  };
  const o = await make(), closed = await make();
  for (const object of Object.values(closed)) object.close?.();
  for (const event of [o.since, o.event]) o.stream.record(event);
  const shape = Float64Array.of(1, 1, 1, 1, 1, 1, 0);
  const good = {
    addon: { availability: [], devices: [], clock: [], peer: [0, 1], prepare: [push()], prepareProbe: [probeRows], alloc: ["device", 0, 64],
      copy: [o.buffer, 0, o.host, 0, 8], enablePeer: [0, 1], disablePeer: [0, 1], retainContext: [0], releaseKeptMemory: [], nvmlFacts: [0], nvmlState: [0],
      nvmlClocks: [0], nvmlStateLater: [0], nvmlPair: [0, 1], setup: ["malloc", 0, -1, 4096, 0, null], exportMemory: [0, 4096, "ipc"], settle: [o.buffer], limits: [0],
      memory: [0], openEvent: [0, true], openStream: [0], compileSource: [0, source, "a.cu", [], ["touch"]], loadModule: [0, o.image] },
    buffer: { write: [u8(8), 0], read: [8, 0], facts: [], close: [] },
    executor: { time: [f64(2), f64(2), 1000], throughput: [f64(2), f64(2), f64(2), 2, 100, 1000], graphCosts: [2, 1000], trace: [2, true, 1000],
      verify: [1000], cancel: [], close: [] },
    probe: { measure: [2, 1000], check: [1000], cancel: [], close: [] },
    setup: { time: [2, 10], checked: [], cancel: [], close: [] },
    exported: { changedBytes: [], close: [] },
    stream: { launch: [o.kernel, shape, [o.buffer]], launchGraph: [o.graph], copy: [o.other, 0, o.buffer, 0, 8], fill: [o.buffer, 0, 1, 7, 8],
      record: [o.event], wait: [o.event], query: [], sync: [1000], done: [1000], cancel: [], beginCapture: [], endCapture: [], close: [] },
    event: { query: [], sync: [1000], elapsedNs: [o.since], close: [] },
    graph: { close: [] },
    module: { kernel: ["touch", ["ptr"], ["int*"]], close: [] },
    kernel: { time: [o.kernel, shape, [o.buffer], 2, 1, 1000], cancel: [], close: [] },
  };
  const detached = f64(4); structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const detachedBytes = u8(8); structuredClone(detachedBytes.buffer, { transfer: [detachedBytes.buffer] });
  const wrong = [undefined, null, NaN, -1, -1e308, 0.5, Infinity, 2 ** 53, 1e300, true, "", "x", Symbol("s"), 10n, -1n, {}, [], [null], [{}], () => 1,
    f64(0), f64(3), u8(0), new Float32Array(4), new DataView(new ArrayBuffer(8)), new Float64Array(new SharedArrayBuffer(32)), detached, detachedBytes,
    Float64Array.of(NaN, -1, 1e300, 0.5, Infinity, 2 ** 53, -0), new Proxy({}, { get() { throw new RangeError("trap"); } }), o.buffer, o.executor, o.stream,
    o.event, ...Object.values(closed)];
  const CODES = ["usage", "not-available", "cuda", "cancelled", "compile"];
  const methodsOf = (object) => Object.getOwnPropertyNames(Object.getPrototypeOf(object)).filter((name) => name !== "constructor" &&
    typeof Object.getOwnPropertyDescriptor(Object.getPrototypeOf(object), name).value === "function");
  // The answer, an error by its code, or what else was thrown.
  const outcome = async (target, name, args) => {
    try { await target[name](...args); return "answer"; }
    catch (error) { return error instanceof RangeError && error.message === "trap" ? "trap" : CODES.includes(error?.code) ? error.code : String(error?.stack ?? error); }
  };
`;

function register(): void {
  test("the table of good arguments names every function and method that there is, and they are taken", () => {
    const { lines, status, stderr } = inChild(
      `${SETTING}
       print(Object.keys(addon).filter((name) => typeof addon[name] === "function" && !good.addon[name]));
       for (const [name, table] of Object.entries(good)) if (name !== "addon") print(methodsOf(o[name]).filter((method) => !table[method]));
       const refused = [];
       for (const [name, args] of Object.entries(good.addon)) if ((await outcome(addon, name, args)) !== "answer") refused.push(name);
       for (const [object, table] of Object.entries(good)) for (const [name, args] of Object.entries(table))
         if (object !== "addon" && name !== "close" && (await outcome(o[object], name, args)) !== "answer") refused.push(object + "." + name);
       print(refused);`,
    );
    assert.is(status, 0, stderr);
    for (const unnamed of lines.slice(0, -1)) assert.equal(unnamed, []);
    // The program of the executor is no graph.
    assert.equal(lines.at(-1), ["executor.graphCosts"]);
  });

  test("one wrong argument among good ones is a typed error or an answer, and the object works on", () => {
    const { lines, status, stderr } = inChild(
      `${SETTING}
       const untyped = new Set(); let errors = 0, answers = 0;
       for (const [object, table] of Object.entries(good)) for (const [name, args] of Object.entries(table)) {
         const target = object === "addon" ? addon : o[object];
         if (name === "close" || name === "cancel") continue;
         for (let at = 0; at < args.length; at++) for (const bad of wrong) {
           const got = await outcome(target, name, args.map((arg, i) => (i === at ? bad : arg)));
           if (got === "answer") answers++; else if (got === "trap" || CODES.includes(got)) errors++; else untyped.add(object + "." + name + " " + at + ": " + got);
         }
         if (args.length > 0 && (await outcome(target, name, args.slice(0, -1))) !== "usage") untyped.add(object + "." + name + " takes fewer");
         if (object !== "addon") for (const other of [o.buffer, closed[object], {}, null, 7]) {
           const got = await outcome({ [name]: (...given) => target[name].call(other, ...given) }, name, args);
           if (!["answer", ...CODES].includes(got) && !got.startsWith("TypeError")) untyped.add(object + "." + name + " on another: " + got);
         }
       }
       print([...untyped]); print(errors > 20 * answers);
       print((await o.executor.verify(1000))[0].wrongByOwner); print(o.host.read(1, 0).length);`,
    );
    assert.is(status, 0, stderr);
    assert.equal(lines, [[], true, 0, 1]);
  });

  test("closed objects say so, whatever is asked of them", () => {
    const { lines, status, stderr } = inChild(
      `${SETTING}
       const wrongly = [];
       for (const [object, table] of Object.entries(good)) for (const [name, args] of Object.entries(table)) {
         // What set-up work found stays known.
         if (object === "addon" || name === "cancel" || name === "checked") continue;
         const got = await outcome(closed[object], name, args.map((arg) => (arg === o.kernel ? closed.kernel : arg)));
         if (got !== (name === "close" ? "answer" : "usage")) wrongly.push(object + "." + name + ": " + got);
       }
       print(wrongly);`,
    );
    assert.is(status, 0, stderr);
    assert.equal(lines, [[]]);
  });
}

test.run();
