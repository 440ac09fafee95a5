import { P2pError } from "../errors.js";
import { expectTable } from "../measure/expect.js";
import { type CurveFit, fitCurve, type LineFit, type Point, timeAt } from "../measure/fit.js";
import { provenancesOf, type Table, tableOf } from "../measure/table.js";
import { Random } from "../random.js";
import { quantileSorted } from "../sampling.js";
import { nsToUs } from "../units.js";

/** Refits from which the intervals are read. */
const RESAMPLES = 400;
/** Sizes that a fit needs: two for the line, one more so that a residual can show. */
const LEAST_SIZES = 3;

interface Row {
  path: string;
  bytes: number;
  total_us: number;
  ci_low_us: number;
  ci_high_us: number;
}

/**
 * Fits t = α + bytes / β to each path of a sweep (Hockney's model, Parallel Computing 20, 1994): by one line where none
 * leaves a residual above 1 %, else by up to three, each over its own range of sizes.
 *
 * @param curve a table of `lab.sweep`, at least three sizes a path.
 * @returns a row a path and line: `path`, `from_bytes`, `to_bytes` (range it was fitted over), `alpha_us` with
 * `alpha_low_us`, `alpha_high_us` and `beta_gbps` with `beta_low_gbps`, `beta_high_gbps` (95 % intervals: refits with every
 * point drawn anew from its own interval and from the residuals of the fit), `half_bytes` (n½ = α β, the size that reaches
 * half of the rate), `r2` (of the logarithms), `worst_residual` (largest relative one), and the provenance columns. A rate
 * or n½ that the line does not determine (time does not grow with size) is null.
 * @throws P2pError `usage` when the table is no sweep, or a path has too few sizes.
 */
export function alphaBeta(curve: Table): Table {
  const rows: Record<string, unknown>[] = [];
  const origin = provenancesOf(curve)[0] ?? {};
  for (const { path, points, spread } of pathsOf(curve, "lab.alphaBeta")) {
    const fit = fitCurve(points);
    const draws = refits(points, spread, fit);
    let from = 0;
    fit.segments.forEach((segment, index) => {
      const own = points.filter((point, i) => i >= from && point.bytes <= segment.upToBytes);
      from += own.length;
      const alphas = draws.map((draw) => (draw[index] as LineFit).alphaNs);
      const rates = draws.map((draw) => (draw[index] as LineFit).rateGbps);
      const known = Number.isFinite(segment.rateGbps);
      rows.push({
        path,
        from_bytes: own[0]?.bytes ?? null,
        to_bytes: own.at(-1)?.bytes ?? null,
        alpha_us: nsToUs(segment.alphaNs),
        alpha_low_us: nsToUs(quantile(alphas, 0.025)),
        alpha_high_us: nsToUs(quantile(alphas, 0.975)),
        beta_gbps: finite(segment.rateGbps),
        beta_low_gbps: finite(quantile(rates, 0.025)),
        beta_high_gbps: finite(quantile(rates, 0.975)),
        half_bytes: known ? segment.alphaNs * segment.rateGbps : null,
        r2: r2(own, fit),
        worst_residual: segment.worstResidual,
        ...origin,
      });
    });
  }
  return tableOf(rows);
}

/**
 * What the fit of {@link alphaBeta} leaves over: `path`, `bytes`, `total_us`, `fitted_us`, `residual` (relative), the
 * half-width of the point's own interval as `noise` (relative), and the provenance columns. A residual above its noise is
 * the model's, not the measurement's.
 */
export function residuals(curve: Table): Table {
  const origin = provenancesOf(curve)[0] ?? {};
  return tableOf(
    pathsOf(curve, "lab.residuals").flatMap(({ path, points, spread }) => {
      const fit = fitCurve(points);
      return points.map(({ bytes, ns }, i) => ({
        path,
        bytes,
        total_us: nsToUs(ns),
        fitted_us: nsToUs(timeAt(fit, bytes)),
        residual: ns / timeAt(fit, bytes) - 1,
        noise: (spread[i] as number) * 1.96,
        ...origin,
      }));
    }),
  );
}

/** Points of each path by size, and the relative standard error of each point's median. */
function pathsOf(curve: Table, who: string): { path: string; points: Point[]; spread: number[] }[] {
  expectTable(curve, ["path", "bytes", "total_us", "ci_low_us", "ci_high_us"], who);
  const rows = curve.objects() as Row[];
  return [...new Set(rows.map((row) => row.path))].map((path) => {
    const own = rows.filter((row) => row.path === path).sort((a, b) => a.bytes - b.bytes);
    if (new Set(own.map((row) => row.bytes)).size < LEAST_SIZES) {
      throw new P2pError(
        "usage",
        `${who}: path "${path}" has ${own.length} sizes, a fit needs ${LEAST_SIZES}`,
        'Sweep more sizes, such as bytes: lab.sizes("8 B", "64 MiB", { factor: 4 }).',
      );
    }
    return {
      path,
      points: own.map((row) => ({ bytes: row.bytes, ns: row.total_us * 1e3 })),
      spread: own.map((row) => (row.ci_high_us - row.ci_low_us) / (2 * 1.96 * row.total_us)),
    };
  });
}

/** Lines of the same ranges through points drawn anew. */
function refits(points: readonly Point[], spread: readonly number[], fit: CurveFit): LineFit[][] {
  const random = new Random(points.length);
  const left = points.map(({ bytes, ns }) => ns / timeAt(fit, bytes) - 1);
  return Array.from({ length: RESAMPLES }, () => {
    const drawn = points.map(({ bytes }, i) => ({
      bytes,
      ns:
        timeAt(fit, bytes) *
        Math.max(
          0.01,
          1 + (left[random.integer(left.length)] as number) + (spread[i] as number) * random.normal(),
        ),
    }));
    let from = 0;
    return fit.segments.map((segment) => {
      const own = drawn.filter((point, i) => i >= from && point.bytes <= segment.upToBytes);
      from += own.length;
      return fitCurve(own, 1).segments[0] as LineFit;
    });
  });
}

function quantile(values: readonly number[], q: number): number {
  const sorted = Float64Array.from(values).sort();
  const value = quantileSorted(sorted, q);
  // Between a finite value and infinity lies no number.
  return Number.isNaN(value) ? Number.POSITIVE_INFINITY : value;
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** Share of the variance of log time that the fit explains; 1 where time does not vary at all. */
function r2(points: readonly Point[], fit: CurveFit): number {
  const logs = points.map(({ ns }) => Math.log(ns));
  const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
  const total = logs.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const left = points.reduce(
    (sum, { bytes }, i) => sum + ((logs[i] as number) - Math.log(timeAt(fit, bytes))) ** 2,
    0,
  );
  return total === 0 ? 1 : 1 - left / total;
}
