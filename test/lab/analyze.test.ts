import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { check } from "../../kernel/lab/analyze/check.js";
import { claim } from "../../kernel/lab/analyze/claim.js";
import { crossover } from "../../kernel/lab/analyze/crossover.js";
import { ledger, ledgerFile, readLedger } from "../../kernel/lab/analyze/ledger.js";
import { predict } from "../../kernel/lab/analyze/predict.js";
import { P2pError } from "../../kernel/lab/errors.js";
import { packagePath } from "../../kernel/lab/files.js";
import { type Table, tableOf } from "../../kernel/lab/measure/table.js";
import { breakdown as breakdownFigure } from "../../kernel/lab/plot/breakdown.js";
import { latency } from "../../kernel/lab/plot/latency.js";
import { median } from "../../kernel/lab/sampling.js";

const analyze = suite("analyze");
const folder = mkdtempSync(join(tmpdir(), "p2plab-ledger-"));

function newLedger(name: string): string {
  process.env.P2PLAB_LEDGER = join(folder, `${name}.json`);
  return process.env.P2PLAB_LEDGER;
}

/** Rows of [path, bytes, median]; intervals ±1 %. */
function curveOf(rows: readonly (readonly [string, number, number])[]): Table {
  return tableOf(
    rows.map(([path, bytes, total_us]) => ({
      path,
      bytes,
      total_us,
      ci_low_us: total_us * 0.99,
      ci_high_us: total_us * 1.01,
      machine: "m",
      provenance: "simulated",
      date: "2026-01-02",
    })),
  );
}

analyze("crossover says that there is none where one path leads everywhere", () => {
  const result = crossover(
    curveOf([
      ["peer", 8, 7],
      ["peer", 1024, 8],
      ["staged", 8, 14],
      ["staged", 1024, 20],
    ]),
  );
  assert.is(String(result), "none: peer wins at every size measured (8 B … 1 KiB)");
  assert.is(result.winner, "peer");
  assert.equal(result.ratioRange, { low: 2, high: 2.5 });
});

analyze("crossover names the sizes between which the lead changes, and ties", () => {
  const result = crossover(
    curveOf([
      ["peer", 8, 20],
      ["peer", 64, 10],
      ["peer", 1024, 10],
      ["staged", 8, 10],
      ["staged", 64, 10.05],
      ["staged", 1024, 20],
    ]),
  );
  const [crossing] = result.crossings;
  assert.equal(
    [result.crossings.length, crossing?.from, crossing?.to, crossing?.above, crossing?.below],
    [1, "staged", "peer", 8, 1024],
  );
  assert.equal(result.ties, [64]);
  assert.is(result.winner, null);
  assert.match(String(result), /staged leads up to 8 B, peer from 1 KiB; undecided at 64 B/);
});

analyze("crossover compares two paths over common sizes, and refuses anything else", () => {
  for (const rows of [
    [["peer", 8, 1]],
    [
      ["a", 8, 1],
      ["b", 8, 1],
      ["c", 8, 1],
    ],
    [
      ["a", 8, 1],
      ["b", 16, 1],
    ],
  ] as const) {
    assert.throws(
      () => crossover(curveOf(rows as never)),
      (error: unknown) => error instanceof P2pError && error.code === "usage",
    );
  }
});

analyze("a range claim is supported when every row lies inside, ends included, and refuted otherwise", () => {
  newLedger("range");
  const inside = claim(
    "a",
    { says: "3–10", column: "total_us", between: [3, 10] },
    curveOf([
      ["peer", 8, 3],
      ["peer", 16, 10],
    ]),
  );
  assert.is(inside.verdict, "supported");
  const outside = claim(
    "b",
    { says: "3–10", column: "total_us", between: [3, 10] },
    curveOf([
      ["peer", 8, 3],
      ["peer", 16, 10.1],
    ]),
  );
  assert.is(outside.verdict, "refuted");
  assert.match(outside.entry.evidence, /peer 16 B: 10\.1/);
  assert.is(outside.entry.provenance, "simulated");
});

analyze("a claim without a value to decide by is not testable, never supported", () => {
  newLedger("untestable");
  const empty = tableOf([{ path: "peer", total_us: null }]);
  assert.is(claim("a", { says: "x", column: "total_us", between: [0, 1] }, empty).verdict, "not-testable");
  assert.is(claim("b", { says: "x", holds: null, because: "one link only" }, empty).verdict, "not-testable");
  assert.throws(
    () => claim("c", { says: "x", column: "nowhere", between: [0, 1] }, empty),
    (error: unknown) => error instanceof P2pError && /nowhere/.test(error.message),
  );
});

analyze("a prediction keeps its unit, and its outcome the ratio", () => {
  newLedger("predict");
  const guess = predict("p", "20 µs");
  assert.is(guess.unit, "us");
  const outcome = guess.against(10, curveOf([["peer", 8, 10]]));
  assert.is(outcome.ratio, 0.5);
  for (const bad of ["", "fast", "10", "us 10"]) {
    assert.throws(
      () => predict("q", bad),
      (error: unknown) => error instanceof P2pError && error.code === "usage",
      bad,
    );
  }
});

