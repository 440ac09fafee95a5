import { SaxesParser } from "saxes";
import { errorAt, type Place, placeOf } from "./text.js";

/** PCIe trees nest less than ten levels of switches. */
const MAX_DEPTH = 200;
const MAX_ELEMENTS = 500_000;

export interface Element extends Place {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
  /** Character data right in it. */
  text: string;
}

/**
 * The tree of an XML document. Entities that its DOCTYPE declares are not expanded: a reference to one is an error.
 * @throws P2pError `topology` with line and column for what is not well-formed, nests too deep or has too many elements.
 */
export function parseXml(text: string): Element {
  const parser = new SaxesParser({ position: true });
  const open: Element[] = [];
  let root: Element | null = null;
  let count = 0;
  let start: Place = { line: 1, column: 1 };
  const here = (): Place => ({ line: parser.line, column: Math.max(1, parser.column) });
  parser.on("error", (error) => {
    // The parser puts its own position in front.
    throw errorAt(
      `malformed XML: ${error.message.replace(/^(undefined|[^:]*):?\d*:\d*: /, "")}`,
      here(),
      "Mend the XML there, or write the file anew.",
      error,
    );
  });
  parser.on("opentagstart", ({ name }) => {
    // The parser has read the name: back to its angle bracket.
    start = { line: parser.line, column: Math.max(1, parser.column - name.length - 1) };
  });
  parser.on("opentag", ({ name, attributes }) => {
    const element: Element = { name, attributes: attributes as never, children: [], text: "", ...start };
    if (open.length >= MAX_DEPTH || ++count > MAX_ELEMENTS) {
      throw errorAt(
        open.length >= MAX_DEPTH
          ? `the XML nests more than ${MAX_DEPTH} elements`
          : `the XML has more than ${MAX_ELEMENTS} elements`,
        start,
        "Give a topology of NCCL or hwloc.",
      );
    }
    const parent = open.at(-1);
    if (parent) parent.children.push(element);
    else root ??= element;
    open.push(element);
  });
  parser.on("text", (data) => {
    const parent = open.at(-1);
    if (parent) parent.text += data;
  });
  parser.on("closetag", () => {
    open.pop();
  });
  parser.write(text).close();
  if (!root) throw errorAt("the XML has no element", placeOf(text, text.length), "Give a whole file.");
  return root;
}

/** Every element below one, itself first, in document order. */
export function* elementsOf(element: Element): Generator<Element> {
  const waiting = [element];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    yield next;
    for (let i = next.children.length - 1; i >= 0; i--) waiting.push(next.children[i] as Element);
  }
}

/** A whole number from an attribute; null where it is missing, empty or none. */
export function wholeNumber(element: Element, attribute: string): number | null {
  const text = element.attributes[attribute]?.trim();
  return text && /^-?\d{1,9}$/.test(text) ? Number(text) : null;
}
