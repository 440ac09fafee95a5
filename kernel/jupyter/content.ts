/** Contents of requests: whatever a front end sent, read without trust. */
export type Content = Record<string, unknown>;

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
