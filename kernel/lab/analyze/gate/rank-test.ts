/**
 * One-sided tests for "the second group is larger". Exact: under the null hypothesis the values of both groups are
 * exchangeable, and nothing else is assumed of them. Ties count against the alternative, so that p errs on the safe side.
 */

/**
 * Mann and Whitney's test ("On a test of whether one of two random variables is stochastically larger than the other", Annals
 * of Mathematical Statistics 18, 1947), p by counting arrangements.
 * @returns probability of so many pairs in which the second is larger; 1 where a group is empty.
 */
export function largerByRanks(first: readonly number[], second: readonly number[]): number {
  return largerByStrata([{ first, second }]);
}

/**
 * The same over strata: pairs are counted within each stratum only, and their sum is judged (the stratified form of van
 * Elteren 1960, unweighted). What stratum a value is in must not depend on its group.
 */
export function largerByStrata(
  strata: readonly { readonly first: readonly number[]; readonly second: readonly number[] }[],
): number {
  let pairs = 0;
  let shares = [1];
  for (const { first, second } of strata) {
    for (const value of second) for (const other of first) if (value > other) pairs++;
    shares = convolved(shares, pairShares(first.length, second.length));
  }
  let p = 0;
  for (let u = shares.length - 1; u >= pairs; u--) p += shares[u] as number;
  return Math.min(1, p);
}

/**
 * Fisher's exact test ("The design of experiments", 1935): is something commoner in the second group than in the first?
 * @param first how many have it, of how many.
 * @returns probability of so many or more in the second group; 1 where a group is empty.
 */
export function commoner(first: { have: number; of: number }, second: { have: number; of: number }): number {
  const have = first.have + second.have;
  const all = first.of + second.of;
  let p = 0;
  for (let k = second.have; k <= Math.min(have, second.of); k++) {
    p += Math.exp(logChoose(second.of, k) + logChoose(first.of, have - k) - logChoose(all, have));
  }
  return Math.min(1, p);
}

function logChoose(n: number, k: number): number {
  if (k < 0 || k > n) return Number.NEGATIVE_INFINITY;
  let sum = 0;
  for (let i = 1; i <= k; i++) sum += Math.log((n - k + i) / i);
  return sum;
}

/**
 * Corrects p-values for their number (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
 * of Statistics 6, 1979): the probability of even one false alarm among all is at most the level that they are held against.
 */
export function holm(ps: readonly number[]): number[] {
  const order = ps.map((_, i) => i).sort((a, b) => (ps[a] as number) - (ps[b] as number));
  const adjusted = new Array<number>(ps.length).fill(1);
  let least = 0;
  order.forEach((index, rank) => {
    least = Math.max(least, Math.min(1, (ps[index] as number) * (ps.length - rank)));
    adjusted[index] = least;
  });
  return adjusted;
}

const known = new Map<string, readonly number[]>();

/** Share of the arrangements of n and m values in which u of the n m pairs have the second larger, by u. */
function pairShares(n: number, m: number): readonly number[] {
  const key = `${n} ${m}`;
  const found = known.get(key);
  if (found) return found;
  // The largest of all values is of the second group with probability m / (n + m), and then lies above all n of the first.
  let rows: number[][] = Array.from({ length: m + 1 }, () => [1]);
  for (let i = 1; i <= n; i++) {
    const next: number[][] = [[1]];
    for (let j = 1; j <= m; j++) {
      const shares = new Array<number>(i * j + 1).fill(0);
      (next[j - 1] as number[]).forEach((share, u) => {
        shares[u + i] = (shares[u + i] as number) + (share * j) / (i + j);
      });
      (rows[j] as number[]).forEach((share, u) => {
        shares[u] = (shares[u] as number) + (share * i) / (i + j);
      });
      next.push(shares);
    }
    rows = next;
  }
  const shares = rows[m] as number[];
  known.set(key, shares);
  return shares;
}

function convolved(a: readonly number[], b: readonly number[]): number[] {
  const sums = new Array<number>(a.length + b.length - 1).fill(0);
  a.forEach((x, i) => {
    b.forEach((y, j) => {
      sums[i + j] = (sums[i + j] as number) + x * y;
    });
  });
  return sums;
}
