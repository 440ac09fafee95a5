/** A value as the MIME bundle that a front end shows. */
import { inspect } from "node:util";
import { type MimeBundle, P2pError, richDisplay, shown } from "../lab/index.js";
import { base64 } from "./arguments.js";
import { PLOTLY_MIME, plotlyHtml } from "./figure.js";
import { isTable, tableBundle } from "./table.js";
import { isRun, numbersLine, runBundle } from "./values.js";

/** The bundle of any value: its own, if it has one; a table, a figure; otherwise its text. */
export function bundleOf(value: unknown): MimeBundle | Promise<MimeBundle> {
  const own = (value as { [richDisplay]?: () => unknown } | null)?.[richDisplay];
  if (typeof own === "function") {
    const bundle: unknown = own.call(value);
    return bundle instanceof Promise
      ? bundle.then((late) => ownBundle(late, value))
      : ownBundle(bundle, value);
  }
  if (isTable(value)) return tableBundle(value);
  if (isRun(value)) return runBundle(value);
  const line = numbersLine(value);
  return { "text/plain": line === null ? textOf(value) : `${textOf(value)}\n(${line})` };
}

function ownBundle(bundle: unknown, value: unknown): MimeBundle {
  if (typeof bundle === "object" && bundle !== null) return completed(bundle as MimeBundle, value);
  return { "text/plain": textOf(value) };
}

const TEXT = /^text\/|^image\/svg\+xml$|^application\/javascript$/;
const BINARY = /^(image|audio|video|font)\/|^application\/(pdf|octet-stream)$/;

/**
 * What may stand in a bundle under a MIME type: text, or its lines; bytes, or their base64; anything that is JSON.
 * @throws P2pError `usage` for what no front end could show.
 */
function checked(mime: string, value: unknown): unknown {
  if (TEXT.test(mime)) {
    if (Array.isArray(value) && value.every((line) => typeof line === "string")) return value.join("");
    if (typeof value !== "string")
      throw new P2pError("usage", `${mime} of a display is ${shown(value)}`, "Give a text.");
  } else if (BINARY.test(mime)) {
    if (value instanceof Uint8Array) return base64(value);
    if (typeof value !== "string")
      throw new P2pError(
        "usage",
        `${mime} of a display is ${shown(value)}`,
        "Give the bytes as a Uint8Array, or their base64 as a text.",
      );
  }
  return value;
}

/**
 * A bundle with what front ends expect beside it: a plain text always, offline HTML for a figure, JavaScript by both of its names.
 * @throws P2pError `usage` for a bundle that no front end could show.
 */
export function completed(given: MimeBundle, value?: unknown): MimeBundle {
  const bundle: MimeBundle = {};
  for (const mime of Object.keys(given))
    if (given[mime] !== undefined) bundle[mime] = checked(mime, given[mime]);
  if (PLOTLY_MIME in bundle && !("text/html" in bundle))
    bundle["text/html"] = plotlyHtml(bundle[PLOTLY_MIME]);
  // JupyterLab knows either, pages that nbconvert makes the second alone.
  const javaScript = bundle["text/javascript"] ?? bundle["application/javascript"];
  if (javaScript !== undefined) {
    bundle["text/javascript"] = javaScript;
    bundle["application/javascript"] = javaScript;
  }
  if (!("text/plain" in bundle)) {
    bundle["text/plain"] =
      typeof value === "object" && value !== null && saysItself(value)
        ? String(value)
        : `[${Object.keys(bundle).join(", ") || "empty"}]`;
  }
  return bundle;
}

export function textOf(value: unknown): string {
  if (typeof value === "object" && value !== null && saysItself(value)) return String(value);
  // Its stack would show the kernel's frames.
  if (value instanceof Error) return String(value);
  return inspect(value, { depth: 4, maxArrayLength: 100, breakLength: 110, colors: false });
}

/** True for objects whose class says in its own toString what they are; built-in classes say little there. */
function saysItself(value: object): boolean {
  const type: unknown = (value as { constructor?: unknown }).constructor;
  return (
    typeof type === "function" &&
    Function.prototype.toString.call(type).startsWith("class ") &&
    Object.hasOwn(type.prototype, "toString")
  );
}
