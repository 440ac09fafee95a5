import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { errorAt, placeOf } from "./text.js";

const MAX_DEPTH = 50;
const HINT = "Write it anew with lab.topologyJson().";

/** A value of a JSON text that knows where it stands, so that every complaint names its line and column. */
export class JsonValue {
  readonly #node: Node;
  readonly #text: string;
  /** How the value is reached, such as `links[3].width`. */
  readonly path: string;

  private constructor(node: Node, text: string, path: string) {
    this.#node = node;
    this.#text = text;
    this.path = path;
  }

  /** @throws P2pError `topology` with line and column for text that is no JSON or nests too deep. */
  static parse(text: string): JsonValue {
    requireFlat(text);
    const errors: ParseError[] = [];
    const root = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
    const [error] = errors;
    if (error || !root) {
      const what = error ? printParseErrorCode(error.error).replace(/([a-z])([A-Z])/g, "$1 $2") : "no value";
      throw errorAt(`malformed JSON: ${what.toLowerCase()}`, placeOf(text, error?.offset ?? 0), HINT);
    }
    return new JsonValue(root, text, "");
  }

  /** An error about this value. */
  error(what: string): Error {
    return errorAt(`${this.path || "the topology"} ${what}`, placeOf(this.#text, this.#node.offset), HINT);
  }

  get isNull(): boolean {
    return this.#node.type === "null";
  }

  /** A member of an object; null where it is missing or null. */
  member(name: string): JsonValue | null {
    if (this.#node.type !== "object") throw this.error("must be an object");
    const found = (this.#node.children ?? []).filter((property) => property.children?.[0]?.value === name);
    const value = found.at(-1)?.children?.[1];
    if (!value || value.type === "null") return null;
    return new JsonValue(value, this.#text, this.path === "" ? name : `${this.path}.${name}`);
  }

  /** @throws P2pError `topology` where it is missing. */
  need(name: string): JsonValue {
    const found = this.member(name);
    if (!found) throw this.error(`lacks "${name}"`);
    return found;
  }

  items(): JsonValue[] {
    if (this.#node.type !== "array") throw this.error("must be an array");
    return (this.#node.children ?? []).map(
      (node, i) => new JsonValue(node, this.#text, `${this.path}[${i}]`),
    );
  }

  string(): string {
    if (this.#node.type !== "string") throw this.error("must be text");
    return this.#node.value;
  }

  oneOf<T extends string>(words: readonly T[]): T {
    const word = this.string();
    if (!(words as readonly string[]).includes(word)) {
      throw this.error(`is "${word}", not one of ${words.join(", ")}`);
    }
    return word as T;
  }

  /** A finite number of at least `least`. */
  number(least: number): number {
    const { type, value } = this.#node;
    if (type !== "number" || !Number.isFinite(value)) throw this.error("must be a number");
    if (value < least) throw this.error(`is ${value}, below ${least}`);
    return value;
  }

  /** A number above 0. */
  positive(): number {
    const value = this.number(0);
    if (value === 0) throw this.error("is 0, not above it");
    return value;
  }

  whole(least: number): number {
    const value = this.number(least);
    if (!Number.isSafeInteger(value)) throw this.error(`is ${value}, no whole number`);
    return value;
  }
}

/** The parser calls itself for what is nested. */
function requireFlat(text: string): void {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (inString) {
      if (c === "\\") i++;
      else if (c === '"') inString = false;
    } else if (c === '"') inString = true;
    else if (c === "[" || c === "{") {
      if (++depth > MAX_DEPTH) {
        throw errorAt(`the JSON nests more than ${MAX_DEPTH} values`, placeOf(text, i), HINT);
      }
    } else if (c === "]" || c === "}") depth--;
  }
}
