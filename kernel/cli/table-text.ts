import type { lab } from "../lab/index.js";

/** Rows of a table that are printed for reading. */
const SHOWN_ROWS = 10;
const SHOWN_CHARACTERS = 40;

/** The first rows in columns; those where nothing is stated are left out, and the provenance columns, which the heading tells. */
export function gridOf(table: lab.Table): string {
  const rows = table.objects({ limit: SHOWN_ROWS }) as Record<string, unknown>[];
  const names = table
    .columnNames()
    .filter((name) => !["machine", "provenance", "date"].includes(name))
    .filter((name) => rows.some((row) => row[name] !== null));
  const cell = (value: unknown) => {
    const text =
      value === null ? "–" : typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
    return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS - 1)}…` : text;
  };
  const lines = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  const widths = names.map((_, i) => Math.max(...lines.map((line) => (line[i] as string).length)));
  const numeric = names.map((name) =>
    rows.every((row) => row[name] === null || typeof row[name] === "number"),
  );
  const text = lines.map((line) =>
    line
      .map((word, i) => (numeric[i] ? word.padStart(widths[i] as number) : word.padEnd(widths[i] as number)))
      .join("  ")
      .trimEnd(),
  );
  return [...text, ...(table.numRows() > rows.length ? ["…"] : [])].join("\n");
}
