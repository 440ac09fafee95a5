/** Values that have no bundle of their own, and of which a reader wants more than their text: runs, and arrays of numbers. */
import { escapeHtml, lab, type MimeBundle, WORD_COLOURS } from "../lab/index.js";

/** Arrays up to this length show themselves. */
const SHORT = 20;

export function isRun(value: unknown): value is lab.Run {
  if (typeof value !== "object" || value === null) return false;
  const { program, samples, provenance } = value as Partial<lab.Run>;
  return (
    program instanceof lab.Program &&
    samples?.totalNs instanceof Float64Array &&
    typeof provenance?.kind === "string"
  );
}

/** What was run, where, how long it took, whether the bytes arrived, and what a reader must know beside the figure. */
export function runBundle(run: lab.Run): MimeBundle {
  const { program, provenance, mode, verification, warnings, throughput } = run;
  const { medianNs, ciLowNs, ciHighNs, n, converged, ended } = run.samples.convergence;
  const origin = `${provenance.kind} · ${provenance.machine} · ${provenance.date.slice(0, 10)}`;
  const [middle, low, high] = [medianNs, ciLowNs, ciHighNs].map(lab.formatNs);
  const parts: [string, string][] = [
    ["median", `${middle} (95 % interval ${low} to ${high})`],
    ["samples", `${n}, ${converged ? "converged" : `not converged: ${ended}`}`],
    ["mode", mode + (throughput ? `, ${throughput.batch} iterations a batch` : "")],
    ["bytes", `${verification.state}: ${verification.detail || `${verification.checkedBytes} checked`}`],
    ["program", program.hash],
    ...warnings.map((warning): [string, string] => ["warning", warning]),
  ];
  const rows = parts.map(
    ([name, text]) =>
      `<tr><th style="text-align:left">${escapeHtml(name)}</th><td style="text-align:left">${escapeHtml(text)}</td></tr>`,
  );
  const colour = provenance.kind === "simulated" ? `;color:${WORD_COLOURS.alarm}` : "";
  const html = `<table>${rows.join("")}</table><pre>${escapeHtml(String(program))}</pre><div style="font-size:0.85em${colour}">${escapeHtml(origin)}</div>`;
  const text = [...parts.map(([name, value]) => `${name}: ${value}`), String(program), `(${origin})`];
  return { "text/html": html, "text/plain": text.join("\n") };
}

/** One line about a long array of numbers; null for a short one, and for what is none. */
export function numbersLine(value: unknown): string | null {
  if (!ArrayBuffer.isView(value) || value instanceof DataView) return null;
  const numbers = value as unknown as ArrayLike<number | bigint>;
  if (numbers.length <= SHORT || typeof numbers[0] !== "number") return null;
  const finite = Float64Array.from(numbers as ArrayLike<number>).filter((one) => Number.isFinite(one));
  const lost = numbers.length - finite.length;
  const strangers = lost > 0 ? `, ${lost} not finite` : "";
  if (finite.length === 0) return `${lab.formatBytes(value.byteLength)}${strangers}`;
  finite.sort();
  const [least, most] = [finite[0], finite.at(-1)] as [number, number];
  const shown = [least, lab.median(finite), most].map((one) => String(Number(one.toPrecision(6))));
  return `${lab.formatBytes(value.byteLength)}; least ${shown[0]}, median ${shown[1]}, most ${shown[2]}${strangers}`;
}
