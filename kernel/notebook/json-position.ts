/** Where a text stops being JSON, which JSON.parse tells only in some versions and for some mistakes. */

/** Levels of brackets that a document may have. */
export const MAX_DEPTH = 1000;

const SPACE = /[ \t\r\n]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Line and column, both from 1, of the first character that cannot be part of a JSON document; null when it is JSON. */
export function jsonErrorPosition(text: string): { line: number; column: number } | null {
  let at = 0;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) at += match[0].length;
    return match !== null;
  };
  const take = (character: string): boolean => {
    skip(SPACE);
    if (text[at] !== character) return false;
    at++;
    return true;
  };
  /** Items between brackets; the opening one has been taken. */
  const list = (close: string, item: () => boolean): boolean => {
    if (take(close)) return true;
    do {
      if (!item()) return false;
    } while (take(","));
    return take(close);
  };
  const key = (): boolean => {
    skip(SPACE);
    return skip(STRING);
  };
  let depth = 0;
  const value = (): boolean => {
    // Deeper than any document means it: the place is given as where the mistake is, before the stack is spent.
    if (++depth > MAX_DEPTH) return false;
    let found: boolean;
    if (take("{")) found = list("}", () => key() && take(":") && value());
    else if (take("[")) found = list("]", value);
    else found = skip(STRING) || skip(SCALAR);
    depth--;
    return found;
  };
  const complete = value();
  skip(SPACE);
  if (complete && at === text.length) return null;
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: (before.at(-1) as string).length + 1 };
}

/** Whether arrays and objects stand in each other more than `levels` deep; for values that come from JSON. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  let layer = [value].filter(isNested);
  for (let depth = 0; layer.length > 0; depth++) {
    if (depth >= levels) return true;
    layer = layer.flatMap((outer) => (Array.isArray(outer) ? outer : Object.values(outer)).filter(isNested));
  }
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
