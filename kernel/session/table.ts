/** An Arquero table as HTML and as text: capped rows, few digits, its origin and the columns without a value in a line under it. */
import { inspect } from "node:util";
import { escapeHtml, lab, type MimeBundle, WORD_COLOURS } from "../lab/index.js";

const ROWS = 60;
const CELL_CHARACTERS = 200;
/** Columns that say where numbers come from: said once under the table when the same in all rows. */
const ORIGIN = ["provenance", "machine", "date"];

/** What of Arquero's tables is used; another version's table, or a package's own copy of Arquero, fits as well. */
export interface TableLike {
  numRows(): number;
  columnNames(): string[];
  objects(options: { limit: number }): Record<string, unknown>[];
  array(name: string): ArrayLike<unknown>;
}

export function isTable(value: unknown): value is TableLike {
  if (typeof value !== "object" || value === null) return false;
  return ["numRows", "columnNames", "objects", "array", "toHTML"].every(
    (name) => typeof (value as Record<string, unknown>)[name] === "function",
  );
}

export function tableBundle(table: TableLike): MimeBundle {
  const total = table.numRows();
  const rows = table.objects({ limit: ROWS });
  const all = table.columnNames();
  const origin = new Map(
    ORIGIN.filter((name) => total > 0 && all.includes(name) && isConstant(table.array(name))).map((name) => [
      name,
      cellText(rows[0]?.[name]),
    ]),
  );
  const others = all.filter((name) => !origin.has(name));
  // Whole columns are looked at only where the rows that are shown hold nothing.
  const empty =
    total > 0
      ? others.filter(
          (name) => rows.every((row) => isBlank(row[name])) && Array.from(table.array(name)).every(isBlank),
        )
      : [];
  // A table that holds nothing at all still shows what it would hold.
  const names = empty.length < others.length ? others.filter((name) => !empty.includes(name)) : others;
  const caption = [
    ...[...origin.values()].filter((text) => text !== ""),
    total > rows.length ? `${rows.length} of ${total} rows` : `${total} ${total === 1 ? "row" : "rows"}`,
    ...(names.length < others.length ? [`没有值的列 empty columns: ${empty.join(", ")}`] : []),
  ].join(" · ");
  const texts = names.map((name) => (areSizes(name, rows) ? sizeText : cellText));
  const cells = rows.map((row) => names.map((name, i) => (texts[i] as typeof cellText)(row[name])));
  const numeric = names.map((name) =>
    rows.every((row) => row[name] == null || typeof row[name] === "number" || typeof row[name] === "bigint"),
  );
  return {
    "text/html": html(
      names,
      cells,
      numeric,
      caption,
      origin.get("provenance")?.includes("simulated") === true,
    ),
    "text/plain": plain(names, cells, numeric, caption),
  };
}

function isConstant(values: ArrayLike<unknown>): boolean {
  const first = values[0];
  return Array.from(values).every((value) => value === first);
}

function isBlank(value: unknown): boolean {
  return value === null || value === undefined || value === "";
}

function html(names: string[], rows: string[][], numeric: boolean[], caption: string, warn: boolean): string {
  const align = (column: number) => ` style="text-align:${numeric[column] ? "right" : "left"}"`;
  const head = names.map((name, i) => `<th${align(i)}>${escapeHtml(name)}</th>`).join("");
  const body = rows
    .map((row) => `<tr>${row.map((cell, i) => `<td${align(i)}>${escapeHtml(cell)}</td>`).join("")}</tr>`)
    .join("\n");
  const colour = warn ? `;color:${WORD_COLOURS.alarm}` : "";
  return `<table><thead><tr>${head}</tr></thead><tbody>\n${body}\n</tbody></table><div style="font-size:0.85em${colour}">${escapeHtml(caption)}</div>`;
}

function plain(names: string[], rows: string[][], numeric: boolean[], caption: string): string {
  const widths = names.map((name, i) =>
    Math.max(name.length, ...rows.map((row) => (row[i] as string).length)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, i) => (numeric[i] ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number)))
      .join("  ")
      .trimEnd();
  return [line(names), ...rows.map(line), `(${caption})`].join("\n");
}

/** A column of bytes reads as KiB, MiB and GiB where that says every size of it exactly. */
function areSizes(name: string, rows: readonly Record<string, unknown>[]): boolean {
  return (
    /(^|_)bytes$/.test(name) &&
    rows.every(({ [name]: bytes }) => {
      if (bytes == null) return true;
      if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes < 0) return false;
      const [count, unit] = lab.formatBytes(bytes).split(" ");
      return Number(count) * lab.parseBytes(`1 ${unit}`) === bytes;
    })
  );
}

function sizeText(bytes: unknown): string {
  return typeof bytes === "number" ? lab.formatBytes(bytes) : "";
}

/** Four significant digits, never fewer than the digits before the point. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") {
    if (Number.isInteger(value) || !Number.isFinite(value)) return String(value);
    return String(Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(4)));
  }
  const text =
    value instanceof Date
      ? value.toISOString()
      : typeof value === "object"
        ? inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY })
        : String(value);
  return text.length > CELL_CHARACTERS ? `${text.slice(0, CELL_CHARACTERS - 1)}…` : text;
}
