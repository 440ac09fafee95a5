/** A notebook inside an HTML page: put there by a report, found there by whoever runs the report again. */
import { deflateSync, inflateSync } from "node:zlib";

const TAG = '<script type="application/x-ipynb+json;deflate;base64" id="p2plab-notebook">';
/** Other tools put the attributes in another order. */
const ANY_TAG = /<script\b(?=[^>]*\bid="p2plab-notebook")[^>]*>/g;

/** Node.js holds no longer text. */
const MAX_BYTES = 2 ** 29 - 25;

/** The element that holds a notebook's text. */
export function embedded(text: string): string {
  return `${TAG}${deflateSync(text, { level: 9 }).toString("base64")}</script>`;
}

/**
 * The notebook's text that a page holds.
 * @throws Error saying why there is none.
 */
export function extracted(html: string): string {
  const tag = [...html.matchAll(ANY_TAG)].at(-1);
  const begin = tag ? tag.index + tag[0].length : -1;
  const end = html.indexOf("</script>", begin);
  if (begin < 0 || end < 0) throw new Error("it is a page without a notebook inside");
  const packed = Buffer.from(html.slice(begin, end), "base64");
  try {
    return inflateSync(packed, { maxOutputLength: MAX_BYTES }).toString("utf8");
  } catch {
    throw new Error("the notebook inside the page is damaged");
  }
}

export function isHtml(text: string): boolean {
  return /^\s*<(?:!doctype html|html)/i.test(text.slice(0, 200));
}
