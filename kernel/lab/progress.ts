/** How far a long measurement is; reported by the library, shown by whoever listens (a notebook's progress bar, a CLI). */
export interface Progress {
  readonly label: string;
  readonly done: number;
  readonly total: number;
  /** Time left if the rest takes as long a piece as what is done, seconds; null before a piece is done. */
  readonly remainingS: number | null;
}

export type ProgressListener = (progress: Progress) => void;

let listener: ProgressListener | null = null;
/** When the measurement that is reported began; a new one begins at 0, or when the total is another. */
let began = { ms: 0, total: -1, done: 0 };

/** Sets who is told; null for nobody. Returns the one before. */
export function onProgress(next: ProgressListener | null): ProgressListener | null {
  const before = listener;
  listener = next;
  return before;
}

export function reportProgress(progress: Omit<Progress, "remainingS">): void {
  const { done, total } = progress;
  const now = performance.now();
  if (done === 0 || total !== began.total) began = { ms: now, total, done };
  const pieces = done - began.done;
  const remainingS = pieces > 0 ? ((now - began.ms) / 1e3 / pieces) * (total - done) : null;
  listener?.({ ...progress, remainingS });
}
