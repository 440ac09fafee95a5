import { isAmbiguous, numberIn, numberStyle } from "./number.js";
import { type Quantity, quantityOf } from "./quantity.js";

/** A column of a printed table: its name in ours, and what its numbers are multiplied by. */
export interface PrintedColumn {
  readonly name: string;
  /** Null for text. */
  readonly quantity: Quantity | null;
}

/** Words of a header as a column's name: `Total Time` → `total_time`, `#wrong` → `wrong`. */
export function snake(words: string): string {
  const name = words
    .replace(/%/g, " percent ")
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
  return {
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
  return cell.length < 20 && MISSING.test(cell.trim());
}

/**
 * Cells of a printed table as columns of numbers or text. A column with a unit is of numbers; one without is where all of its
 * cells are, or are missing.
 * @param rows may be shorter than the header; what is missing is null.
 */
export function parseCells(columns: readonly PrintedColumn[], rows: readonly (readonly string[])[]): Parsed {
  const notes: string[] = [];
  const numeric = columns.map(
    ({ quantity }, i) => quantity !== null || rows.every((row) => looksNumeric(row[i] ?? "")),
  );
  const style = numberStyle(numericCells(numeric, rows));
  if (style.decimal === ",") notes.push("Numbers have decimal commas: 1.234 is read as 1234.");
  let ambiguous = 0;
  let odd = 0;
  const names = distinct(columns.map(({ name }) => name));
  const result: Record<string, (number | string | null)[]> = {};
  columns.forEach(({ quantity }, i) => {
    const factor = quantity?.factor ?? 1;
    const anyNumber = quantity !== null || (numeric[i] && rows.some((row) => !isMissing(row[i] ?? "")));
    result[names[i] as string] = rows.map((row) => {
      const cell = row[i] ?? "";
      if (isMissing(cell)) return null;
      if (!anyNumber) return cell.trim();
      const value = numberIn(cell, style);
      if (value === null) {
        if (style.mixed && isAmbiguous(cell)) ambiguous++;
        else odd++;
        return null;
      }
      return scaled(value, factor);
    });
  });
  if (ambiguous > 0) {
    notes.push(
      `${ambiguous} numbers such as 1.234 are left out: the file uses both decimal points and decimal commas. Run the tool under LC_ALL=C.`,
    );
  }
  if (odd > 0) notes.push(`${odd} cells of columns with a unit hold no number: null.`);
  return { columns: result, notes };
}

/** A product without the tail of binary fractions: 12.5 ns is 0.0125 µs. */
export function scaled(value: number, factor: number): number {
  if (factor === 1) return value;
  const product = factor < 1 && Number.isInteger(1 / factor) ? value / (1 / factor) : value * factor;
  return Number.isFinite(product) ? Number(product.toPrecision(15)) : value;
}

function* numericCells(numeric: readonly boolean[], rows: readonly (readonly string[])[]): Generator<string> {
  for (const row of rows) for (let i = 0; i < numeric.length; i++) if (numeric[i]) yield row[i] ?? "";
}

function looksNumeric(cell: string): boolean {
  return (
    isMissing(cell) ||
    (cell.length < 60 && /^\s*[-+]?[\d.,\u00a0\u202f'’]*\d(?:[eE][-+]?\d+)?\s*$/.test(cell))
  );
}
