import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type Baseline,
  baseline,
  readBaseline,
  saveBaseline,
} from "../../kernel/lab/analyze/gate/baseline.js";
import { commoner, holm, largerByRanks, largerByStrata } from "../../kernel/lab/analyze/gate/rank-test.js";
import { type Regressions, regressions } from "../../kernel/lab/analyze/gate/regression.js";
import { StoppedError } from "../../kernel/lab/analyze/gate/stopped.js";
import { nameOf } from "../../kernel/lab/analyze/gate/suite.js";
import { P2pError } from "../../kernel/lab/errors.js";
import type { Machine, Run } from "../../kernel/lab/machine.js";
import { RecordedMachine } from "../../kernel/lab/machines/recorded.js";
import { SimulatedMachine } from "../../kernel/lab/machines/simulated.js";
import { Random } from "../../kernel/lab/random.js";
import { scriptedMachine } from "./scripted-machine.js";

export const TIME_LIMIT_S = 240;

const gate = suite("regression gate");
const near = (actual: number, expected: number, tolerance = 1e-12) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);

async function refused(action: () => Promise<unknown>): Promise<P2pError> {
  try {
    await action();
  } catch (error) {
    assert.instance(error, P2pError);
    return error as P2pError;
  }
  return assert.unreachable("nothing was thrown") as never;
}

gate("the rank test counts arrangements: literals for three against three", () => {
  near(largerByRanks([1, 2, 3], [4, 5, 6]), 1 / 20);
  near(largerByRanks([1, 2, 4], [3, 5, 6]), 2 / 20);
  near(largerByRanks([4, 5, 6], [1, 2, 3]), 1);
  near(largerByRanks([1, 1, 1], [1, 1, 1]), 1);
  near(largerByRanks([], [1]), 1);
  near(
    largerByStrata([
      { first: [1, 2, 3], second: [4, 5, 6] },
      { first: [10, 11], second: [12] },
    ]),
    1 / 60,
  );
});

gate("Fisher's test: literals of the tea-tasting table, and of nothing", () => {
  near(commoner({ have: 1, of: 4 }, { have: 3, of: 4 }), 17 / 70);
  near(commoner({ have: 0, of: 4 }, { have: 4, of: 4 }), 1 / 70);
  near(commoner({ have: 0, of: 0 }, { have: 2, of: 4 }), 1);
});

gate("Holm's correction: literals", () => {
  const adjusted = holm([0.01, 0.04, 0.03]);
  [0.03, 0.06, 0.06].forEach((expected, i) => {
    near(adjusted[i] as number, expected);
  });
  assert.equal(holm([]), []);
});

gate("p of equal groups is below a level no more often than the level says", () => {
  const random = new Random(5);
  const draw = (n: number) => Array.from({ length: n }, () => random.uniform());
  const ps = Array.from({ length: 2000 }, () => largerByRanks(draw(12), draw(8)));
  assert.ok(ps.filter((p) => p <= 0.05).length <= 2000 * 0.065);
  assert.ok(ps.filter((p) => p <= 0.05).length >= 2000 * 0.03);
});

/** A machine each of whose runs is given by `totals`: the samples of an undisturbed run, and which run it is. */
function changed(machine: Machine, totals: (run: Run, samples: Float64Array) => Float64Array): Machine {
  return {
    provenance: machine.provenance,
    info: machine.info,
    close: () => machine.close(),
    run: async (program, options) => {
      const run = await machine.run(program, options);
      return { ...run, samples: { ...run.samples, totalNs: totals(run, run.samples.totalNs) } };
    },
  };
}

/** A model whose every run has a seed of its own, as runs of a real machine differ. */
function seeded(preset: string, from: number): Machine {
  let seed = from;
  const first = SimulatedMachine.open(preset);
  return {
    provenance: first.provenance,
    info: first.info,
    close: () => first.close(),
    run: (program, options) => SimulatedMachine.open(preset, { seed: seed++ }).run(program, options),
  };
}

/**
 * As real machines are: each run of a program is in one of two clusters, 16 % apart, by chance; runs of a cluster differ by
 * 0.5 %, samples of a run by 2 %, and one in fifty is interrupted.
 */
function clustered(seed: number, slowShare = 0.5): Machine {
  const random = new Random(seed);
  return changed(scriptedMachine("measured"), (_, samples) => {
    const level = (random.uniform() < slowShare ? 8.1 / 7 : 1) * (1 + 0.005 * random.normal());
    return samples
      .subarray(0, 60)
      .map(
        (ns) =>
          ns * level * random.logNormal(0.02) + (random.uniform() < 0.02 ? 4000 * random.logNormal(0.8) : 0),
      );
  });
}

