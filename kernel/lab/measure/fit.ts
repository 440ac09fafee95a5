/** t = α + bytes / rate. */
export interface LineFit {
  /** Intercept α, nanoseconds. */
  readonly alphaNs: number;
  /** Rate, GB/s (bytes a nanosecond). */
  readonly rateGbps: number;
  /** Largest relative residual over the points fitted. */
  readonly worstResidual: number;
}

/**
 * Fits t = α + bytes / rate by least squares of relative residuals (weights 1/t²), so that a point of a microsecond and
 * a point of a millisecond count alike. α is held at or above 0.
 * @param points at least two different sizes with positive times.
 */
export function fitLine(points: readonly { bytes: number; ns: number }[]): LineFit {
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
  const worstResidual = Math.max(
    ...points.map(({ bytes, ns }) => Math.abs(alphaNs + slope * bytes - ns) / ns),
  );
  return { alphaNs, rateGbps: 1 / slope, worstResidual };
}
