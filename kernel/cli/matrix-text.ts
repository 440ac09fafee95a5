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
  const { metric, bytes, definition, engine } = rows[0] as Row;
  const origins = [...new Set(rows.map((row) => `${row.provenance}: ${row.machine}, ${row.date}`))];
  const { column, unit } = UNITS[String(metric)] as { column: string; unit: string };
  const grid = lab.pivot(table, column).objects() as Row[];
  const gpus = [...new Set(rows.map((row) => row.to as number))].sort((a, b) => a - b);
  const marked = new Map(rows.map((row) => [row.arrow, row.path === "host-staged" ? "*" : " "]));
  const mixed = new Set(rows.map((row) => row.provenance)).size > 1;
  const modelled = rows.filter((row) => mixed && row.provenance === "simulated");
  const simulated = new Set(modelled.map((row) => row.arrow));
  const lines = [
    ["from\\to", ...gpus.map((gpu) => `${gpu} `)],
    ...grid.map((row) => [
      String(row.from),
      ...gpus.map((to) => {
        const value = row[`to_${to}`];
        const arrow = `${row.from} → ${to}`;
        const number = typeof value === "number" ? digits(value) : "–";
        return `${simulated.has(arrow) ? "~" : ""}${number}${marked.get(arrow) ?? " "}`;
      }),
    ]),
  ];
  const width = Math.max(...lines.flat().map((cell) => cell.length)) + 1;
  return [
    `${metric}, ${unit}, ${lab.formatBytes(bytes as number)}, ${engine} · ${origins.join("; ")}`,
    `data flows from → to; ${definition}`,
    "",
    ...lines.map((line) =>
      line
        .map((cell) => cell.padStart(width))
        .join("")
        .trimEnd(),
    ),
    ...notes(rows, modelled),
  ].join("\n");
}

function notes(rows: readonly Row[], modelled: readonly Row[]): string[] {
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
    ...(modelled.length > 0 ? [`~ simulated, ${arrows(modelled)}; the others are ${othersOf(rows)}`] : []),
    ...list("* staged through the host ", (row) => row.path === "host-staged" && row.reason),
    ...(missing ? list("– no number ", (row) => row.measured === null && row.reason) : []),
    ...list("flag ", (row) => row.flags),
    ...list("taint ", (row) => row.taints),
    ...measuredHow(rows),
  ];
  return found.length > 0 ? ["", ...found] : [];
}

/** Kinds of the cells that are no model's. */
function othersOf(rows: readonly Row[]): string {
  return [...new Set(rows.map((row) => row.provenance))].filter((kind) => kind !== "simulated").join(", ");
}

/** Cells that were measured beside others, or alone for a reason: `alone: 0 → 1 is 5 % slower beside 3 other pairs`. */
function measuredHow(rows: readonly Row[]): string[] {
  const byHow = new Map<string, Row[]>();
  for (const row of rows) {
    const how = row.measured;
    if (typeof how === "string" && how !== "alone") byHow.set(how, [...(byHow.get(how) ?? []), row]);
  }
  return [...byHow].map(([how, own]) => {
    const [, why] = /^alone: (.*)$/s.exec(how) ?? [];
    return why === undefined
      ? `${arrows(own)} measured ${how} at once`
      : `${arrows(own)} measured alone, since ${why}`;
  });
}

/** Few by name, many by number. */
function arrows(rows: readonly Row[]): string {
  return rows.length <= 4 ? rows.map((row) => row.arrow).join(", ") : `${rows.length} cells`;
}

function digits(value: number): string {
  return value >= 1000 ? value.toFixed(0) : value.toPrecision(4);
}
