/** How far a long measurement is; reported by the library, shown by whoever listens (a notebook's progress bar, a CLI). */
export interface Progress {
  readonly label: string;
  readonly done: number;
  readonly total: number;
}

export type ProgressListener = (progress: Progress) => void;

let listener: ProgressListener | null = null;

/** Sets who is told; null for nobody. Returns the one before. */
export function onProgress(next: ProgressListener | null): ProgressListener | null {
  const before = listener;
  listener = next;
  return before;
}

export function reportProgress(progress: Progress): void {
  listener?.(progress);
}
