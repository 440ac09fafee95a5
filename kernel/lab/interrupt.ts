/**
 * The signal that ends measurements when the reader presses Stop. Whoever runs user code (a kernel) sets it; a run that is
 * given no signal of its own listens to this one.
 */
let current: AbortSignal | null = null;

export function setInterruptSignal(signal: AbortSignal | null): void {
  current = signal;
}

export function interruptSignal(): AbortSignal | null {
  return current;
}
