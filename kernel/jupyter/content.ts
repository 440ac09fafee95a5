/** Contents of requests: whatever a front end sent, read without trust. */
export type Content = Record<string, unknown>;

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

// A cell may take the globals away.
const { stringify } = JSON;
const { defineProperty, deleteProperty, getOwnPropertyDescriptor } = Reflect;
/** Of what messages are made: each has no JSON of its own but its value. */
const PLAIN: readonly object[] = [Object, Array, String, Number, Boolean].map(({ prototype }) => prototype);

/** JSON of the content itself, whatever a cell has said that all objects, arrays or texts become as JSON. */
function plainJson(content: Content, from = 0): string {
  for (let i = from; i < PLAIN.length; i++) {
    const owner = PLAIN[i] as object;
    const added = getOwnPropertyDescriptor(owner, "toJSON");
    if (!added) continue;
    deleteProperty(owner, "toJSON");
    try {
      return plainJson(content, i + 1);
    } finally {
      defineProperty(owner, "toJSON", added);
    }
  }
  return stringify(content);
}

/**
 * Contents as JSON that every front end can read: half of a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.
 * @throws TypeError for what JSON cannot hold; what a cell's own `toJSON` throws.
 */
export function jsonOf(content: Content): string {
  const json = plainJson(content);
  // Whole pairs are written as they are: the escape of a surrogate is that of a lone one.
  return json.includes("\\ud")
    ? json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (found) => (found.length > 2 ? "\ufffd" : found))
    : json;
}
