/** A matrix as text: numbers with a row a source and a column a destination, and below what must be known of them. */
import { lab } from "../lab/index.js";

const UNITS: Readonly<Record<string, { column: string; unit: string }>> = {
  latency: { column: "total_us", unit: "µs" },
  bandwidth: { column: "gbps", unit: "GB/s" },
  "load-latency": { column: "load_ns", unit: "ns" },
};

type Row = Record<string, string | number | boolean | null>;

/** @param table of `lab.matrix`, with at least one row. */
export function matrixText(table: lab.Table): string {
  const rows = table.objects() as Row[];
  const { metric, machine, provenance, date, bytes, definition, engine } = rows[0] as Row;
  const { column, unit } = UNITS[String(metric)] as { column: string; unit: string };
  const grid = lab.pivot(table, column).objects() as Row[];
  const gpus = [...new Set(rows.map((row) => row.to as number))].sort((a, b) => a - b);
  const marked = new Map(rows.map((row) => [row.arrow, row.path === "host-staged" ? "*" : " "]));
  const lines = [
    ["from\\to", ...gpus.map((gpu) => `${gpu} `)],
    ...grid.map((row) => [
      String(row.from),
      ...gpus.map((to) => {
        const value = row[`to_${to}`];
        return `${typeof value === "number" ? digits(value) : "–"}${marked.get(`${row.from} → ${to}`) ?? " "}`;
      }),
    ]),
  ];
  const width = Math.max(...lines.flat().map((cell) => cell.length)) + 1;
  return [
    `${metric}, ${unit}, ${lab.formatBytes(bytes as number)}, ${engine} · ${provenance}: ${machine}, ${date}`,
    `data flows from → to; ${definition}`,
    "",
    ...lines.map((line) =>
      line
        .map((cell) => cell.padStart(width))
        .join("")
        .trimEnd(),
    ),
    ...notes(rows),
  ].join("\n");
}

function notes(rows: readonly Row[]): string[] {
  const list = (head: string, of: (row: Row) => unknown) => {
    const byText = new Map<string, Row[]>();
    for (const row of rows) {
      const text = of(row);
      if (text) byText.set(String(text), [...(byText.get(String(text)) ?? []), row]);
    }
    return [...byText].map(([text, own]) => `${head}${arrows(own)}: ${text}`);
  };
  const missing = rows.some((row) => row.measured === null);
  const found = [
    ...list("* staged through the host ", (row) => row.path === "host-staged" && row.reason),
    ...(missing ? list("– no number ", (row) => row.measured === null && row.reason) : []),
    ...list("flag ", (row) => row.flags),
    ...list("taint ", (row) => row.taints),
    ...list("measured ", (row) => row.measured !== "alone" && row.measured),
  ];
  return found.length > 0 ? ["", ...found] : [];
}

/** Few by name, many by number. */
function arrows(rows: readonly Row[]): string {
  return rows.length <= 4 ? rows.map((row) => row.arrow).join(", ") : `${rows.length} cells`;
}

function digits(value: number): string {
  return value >= 1000 ? value.toFixed(0) : value.toPrecision(4);
}
