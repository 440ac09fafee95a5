/** t = α + bytes / rate over a range of sizes. */
export interface LineFit {
  /** Intercept α, nanoseconds. */
  readonly alphaNs: number;
  /** Rate, GB/s (bytes a nanosecond); Infinity where time does not grow with size. */
  readonly rateGbps: number;
  /** Largest relative residual over the points fitted. */
  readonly worstResidual: number;
}

export interface Point {
  readonly bytes: number;
  readonly ns: number;
  /** Relative standard error of the time; 0 where it is not given. */
  readonly noise?: number;
}

/** Lines over neighbouring ranges of sizes. */
export interface CurveFit {
  /** Ascending; each holds for sizes up to `upToBytes`, the last for all beyond. */
  readonly segments: readonly (LineFit & { readonly upToBytes: number })[];
  /** Largest relative residual over all points. */
  readonly worstResidual: number;
}

/**
 * Fits t = α + bytes / rate by least squares of relative residuals (weights 1/t²), so that a point of a microsecond and
 * a point of a millisecond count alike. Neither α nor the time a byte takes may be negative.
 * @param points at least two different sizes with positive times.
 */
export function fitLine(points: readonly Point[]): LineFit {
  let w = 0;
  let wx = 0;
  let wy = 0;
  let wxx = 0;
  let wxy = 0;
  for (const { bytes, ns } of points) {
    const weight = 1 / (ns * ns);
    w += weight;
    wx += weight * bytes;
    wy += weight * ns;
    wxx += weight * bytes * bytes;
    wxy += weight * bytes * ns;
  }
  let slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  let alphaNs = (wy - slope * wx) / w;
  if (alphaNs < 0) {
    alphaNs = 0;
    slope = wxy / wxx;
  }
  if (slope < 0) {
    slope = 0;
    alphaNs = wy / w;
  }
  const worstResidual = Math.max(
    ...points.map(({ bytes, ns }) => Math.abs(alphaNs + slope * bytes - ns) / ns),
  );
  return { alphaNs, rateGbps: 1 / slope, worstResidual };
}

/** Residual at which a fit with fewer segments is good enough. */
const TOLERANCE = 0.01;
/** Standard errors of a point's own that its residual may reach by chance, with a few dozen points to a curve. */
const CHANCE = 3;
/** Points that a segment must have: one more than a line needs, so that a residual can show. */
export const LEAST_POINTS = 3;
const MAX_SEGMENTS = 3;

/**
 * Fits time against size by the fewest lines (one to three) whose residuals ask for no more: none above 1 % or three times its
 * point's noise; where no three lines reach that, by those that miss it least. Copy engines change their way of moving data
 * with size, so one line seldom does.
 * @param points at least three sizes, ascending, positive times.
 * @param most lines to use at the most.
 */
export function fitCurve(points: readonly Point[], most = MAX_SEGMENTS): CurveFit {
  let best: Split | null = null;
  for (let count = 1; count <= Math.min(most, Math.floor(points.length / LEAST_POINTS)); count++) {
    const split = bestSplit(points, count);
    if (!best || split.excess < best.excess) best = split;
    if (best.excess <= 1) break;
  }
  return (best ?? oneLine(points)).fit;
}

/** Fitted time at a size. */
export function timeAt(fit: CurveFit, bytes: number): number {
  const segment = fit.segments.find((candidate) => bytes <= candidate.upToBytes) ?? fit.segments.at(-1);
  const { alphaNs, rateGbps } = segment as LineFit;
  return alphaNs + bytes / rateGbps;
}

/** A fit, and its largest residual against what is allowed of that point: up to 1 it asks for no more lines. */
interface Split {
  readonly fit: CurveFit;
  readonly excess: number;
}

function oneLine(points: readonly Point[]): Split {
  const line = fitLine(points);
  const excess = Math.max(
    ...points.map(
      ({ bytes, ns, noise = 0 }) =>
        Math.abs((line.alphaNs + bytes / line.rateGbps) / ns - 1) / Math.max(TOLERANCE, CHANCE * noise),
    ),
  );
  const segments = [{ ...line, upToBytes: Number.POSITIVE_INFINITY }];
  return { fit: { segments, worstResidual: line.worstResidual }, excess };
}

/** The split into so many segments with the least excess. */
function bestSplit(points: readonly Point[], count: number): Split {
  if (count === 1) return oneLine(points);
  let best: Split | null = null;
  for (let cut = LEAST_POINTS; cut <= points.length - LEAST_POINTS * (count - 1); cut++) {
    const head = oneLine(points.slice(0, cut));
    const tail = bestSplit(points.slice(cut), count - 1);
    const excess = Math.max(head.excess, tail.excess);
    if (!best || excess < best.excess) {
      const upToBytes = (points[cut - 1] as Point).bytes;
      const worstResidual = Math.max(head.fit.worstResidual, tail.fit.worstResidual);
      const line = head.fit.segments[0] as LineFit;
      best = { fit: { segments: [{ ...line, upToBytes }, ...tail.fit.segments], worstResidual }, excess };
    }
  }
  return best as Split;
}