analyze("a check passes only when every property holds; no answer and a throwing property fail", () => {
  newLedger("check");
  assert.is(check("e", 4, { even: (n) => n % 2 === 0 }).passed, true);
  assert.is(check("e", 5, { even: (n) => n % 2 === 0, positive: (n) => n > 0 }).passed, false);
  assert.is(check<number>("e", null, { any: () => true }).passed, false);
  const thrown = check("e", 1, {
    breaks: () => {
      throw new Error("boom");
    },
  });
  assert.is(thrown.passed, false);
  assert.match(String(thrown), /boom/);
  assert.throws(() => check("e", 1, {}), /tests nothing/);
});

analyze("the ledger lasts in one file, replaces an entry by its name, and is never half-written", () => {
  const file = newLedger("lasting");
  predict("p", "1 us");
  predict("p", "2 us");
  check("e", 1, { ok: () => true });
  assert.equal(
    readLedger().map((entry) => entry.kind),
    ["prediction", "check"],
  );
  assert.equal(ledger().array("result"), ["open", "passed"]);
  assert.equal(
    readdirSync(folder).filter((name) => name.includes(".tmp")),
    [],
  );
  assert.is(JSON.parse(readFileSync(file, "utf8")).schema, "p2plab-ledger/1");
});

analyze("the ledger's table holds what was claimed and found as numbers, null for what is no range", () => {
  newLedger("ranges");
  const evidence = curveOf([
    ["peer", 8, 3],
    ["peer", 16, 10.1],
  ]);
  claim("closed", { says: "3–10", column: "total_us", between: [3, 10] }, evidence);
  claim("condition", { says: "x", holds: true, because: "y" }, evidence);
  predict("guess", "20 us").against(10, evidence);
  predict("unanswered", "20 us");
  const columns = ["id", "quantity", "claimed_low", "claimed_high", "found_low", "found_high"];
  assert.equal(
    (ledger().objects() as Record<string, unknown>[]).map((row) => columns.map((name) => row[name])),
    [
      ["closed", "total_us", 3, 10, 3, 10.1],
      ["condition", null, null, null, null, null],
      ["guess", "us", 20, 20, 10, 10],
      ["unanswered", "us", 20, 20, null, null],
    ],
  );
});

analyze("a file that is not a ledger is refused and left as it is", () => {
  const file = newLedger("foreign");
  const holding = (entry: string) => `{"schema":"p2plab-ledger/1","entries":[${entry}]}`;
  for (const content of [
    "{",
    "[]",
    '{"schema":"other/1","entries":[]}',
    holding("null"),
    holding("{}"),
    holding('{"kind":"toString","id":"a","entered":"x"}'),
    holding('{"kind":"claim","id":"a","entered":"x","says":"s","verdict":"supported"}'),
    holding('{"kind":"claim","id":"a","entered":"x","says":"s","verdict":"likely","evidence":"e"}'),
    holding(
      '{"kind":"claim","id":"a","entered":"x","says":"s","verdict":"refuted","evidence":"e","range":{}}',
    ),
    holding('{"kind":"check","id":"a","entered":"x","passed":true}'),
    holding('{"kind":"prediction","id":"a","entered":"x","predicted":1,"unit":"us","measured":"2"}'),
  ]) {
    writeFileSync(file, content);
    assert.throws(
      () => predict("p", "1 us"),
      (error: unknown) => error instanceof P2pError && error.message.includes(file),
    );
    assert.is(readFileSync(file, "utf8"), content);
  }
});

analyze("a claim that is decided by nothing is refused, never refuted", () => {
  newLedger("undecided");
  for (const bad of [
    {},
    { says: "x" },
    { says: "x", holds: undefined, because: "" },
    { holds: true, because: "" },
    { says: "x", holds: true },
    { says: "x", holds: "no", because: "" },
    { says: "x", column: "total_us" },
    { says: "x", column: "total_us", between: 3 },
    { says: "x", column: "total_us", between: [10, 3] },
    { says: "x", column: "total_us", between: [1, Number.NaN] },
    { says: "x", column: "total_us", between: [1, Number.POSITIVE_INFINITY] },
    { says: "x", column: "total_us", between: [1, 2, 3] },
    { says: "x", column: "total_us", between: ["1", "2"] },
    null,
  ]) {
    assert.throws(
      () => claim("a", bad as never, curveOf([["peer", 8, 1]])),
      (error: unknown) => error instanceof P2pError && error.code === "usage",
    );
  }
  assert.equal(readLedger(), []);
});

