/** Contents of requests: whatever a front end sent, read without trust. */
export type Content = Record<string, unknown>;

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

// A cell may take the global away.
const { stringify } = JSON;

/**
 * Contents as JSON that every front end can read: half of a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.
 * @throws TypeError for what JSON cannot hold; what a cell's own `toJSON` throws.
 */
export function jsonOf(content: Content): string {
  const json = stringify(content);
  // Whole pairs are written as they are: the escape of a surrogate is that of a lone one.
  return json.includes("\\ud")
    ? json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (found) => (found.length > 2 ? "\ufffd" : found))
    : json;
}
