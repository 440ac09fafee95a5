import { P2pError } from "../errors.js";
import { type CurveFit, fitCurve, LEAST_POINTS, type LineFit, type Point, timeAt } from "../measure/fit.js";
import { type Table, tableOf } from "../measure/table.js";
import { Random } from "../random.js";
import { quantileSorted } from "../sampling.js";
import { nsToUs } from "../units.js";
import { type Curve, curvesOf, mixedHint } from "./curves.js";

/** Refits from which the intervals are read. */
const RESAMPLES = 400;
/**
 * Fits t = α + bytes / β to each curve of a sweep (Hockney's model, Parallel Computing 20, 1994): by one line where none
 * leaves a residual above 1 % and three times the noise of its point, else by up to three, each over its own range of sizes.
 *
 * @param curve a table of `lab.sweep` over any axes, at least three sizes each.
 * @returns a row a curve and line: `path` and the other axes that the table has, `curve` (what tells it from the others),
 * `from_bytes`, `to_bytes` (range it was fitted over), `alpha_us` with `alpha_low_us`, `alpha_high_us`, `beta_gbps` with
 * `beta_low_gbps`, `beta_high_gbps`, and `half_bytes` with `half_low_bytes`, `half_high_bytes` (n½ = α β, the size that
 * reaches half of the rate; 95 % intervals by bootstrap: refits with every point drawn anew from its own interval and from
 * the residuals of the fit), `r2` (of the logarithms), `worst_residual` (largest relative one), and the provenance columns. A rate
 * or n½ that the line does not determine (time does not grow with size) is null, and so is an end of an interval.
 * @throws P2pError `usage` when the table is no sweep, or a curve has too few sizes.
 */
export function alphaBeta(curve: Table): Table {
  const rows: Record<string, unknown>[] = [];
  for (const { axes, origin, points, spread } of fittable(curve, "lab.alphaBeta")) {
    const fit = fitCurve(points);
    const draws = refits(points, spread, fit);
    let from = 0;
    fit.segments.forEach((segment, index) => {
      const own = points.filter((point, i) => i >= from && point.bytes <= segment.upToBytes);
      from += own.length;
      const alphas = draws.map((draw) => (draw[index] as LineFit).alphaNs);
      const rates = draws.map((draw) => (draw[index] as LineFit).rateGbps);
      const halves = draws.map((draw) => halfOf(draw[index] as LineFit));
      rows.push({
        ...axes,
        from_bytes: own[0]?.bytes ?? null,
        to_bytes: own.at(-1)?.bytes ?? null,
        alpha_us: nsToUs(segment.alphaNs),
        alpha_low_us: nsToUs(quantile(alphas, 0.025)),
        alpha_high_us: nsToUs(quantile(alphas, 0.975)),
        beta_gbps: finite(segment.rateGbps),
        beta_low_gbps: finite(quantile(rates, 0.025)),
        beta_high_gbps: finite(quantile(rates, 0.975)),
        half_bytes: finite(halfOf(segment)),
        half_low_bytes: finite(quantile(halves, 0.025)),
        half_high_bytes: finite(quantile(halves, 0.975)),
        r2: r2(own, fit),
        worst_residual: segment.worstResidual,
        ...origin,
      });
    });
  }
  return tableOf(rows);
}

/** n½ of a line; infinite where time does not grow. */
function halfOf({ alphaNs, rateGbps }: LineFit): number {
  return Number.isFinite(rateGbps) ? alphaNs * rateGbps : Number.POSITIVE_INFINITY;
}

/**
 * What the fit of {@link alphaBeta} leaves over: the axes and `curve` as there, `bytes`, `total_us`, `fitted_us`, `residual` (relative), the
 * half-width of the point's own interval as `noise` (relative), and the provenance columns. A residual above its noise is
 * the model's, not the measurement's.
 */
export function residuals(curve: Table): Table {
  return tableOf(
    fittable(curve, "lab.residuals").flatMap(({ axes, origin, points, spread }) => {
      const fit = fitCurve(points);
      return points.map(({ bytes, ns }, i) => ({
        ...axes,
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

interface Fittable {
  readonly axes: Readonly<Record<string, unknown>>;
  readonly origin: Readonly<Record<string, unknown>>;
  readonly points: readonly Point[];
  /** Relative standard error of each point's median. */
  readonly spread: readonly number[];
}

/** @throws P2pError `usage` for a curve of too few sizes. */
function fittable(table: Table, who: string): Fittable[] {
  return curvesOf(table, who).map(({ key, origin, label, points }: Curve) => {
    if (points.length < LEAST_POINTS) {
      throw new P2pError(
        "usage",
        `${who}: "${label}" has ${points.length} sizes, a fit needs ${LEAST_POINTS}`,
        mixedHint(table) ?? 'Sweep more sizes, such as bytes: lab.sizes("8 B", "64 MiB", { factor: 4 }).',
      );
    }
    const spread = points.map((point) => (point.ci_high_us - point.ci_low_us) / (2 * 1.96 * point.total_us));
    return {
      axes: { ...key, curve: label },
      origin,
      points: points.map(({ bytes, total_us }, i) => ({
        bytes,
        ns: total_us * 1e3,
        noise: spread[i] as number,
      })),
      spread,
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
