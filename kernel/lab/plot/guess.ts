/** The reader's guess, drawn as a line across a figure of what was measured. */
import { P2pError } from "../errors.js";
import type { PlotlyTrace } from "./figure.js";
import { digits, type Style } from "./style.js";

/** Units of guesses that figures take, and how they are written. */
const WRITTEN = { us: "µs", ns: "ns" } as const;
type Unit = keyof typeof WRITTEN;

/**
 * The value of a prediction; null where none was given.
 * @throws P2pError `usage` unless it is a time above 0 in this unit.
 */
export function guessIn(unit: Unit, guess: unknown, who: string): number | null {
  if (guess === undefined) return null;
  const { value, unit: given } = (guess ?? {}) as { value?: unknown; unit?: unknown };
  if (typeof value === "number" && value > 0 && Number.isFinite(value) && given === unit) return value;
  throw new P2pError(
    "usage",
    `${who} was given a guess that is no time in ${unit}${given === undefined ? "" : ` (in ${String(given)})`}`,
    `Give what lab.predict("…", "${unit === "us" ? "20 us" : "800 ns"}") returned.`,
  );
}

/** @param ends of the axis, left and right. */
export function guessLine(
  value: number,
  unit: Unit,
  ends: readonly [number, number],
  { say, ink }: Style,
): PlotlyTrace {
  const text = `${digits(value)} ${WRITTEN[unit]}`;
  return {
    type: "scatter",
    mode: "lines",
    name: say(`你的猜测 ${text}`, `your guess ${text}`),
    x: [...ends],
    y: [value, value],
    line: { color: ink, width: 1.5, dash: "dash" },
    hoverinfo: "name",
  };
}
