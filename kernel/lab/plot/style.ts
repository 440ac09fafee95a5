/** How figures look: two themes, two languages, and what stands for what in all of them. */
import { P2pError } from "../errors.js";
import { expectNames } from "../measure/expect.js";

export type Theme = "light" | "dark";
export type Lang = "zh" | "en";

/** What every figure takes. */
export interface FigureOptions {
  /** Default says what the figure shows. */
  title?: string;
  /**
   * Default `light`, or what P2PLAB_THEME says. Either has a background of its own, so that a figure is readable in a light
   * and in a dark JupyterLab, in an exported page and on paper.
   */
  theme?: Theme;
  /** Default `zh`, or what P2PLAB_LANG says. */
  lang?: Lang;
}

/**
 * Okabe and Ito's palette, told apart by colour-blind readers ("Color Universal Design", 2008,
 * https://jfly.uni-koeln.de/color/), without its yellow and black, which drown in one of the two backgrounds. One colour
 * for one thing in every figure; what a colour tells is told by a marker, a pattern or a label as well.
 */
export const PALETTE = {
  blue: "#0072B2",
  vermilion: "#D55E00",
  green: "#009E73",
  purple: "#CC79A7",
  orange: "#E69F00",
  sky: "#56B4E9",
  grey: "#8A8F98",
} as const;

export const COLOURS = {
  peer: PALETTE.blue,
  staged: PALETTE.vermilion,
  "driver-staged": PALETTE.purple,
  "host-staged": PALETTE.orange,
  launch: PALETTE.sky,
  setup: PALETTE.orange,
  link: PALETTE.green,
  receiver: PALETTE.purple,
} as const;

/** Colours of series without a colour of their own, in order, and the markers that repeat with another period. */
const SERIES = [
  PALETTE.blue,
  PALETTE.vermilion,
  PALETTE.green,
  PALETTE.purple,
  PALETTE.orange,
  PALETTE.sky,
  PALETTE.grey,
];
const MARKERS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down"];
/** Fills told apart without colour. */
export const PATTERNS = ["", "/", "x", ".", "-", "\\", "+", "|"] as const;

export interface Style {
  readonly theme: Theme;
  readonly lang: Lang;
  /** Text. */
  readonly ink: string;
  /** Text and lines of less weight. */
  readonly faint: string;
  readonly grid: string;
  readonly paper: string;
  /** Simulated, refuted, missing. */
  readonly alarm: string;
  /** The words of the style's language. */
  say(zh: string, en: string): string;
}

/** Colours that differ between the themes; a page that changes its theme exchanges one for the other. */
export const THEMES = {
  light: { ink: "#1F2933", faint: "#52606D", grid: "#E4E7EB", paper: "#FFFFFF", alarm: "#B00020" },
  dark: { ink: "#E6EAEF", faint: "#A3ADB8", grid: "#333B45", paper: "#14181D", alarm: "#FF7A85" },
} as const;

/**
 * Reads the options that all figures share.
 * @param more names of the figure's own options.
 * @throws P2pError `usage` for an option, a theme or a language that does not exist.
 */
export function styleOf(options: FigureOptions, who: string, more: readonly string[] = []): Style {
  if (typeof options !== "object" || options === null) {
    throw new P2pError("usage", `${who} was given ${String(options)} as options`, 'Give { title: "…" }.');
  }
  expectNames(options, ["title", "theme", "lang", ...more], who);
  if (options.title !== undefined && typeof options.title !== "string") {
    throw new P2pError("usage", `${who} was given a title that is no text`, 'Give { title: "…" }.');
  }
  const theme = options.theme ?? (process.env.P2PLAB_THEME || "light");
  const lang = options.lang ?? (process.env.P2PLAB_LANG || "zh");
  if (theme !== "light" && theme !== "dark") {
    throw new P2pError("usage", `no theme "${String(theme)}"`, 'Choose "light" or "dark".');
  }
  if (lang !== "zh" && lang !== "en") {
    throw new P2pError("usage", `no language "${String(lang)}" for figures`, 'Choose "zh" or "en".');
  }
  return { theme, lang, ...THEMES[theme], say: (zh, en) => (lang === "zh" ? zh : en) };
}

export interface SeriesStyle {
  readonly colour: string;
  readonly symbol: string;
}

/** Colour and marker of each series: its own colour where the name has one, else the next that no other series has. */
export function seriesStyles(names: readonly string[]): SeriesStyle[] {
  const own = (name: string) => (Object.hasOwn(COLOURS, name) ? COLOURS[name as keyof typeof COLOURS] : null);
  const taken = new Set(names.map(own));
  const free = SERIES.filter((colour) => !taken.has(colour as never));
  const rest = free.length > 0 ? free : SERIES;
  let next = 0;
  return names.map((name, index) => ({
    colour: own(name) ?? (rest[next++ % rest.length] as string),
    symbol: MARKERS[index % MARKERS.length] as string,
  }));
}

/** Black or white, whichever has more contrast on a colour (WCAG 2's relative luminance). @param hex `#RRGGBB`. */
export function textOn(hex: string): string {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#111111" : "#FFFFFF";
}

/** A colour made translucent. @param hex `#RRGGBB`. */
export function translucent(hex: string, alpha: number): string {
  const [r, g, b] = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

/** Width that a text takes, in pixels: Chinese characters are square, others half as wide on average. */
export function textWidth(text: string, size: number): number {
  let em = 0;
  for (const char of text) em += /[\u2e80-\uffef]/.test(char) ? 1 : 0.56;
  return em * size;
}

/** Breaks a text into lines of at most so many pixels, at spaces and after Chinese punctuation; longer words are cut. */
export function wrap(text: string, width: number, size: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.match(/[^\s；，。：、]+[；，。：、]*\s*|\s+|[；，。：、]+/g) ?? []) {
    if (line !== "" && textWidth(line + word.trimEnd(), size) > width) {
      lines.push(line.trimEnd());
      line = "";
    }
    line += word;
    while (textWidth(line.trimEnd(), size) > width) {
      let cut = line.length - 1;
      while (cut > 1 && textWidth(line.slice(0, cut), size) > width) cut--;
      lines.push(line.slice(0, cut));
      line = line.slice(cut);
    }
  }
  if (line.trim() !== "") lines.push(line.trimEnd());
  return lines;
}

/** A text cut to so many characters, the middle left out. */
export function shortened(text: string, length: number): string {
  const chars = [...text];
  if (chars.length <= length) return text;
  const head = Math.ceil((length - 1) / 2);
  return `${chars.slice(0, head).join("")}…${chars.slice(chars.length - (length - 1 - head)).join("")}`;
}

/** Three significant digits, as people write them: `0.123`, `1.23`, `12.3`, `123`, `1,234`. */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e6) return Math.round(value).toLocaleString("en-US");
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(2);
  return String(Number(value.toPrecision(3)));
}
