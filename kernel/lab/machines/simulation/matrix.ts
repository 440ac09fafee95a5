/** Small symmetric positive definite systems, by Cholesky's decomposition. */

export type Matrix = readonly (readonly number[])[];

/** Lower triangle L with L Lᵀ = `matrix`. */
export function cholesky(matrix: Matrix): number[][] {
  const n = matrix.length;
  const lower = Array.from({ length: n }, () => new Array<number>(n).fill(0));
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = at(matrix, i, j);
      for (let k = 0; k < j; k++) sum -= at(lower, i, k) * at(lower, j, k);
      if (i === j && !(sum > 0)) throw new Error("the matrix is not positive definite");
      (lower[i] as number[])[j] = i === j ? Math.sqrt(sum) : sum / at(lower, j, j);
    }
  }
  return lower;
}

/** x with L Lᵀ x = `right`. */
export function solve(lower: Matrix, right: readonly number[]): number[] {
  const n = lower.length;
  const x = [...right];
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i] = (x[i] as number) - at(lower, i, k) * (x[k] as number);
    x[i] = (x[i] as number) / at(lower, i, i);
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i] = (x[i] as number) - at(lower, k, i) * (x[k] as number);
    x[i] = (x[i] as number) / at(lower, i, i);
  }
  return x;
}

export function inverse(matrix: Matrix): number[][] {
  const lower = cholesky(matrix);
  return matrix.map((_, i) =>
    solve(
      lower,
      matrix.map((_, j) => (i === j ? 1 : 0)),
    ),
  );
}

function at(matrix: Matrix, row: number, column: number): number {
  return (matrix[row] as readonly number[])[column] as number;
}
