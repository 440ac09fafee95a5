/** Axes whose ticks read as sizes and times. */
import { formatBytes } from "../units.js";
import type { PlotlyLayout } from "./figure.js";
import { digits, type Style } from "./style.js";

/** A logarithmic axis of sizes with ticks at powers of two. @param sizes bytes above 0, at least one. */
export function bytesAxis(sizes: readonly number[], title: string): PlotlyLayout {
  const low = Math.floor(Math.log2(Math.min(...sizes)));
  const high = Math.ceil(Math.log2(Math.max(...sizes)));
  const step = Math.max(1, Math.ceil((high - low) / 10));
  const ticks: number[] = [];
  for (let power = low; power <= high; power += step) ticks.push(2 ** power);
  return {
    type: "log",
    range: paddedLog(sizes, 0.03),
    title: { text: title },
    tickvals: ticks,
    ticktext: ticks.map(formatBytes),
  };
}

/** The axis of message sizes. */
export function messageAxis(sizes: readonly number[], style: Style): PlotlyLayout {
  return bytesAxis(sizes, style.say("消息大小", "message size"));
}

/**
 * A logarithmic axis that has ticks however short it is: decades, or 1–2–5, or even steps.
 * @param values above 0, at least one.
 */
export function logAxis(values: readonly number[], title: string): PlotlyLayout {
  const range = paddedLog(values, 0.06);
  const ticks = logTicks(10 ** range[0], 10 ** range[1]);
  return {
    type: "log",
    range,
    title: { text: title },
    tickvals: ticks,
    ticktext: ticks.map(digits),
  };
}

function paddedLog(values: readonly number[], share: number): [number, number] {
  const low = Math.log10(Math.min(...values));
  const high = Math.log10(Math.max(...values));
  const pad = Math.max((high - low) * share, 0.02);
  return [low - pad, high + pad];
}

function logTicks(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  if (decades < 0.7) {
    // Even steps of 1, 2 or 5 times a power of ten, about five of them.
    const raw = Math.max((high - low) / 5, low / 100);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = ([1, 2, 5, 10].find((times) => times * power >= raw) as number) * power;
    const first = Math.floor(low / step);
    const count = Math.ceil(high / step) - first;
    return Array.from({ length: count + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12))).filter(
      (tick) => tick > 0,
    );
  }
  const times = decades > 3 ? [1] : [1, 2, 5];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const each of times) ticks.push(Number((each * 10 ** power).toPrecision(12)));
  }
  return ticks;
}
