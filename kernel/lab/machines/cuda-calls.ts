/** What every call of an executor shares: its deadline, and how it ends when it is cancelled. */
import { P2pError } from "../errors.js";

/** How long one iteration may take before it counts as hung. */
export const DEADLINE_MS = 10_000;

/** @throws P2pError `cancelled` when the signal says so, or the call that was in flight. */
export function throwIfCancelled(
  signal: AbortSignal | undefined,
  cancelled = signal?.aborted ?? false,
): void {
  if (!cancelled) return;
  throw new P2pError(
    "cancelled",
    "the run was stopped on request",
    "Run it again when you want its numbers.",
  );
}
