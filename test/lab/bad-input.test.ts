/** Whatever a notebook hands to the library, the answer is a result without NaN or a typed error that says what to do. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import * as lab from "../../kernel/lab/api.js";
import * as plot from "../../kernel/lab/plot/index.js";
import { Random } from "../../kernel/lab/random.js";

export const TIME_LIMIT_S = 120;

const bad = suite("bad input");

/** Functions that touch files, the process or the listener, or take seconds; their bad input has suites of its own. */
const ELSEWHERE = [
  ...["advise", "baseline", "regressions", "onProgress", "open", "opened", "machines", "readTopology"],
  ...["parseTopology", "readBaseline", "saveBaseline", "saveRecording", "startRecording", "writeTrace"],
  ...["claim", "check", "predict", "ledger", "verdicts", "selfCheck", "doctor", "import", "importFormats"],
];
type Callable = (...values: unknown[]) => unknown;

function functionsOf(namespace: object, name: string): [string, Callable][] {
  return Object.entries(namespace)
    .filter(([own, value]) => typeof value === "function" && /^[a-z]/.test(own) && !ELSEWHERE.includes(own))
    .map(([own, value]) => [`${name}.${own}`, value as Callable]);
}

const VALUES: readonly unknown[] = [
  ...[undefined, null, Number.NaN, Infinity, -1, 0, 1.5, 1e308, "", "8 B", "x", true, [], {}, [Number.NaN]],
  ...[
    () => 1,
    5n,
    Symbol("s"),
    new Date(0),
    new Map(),
    new Float64Array(),
    new Float64Array(9).fill(Number.NaN),
  ],
];

/** Values of options, right and wrong; a few at a time make the options of a call. */
const OPTIONS: Readonly<Record<string, readonly unknown[]>> = {
  from: [0, -1, Number.NaN, "0", 99, [0, 1], []],
  to: [1, 99, null],
  bytes: [8, "1 MiB", 0, Number.NaN, "", [], 2 ** 60, [[8]]],
  path: ["staged", "x", [], null],
  engine: ["kernel-write", "x"],
  metric: ["bandwidth", "load-latency", "x"],
  gpus: [[0, 1], [], [0, 0], [5], "0"],
  gpu: [0, 9, Number.NaN],
  memory: [{ gpu: 1 }, "host", 1],
  rounds: [1, 0, Number.NaN, 1e9],
  sampling: [{ minSamples: 5, maxSamples: 5 }, { target: Number.NaN }, { x: 1 }, null],
  signal: [{}, AbortSignal.abort()],
  operation: ["all-reduce", "add", "x"],
  scope: ["gpu", "x"],
  stores: [0, "x"],
  kinds: [["malloc"], [], "x"],
  change: [{ nvlinks: 1 }, {}, null, { x: 1 }],
  programs: [{}, { a: 1 }, null],
  uses: [1, 0, Number.NaN],
  misspelt: [1],
};

