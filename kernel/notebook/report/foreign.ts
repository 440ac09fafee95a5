/** HTML and SVG that a cell made, so that a page may hold it: it ends where it began, runs nothing and passes for nothing else. */
import { type DefaultTreeAdapterTypes, parseFragment, serialize } from "parse5";
import type { MimeBundle } from "../../lab/index.js";

type Parent = DefaultTreeAdapterTypes.ParentNode;
type Element = DefaultTreeAdapterTypes.Element;

/** Run something, load something, lead the page elsewhere, or have contents that are read in ways of their own. */
const LEFT_OUT = new Set(
  "script meta base link title template noscript noembed noframes plaintext iframe frame frameset object embed applet portal".split(
    " ",
  ),
);

/** Attributes that make an element do what {@link LEFT_OUT} is about. */
const ACTING = /^(?:on.*|srcdoc|ping|action|formaction|shadowrootmode)$/i;
const LEADING = /^(?:href|src|data|from|to|values)$/i;
const CODE_AS_ADDRESS = /^(?:javascript|vbscript|data:text\/html)/i;

/** What a report means by itself: the origin of its numbers, the places of its figures, its own elements. */
const OWN_CLASS = /^(?:origin|figure|p2plab-.*)$/;
const OWN_ID = /^p2plab-/;

/** Deeper elements are left out: whoever writes the tree again must not run out of stack. */
const MAX_DEPTH = 256;

/**
 * The same content as HTML that is complete in itself. Styles of its own hold for it alone.
 * @param html of an output; may be broken or hostile.
 */
export function contained(html: string): string {
  const tree = parseFragment(html);
  const hasStyle = clean(tree);
  const text = serialize(tree);
  return hasStyle ? `<div><template shadowrootmode="open">${text}</template></div>` : text;
}

/** A bundle whose HTML and SVG are {@link contained}. */
export function containedBundle(data: MimeBundle): MimeBundle {
  const entries = Object.entries(data).map(([mime, value]) => [
    mime,
    (mime === "text/html" || mime === "image/svg+xml") && typeof value === "string"
      ? contained(value)
      : value,
  ]);
  return Object.fromEntries(entries);
}

/** @returns whether there is a style element. */
function clean(tree: Parent): boolean {
  let hasStyle = false;
  const rest: { parent: Parent; depth: number }[] = [{ parent: tree, depth: 1 }];
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { parent, depth } = next;
    parent.childNodes = parent.childNodes.filter(
      (node) => node.nodeName !== "#comment" && !(isElement(node) && (depth > MAX_DEPTH || isLeftOut(node))),
    );
    for (const node of parent.childNodes) {
      if (!isElement(node)) continue;
      hasStyle ||= node.tagName === "style";
      node.attrs = node.attrs.flatMap(cleanAttribute);
      rest.push({ parent: node, depth: depth + 1 });
    }
  }
  return hasStyle;
}

function isElement(node: DefaultTreeAdapterTypes.ChildNode): node is Element {
  return "tagName" in node;
}

function isLeftOut({ tagName }: Element): boolean {
  return LEFT_OUT.has(tagName.toLowerCase());
}

function cleanAttribute(attribute: Element["attrs"][number]): Element["attrs"] {
  const { name, value } = attribute;
  if (ACTING.test(name) || (LEADING.test(name) && isCode(value))) return [];
  if (name === "id" && OWN_ID.test(value)) return [];
  if (name !== "class") return [attribute];
  const kept = value.split(/\s+/).filter((word) => !OWN_CLASS.test(word));
  return [{ ...attribute, value: kept.join(" ") }];
}

/** Browsers pass over control characters and spaces in an address. */
function isCode(address: string): boolean {
  return CODE_AS_ADDRESS.test(address.replace(/[\p{Cc}\s]/gu, ""));
}