function slowed(machine: Machine, factor: number, bytes: number): Machine {
  return changed(machine, (run, samples) => {
    const { path, bytes: own } = nameOf({ program: run.program, mode: run.mode });
    return path === "peer" && own === bytes ? samples.map((ns) => ns * factor) : samples;
  });
}

const LATENCY = { programs: ["latency"] as const };

gate("no false alarm in 20 checks of an unchanged model, every run with another seed", async () => {
  for (let base = 0; base < 4; base++) {
    const { recording, missing } = await baseline(seeded("pcie-gen4-2", base * 1_000_000), LATENCY);
    assert.equal(missing, []);
    for (let i = 1; i <= 5; i++) {
      const found = await regressions(seeded("pcie-gen4-2", base * 1_000_000 + i * 100_000), recording);
      assert.equal([found.worse.length, found.notMeasured.length], [0, 0], String(found));
      assert.is(found.cells.length, 30);
    }
  }
});

gate("no false alarm in 40 checks of a machine with two clusters of times", async () => {
  for (let base = 0; base < 4; base++) {
    const { recording } = await baseline(clustered(base), LATENCY);
    for (let i = 1; i <= 10; i++) {
      const found = await regressions(clustered(base * 1000 + i), recording);
      assert.is(found.worse.length, 0, String(found));
    }
  }
});

gate("a slowdown of 5 % is found, where it is and nowhere else, and one of 1 % is none", async () => {
  for (const [name, of] of [
    ["model", (seed: number) => seeded("pcie-gen4-2", seed * 100_000)],
    ["two clusters", (seed: number) => clustered(seed)],
  ] as const) {
    const { recording } = await baseline(of(1), LATENCY);
    for (let seed = 2; seed < 7; seed++) {
      const found = await regressions(slowed(of(seed), 1.05, 65_536), recording);
      assert.equal(
        found.worse.map(({ cell }) => nameOf(cell)).map(({ path, bytes }) => [path, bytes]),
        [
          ["peer", 65_536],
          ["peer", 65_536],
        ],
        `${name} ${seed}: ${found}`,
      );
      assert.match(String(found), /2 of 30 programs worse:\n {2}latency peer 0 → 1 64 KiB, median: /);
      const little = await regressions(slowed(of(seed + 50), 1.01, 65_536), recording);
      assert.is(little.worse.length, 0, `${name} ${seed}: ${little}`);
    }
  }
});

gate("a program that is now always in its slower cluster is found", async () => {
  const { recording } = await baseline(clustered(1, 0.3), LATENCY);
  const found = await regressions(clustered(2, 1), recording);
  assert.ok(found.worse.length >= 25, String(found));
});

gate("a tail that grew is found though the median stayed", async () => {
  const { recording } = await baseline(clustered(3, 0), LATENCY);
  const random = new Random(9);
  const tailed = changed(clustered(4, 0), (_, samples) =>
    samples.map((ns) => (random.uniform() < 0.2 ? ns * 1.5 : ns)),
  );
  const rows = (await regressions(tailed, recording)).table().objects() as Record<string, unknown>[];
  assert.ok(rows.filter((row) => row.quantile === 0.9).every((row) => row.verdict === "worse"));
  assert.ok(rows.filter((row) => row.quantile === 0.5).every((row) => row.verdict === "not-worse"));
});

