/** Drawings of mechanisms as SVG text: boxes, arrows and labels on white, readable in light and dark front ends. */
import { escapeHtml, type MimeBundle, richDisplay } from "../rich.js";

/** A drawing as text, shown as SVG. */
export class Drawing {
  readonly svg: string;
  readonly #summary: string;

  constructor(svg: string, summary: string) {
    this.svg = svg;
    this.#summary = summary;
  }

  toString(): string {
    return this.#summary;
  }

  [richDisplay](): MimeBundle {
    return { "image/svg+xml": this.svg, "text/plain": this.#summary };
  }
}

/** Colours of a drawing: one for each thing, as in the figures. */
export const INK = {
  text: "#1F2933",
  faint: "#52606D",
  line: "#9AA5B1",
  direct: "#0072B2",
  detour: "#D55E00",
  control: "#6B4E9B",
  gpu: "#E8F1F8",
  host: "#F3F4F6",
  nic: "#FDF3E1",
  switch: "#EAF6F1",
} as const;

const FONT = "Noto Sans CJK SC, PingFang SC, Microsoft YaHei, sans-serif";

export interface Sheet {
  /** Unique among drawings: the ids of its markers begin with it. */
  readonly id: string;
  readonly title: string;
  readonly width: number;
  readonly height: number;
  readonly summary: string;
}

/** Puts parts on a sheet. Arrow heads of the three colours are at hand for {@link arrow}. */
export function drawing({ id, title, width, height, summary }: Sheet, parts: readonly string[]): Drawing {
  const heads = (["direct", "detour", "control"] as const).map(
    (name) =>
      `<marker id="${id}-${name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="${INK[name]}"/></marker>`,
  );
  return new Drawing(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${id}-title" font-family="${FONT}" style="max-width:${width}px;background:#fff">
<title id="${id}-title">${escapeHtml(title)}</title>
<defs>${heads.join("")}</defs>
${parts.join("\n")}
</svg>`,
    summary,
  );
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly name: string;
  readonly detail?: string;
  readonly fill: string;
}

/** A box with its name, and a line of detail below it. */
export function box({ x, y, width, height, name, detail, fill }: Box): string {
  const middle = x + width / 2;
  const up = detail === undefined ? 5 : -5;
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="${fill}" stroke="${INK.line}"/>`,
    label(middle, y + height / 2 + up, name, { size: 15, bold: true }),
    ...(detail === undefined
      ? []
      : [label(middle, y + height / 2 + 15, detail, { size: 12, colour: INK.faint })]),
  ].join("\n");
}

/** A frame around boxes, its name on top. */
export function frame(x: number, y: number, width: number, height: number, name: string): string {
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="12" fill="none" stroke="${INK.line}" stroke-dasharray="5 4"/>`,
    label(x + 14, y + 20, name, { size: 13, colour: INK.faint, anchor: "start" }),
  ].join("\n");
}

/** Straight or bent way from the first point to the last; `both`: a head at either end. */
export function arrow(
  id: string,
  kind: "direct" | "detour" | "control",
  points: readonly (readonly [number, number])[],
  options: { dashed?: boolean; both?: boolean } = {},
): string {
  const path = points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join(" ");
  const dash = options.dashed ? ' stroke-dasharray="6 4"' : "";
  const start = options.both ? ` marker-start="url(#${id}-${kind})"` : "";
  return `<path d="${path}" stroke="${INK[kind]}" stroke-width="3" fill="none"${dash}${start} marker-end="url(#${id}-${kind})"/>`;
}

export function label(
  x: number,
  y: number,
  text: string,
  options: { size?: number; colour?: string; anchor?: "start" | "middle" | "end"; bold?: boolean } = {},
): string {
  const { size = 13, colour = INK.text, anchor = "middle", bold = false } = options;
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="${size}"${bold ? ' font-weight="600"' : ""} fill="${colour}">${escapeHtml(text)}</text>`;
}
