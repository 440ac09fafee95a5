import { messageOf, P2pError } from "../errors.js";

/**
 * JSON that a program printed, perhaps with lines of other output before and after it.
 * @throws P2pError `import` naming the place of what is wrong.
 */
export function embeddedJson(text: string, hint: string): unknown {
  const start = text.search(/^[ \t]*[{[]/m);
  if (start < 0) throw new P2pError("import", "the text holds no JSON", hint);
  const body = text.slice(start);
  const whole = parse(body);
  if (!("failure" in whole)) return whole.value;
  // Other output after the closing bracket, which stands on a line of its own.
  const bracket = body.trimStart()[0] === "{" ? "}" : "]";
  const end = new RegExp(`^\\${bracket}[ \\t]*$`, "m").exec(body);
  const cut = end ? parse(body.slice(0, end.index + 1)) : whole;
  if (!("failure" in cut)) return cut.value;
  const what = `the JSON is damaged or cut off: ${whole.failure}`;
  throw new P2pError("import", what, hint);
}

function parse(text: string): { value: unknown } | { failure: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { failure: messageOf(error).slice(0, 200) };
  }
}

/** A member of what may be no object; undefined where there is none. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/** A member as a finite number, also where it is written as text; null otherwise. */
export function numberMember(value: unknown, name: string): number | null {
  const found = member(value, name);
  if (typeof found !== "number" && (typeof found !== "string" || found.trim() === "" || found.length > 60))
    return null;
  const number = Number(found);
  return Number.isFinite(number) ? number : null;
}

/** A member as text; null where it is missing, empty or no text. */
export function textMember(value: unknown, name: string): string | null {
  const found = member(value, name);
  if (typeof found === "number" && Number.isFinite(found)) return String(found);
  return typeof found === "string" && found.trim() !== "" ? found.trim().slice(0, 500) : null;
}
