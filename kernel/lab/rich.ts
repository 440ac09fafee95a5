/**
 * How a value shows itself in a notebook: a method under this symbol returns a MIME bundle. The symbol is the one that
 * Deno's kernel uses, so that the same objects show themselves there too.
 */
export const richDisplay: unique symbol = Symbol.for("Jupyter.display") as never;

/** Representations of one value by MIME type; the front end takes the richest it knows. */
export type MimeBundle = Record<string, unknown>;

export interface Displayable {
  [richDisplay](): MimeBundle;
}

/** Text made safe inside HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** Colours of words in HTML: JupyterLab's own in a notebook and the report's in a report, so that they can be read on dark paper too. */
export const WORD_COLOURS = {
  good: "var(--jp-success-color1,#0B6B3A)",
  caution: "var(--jp-warn-color1,#7A5B00)",
  alarm: "var(--jp-error-color1,#B00020)",
  faint: "var(--jp-content-font-color2,#52606D)",
} as const;