analyze("an entry needs a name, a check properties that are functions, a prediction a number", () => {
  newLedger("unnamed");
  const table = curveOf([["peer", 8, 1]]);
  for (const action of [
    () => claim(undefined as never, { says: "x", holds: true, because: "" }, table),
    () => claim(" ", { says: "x", holds: true, because: "" }, table),
    () => predict(7 as never, "1 us"),
    () => predict("a", "1e999 us"),
    () => predict("a", undefined as never),
    () => check("a", 1, undefined as never),
    () => check("a", 1, {}),
    () => check("a", 1, { "is one": true } as never),
    () => check(undefined as never, 1, { "is one": () => true }),
    () => median([]),
  ]) {
    assert.throws(action, (error: unknown) => error instanceof P2pError && error.code === "usage");
  }
  assert.equal(readLedger(), []);
});

analyze("a prediction held against a measurement is no longer open, and one of zero has no ratio", () => {
  newLedger("closed");
  const evidence = curveOf([["peer", 8, 10]]);
  predict("p", "20 us").against(10, evidence);
  assert.equal(ledger().array("result"), ["found 10 us"]);
  const none = predict("zero", "0 us").against(3, evidence);
  assert.is(none.ratio, null);
  assert.not.match(String(none), /×/);
  for (const bad of [undefined, {}, "table"]) {
    assert.throws(
      () => predict("q", "1 us").against(1, bad as never),
      (error: unknown) => error instanceof P2pError && error.code === "usage",
    );
  }
});

analyze("a property that answers neither true nor false does not hold, and says so", () => {
  newLedger("promise");
  const result = check("e", 1, { later: (async () => true) as never, one: (() => 1) as never });
  assert.is(result.passed, false);
  assert.match(String(result), /a promise, not true or false[\s\S]*number, not true or false/);
});

analyze("entries of processes that write at the same time all get in", async () => {
  const file = newLedger("together");
  const module = packagePath("dist/kernel/lab/analyze/ledger.js");
  const script = (name: string) => `
    const { enter } = await import(${JSON.stringify(module)});
    for (let i = 0; i < 20; i++)
      enter({ kind: "check", id: "${name}-" + i, passed: true, failed: [], entered: "", provenance: null, machine: null });`;
  const writers = ["a", "b", "c", "d"].map(
    (name) =>
      new Promise<number | null>((resolve) => {
        spawn(process.execPath, ["--input-type=module", "-e", script(name)], { stdio: "inherit" }).once(
          "exit",
          resolve,
        );
      }),
  );
  assert.equal(await Promise.all(writers), [0, 0, 0, 0]);
  assert.is(new Set(readLedger().map((entry) => entry.id)).size, 80);
  assert.not(existsSync(`${file}.lock`));
});

analyze("the lock of a process that has died is taken away, that of a living one is not", () => {
  const file = newLedger("dead");
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  writeFileSync(`${file}.lock`, `${hostname()} ${pid}`);
  check("e", 1, { ok: () => true });
  assert.is(readLedger().length, 1);
  const parent = { ...process.env, P2PLAB_LEDGER: file };
  writeFileSync(`${file}.lock`, `${hostname()} ${process.pid}`);
  const module = packagePath("dist/kernel/lab/file-lock.js");
  const waiting = spawnSync(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `const { withFileLock } = await import(${JSON.stringify(module)}); withFileLock(${JSON.stringify(file)}, () => {});`,
    ],
    { env: parent, timeout: 1500 },
  );
  assert.is(waiting.signal, "SIGTERM", "it went on though the lock was held");
  rmSync(`${file}.lock`);
});

analyze("evidence of several provenances is named as such, with its days", () => {
  newLedger("mixed");
  const rows = curveOf([["peer", 8, 10]]).objects() as Record<string, unknown>[];
  const mixed = tableOf([...rows, { ...rows[0], machine: "n", provenance: "measured", date: "2026-01-03" }]);
  claim("m", { says: "x", holds: true, because: "y" }, mixed);
  predict("p", "1 us").against(1, mixed);
  for (const row of ledger().objects() as Record<string, unknown>[]) {
    assert.equal(
      [row.machine, row.provenance, row.date],
      ["m + n", "simulated + measured", "2026-01-02 + 2026-01-03"],
    );
  }
  check("c", 1, { ok: () => true });
  assert.equal(ledger().columnNames().slice(-3), ["machine", "provenance", "date"]);
  assert.is(ledger().array("date").at(-1), null);
});

analyze("an empty P2PLAB_LEDGER is as good as none", () => {
  process.env.P2PLAB_LEDGER = "";
  assert.match(ledgerFile(), /p2plab-ledger\.json$/);
});

analyze("what is no table, or lacks columns or rows, is refused by name", () => {
  const wrong = tableOf([{ a: 1 }]);
  for (const action of [
    () => crossover(undefined as never),
    () => crossover(wrong),
    () => latency(wrong),
    () => latency(curveOf([])),
    () => breakdownFigure(wrong),
    () => claim("a", { says: "x", holds: true, because: "" }, undefined as never),
  ]) {
    assert.throws(action, (error: unknown) => error instanceof P2pError && error.code === "usage");
  }
});

analyze.run();
