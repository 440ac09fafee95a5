import { SQLITE_SIGNATURE } from "./sqlite.js";

/**
 * How likely the begin of a file is that of a SQLite file of one kind: the first page holds the statements that made some of
 * its tables.
 * @param words of those tables and their columns that no other kind has.
 */
export function sqliteHead(head: Uint8Array, words: RegExp): number {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("latin1");
  if (!text.startsWith(SQLITE_SIGNATURE)) return 0;
  // A large schema begins on other pages: what remains is a SQLite file of some kind.
  return words.test(text) ? 1 : 0.3;
}
