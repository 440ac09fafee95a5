import { isAmbiguous, numberIn, numberStyle } from "./number.js";
import { type Quantity, quantityOf } from "./quantity.js";

/** A column of a printed table: its name in ours, and what its numbers are multiplied by. */
export interface PrintedColumn {
  readonly name: string;
  /** Null for text. */
  readonly quantity: Quantity | null;
  /** Whole by nature, such as bytes of a copy that were printed in MB: rounded. */
  readonly whole?: boolean;
}

/** Words of a header as a column's name: `Total Time` → `total_time`, `#wrong` → `wrong`. */
export function snake(words: string): string {
  const name = words
    .replace(/%/g, " percent ")
    .replace(/SMem/g, " Smem ")
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z\d]+/g, "_")
    .replace(/^_+|_+$/g, "");
  return name === "" ? "column" : name.slice(0, 120);
}

/**
 * A column by its header, where the unit stands in it: `Duration (ns)`, `Time (%)`, `BW peak[MB/sec]`, `Throughput (MBps)`.
 * @param step see {@link quantityOf}.
 * @param unit where it stands elsewhere, as in a row of units.
 */
export function columnOf(header: string, step: 1000 | 1024, unit?: string): PrintedColumn {
  const [, before = header, inside, after = ""] = /^([^([]*)[([]([^)\]]*)[)\]](.*)$/.exec(header) ?? [];
  const quantity = quantityOf(unit ?? inside ?? "", step);
  if (!quantity) return { name: snake(unit ? `${header} ${unit}` : header), quantity: null };
  const words = snake(inside === undefined || unit ? header : `${before} ${after}`);
  const whole = quantity.suffix === "bytes" && !/avg|average|med|std|min|max|total/.test(words);
  return {
    ...(whole && { whole }),
    // Rates are called by their unit alone where the words say no more: bandwidth_gbps; `bytes` is not said twice.
    name:
      words === quantity.suffix || words.endsWith(`_${quantity.suffix}`)
        ? words
        : `${words}_${quantity.suffix}`,
    quantity,
  };
}

/** Names made different from one another: a header may hold the same twice. */
export function distinct(names: readonly string[]): string[] {
  const seen = new Set<string>();
  return names.map((name) => {
    let own = name;
    for (let count = 2; seen.has(own); count++) own = `${name}_${count}`;
    seen.add(own);
    return own;
  });
}

/** What a printed table became. */
export interface Parsed {
  readonly columns: Record<string, (number | string | null)[]>;
  readonly notes: string[];
}

/** Cells that say that there is no value. */
const MISSING =
  /^(|-|n\/?a|\[n\/?a\]|nan|-nan|inf|-inf|infinity|null|none|<undefined>|not supported|\[not supported\])$/i;

export function isMissing(cell: string): boolean {
  const first = cell.charCodeAt(0);
  if (first >= 48 && first <= 57) return false;
  return cell.length < 20 && MISSING.test(cell.trim());
}

/**
 * Cells of a printed table as columns of numbers or text. A column with a unit is of numbers; one without is where all of its
 * cells are, or are missing.
 * @param rows gives the rows, twice: the marks of decimals are told from all of them first. Rows may be shorter than the header;
 * what is missing is null.
 */
export function parseCells(
  columns: readonly PrintedColumn[],
  rows: () => Iterable<readonly string[]>,
): Parsed {
  const isNumber = columns.map(() => true);
  const hasNumber = columns.map(() => false);
  for (const row of rows()) {
    for (let i = 0; i < columns.length; i++) {
      if (!isNumber[i]) continue;
      const cell = row[i] ?? "";
      if (isMissing(cell)) continue;
      if (looksNumeric(cell)) hasNumber[i] = true;
      else if (columns[i]?.quantity === null) isNumber[i] = false;
    }
  }
  const style = numberStyle(numericCells(isNumber, rows()));
  const notes = style.decimal === "," ? ["Numbers have decimal commas: 1.234 is read as 1234."] : [];
  const values = columns.map((): (number | string | null)[] => []);
  const words = columns.map(() => new Map<string, string>());
  let ambiguous = 0;
  let odd = 0;
  for (const row of rows()) {
    for (let i = 0; i < columns.length; i++) {
      const { quantity, whole } = columns[i] as PrintedColumn;
      const column = values[i] as (number | string | null)[];
      const cell = row[i] ?? "";
      if (isMissing(cell)) {
        column.push(null);
      } else if (quantity !== null || (isNumber[i] && hasNumber[i])) {
        const value = numberIn(cell, style);
        if (value === null && style.mixed && isAmbiguous(cell)) ambiguous++;
        else if (value === null) odd++;
        const number = value === null ? null : scaled(value, quantity?.factor ?? 1);
        column.push(number !== null && whole ? Math.round(number) : number);
      } else {
        column.push(kept(cell.trim(), words[i] as Map<string, string>));
      }
    }
  }
  if (ambiguous > 0) {
    notes.push(
      `Left out, numbers that may be read two ways, as 1.234: ${ambiguous}. The file uses both decimal points and decimal commas; run the tool under LC_ALL=C.`,
    );
  }
  if (odd > 0) notes.push(`Cells without a number in columns of numbers: ${odd}, null.`);
  const names = distinct(columns.map(({ name }) => name));
  return { columns: Object.fromEntries(names.map((name, i) => [name, values[i] ?? []])), notes };
}

/** A word of its own: a piece of a long text keeps all of that in memory. */
function kept(word: string, known: Map<string, string>): string {
  let own = known.get(word);
  if (own === undefined) {
    own = ` ${word}`.slice(1);
    known.set(own, own);
  }
  return own;
}

/** Columns of several tables one below the other; what one of them lacks is null. */
export function stacked(parts: readonly Parsed["columns"][]): Parsed["columns"] {
  const names = [...new Set(parts.flatMap((part) => Object.keys(part)))];
  const lengths = parts.map((part) => Object.values(part)[0]?.length ?? 0);
  return Object.fromEntries(
    names.map((name) => [
      name,
      parts.length === 1
        ? (parts[0]?.[name] ?? [])
        : parts.flatMap((part, i) => part[name] ?? new Array<null>(lengths[i] as number).fill(null)),
    ]),
  );
}

/** A product without the tail of binary fractions: 12.5 ns is 0.0125 µs. */
export function scaled(value: number, factor: number): number {
  if (factor === 1) return value;
  const product = factor < 1 && Number.isInteger(1 / factor) ? value / (1 / factor) : value * factor;
  return Number.isFinite(product) ? Number(product.toPrecision(15)) : value;
}

function* numericCells(numeric: readonly boolean[], rows: Iterable<readonly string[]>): Generator<string> {
  for (const row of rows) for (let i = 0; i < numeric.length; i++) if (numeric[i]) yield row[i] ?? "";
}

function looksNumeric(cell: string): boolean {
  if (cell.length < 20 && /^\d+(?:\.\d+)?$/.test(cell)) return true;
  return (
    isMissing(cell) ||
    (cell.length < 60 && /^\s*[-+]?[\d.,\u00a0\u202f'’]*\d(?:[eE][-+]?\d+)?\s*$/.test(cell))
  );
}
