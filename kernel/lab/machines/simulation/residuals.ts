/**
 * What the fitted model misses, learnt from the recording: a Gaussian process over the size, one for all programs that differ
 * in their sizes only (C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, 2.2 and 5.4.1). Programs of
 * a kind that was not recorded get no correction, and its whole variance as uncertainty.
 */
import type { Program } from "../../program.js";
import { cholesky, solve } from "./matrix.js";

/** Logarithm of measured over modelled, of one program. */
export interface Residual {
  readonly program: Program;
  readonly mode: string;
  readonly log: number;
}

interface Shape {
  /** Of what the model misses: standard deviation, and the octaves over which it changes. */
  readonly sigma: number;
  readonly octaves: number;
  /** Of the medians themselves. */
  readonly noise: number;
}

interface Group {
  readonly sizes: readonly number[];
  readonly lower: readonly (readonly number[])[];
  readonly weights: readonly number[];
}

const SIGMAS = [0.03, 0.06, 0.12, 0.2];
const OCTAVES = [0.7, 1.5, 3, 6];
const NOISES = [0.02, 0.04, 0.07];

export class Residuals {
  readonly shape: Shape;
  readonly #groups: ReadonlyMap<string, Group>;

  constructor(residuals: readonly Residual[]) {
    const lists = new Map<string, { size: number; log: number }[]>();
    for (const { program, mode, log } of residuals) {
      const key = kindOf(program, mode);
      lists.set(key, [...(lists.get(key) ?? []), { size: sizeOf(program), log }]);
    }
    const shapes = SIGMAS.flatMap((sigma) =>
      OCTAVES.flatMap((octaves) => NOISES.map((noise) => ({ sigma, octaves, noise }))),
    );
    const likelihood = (shape: Shape) =>
      [...lists.values()].reduce((sum, list) => sum + logLikelihood(list, shape), 0);
    this.shape = shapes.reduce((best, shape) => (likelihood(shape) > likelihood(best) ? shape : best));
    this.#groups = new Map([...lists].map(([key, list]) => [key, groupOf(list, this.shape)]));
  }

  /** Expected logarithm of measured over modelled, and its standard deviation. */
  of(program: Program, mode: string): { log: number; sigma: number; known: boolean } {
    const { sigma, noise } = this.shape;
    const group = this.#groups.get(kindOf(program, mode));
    if (!group) return { log: 0, sigma: Math.hypot(sigma, noise), known: false };
    const size = sizeOf(program);
    const like = group.sizes.map((other) => covariance(size, other, this.shape));
    const log = like.reduce((sum, value, i) => sum + value * (group.weights[i] as number), 0);
    const told = solve(group.lower, like).reduce((sum, value, i) => sum + value * (like[i] as number), 0);
    return { log, sigma: Math.sqrt(Math.max(0, sigma ** 2 - told) + noise ** 2), known: true };
  }
}

/** What a program does whatever its sizes are. */
function kindOf({ data }: Program, mode: string): string {
  const bare = (o: object) => Object.entries(o).filter(([key]) => !/[bB]ytes$|Offset$|^ns$/.test(key));
  const { buffers, streams, operations, peerAccess, submit } = data;
  return JSON.stringify([mode, peerAccess, submit, buffers.map(bare), streams, operations.map(bare)]);
}

/** Octave of the largest size in a program's operations. */
function sizeOf({ data }: Program): number {
  const bytes = data.operations.map((o) => ("bytes" in o && o.bytes ? o.bytes : 1));
  return Math.log2(Math.max(1, ...bytes));
}

function covariance(a: number, b: number, { sigma, octaves }: Shape): number {
  return sigma ** 2 * Math.exp(-(((a - b) / octaves) ** 2) / 2);
}

function lowerOf(sizes: readonly number[], shape: Shape): number[][] {
  return cholesky(
    sizes.map((a, i) => sizes.map((b, j) => covariance(a, b, shape) + (i === j ? shape.noise ** 2 : 0))),
  );
}

function groupOf(list: readonly { size: number; log: number }[], shape: Shape): Group {
  const sizes = list.map(({ size }) => size);
  const lower = lowerOf(sizes, shape);
  return {
    sizes,
    lower,
    weights: solve(
      lower,
      list.map(({ log }) => log),
    ),
  };
}

function logLikelihood(list: readonly { size: number; log: number }[], shape: Shape): number {
  const { lower, weights } = groupOf(list, shape);
  const misfit = list.reduce((sum, { log }, i) => sum + log * (weights[i] as number), 0);
  const determinant = lower.reduce((sum, row, i) => sum + Math.log(row[i] as number), 0);
  return -misfit / 2 - determinant;
}
