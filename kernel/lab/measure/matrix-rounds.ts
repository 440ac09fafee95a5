/** Rounds of pairs that share no GPU, so that all pairs of a round can be measured at once. */
import type { Run } from "../machine.js";
import { type Program, program } from "../program.js";
import { mergedConvergence, type Sampling } from "../sampling.js";
import type { Pair } from "./axes.js";

/** Medians of a pair beside others and alone that differ by less are the same, however narrow their intervals. */
const LEAST_INTERFERENCE = 0.01;

/**
 * Every ordered pair of the GPUs once, in rounds of disjoint pairs (the circle method: one GPU stays, the others go round; with
 * an odd number one GPU rests in each round). The two directions of a pair are in neighbouring rounds.
 */
export function roundsOf(gpus: readonly number[]): Pair[][] {
  const seats: (number | null)[] = gpus.length % 2 === 0 ? [...gpus] : [...gpus, null];
  const [fixed, ...others] = seats;
  const rounds: Pair[][] = [];
  for (let turn = 0; turn < others.length; turn++) {
    const at = (seat: number) => others[(turn + seat) % others.length] ?? null;
    const pairs: Pair[] = [];
    for (let seat = 0; seat < seats.length / 2; seat++) {
      const a = seat === 0 ? (fixed ?? null) : at(seat - 1);
      const b = at(others.length - 1 - seat);
      if (a !== null && b !== null) pairs.push([a, b]);
    }
    rounds.push(
      pairs,
      pairs.map(([a, b]): Pair => [b, a]),
    );
  }
  return rounds.filter((round) => round.length > 0);
}

/** Several programs of one stream each as one: their buffers and streams side by side, the waits at the end. */
export function together(programs: readonly Program[]): Program {
  let all = program();
  for (const [index, { data }] of programs.entries()) {
    for (const buffer of data.buffers) {
      all = all.buffer(`${buffer.name}${index}`, { ...buffer.place, bytes: buffer.bytes });
    }
    for (const stream of data.streams) all = all.stream(`${stream.name}${index}`, stream);
    for (const o of data.operations) {
      if (o.op !== "copy") continue;
      const { stream, src, dst, bytes, srcOffset, dstOffset, api } = o;
      all = all.copy(`${stream}${index}`, `${src}${index}`, `${dst}${index}`, {
        bytes,
        srcOffset,
        dstOffset,
        api,
        ...(o.engine && { engine: o.engine }),
      });
    }
  }
  for (const [index, { data }] of programs.entries()) {
    for (const o of data.operations) if (o.op === "sync") all = all.sync(`${o.stream}${index}`, o.method);
  }
  return all;
}

/** What a round says of one of its pairs: the run, with the times of that pair's own stream. */
export function shareOfRound(round: Run, index: number, own: Program, sampling: Sampling): Run | null {
  const totalNs = round.throughput?.streams[index]?.totalNs;
  if (!totalNs || totalNs.length === 0) return null;
  const { convergence } = round.samples;
  return {
    ...round,
    program: own,
    samples: {
      totalNs,
      apiNs: round.samples.apiNs,
      convergence: { ...mergedConvergence(totalNs, [convergence], sampling), ended: convergence.ended },
    },
  };
}

/**
 * How much slower (positive) or faster a pair is beside others than alone, as a share of its time alone; null when the 95 %
 * intervals of the two medians meet, or the difference is below {@link LEAST_INTERFERENCE}.
 */
export function interferenceOf(beside: Run, alone: Run): number | null {
  const a = beside.samples.convergence;
  const b = alone.samples.convergence;
  const change = a.medianNs / b.medianNs - 1;
  const apart = a.ciLowNs > b.ciHighNs || b.ciLowNs > a.ciHighNs;
  return apart && Math.abs(change) > LEAST_INTERFERENCE ? change : null;
}