gate("a baseline outlives its file, and opens as what it is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "p2plab-gate-"));
  try {
    const file = join(folder, "b.arrow");
    const made = await baseline(SimulatedMachine.open("pcie-gen4-2"), { ...LATENCY, rounds: 8 });
    saveBaseline(file, made);
    const read = readBaseline(file);
    assert.equal(
      read.runs.map(({ rounds, totalNs }) => [rounds?.length, totalNs.length]),
      made.recording.runs.map(({ totalNs }) => [8, totalNs.length]),
    );
    const found = await regressions(SimulatedMachine.open("pcie-gen4-2"), read);
    assert.is(found.worse.length, 0);
    assert.is(RecordedMachine.open(file).provenance.kind, "simulated");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

gate(
  "what cannot be run is left out of a baseline, and not measured in a check, each with its reason",
  async () => {
    const { recording, missing } = await baseline(SimulatedMachine.open("rtx4090-2"), {
      ...LATENCY,
      rounds: 8,
    });
    assert.is(recording.runs.length, 20);
    assert.is(missing.length, 10);
    assert.match(missing[0]?.reason ?? "", /no peer access/);
    const one = await baseline(SimulatedMachine.open("pcie-gen4-2"), { ...LATENCY, rounds: 8 });
    const found = await regressions(SimulatedMachine.open("rtx4090-2"), one.recording);
    assert.is(found.notMeasured.length, 10);
    const rows = found.table().objects() as Record<string, unknown>[];
    assert.ok(
      rows.filter((row) => row.verdict === "not-measured").every((row) => row.ratio === null && row.reason),
    );
    assert.match(String(found), /the baseline is of another machine[\s\S]*10 of 30 programs not measured/);
  },
);

gate("what makes no sense is refused by name", async () => {
  const machine = SimulatedMachine.open("pcie-gen4-2");
  const made = await baseline(machine, { ...LATENCY, rounds: 8 });
  for (const [action, code, words] of [
    [() => baseline(machine, { rounds: 2 }), "usage", /2 rounds/],
    [() => baseline(machine, { programs: [] }), "usage", /no set of programs is named/],
    [() => baseline(machine, { programs: ["speed" as never] }), "usage", /no set of programs "speed"/],
    [() => baseline(undefined as never), "usage", /no machine/],
    [() => baseline(RecordedMachine.open("h200x2")), "not-available", /cannot be run again/],
    [
      () => regressions(RecordedMachine.open("h200x2"), made.recording),
      "not-available",
      /cannot be run again/,
    ],
    [() => regressions(scriptedMachine("measured"), made.recording), "not-available", /simulated.*measured/],
    [() => regressions(machine, made.recording, { tolerance: Number.NaN }), "usage", /tolerance is NaN/],
    [() => regressions(machine, made.recording, { level: 2 }), "usage", /level is 2/],
    [async () => readBaseline("no-such-file"), "recording", /cannot read no-such-file/],
    [async () => readBaseline("notebooks/recordings/h200x2-2026-11-30.arrow"), "recording", /no baseline/],
  ] as const) {
    const error = await refused(action);
    assert.is(error.code, code, String(error));
    assert.match(error.message, words);
  }
});

/** A machine, and a signal that ends with its run of this number. */
function stoppedAt(runs: number, machine: Machine): { machine: Machine; signal: AbortSignal } {
  const controller = new AbortController();
  let left = runs;
  const counted = changed(machine, (_, samples) => {
    if (--left === 0) controller.abort();
    return samples;
  });
  return { machine: counted, signal: controller.signal };
}

gate(
  "a baseline that is stopped keeps the rounds that were complete, or says that they are too few",
  async () => {
    const aborted = stoppedAt(0, SimulatedMachine.open("pcie-gen4-2"));
    const none = await refused(() => baseline(aborted.machine, { ...LATENCY, signal: AbortSignal.abort() }));
    assert.instance(none, StoppedError);
    assert.is((none as StoppedError<Baseline>).partial, null);
    assert.match(none.hint, /needs 8 rounds, and 0 were complete/);
    // 30 programs a round.
    for (const [runs, rounds] of [
      [7 * 30 + 29, null],
      [8 * 30, 8],
      [9 * 30 + 1, 9],
    ] as const) {
      const { machine, signal } = stoppedAt(runs, SimulatedMachine.open("pcie-gen4-2"));
      const error = (await refused(() =>
        baseline(machine, { ...LATENCY, rounds: 12, signal }),
      )) as StoppedError<Baseline>;
      assert.is(error.code, "cancelled");
      const kept = error.partial?.recording.runs.map((run) => run.rounds?.length) ?? null;
      assert.equal(kept, rounds === null ? null : new Array(30).fill(rounds), error.message);
      if (error.partial) await regressions(SimulatedMachine.open("pcie-gen4-2"), error.partial);
    }
  },
);

gate("a check that is stopped keeps what whole looks found, and settles nothing that was open", async () => {
  const of = () => SimulatedMachine.open("pcie-gen4-2");
  const { recording } = await baseline(of(), { ...LATENCY, rounds: 8 });
  const early = stoppedAt(100, of());
  const nothing = (await refused(() =>
    regressions(early.machine, recording, { signal: early.signal }),
  )) as StoppedError<Regressions>;
  assert.is(nothing.partial, null);
  assert.match(nothing.hint, /nothing can be said/);
  const late = stoppedAt(8 * 30 + 3, slowed(of(), 1.2, 65_536));
  const error = (await refused(() =>
    regressions(late.machine, recording, { signal: late.signal }),
  )) as StoppedError<Regressions>;
  assert.match(error.message, /stopped on request in its look 2 of at most 6/);
  const found = error.partial as Regressions;
  assert.equal([found.cells.length, found.worse.length, found.notMeasured.length], [30, 0, 2]);
  assert.match(found.notMeasured[0]?.reason ?? "", /suspicious after 8 rounds/);
  const rows = found.table().objects() as { verdict: string }[];
  assert.is(rows.filter(({ verdict }) => verdict === "not-measured").length, 4);
});

gate.run();
