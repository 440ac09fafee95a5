/** Known content of a stretch of a buffer; nothing is known between stretches. */
export interface Stretch {
  offset: number;
  bytes: number;
  seed: number;
  patternOffset: number;
  /** Whether a copy put it there. */
  arrived: boolean;
}

/** The parts of stretches that lie in a range. */
export function slice(stretches: readonly Stretch[], offset: number, bytes: number): Stretch[] {
  return stretches.flatMap((stretch) => {
    const start = Math.max(offset, stretch.offset);
    const end = Math.min(offset + bytes, stretch.offset + stretch.bytes);
    if (end <= start) return [];
    const patternOffset = stretch.patternOffset + (start - stretch.offset);
    return [{ ...stretch, offset: start, bytes: end - start, patternOffset }];
  });
}

/** The parts of stretches that lie outside a range. */
export function without(stretches: readonly Stretch[], offset: number, bytes: number): Stretch[] {
  return [
    ...slice(stretches, 0, offset),
    ...slice(stretches, offset + bytes, Number.MAX_SAFE_INTEGER - offset - bytes),
  ];
}

/** Neighbours that continue each other, made one. */
export function join(stretches: readonly Stretch[]): Stretch[] {
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
