import { suite } from "uvu";
import * as assert from "uvu/assert";
import { alphaBeta, residuals } from "../../kernel/lab/analyze/alpha-beta.js";
import { P2pError } from "../../kernel/lab/errors.js";
import { type Table, tableOf } from "../../kernel/lab/measure/table.js";
import { Random } from "../../kernel/lab/random.js";
import { sizes } from "../../kernel/lab/units.js";

const fits = suite("alpha-beta");

/** A sweep of one path whose medians are `ns`, each known to `noise` (relative, 95 %). */
function curveOf(points: readonly { bytes: number; ns: number }[], noise = 0.001): Table {
  return tableOf(
    points.map(({ bytes, ns }) => ({
      path: "peer",
      bytes,
      total_us: ns / 1e3,
      ci_low_us: (ns / 1e3) * (1 - noise),
      ci_high_us: (ns / 1e3) * (1 + noise),
      machine: "m",
      provenance: "simulated",
      date: "2026-01-02",
    })),
  );
}

const SIZES = sizes("8 B", "64 MiB", { factor: 4 });

fits("an exact line is recovered, with n½ = α β", () => {
  const rows = alphaBeta(
    curveOf(SIZES.map((bytes) => ({ bytes, ns: 7000 + bytes / 380 }))),
  ).objects() as Record<string, number>[];
  assert.is(rows.length, 1);
  const [row] = rows as [Record<string, number>];
  assert.ok(Math.abs((row.alpha_us as number) - 7) < 1e-6);
  assert.ok(Math.abs((row.beta_gbps as number) - 380) < 1e-3);
  assert.ok(Math.abs((row.half_bytes as number) - 2_660_000) < 10);
  assert.ok((row.r2 as number) > 0.999999);
  assert.is(row.from_bytes, 8);
  assert.is(row.to_bytes, 64 * 1024 ** 2);
});

fits("the intervals cover the truth in 90 to 99 % of noisy sweeps", () => {
  const random = new Random(8);
  let alpha = 0;
  let beta = 0;
  const rounds = 200;
  for (let round = 0; round < rounds; round++) {
    const points = SIZES.map((bytes) => ({
      bytes,
      ns: (7000 + bytes / 380) * (1 + 0.004 * random.normal()),
    }));
    const rows = alphaBeta(curveOf(points, 0.004 * 1.96)).objects() as Record<string, number>[];
    const first = rows[0] as Record<string, number>;
    const last = rows.at(-1) as Record<string, number>;
    if ((first.alpha_low_us as number) <= 7 && 7 <= (first.alpha_high_us as number)) alpha++;
    if ((last.beta_low_gbps as number) <= 380 && 380 <= (last.beta_high_gbps as number)) beta++;
  }
  assert.ok(alpha >= rounds * 0.9 && alpha <= rounds * 0.995, `alpha ${alpha} of ${rounds}`);
  assert.ok(beta >= rounds * 0.9 && beta <= rounds * 0.995, `beta ${beta} of ${rounds}`);
});

fits("a bend gives a line on each side, and a rate that is not determined is null", () => {
  const bent = SIZES.map((bytes) => ({ bytes, ns: bytes <= 65_536 ? 7000 : 5000 + bytes / 30 }));
  const rows = alphaBeta(curveOf(bent)).objects() as Record<string, number | null>[];
  assert.is(rows.length, 2);
  assert.is(rows[0]?.beta_gbps, null);
  assert.is(rows[0]?.half_bytes, null);
  assert.ok(Math.abs((rows[1]?.beta_gbps as number) - 30) < 0.1);
});

fits("residuals stand beside the noise of their points", () => {
  const points = SIZES.map((bytes, i) => ({ bytes, ns: (7000 + bytes / 380) * (i === 5 ? 1.3 : 1) }));
  const rows = residuals(curveOf(points)).objects() as { bytes: number; residual: number; noise: number }[];
  assert.is(rows.length, SIZES.length);
  const worst = rows.reduce((a, b) => (Math.abs(b.residual) > Math.abs(a.residual) ? b : a));
  assert.ok(Math.abs(worst.residual) > 10 * worst.noise);
});

fits("too few sizes and what is no sweep are refused", () => {
  for (const table of [curveOf([{ bytes: 8, ns: 7000 }]), tableOf([{ a: 1 }])]) {
    assert.throws(
      () => alphaBeta(table),
      (error: unknown) => error instanceof P2pError && error.code === "usage",
    );
  }
});

fits.run();
