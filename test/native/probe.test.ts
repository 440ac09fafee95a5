import { spawnSync } from "node:child_process";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { coreProgram, fakeEnvironment, inChild, inLab, missing, SANITIZED } from "./toolchain.js";

export const TIME_LIMIT_S = 900;

const test = suite("probes: sanitized, through Node.js, and as programs");

/** Contract, test of probe_test.cc, environment. */
const CASES: readonly [string, string, Record<string, string>?][] = [
  ["a random chain visits every node exactly once a lap", "chain"],
  ["chains in local, peer and host memory are followed to where they must end", "loads"],
  ["a cold chain is flushed before each repetition and walked once at most", "cold-loads"],
  ["flags and messages pass between two GPUs and within one", "pairs"],
  ["atomics all count, and the stores before a fence are there", "singles"],
  [
    "a flag that is lost on its way ends at the deadline and is told by its direction",
    "lost-flag",
    { P2PLAB_FAKE_MODE: "lost-flag", P2PLAB_FAKE_PAIRS: "0>1", P2PLAB_TEST_LOST: "forward" },
  ],
  [
    "so is the answer",
    "lost-flag",
    { P2PLAB_FAKE_MODE: "lost-flag", P2PLAB_FAKE_PAIRS: "1>0", P2PLAB_TEST_LOST: "back" },
  ],
  [
    "flags that only their writer sees are lost",
    "lost-flag",
    { P2PLAB_FAKE_MODE: "mirror", P2PLAB_FAKE_PAIRS: "0>1", P2PLAB_TEST_LOST: "forward" },
  ],
  ["a chain that arrives damaged is not followed", "damaged-chain", { P2PLAB_FAKE_MODE: "corrupt" }],
  ["one call at a time, deadlines are checked, close is refused meanwhile", "one-call-at-a-time"],
  ["cancel ends a call between two repetitions", "cancels"],
  ["rows that make no sense are refused by name", "refuses"],
  ["arrays of noise are refused with a reason, or make sense", "fuzz"],
];

/** Driver calls that fail at their first, second or a later use: nothing leaks, nothing crashes. */
const FAILING = [
  "cuDevicePrimaryCtxRetain",
  "cuModuleLoadDataEx",
  "cuCtxPushCurrent_v2",
  "cuMemAlloc_v2",
  "cuMemHostAlloc",
  "cuStreamCreate",
  "cuMemcpyAsync",
  "cuStreamQuery",
  "cuLaunchKernel",
  "cuPointerGetAttribute",
  "cuCtxEnablePeerAccess",
];

function passes(name: string, settings: Record<string, string> = {}): void {
  const program = coreProgram("probe_test", "test/native/probe_test.cc", SANITIZED);
  const env = { ...fakeEnvironment(settings), ASAN_OPTIONS: "detect_leaks=1" };
  const run = spawnSync(program, [name], { env, encoding: "utf8", timeout: 300_000 });
  assert.is(run.status, 0, `${name} ${JSON.stringify(settings)}\n${run.stderr}`);
}

/** Programs of probes for a script of {@link inLab}. */
const PROGRAMS = `
  const say = (run) => ({ mode: run.mode, n: run.samples.convergence.n, api: run.samples.apiNs.length, state: run.verification.state,
    bytes: run.verification.checkedBytes, owners: run.probe.owners.map((o) => o.gpu), accesses: run.probe.accesses,
    timedBy: run.probe.timedBy, sms: run.probe.sm.length, ...(run.counts && { counts: run.counts }) });
  const sampling = { budgetMs: 20, minSamples: 5, maxSamples: 10, warmup: 1 };
  const load = (place, options = {}) => program().buffer("chain", { ...place, bytes: "8 KiB" }).stream("s", { gpu: 0 })
    .probeLoad("s", "chain", { accesses: 2000, ...options });
  const pingPong = (a, b) => program().buffer("f", { gpu: a, bytes: 8 }).buffer("g", { gpu: b, bytes: 8 }).stream("s", { gpu: a })
    .stream("t", { gpu: b }).probePingPong("s", "t", { flag: "f", otherFlag: "g" }, { rounds: 50 });
  const messages = (rounds) => program().buffer("d", { gpu: 1, bytes: 8 }).buffer("f", { gpu: 0, bytes: 8 }).stream("s", { gpu: 0 })
    .stream("t", { gpu: 1 }).probeMessagePassing("s", "t", { data: "d", flag: "f" }, { rounds });
  const machine = await CudaMachine.open();
`;

const needs = missing("compiler") ?? missing("addon");
if (needs) test.skip(`skipped: ${needs}`, () => {});
else register();

