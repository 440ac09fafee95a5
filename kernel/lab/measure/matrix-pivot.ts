import { P2pError, shown } from "../errors.js";
import { expectTable } from "./expect.js";
import { PROVENANCE_COLUMNS, provenancesOf, type Table, tableOf } from "./table.js";

const VALUES: Readonly<Record<string, string>> = {
  latency: "total_us",
  bandwidth: "gbps",
  "load-latency": "load_ns",
};

/** The column that a matrix of this metric is about. */
export function valueColumn(metric: string): string {
  return VALUES[metric] ?? "total_us";
}

/**
 * A matrix as people read it: a row a source, a column a destination.
 * @param long a table of `lab.matrix`, or another one with `from`, `to` and a column of values, a row a pair.
 * @param value the column shown; default that of the table's metric (`total_us`, `gbps` or `load_ns`).
 * @returns `from`, then `to_0`, `to_1`, … (null where the cell is null or missing), and the provenance columns.
 * @throws P2pError `usage` when the table has no such column, or two rows for one pair.
 */
export function pivot(long: Table, value?: string): Table {
  expectTable(long, ["from", "to"], "lab.pivot");
  if (value !== undefined && typeof value !== "string") {
    throw new P2pError(
      "usage",
      `lab.pivot: no column ${shown(value)}`,
      `Name one of ${long.columnNames().join(", ")}.`,
    );
  }
  const rows = long.objects() as Record<string, unknown>[];
  const column = value ?? valueColumn(String(rows[0]?.metric));
  expectTable(long, ["from", "to", column], "lab.pivot");
  const cells = new Map<string, unknown>();
  for (const row of rows) {
    const key = `${row.from}>${row.to}`;
    if (cells.has(key)) {
      throw new P2pError(
        "usage",
        `lab.pivot was given two rows for ${row.from} → ${row.to}`,
        "Filter the table to one row a pair.",
      );
    }
    cells.set(key, row[column] ?? null);
  }
  const ends = (name: "from" | "to") =>
    [...new Set(rows.map((row) => row[name] as number))].sort((a, b) => a - b);
  const origins = provenancesOf(long);
  const origin = Object.fromEntries(
    PROVENANCE_COLUMNS.map((name) => [name, [...new Set(origins.map((one) => one[name]))].join("; ")]),
  );
  return tableOf(
    ends("from").map((from) => ({
      from,
      ...Object.fromEntries(ends("to").map((to) => [`to_${to}`, cells.get(`${from}>${to}`) ?? null])),
      ...origin,
    })),
  );
}
