/** The axes of a sweep: each option of a transfer, as a value or a list of values. */
import { P2pError } from "../errors.js";
import { type Bytes, formatBytes, parseBytes } from "../units.js";
import { expectSome } from "./expect.js";
import { type TransferOptions, WORDS } from "./transfer.js";

/** A value, or the values that are gone through. */
export type Swept<T> = T | readonly T[];

/** Ordered pairs [from, to]; data flows from → to. */
export type Pair = readonly [from: number, to: number];

type Options = Required<TransferOptions>;

/** What a sweep can go over. Pairs are given by `pair`, or by `from` and `to`: every two that differ. */
export type Axes = {
  -readonly [K in Exclude<keyof Options, "from" | "to" | "bytes">]?: Swept<Options[K]>;
} & {
  from?: Swept<number>;
  to?: Swept<number>;
  pair?: Pair | readonly Pair[];
  bytes: Swept<Bytes>;
};

/** Axes that have a column only where they are asked for, and that column's name. */
const COLUMNS = {
  engine: "engine",
  api: "api",
  initiator: "initiator",
  direction: "direction",
  streams: "streams",
  chunk: "chunk_bytes",
  submit: "submit",
  sync: "sync",
  allocator: "allocator",
} as const;
type Extra = keyof typeof COLUMNS;

/** A cell of a sweep: one transfer, and its columns. */
export interface AxisCell {
  readonly options: TransferOptions & { readonly bytes: number };
  /** The columns of the axes asked for beside `path`, `from`, `to` and `bytes`. */
  readonly columns: Readonly<Record<string, string | number | null>>;
  /** What tells it from its neighbours, for a progress bar. */
  readonly label: string;
}

/**
 * Every combination, ordered by path, pair, the other axes as named in the options, and size.
 * @throws P2pError `usage` for an empty list, a size that is none, or no pair.
 */
export function* cellsOf(axes: Axes, who: string): Generator<AxisCell> {
  const paths = valuesOf(axes.path ?? "peer", "path", who);
  const pairs = pairsOf(axes, who);
  const sizes = [...new Set(valuesOf(axes.bytes, "bytes", who).map(parseBytes))];
  const extras = extrasOf(axes);
  let combinations: Partial<Record<Extra, unknown>>[] = [{}];
  for (const name of extras) {
    const values = valuesOf(axes[name] as Swept<unknown>, name, who);
    combinations = combinations.flatMap((combination) =>
      values.map((value) => ({ ...combination, [name]: value })),
    );
  }
  const many = (name: string, list: readonly unknown[]) => (list.length > 1 ? [name] : []);
  const told = (name: Extra, value: unknown) => (name in WORDS ? String(value) : `${name} ${String(value)}`);
  for (const path of paths)
    for (const [from, to] of pairs)
      for (const combination of combinations)
        for (const bytes of sizes)
          yield {
            options: { from, to, bytes, path, ...combination } as AxisCell["options"],
            columns: Object.fromEntries(
              extras.map((name) => [COLUMNS[name], cellOf(name, combination[name])]),
            ),
            label: [
              String(path),
              ...many(`${from} → ${to}`, pairs),
              ...extras.flatMap((name) => many(told(name, combination[name]), listOf(axes[name] as unknown))),
              formatBytes(bytes),
            ].join(" "),
          };
}

/** The columns of the axes asked for beside `path`, `from`, `to` and `bytes`. */
export function axisColumns(axes: Axes): string[] {
  return extrasOf(axes).map((name) => COLUMNS[name]);
}

function extrasOf(axes: Axes): Extra[] {
  return (Object.keys(axes) as Extra[]).filter((name) => name in COLUMNS && axes[name] !== undefined);
}

function cellOf(name: Extra, value: unknown): string | number | null {
  if (name !== "chunk") return value as string | number;
  return value === "whole" ? null : parseBytes(value as Bytes);
}

function pairsOf(axes: Axes, who: string): readonly Pair[] {
  const { from, to, pair } = axes;
  if (pair === undefined) {
    if (from === undefined || to === undefined) {
      throw new P2pError("usage", `${who} was given no pair of GPUs`, "Give { from: 0, to: 1 }.");
    }
    const all = valuesOf(from, "from", who).flatMap((a) => valuesOf(to, "to", who).map((b): Pair => [a, b]));
    // Between single GPUs the transfer itself says what is wrong.
    return all.length === 1
      ? all
      : expectSome(
          all.filter(([a, b]) => a !== b),
          "pair of two GPUs",
          who,
        );
  }
  if (from !== undefined || to !== undefined) {
    throw new P2pError("usage", `${who} was given pair beside from and to`, "Give one or the other.");
  }
  const list = (Array.isArray(pair) && !Array.isArray(pair[0]) && pair.length > 0 ? [pair] : pair) as Pair[];
  for (const entry of expectSome(listOf(list), "pair", who)) {
    if (Array.isArray(entry) && entry.length === 2) continue;
    throw new P2pError(
      "usage",
      `${who}: no pair ${JSON.stringify(entry)}`,
      "Give [0, 1], or a list of such.",
    );
  }
  return list;
}

function valuesOf<T>(value: Swept<T>, what: string, who: string): T[] {
  return [...new Set(expectSome(listOf(value), what, who))];
}

export function listOf<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}