bad("every function of lab and plot answers it with a typed error or a result without NaN", async () => {
  const machine = await lab.open("sim:pcie-gen4-2");
  const sampling = { minSamples: 20, maxSamples: 20 };
  const tables = [
    await lab.sweep(machine, { from: 0, to: 1, bytes: [8, 4096, 65536], path: ["peer", "staged"], sampling }),
    await lab.matrix(machine, { sampling }),
    await lab.breakdown(machine, { from: 0, to: 1, bytes: [8, 4096], sampling, traceIterations: 3 }),
    await lab.setupCosts(machine, { kinds: ["malloc", "event-create"], sampling }),
  ];
  const run = await machine.run(lab.transfer({ from: 0, to: 1, bytes: 8 }), {
    trace: "full",
    traceIterations: 3,
    sampling,
  });
  const random = new Random(20261130);
  const pick = <T>(list: readonly T[]): T => list[random.integer(list.length)] as T;
  const damaged = (): lab.Table => {
    const table = pick(tables);
    const rows = table.objects() as Record<string, unknown>[];
    const column = pick(table.columnNames());
    const wrong = pick([Number.NaN, Infinity, -1, 0, 1e300, null, "x", {}, []]);
    return lab.tableOf(
      pick([[], rows.slice(0, 1), rows.map((row, i) => (i === 0 ? { ...row, [column]: wrong } : row))]),
      table.columnNames(),
    );
  };
  const options = () => {
    const names = Object.keys(OPTIONS);
    const few = Array.from({ length: 1 + random.integer(3) }, () => pick(names));
    const right = random.uniform() < 0.7 ? { from: 0, to: 1, bytes: 8 } : {};
    return { ...right, ...Object.fromEntries(few.map((name) => [name, pick(OPTIONS[name] as unknown[])])) };
  };
  const argument = () =>
    pick<() => unknown>([() => pick(VALUES), options, () => pick([machine, run, ...tables]), damaged])();
  for (const [name, call] of [...functionsOf(lab, "lab"), ...functionsOf(plot, "plot")]) {
    for (let round = 0; round < 24; round++) {
      const first = random.uniform() < 0.5 ? argument() : pick<unknown>([machine, run, damaged(), ...tables]);
      const args = [first, argument(), argument()].slice(0, 1 + random.integer(3));
      try {
        const result = await call(...args);
        assert.not.match(String(result), /\bNaN\b|\bundefined\b/, name);
      } catch (error) {
        if (error instanceof assert.Assertion) throw error;
        assert.instance(
          error,
          lab.P2pError,
          `${name}: ${error instanceof Error ? error.stack : String(error)}`,
        );
        const { message, hint } = error as lab.P2pError;
        assert.ok(hint.length > 5, `${name}: ${message} has no hint`);
        assert.not.match(message, /\[object/, name);
      }
    }
  }
});

bad("a run takes only what it can do", async () => {
  const of = lab.transfer({ from: 0, to: 1, bytes: 8 });
  for (const spec of ["sim:pcie-gen4-2", "recorded:h200x2", "recorded:h200x2+twin"]) {
    const machine = await lab.open(spec);
    for (const [program, options, words] of [
      [{}, undefined, /an object as its program/],
      [of, 5, /5 as its options/],
      [of, { misspelt: 1 }, /no option "misspelt"/],
      [of, { trace: "x" }, /trace is "x"/],
      [of, { trace: "full", traceIterations: 1e12 }, /traceIterations is 1000000000000/],
      [of, { signal: {} }, /signal is an object/],
      [of, { sampling: 5 }, /sampling is 5/],
      [of, { mode: "x" }, /mode is "x"/],
      [of, { signal: AbortSignal.abort() }, /stopped on request/],
    ] as const) {
      try {
        await machine.run(program as never, options as never);
        assert.unreachable(`${spec} ran ${String(words)}`);
      } catch (error) {
        assert.instance(error, lab.P2pError, String(error));
        assert.match((error as lab.P2pError).message, words);
      }
    }
  }
});

bad("the builder refuses words, names and options that there are not, when they are written", () => {
  const of = lab
    .program()
    .buffer("a", { gpu: 0, bytes: 64 })
    .buffer("b", { gpu: 1, bytes: 64 })
    .stream("s", { gpu: 0 });
  const calls: [(p: never) => unknown, RegExp][] = [
    [(p: lab.Program) => p.sync("s", "x" as never), /no method "x"/],
    [(p: lab.Program) => p.copy("s", "a", "b", { api: "x" as never }), /no api "x"/],
    [(p: lab.Program) => p.copy("s", "a", "b", { engine: "x" as never }), /no engine "x"/],
    [(p: lab.Program) => p.copy("s", "a", "b", { sice: 8 } as never), /copy\(\) has no option "sice"/],
    [(p: lab.Program) => p.copy("s", "a", "b", null as never), /null as its options/],
    [(p: lab.Program) => p.buffer("c", undefined as never), /undefined as its options/],
    [(p: lab.Program) => p.buffer("c", { host: "x" as never, bytes: 8 }), /no host "x"/],
    [(p: lab.Program) => p.buffer("c", { gpu: 0, bytes: 8, allocator: "x" as never }), /no allocator "x"/],
    [(p: lab.Program) => p.buffer({} as never, { gpu: 0, bytes: 8 }), /an object is no name/],
    [(p: lab.Program) => p.record("s", 1 as never), /1 is no name/],
    [(p: lab.Program) => p.compute("s", {} as never), /ns is an object/],
    [(p: lab.Program) => p.probeAtomic("s", "a", { operation: "x" as never }), /no operation "x"/],
    [(p: lab.Program) => p.probeFence("s", "a", { scope: "x" as never }), /no scope "x"/],
    [(p: lab.Program) => p.launch("s", "x" as never), /no kernel "x"/],
    [(p: lab.Program) => p.submitBy("x" as never), /no submission "x"/],
    [(p: lab.Program) => p.peerAccess(1 as never), /no peer access 1/],
  ];
  for (const [call, words] of calls) {
    try {
      call(of as never);
      assert.unreachable(String(words));
    } catch (error) {
      assert.instance(error, lab.P2pError, String(error));
      assert.match((error as lab.P2pError).message, words);
    }
  }
});

bad.run();