function register(): void {
  for (const [title, name, settings] of CASES) test(title, () => passes(name, settings));
  for (const call of FAILING) {
    test(`${call} that fails leaves nothing behind`, () => {
      for (const at of ["", "@2", "@5"]) passes("failing-call", { P2PLAB_FAKE_FAIL: `${call}=801${at}` });
    });
  }

  test("each kind runs as a program, with its facts and what was verified", () => {
    const { lines } = inLab(`${PROGRAMS}
      for (const p of [load({ gpu: 0 }), load({ gpu: 1, allocator: "pool" }), load({ gpu: 1, allocator: "vmm" }), load({ gpu: 1 }, { cold: true }), load({ host: "pinned" }), pingPong(0, 1), pingPong(1, 1),
        program().buffer("w", { gpu: 1, bytes: 8 }).stream("s", { gpu: 0 }).probeAtomic("s", "w", { operation: "exchange", accesses: 100 }),
        program().buffer("w", { gpu: 1, bytes: 64 }).stream("s", { gpu: 0 }).probeFence("s", "w", { stores: 4, accesses: 100 }),
      ]) { const { n, sms, timedBy, ...rest } = say(await machine.run(p, { sampling })); print({ ...rest, enough: n >= 5 && sms === n }); }
      print(say(await machine.run(messages(4001), { sampling })));`);
    const same = { mode: "probe", api: 0, state: "ok", enough: true };
    assert.equal(lines, [
      { ...same, bytes: 512, owners: [0], accesses: 2000 },
      { ...same, bytes: 512, owners: [1], accesses: 2000 },
      { ...same, bytes: 512, owners: [1], accesses: 2000 },
      { ...same, bytes: 512, owners: [1], accesses: 64 },
      { ...same, bytes: 512, owners: [null], accesses: 2000 },
      { ...same, bytes: 16, owners: [0, 1], accesses: 50 },
      { ...same, bytes: 16, owners: [1, 1], accesses: 50 },
      { ...same, bytes: 8, owners: [1], accesses: 100 },
      { ...same, bytes: 32, owners: [1], accesses: 100 },
      {
        mode: "probe",
        n: 3,
        api: 0,
        state: "ok",
        bytes: 16,
        owners: [1, 0],
        accesses: 1334,
        timedBy: "global-timer",
        sms: 3,
        counts: lines[9].counts,
      },
    ]);
    const counts = Object.values(lines[9].counts as Record<string, number>);
    assert.is(
      counts.reduce((sum, count) => sum + count, 0),
      4002,
    );
  });

  test("with every SM in turn there are as many samples as SMs, or a multiple", () => {
    const { lines } = inLab(`${PROGRAMS}
      for (const minSamples of [1, 4, 5]) {
        const run = await machine.run(load({ gpu: 0 }, { sm: "each" }), { sampling: { ...sampling, minSamples } });
        print([run.samples.totalNs.length, run.samples.convergence.ended !== "budget"]);
      }`);
    assert.equal(lines, [
      [4, true],
      [4, true],
      [8, true],
    ]);
  });

  test("a lost flag, a lost answer and a damaged chain are verification errors that say what was lost", () => {
    // Past the machine's verdicts, which would not let such a pair in.
    const at = (file: string) => JSON.stringify(new URL(`../../kernel/lab/${file}.js`, import.meta.url).href);
    const error = (what: string, mode: string, pairs: string) =>
      inLab(
        `${PROGRAMS}
        const { runProbe } = await import(${at("machines/cuda-probe")});
        const { StateReader } = await import(${at("machines/cuda-state")});
        const { loadAddon } = await import(${at("native")});
        const addon = loadAddon();
        await runProbe(addon, new StateReader(addon), ${what}, { sampling }, machine.provenance)
          .then(() => print("ran"), (error) => print([error.code, error.message]));`,
        { P2PLAB_FAKE_MODE: mode, P2PLAB_FAKE_PAIRS: pairs },
      ).lines[0];
    assert.equal(error("pingPong(0, 1)", "lost-flag", "0>1"), [
      "verification",
      "ping-pong: the flag of round 1 was lost on the way from kernel 0 to kernel 1. No numbers are given.",
    ]);
    assert.equal(error("pingPong(0, 1)", "lost-flag", "1>0"), [
      "verification",
      "ping-pong: the answer to round 1 was lost on the way from kernel 1 to kernel 0. No numbers are given.",
    ]);
    const [code, message] = error("load({ gpu: 1 })", "corrupt", "1>0");
    assert.is(code, "verification");
    assert.match(message, /of 512 bytes of buffer "chain" are wrong \(owner counts 0, the probing GPU 8,/);
  });

  test("a run is cancelled between repetitions, and the machine goes on", () => {
    const { lines } = inLab(`${PROGRAMS}
      const stop = new AbortController();
      setTimeout(() => stop.abort(), 50);
      await machine.run(messages(1e8), { signal: stop.signal }).then(() => print("ran"), (error) => print(error.code));
      print((await machine.run(load({ gpu: 0 }), { sampling })).verification.state);`);
    assert.equal(lines, ["cancelled", "ok"]);
  });

  test("memory that a kernel cannot reach is refused by name", () => {
    const { lines } = inLab(`${PROGRAMS}
      await machine.run(load({ host: "pageable" }), { sampling }).catch((error) => print([error.code, error.message]));
      await machine.run(load({ gpu: 7 }), { sampling }).catch((error) => print(error.code));
      await machine.run(load({ gpu: 1 }).peerAccess(false), { sampling }).catch((error) => print([error.code, error.message]));`);
    assert.equal(lines, [
      ["program", 'a kernel cannot reach the pageable host buffer "chain"'],
      "not-available",
      [
        "program",
        "a probe of another GPU's memory with peer access off: nothing stages what a kernel loads and stores",
      ],
    ]);
  });

  test("arguments of every wrong kind are refused by name", () => {
    const { lines } = inChild(`
      const rows = (change = {}) => ({ kind: 2, buffers: Float64Array.of(0, 0, 8), gpus: Int32Array.of(0), peers: new Int32Array(0),
        parameters: Float64Array.of(10, 0, 1), ...change });
      const refused = (promise) => promise.then(() => print("accepted"), (error) => print([error.code, error.message]));
      for (const change of [{ kind: "load" }, { kind: NaN }, { buffers: [0, 0, 8] }, { gpus: Float64Array.of(0) }, { peers: null },
        { parameters: Float64Array.of(10) }, { parameters: Float64Array.of(0, 0, 1) }, { gpus: Int32Array.of(9) },
        { parameters: new Float64Array(new SharedArrayBuffer(24)) }]) await refused(addon.prepareProbe(rows(change)));
      await refused(addon.prepareProbe());
      await refused(addon.prepareProbe(7));
      const probe = await addon.prepareProbe(rows());
      for (const call of [() => probe.measure(), () => probe.measure(0, 100), () => probe.measure(1.5, 100), () => probe.measure(1, 0),
        () => probe.measure(1, "100"), () => probe.check(), () => probe.check(NaN)]) await refused(call());
      try { new probe.constructor({}); } catch (error) { print(error.message); }
      const first = probe.measure(3, 1000);
      await refused(probe.measure(3, 1000));
      try { probe.close(); } catch (error) { print(error.message); }
      print((await first).ns.length);
      probe.close(); probe.close();
      await refused(probe.check(100));`);
    assert.equal(lines, [
      ["usage", 'prepareProbe: probe.kind must be a number, not string "load"'],
      ["usage", "probe: kind is nan, not a whole number from 0 to 4"],
      ["usage", "prepareProbe: probe.buffers must be a Float64Array, not an array"],
      ["usage", "prepareProbe: probe.gpus must be an Int32Array, not an object"],
      ["usage", "prepareProbe: probe.peers must be an Int32Array, not null"],
      ["usage", "probe: there are 1 parameters, not 3"],
      ["usage", "probe: accesses is 0.000000, not a whole number from 1 to 100000000"],
      ["usage", "probe: a kernel on GPU 9 uses memory of GPU 0, but peer access is not enabled"],
      ["usage", "prepareProbe: probe.parameters must not be shared between threads"],
      ["usage", "prepareProbe takes 1 arguments, not 0"],
      ["usage", "prepareProbe: probe must be an object, not number 7"],
      ["usage", "measure takes 2 arguments, not 0"],
      ["usage", "measure: repetitions must be a whole number from 1 to 1000000, not number 0"],
      ["usage", "measure: repetitions must be a whole number from 1 to 1000000, not number 1.5"],
      ["usage", "measure: deadlineMs must be a number from 0.001000 to 86400000.000000, not number 0"],
      ["usage", 'measure: deadlineMs must be a number from 0.001000 to 86400000.000000, not string "100"'],
      ["usage", "check takes 1 arguments, not 0"],
      ["usage", "check: deadlineMs must be a number from 0.001000 to 86400000.000000, not number NaN"],
      "a probe cannot be made by new",
      ["usage", "another call of this probe is in flight"],
      "the probe cannot be closed while a call is in flight",
      3,
      ["usage", "the probe is closed"],
    ]);
  });
}

test.run();
