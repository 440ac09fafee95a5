/** What cells were run, as a front end asks for it: the latest, a range, or those that match a pattern. */
import { type Content, textOf } from "./content.js";

type Entry = readonly [line: number, source: string];
/** Session, line, and the source; with outputs asked for, the source and its value's text, null where there is none. */
export type HistoryRow = [session: number, line: number, input: string | [string, string | null]];

/**
 * @param entries every counted cell, in order; this kernel knows of no session but its own, which is number 0.
 * @param results texts of the cells' values.
 */
export function historyOf(
  content: Content,
  entries: readonly Entry[],
  results: ReadonlyMap<number, string>,
): HistoryRow[] {
  const found = chosen(content, entries);
  return found.map(([line, source]) => [
    0,
    line,
    content.output === true ? [source, results.get(line) ?? null] : source,
  ]);
}

function chosen(content: Content, entries: readonly Entry[]): readonly Entry[] {
  switch (content.hist_access_type) {
    case "range": {
      if (whole(content.session, 0) !== 0) return [];
      const start = whole(content.start, 1);
      const stop = whole(content.stop, Number.POSITIVE_INFINITY);
      return entries.filter(([line]) => line >= start && line < stop);
    }
    case "search": {
      const pattern = globOf(textOf(content.pattern) || "*");
      const matching = entries.filter(([, source]) => pattern.test(source));
      return last(content.unique === true ? withoutRepeats(matching) : matching, content.n);
    }
    default:
      return last(entries, content.n);
  }
}

function last(entries: readonly Entry[], n: unknown): readonly Entry[] {
  const count = whole(n, entries.length);
  return entries.slice(Math.max(0, entries.length - Math.max(0, count)));
}

/** The latest of those with the same source. */
function withoutRepeats(entries: readonly Entry[]): Entry[] {
  const bySource = new Map<string, Entry>();
  for (const entry of entries) {
    bySource.delete(entry[1]);
    bySource.set(entry[1], entry);
  }
  return [...bySource.values()];
}

/** `*` stands for any text, `?` for any character, `[abc]` for one of those, `[^abc]` for none of them, as in IPython's history. */
function globOf(glob: string): RegExp {
  const parts = glob.match(/\*+|\[\^?\]?[^\]]*\]|[\s\S]/g) ?? [];
  const pattern = parts.map((part) => {
    if (part.startsWith("*")) return "[\\s\\S]*";
    if (part === "?") return "[\\s\\S]";
    const among = /^\[(\^?)([\s\S]+)\]$/.exec(part);
    if (among) return `[${among[1]}${(among[2] as string).replace(/[[\]\\^]/g, "\\$&")}]`;
    return part.replace(/[.+^${}()|[\]\\]/, "\\$&");
  });
  try {
    return new RegExp(`^${pattern.join("")}$`);
  } catch {
    // A range that runs backwards, such as [z-a], matches nothing.
    return /^[^\s\S]$/;
  }
}

function whole(value: unknown, fallback: number): number {
  return typeof value === "number" && Number.isInteger(value) ? value : fallback;
}
