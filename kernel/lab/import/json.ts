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

/**
 * The lists of a text that holds several, one after another, with lines of other output between them.
 * @throws P2pError `import` for a list that is damaged or cut off.
 */
export function jsonLists(text: string, hint: string): unknown[][] {
  const lists: unknown[][] = [];
  for (let at = nextList(text, 0); at >= 0; ) {
    const end = closingBracket(text, at);
    const parsed = parse(end < 0 ? text.slice(at) : text.slice(at, end + 1));
    if ("failure" in parsed) {
      throw new P2pError("import", `the JSON is damaged or cut off: ${parsed.failure}`, hint);
    }
    if (Array.isArray(parsed.value)) lists.push(parsed.value);
    at = end < 0 ? -1 : nextList(text, end + 1);
  }
  return lists;
}

/** Where the next line begins with a bracket that opens a list of objects; -1 where none does. */
function nextList(text: string, from: number): number {
  const opening = /^[ \t]*\[(?=\s*[{\]])/gm;
  opening.lastIndex = from;
  const found = opening.exec(text);
  return found ? found.index + found[0].length - 1 : -1;
}

/** The bracket that closes the one at a place, past those inside texts; -1 where there is none. */
function closingBracket(text: string, at: number): number {
  let depth = 0;
  const marks = /[[\]{}]|"(?:[^"\\]|\\.)*"/g;
  marks.lastIndex = at;
  for (let mark = marks.exec(text); mark; mark = marks.exec(text)) {
    const [word] = mark;
    if (word === "[" || word === "{") depth++;
    else if (word === "]" || word === "}") depth--;
    if (depth === 0) return mark.index;
  }
  return -1;
}
