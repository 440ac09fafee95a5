import { P2pError } from "./errors.js";
import { executionOrder } from "./execution-order.js";
import { type StepOperation, windowBytes } from "./operations.js";
import type { Program } from "./program.js";
import { join, type Stretch, slice, without } from "./stretches.js";

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
  /** Empty when the program moves no bytes. */
  readonly checks: readonly Check[];
}

/** What an operation does to the content of buffers. */
type Effect =
  | {
      readonly do: "move";
      readonly src: string;
      readonly dst: string;
      readonly bytes: number;
      readonly srcOffset: number;
      readonly dstOffset: number;
    }
  /** The payload goes into a window in lines that hold flags as well. */
  | { readonly do: "pack"; readonly src: string; readonly window: string; readonly bytes: number }
  | { readonly do: "unpack"; readonly window: string; readonly dst: string; readonly bytes: number }
  /** Numbers of iterations are written here, or lines. */
  | { readonly do: "clobber"; readonly buffer: string; readonly offset: number; readonly bytes: number };

/**
 * What one iteration of a program moves where: which buffers must hold something recognisable before it, and what every
 * stretch that was written must hold after it. Copies, puts and receives are followed in an order in which they could take
 * place, through staging buffers and windows; a later write replaces an earlier one. Streams that race without events may
 * end otherwise, and then fail.
 *
 * A stretch that ends with what it already held before (sent away and back) is not checked: it would pass if nothing moved.
 * @throws P2pError `program` when the program moves bytes but no stretch is left to check, or an iteration never ends.
 */
export function dataflow(program: Program): Dataflow {
  const effects = executionOrder(program).flatMap(effectsOf);
  const seeds = seedsOf(effects);
  const contents = contentsBefore(program, effects, seeds);
  follow(contents, effects);
  const checks: Check[] = [];
  for (const [buffer, stretches] of contents) {
    for (const { offset, bytes, seed, patternOffset, arrived } of join(stretches)) {
      const asBefore = seed === seeds.get(buffer) && patternOffset === offset;
      if (arrived && !asBefore) checks.push({ buffer, offset, bytes, seed, patternOffset });
    }
  }
  if (checks.length === 0 && effects.some((effect) => effect.do === "move" || effect.do === "pack")) {
    throw new P2pError(
      "program",
      "after one iteration every buffer holds what it held before, so that nothing can be verified",
      "Copy into a buffer whose content is not overwritten by its own, and receive what is put by ll or ll128.",
    );
  }
  return { sources: [...seeds].map(([buffer, seed]) => ({ buffer, seed })), checks };
}

function effectsOf(o: StepOperation): Effect[] {
  switch (o.op) {
    case "copy":
      return [
        {
          do: "move",
          src: o.src,
          dst: o.dst,
          bytes: o.bytes,
          srcOffset: o.srcOffset,
          dstOffset: o.dstOffset,
        },
      ];
    case "signal":
      return [{ do: "clobber", buffer: o.buffer, offset: o.offset, bytes: 4 }];
    case "put":
      return o.flag === undefined
        ? [
            { do: "clobber", buffer: o.dst, offset: 0, bytes: windowBytes(o.protocol, o.bytes) },
            { do: "pack", src: o.src, window: o.dst, bytes: o.bytes },
          ]
        : [
            { do: "move", src: o.src, dst: o.dst, bytes: o.bytes, srcOffset: 0, dstOffset: 0 },
            { do: "clobber", buffer: o.flag, offset: 0, bytes: 8 },
          ];
    case "receive":
      return o.dst === undefined ? [] : [{ do: "unpack", window: o.window, dst: o.dst, bytes: o.bytes }];
    default:
      return [];
  }
}

/** What is known of every buffer before the iteration: words and windows are cleared after the patterns are written. */
function contentsBefore(
  program: Program,
  effects: readonly Effect[],
  seeds: ReadonlyMap<string, number>,
): Map<string, Stretch[]> {
  const contents = new Map<string, Stretch[]>();
  for (const { name, bytes } of program.data.buffers) {
    const seed = seeds.get(name);
    contents.set(
      name,
      seed === undefined ? [] : [{ offset: 0, bytes, seed, patternOffset: 0, arrived: false }],
    );
  }
  for (const effect of effects) {
    if (effect.do !== "clobber") continue;
    const { buffer, offset, bytes } = effect;
    contents.set(buffer, without(contents.get(buffer) ?? [], offset, bytes));
  }
  return contents;
}

function follow(contents: Map<string, Stretch[]>, effects: readonly Effect[]): void {
  const packed = new Map<string, Stretch[]>();
  const of = (buffer: string): Stretch[] => contents.get(buffer) ?? [];
  const put = (dst: string, offset: number, bytes: number, stretches: readonly Stretch[]) => {
    contents.set(dst, [...without(of(dst), offset, bytes), ...stretches]);
  };
  for (const effect of effects) {
    switch (effect.do) {
      case "move": {
        const { src, dst, bytes, srcOffset, dstOffset } = effect;
        put(dst, dstOffset, bytes, moved(of(src), srcOffset, bytes, dstOffset));
        break;
      }
      case "pack":
        packed.set(effect.window, slice(of(effect.src), 0, effect.bytes));
        break;
      case "unpack":
        put(effect.dst, 0, effect.bytes, moved(packed.get(effect.window) ?? [], 0, effect.bytes, 0));
        break;
      case "clobber":
        put(effect.buffer, effect.offset, effect.bytes, []);
        break;
    }
  }
}

function moved(
  stretches: readonly Stretch[],
  srcOffset: number,
  bytes: number,
  dstOffset: number,
): Stretch[] {
  return slice(stretches, srcOffset, bytes).map((stretch) => ({
    ...stretch,
    offset: stretch.offset - srcOffset + dstOffset,
    arrived: true,
  }));
}

/** Seeds, from 1, of the buffers that something reads where nothing was written before. */
function seedsOf(effects: readonly Effect[]): Map<string, number> {
  const seeds = new Map<string, number>();
  const written = new Map<string, Stretch[]>();
  const write = (buffer: string, offset: number, bytes: number) => {
    const rest = without(written.get(buffer) ?? [], offset, bytes);
    written.set(buffer, [...rest, { offset, bytes, seed: 0, patternOffset: 0, arrived: true }]);
  };
  for (const effect of effects) {
    if (effect.do === "move" || effect.do === "pack") {
      const offset = effect.do === "move" ? effect.srcOffset : 0;
      const covered = slice(written.get(effect.src) ?? [], offset, effect.bytes);
      const bytes = covered.reduce((sum, part) => sum + part.bytes, 0);
      if (bytes < effect.bytes && !seeds.has(effect.src)) seeds.set(effect.src, seeds.size + 1);
    }
    if (effect.do === "move") write(effect.dst, effect.dstOffset, effect.bytes);
    else if (effect.do === "unpack") write(effect.dst, 0, effect.bytes);
  }
  return seeds;
}
