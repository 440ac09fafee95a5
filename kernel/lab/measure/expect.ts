/** Checks of what a caller hands in, where a wrong value would otherwise fail far from its cause. */
import { P2pError } from "../errors.js";
import type { Machine } from "../machine.js";
import type { Table } from "./table.js";

/** @throws P2pError `usage` unless it is an opened machine. */
export function expectMachine(machine: unknown, who: string): asserts machine is Machine {
  if (typeof (machine as Machine | null | undefined)?.run === "function") return;
  const promise = machine instanceof Promise;
  throw new P2pError(
    "usage",
    `${who} was given ${promise ? "a machine that is not awaited" : "no machine"}`,
    'Open one first: const machine = await lab.open("…").',
  );
}

/** @throws P2pError `usage` unless it is a table with rows and these columns. */
export function expectTable(table: unknown, columns: readonly string[], who: string): asserts table is Table {
  const names = (table as Table | null | undefined)?.columnNames?.();
  const missing = names ? columns.filter((column) => !names.includes(column)) : columns;
  if (names && missing.length === 0 && (columns.length === 0 || (table as Table).numRows() > 0)) return;
  const why = !names
    ? "was given no table"
    : missing.length > 0
      ? `needs the columns ${missing.join(", ")}, the table has ${names.join(", ") || "none"}`
      : "was given a table without rows";
  throw new P2pError("usage", `${who} ${why}`, "Give it the table of lab.sweep or lab.breakdown.");
}

/** @throws P2pError `usage` when a list is empty. */
export function expectSome<T>(list: readonly T[], what: string, who: string): readonly T[] {
  if (list.length > 0) return list;
  throw new P2pError("usage", `${who} was given no ${what}`, `Give at least one of ${what}.`);
}

/** @throws P2pError `usage` unless options are an object. */
export function expectOptions(options: unknown, who: string): void {
  if (typeof options === "object" && options !== null) return;
  throw new P2pError(
    "usage",
    `${who} was given no options`,
    'Give at least { from: 0, to: 1, bytes: "8 B" }.',
  );
}

/** @throws P2pError `usage` when options hold a name that does not exist: a misspelt one must not be passed over. */
export function expectNames(options: object, names: readonly string[], who: string): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new P2pError("usage", `${who} has no option "${unknown}"`, `It takes ${names.join(", ")}.`);
}

/** @throws P2pError `usage` for a word that an option does not have. */
export function expectWord<W extends string>(option: string, word: W, words: readonly W[]): W {
  if (words.includes(word)) return word;
  throw new P2pError("usage", `no ${option} "${String(word)}"`, `Choose one of: ${words.join(", ")}.`);
}
