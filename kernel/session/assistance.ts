/** What TypeScript offers at a position of a cell, chosen and ordered for a reader. */
import type ts from "typescript";

/** Candidates for what stands between two positions, counted in UTF-16 units. */
export interface Completion {
  readonly start: number;
  readonly end: number;
  readonly candidates: readonly Candidate[];
}

export interface Candidate {
  readonly name: string;
  /** TypeScript's word for what it is: `function`, `const`, `method`, … */
  readonly kind: string;
  /** As TypeScript writes it; null where there are too many candidates to look each up. */
  readonly signature: string | null;
}

/** What is known of a name. */
export interface Inspection {
  readonly signature: string;
  /** Markdown, as the documentation has it. */
  readonly documentation: string;
  readonly tags: readonly { readonly name: string; readonly text: string }[];
}

/** Of so many candidates at most, the type of each is written out. */
const SIGNATURES = 15;
const WORD = /[\p{ID_Continue}$\u200c\u200d]/u;

export function completionOf(
  source: string,
  position: number,
  entries: readonly ts.CompletionEntry[],
  signatureOf: (entry: ts.CompletionEntry) => string | null,
): Completion {
  const at = Math.max(0, Math.min(position, source.length));
  let start = at;
  while (start > 0 && WORD.test(source[start - 1] as string)) start--;
  let end = at;
  while (end < source.length && WORD.test(source[end] as string)) end++;
  const typed = source.slice(start, at);
  const ranked = entries
    .map((entry) => ({ entry, rank: rankOf(entry.name, typed) }))
    .filter(({ rank }) => rank < 3)
    .sort(
      (a, b) =>
        a.rank - b.rank || compare(a.entry.sortText, b.entry.sortText) || compare(a.entry.name, b.entry.name),
    );
  const signed = ranked.length <= SIGNATURES;
  const candidates = ranked.map(({ entry }) => ({
    name: entry.name,
    kind: entry.kind,
    signature: signed ? signatureOf(entry) : null,
  }));
  return { start, end, candidates };
}

/** 0 begins with what was typed, 1 does so but for the case, 2 holds it, 3 does not. */
function rankOf(name: string, typed: string): number {
  if (name.startsWith(typed)) return 0;
  const lower = name.toLowerCase();
  if (lower.startsWith(typed.toLowerCase())) return 1;
  return lower.includes(typed.toLowerCase()) ? 2 : 3;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function inspectionOf(info: ts.QuickInfo): Inspection {
  return {
    signature: joined(info.displayParts),
    documentation: joined(info.documentation),
    tags: (info.tags ?? []).map(({ name, text }) => ({ name, text: joined(text) })),
  };
}

function joined(parts: readonly { readonly text: string }[] | undefined): string {
  return (parts ?? []).map((part) => part.text).join("");
}
