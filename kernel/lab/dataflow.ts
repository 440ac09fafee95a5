import { P2pError } from "./errors.js";
import type { Program } from "./program.js";

/** A buffer that is filled with the pattern of a seed before verification. */
export interface Source {
  readonly buffer: string;
  readonly seed: number;
}

/** A stretch of a buffer that must hold a stretch of a pattern after one iteration. */
export interface Check {
  readonly buffer: string;
  readonly offset: number;
  readonly bytes: number;
  readonly seed: number;
  /** Where in the pattern of the seed the stretch begins. */
  readonly patternOffset: number;
}

export interface Dataflow {
  readonly sources: readonly Source[];
  readonly checks: readonly Check[];
}

/** Known content of a stretch of a buffer; nothing is known between stretches. */
interface Stretch {
  offset: number;
  bytes: number;
  seed: number;
  patternOffset: number;
  /** Whether a copy put it there. */
  arrived: boolean;
}

/**
 * What one iteration of a program moves where: which buffers must hold something recognisable before it, and what every
 * stretch that was written must hold after it. Copies are followed in the order they are submitted, through staging
 * buffers; a later write replaces an earlier one. Streams that race without events may end otherwise, and then fail.
 *
 * A stretch that ends with what it already held before (sent away and back) is not checked: it would pass if nothing moved.
 * @throws P2pError `program` when no stretch is left to check.
 */
export function dataflow(program: Program): Dataflow {
  const seeds = seedsOf(program);
  const contents = new Map<string, Stretch[]>();
  for (const { name, bytes } of program.data.buffers) {
    const seed = seeds.get(name);
    contents.set(
      name,
      seed === undefined ? [] : [{ offset: 0, bytes, seed, patternOffset: 0, arrived: false }],
    );
  }
  for (const operation of program.data.operations) {
    if (operation.op !== "copy") continue;
    const { src, dst, bytes, srcOffset, dstOffset } = operation;
    const moved = slice(contents.get(src) as Stretch[], srcOffset, bytes).map((stretch) => ({
      ...stretch,
      offset: stretch.offset - srcOffset + dstOffset,
      arrived: true,
    }));
    contents.set(
      dst,
      [...without(contents.get(dst) as Stretch[], dstOffset, bytes), ...moved].sort(byOffset),
    );
  }
  const checks: Check[] = [];
  for (const [buffer, stretches] of contents) {
    for (const { offset, bytes, seed, patternOffset, arrived } of join(stretches)) {
      const asBefore = seed === seeds.get(buffer) && patternOffset === offset;
      if (arrived && !asBefore) checks.push({ buffer, offset, bytes, seed, patternOffset });
    }
  }
  if (checks.length === 0) {
    throw new P2pError(
      "program",
      "after one iteration every buffer holds what it held before, so that nothing can be verified",
      "Copy into a buffer whose content is not overwritten by its own.",
    );
  }
  return { sources: [...seeds].map(([buffer, seed]) => ({ buffer, seed })), checks };
}

/** Seeds, from 1, of the buffers that some copy reads where no earlier copy wrote. */
function seedsOf(program: Program): Map<string, number> {
  const seeds = new Map<string, number>();
  const written = new Map<string, Stretch[]>();
  for (const operation of program.data.operations) {
    if (operation.op !== "copy") continue;
    const { src, dst, bytes, srcOffset, dstOffset } = operation;
    const covered = slice(written.get(src) ?? [], srcOffset, bytes).reduce(
      (sum, part) => sum + part.bytes,
      0,
    );
    if (covered < bytes && !seeds.has(src)) seeds.set(src, seeds.size + 1);
    written.set(dst, [
      ...without(written.get(dst) ?? [], dstOffset, bytes),
      { offset: dstOffset, bytes, seed: 0, patternOffset: 0, arrived: true },
    ]);
  }
  return seeds;
}

/** The parts of stretches that lie in a range. */
function slice(stretches: readonly Stretch[], offset: number, bytes: number): Stretch[] {
  return stretches.flatMap((stretch) => {
    const start = Math.max(offset, stretch.offset);
    const end = Math.min(offset + bytes, stretch.offset + stretch.bytes);
    if (end <= start) return [];
    const patternOffset = stretch.patternOffset + (start - stretch.offset);
    return [{ ...stretch, offset: start, bytes: end - start, patternOffset }];
  });
}

/** The parts of stretches that lie outside a range. */
function without(stretches: readonly Stretch[], offset: number, bytes: number): Stretch[] {
  return [
    ...slice(stretches, 0, offset),
    ...slice(stretches, offset + bytes, Number.MAX_SAFE_INTEGER - offset - bytes),
  ];
}

/** Neighbours that continue each other, made one. */
function join(stretches: readonly Stretch[]): Stretch[] {
  const joined: Stretch[] = [];
  for (const stretch of [...stretches].sort(byOffset)) {
    const last = joined.at(-1);
    if (
      last &&
      last.offset + last.bytes === stretch.offset &&
      last.seed === stretch.seed &&
      last.patternOffset + last.bytes === stretch.patternOffset &&
      last.arrived === stretch.arrived
    ) {
      last.bytes += stretch.bytes;
    } else {
      joined.push({ ...stretch });
    }
  }
  return joined;
}

function byOffset(a: Stretch, b: Stretch): number {
  return a.offset - b.offset;
}
