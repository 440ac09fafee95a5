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
/** Points that a segment must have: one more than a line needs, so that a residual can show. */
const MIN_POINTS = 3;
const MAX_SEGMENTS = 3;

/**
 * Fits engine time against size by the fewest lines (one to three) that leave no residual above 1 %; where none does, by the
 * ones that leave the least. Copy engines change their way of moving data with size, so one line seldom does.
 * @param points at least three sizes, ascending, positive times.
 * @param most lines to use at the most.
 */
export function fitCurve(points: readonly Point[], most = MAX_SEGMENTS): CurveFit {
  let best: CurveFit | null = null;
  for (let count = 1; count <= Math.min(most, Math.floor(points.length / MIN_POINTS)); count++) {
    const fit = bestSplit(points, count);
    if (!best || fit.worstResidual < best.worstResidual) best = fit;
    if (best.worstResidual <= TOLERANCE) break;
  }
  return best ?? oneLine(points);
}

/** Fitted time at a size. */
export function timeAt(fit: CurveFit, bytes: number): number {
  const segment = fit.segments.find((candidate) => bytes <= candidate.upToBytes) ?? fit.segments.at(-1);
  const { alphaNs, rateGbps } = segment as LineFit;
  return alphaNs + bytes / rateGbps;
}

function oneLine(points: readonly Point[]): CurveFit {
  const line = fitLine(points);
  return { segments: [{ ...line, upToBytes: Number.POSITIVE_INFINITY }], worstResidual: line.worstResidual };
}

/** The split into so many segments with the least worst residual. */
function bestSplit(points: readonly Point[], count: number): CurveFit {
  if (count === 1) return oneLine(points);
  let best: CurveFit | null = null;
  for (let cut = MIN_POINTS; cut <= points.length - MIN_POINTS * (count - 1); cut++) {
    const head = fitLine(points.slice(0, cut));
    const tail = bestSplit(points.slice(cut), count - 1);
    const worstResidual = Math.max(head.worstResidual, tail.worstResidual);
    if (!best || worstResidual < best.worstResidual) {
      const upToBytes = (points[cut - 1] as Point).bytes;
      best = { segments: [{ ...head, upToBytes }, ...tail.segments], worstResidual };
    }
  }
  return best as CurveFit;
}
