import { suite } from "uvu";
import * as assert from "uvu/assert";
import { lab } from "../../kernel/lab/index.js";

const timing = suite("lab.time");
const quick = { budgetMs: 30, minSamples: 5, warmup: 1 };

async function failureOf(work: () => Promise<unknown>): Promise<Error & { code?: string; hint?: string }> {
  try {
    await work();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

timing("a call is not told to be shorter than it lasts, awaited or not", async () => {
  const lasts = (ms: number) => {
    for (const until = performance.now() + ms; performance.now() < until; );
  };
  const sync = await lab.time(() => lasts(2), quick);
  assert.is(sync.calls, 1);
  assert.ok((sync.medianNs as number) >= 2e6, String(sync));
  assert.ok(sync.samplesNs.every((ns) => ns >= 2e6));
  const waits = () => new Promise((resolve) => setTimeout(resolve, 3));
  // A timer may fire a fraction of a millisecond early.
  assert.ok(((await lab.time(waits, quick)).medianNs as number) >= 2e6);
});

timing("short calls are timed several at once, and nothing is told from a call of nothing", async () => {
  let counted = 0;
  const nothing = await lab.time(() => void counted++, { ...quick, name: "count" });
  assert.ok(nothing.calls > 16, String(nothing.calls));
  assert.ok(counted >= nothing.calls * nothing.convergence.n);
  const { medianNs, reason, floorNs } = nothing;
  assert.ok(floorNs > 0);
  assert.is(medianNs === null, reason !== null);
  assert.is(medianNs === null, nothing.convergence.medianNs <= floorNs);
});

timing("the result holds the last value, and one row that says where it comes from", async () => {
  let n = 0;
  const result = await lab.time(async () => ++n, { ...quick, name: "next" });
  assert.is(result.value, n);
  const names = result.table().columnNames();
  assert.equal(names.slice(-3), ["machine", "provenance", "date"]);
  const row = result.table().object() as Record<string, unknown>;
  assert.is(row.name, "next");
  assert.is(row.provenance, "measured");
  assert.is(row.n, result.convergence.n);
  assert.ok((row.ci_low_us as number) <= (row.ci_high_us as number));
});

timing("samples end by the rule's own limits", async () => {
  const limited = await lab.time(() => JSON.stringify([1, 2]), { ...quick, target: 1e-9, maxSamples: 7 });
  assert.ok(limited.convergence.n <= 7);
  assert.is(limited.convergence.converged, false);
});

timing("wrong input, errors of the function, and a stop each end it with their own error", async () => {
  assert.match((await failureOf(() => lab.time(5 as never))).message, /was given 5/);
  assert.match(
    (await failureOf(() => lab.time(() => 1, { often: 3 } as never))).message,
    /no option "often"/,
  );
  assert.match((await failureOf(() => lab.time(() => 1, { budgetMs: Number.NaN }))).message, /budgetMs/);
  const own = new RangeError("mine");
  const thrown = await failureOf(() =>
    lab.time(() => {
      throw own;
    }),
  );
  assert.is(thrown, own);
  const rejected = await failureOf(() => lab.time(() => Promise.reject(own)));
  assert.is(rejected, own);
  const stopped = await failureOf(() => lab.time(() => 1, { signal: AbortSignal.abort() }));
  assert.is(stopped.code, "cancelled");
});

timing("without a notebook there are no variables to list", () => {
  assert.throws(() => lab.vars(), /no notebook runs here/);
});

timing.run();
