import { escapeHtml, type Progress } from "../lab/index.js";
import type { OutputSink } from "./outputs.js";

type Listen = (listener: ((progress: Progress) => void) | null) => unknown;

const EVERY_MS = 200;
let bars = 0;

/**
 * Shows the library's progress as one line that changes in place, and takes it away at the end.
 * @returns ends it; safe to call twice.
 */
export function showProgress(emit: OutputSink, listen: Listen): () => void {
  const displayId = `p2plab-progress-${process.pid}-${++bars}`;
  let shown = false;
  let last = 0;
  listen(({ label, done, total, remainingS }) => {
    const now = performance.now();
    if (now - last < EVERY_MS) return;
    last = now;
    const text = `${done}/${total} ${label}${timeLeft(remainingS)}`;
    const name = escapeHtml(label);
    const data = {
      "text/html": `<progress max="${total}" value="${done}" aria-label="${name}"></progress> ${escapeHtml(text)}`,
      "text/plain": text,
    };
    if (shown) emit({ type: "update_display_data", data, metadata: {}, displayId });
    else emit({ type: "display_data", data, metadata: {}, displayId });
    shown = true;
  });
  return () => {
    listen(null);
    const data = { "text/html": "", "text/plain": "" };
    if (shown) emit({ type: "update_display_data", data, metadata: {}, displayId });
    shown = false;
  };
}

/** What takes less than a second is over before it is read. */
function timeLeft(seconds: number | null): string {
  if (seconds === null || seconds < 1) return "";
  const whole = Math.round(seconds);
  return whole < 100 ? `, ${whole} s left` : `, ${Math.round(whole / 60)} min left`;
}
