import { type Compared, type CompareOptions, compare as compareRuns, type Side } from "../analyze/compare.js";
import { P2pError, shown } from "../errors.js";
import { provenancesOf, type Table, tableOf } from "../measure/table.js";
import { formatBytes } from "../units.js";
import { IMPORTED, Imported } from "./importer.js";
import { type PeerFigure, peerFigures } from "./peer-figures.js";

type Row = Record<string, unknown>;

const HINT =
  "Give a table of lab.matrix or lab.sweep, and an import of nvbandwidth, p2pBandwidthLatencyTest, nccl-tests, gpu_copy, perftest or ucx_perftest.";

/** Where our figure stands by metric, and its unit. */
const OURS = {
  latency: { column: "total_us", unit: "us" },
  bandwidth: { column: "gbps", unit: "gbps" },
  "load-latency": { column: "load_ns", unit: "ns" },
} as const;

const DEFINITIONS = {
  latency: "one transfer at a time: first submit call until the host knows that all is complete, median",
  bandwidth: "transfers back to back behind a gate: payload over the time between two events, median",
  "load-latency": "one dependent load, by the GPU's clock, median",
} as const;

/** Two series of times: is the second faster than the first? See {@link compareRuns}. */
export function compare(a: Side, b: Side, options?: CompareOptions): Compared;
/**
 * Figures of another tool beside ours: for each that this library has a counterpart of in the table, the row of the same pair,
 * path, direction and engine; where the tool measured one size, ours of the nearest.
 * @param ours of `lab.matrix` or `lab.sweep`.
 * @returns a row a pair of figures: `metric`, `from`, `to`, `direction`, `ours`, `theirs`, `unit` (us, gbps or ns), `ratio` (ours over
 * theirs), `same_quantity` (false where the definitions differ so that the ratio says nothing of which is better), `differences` (in
 * words, null where there is none), `same_size` (null where theirs is not told), `ours_bytes`, `theirs_bytes`, `theirs_name`, `ours_definition`, `theirs_definition`, then the
 * provenance columns of both sides, ours first.
 * @throws P2pError `usage` for a table without figures, an import without any, and where no two are of the same pair.
 */
export function compare(ours: Table, imported: Imported): Table;
export function compare(a: Side | Table, b: Side | Imported, options?: CompareOptions): Compared | Table {
  if (b instanceof Imported) return beside(a, b);
  if (a instanceof Imported) {
    throw new P2pError("usage", "the import stands first", "Give ours first: lab.compare(ours, imported).");
  }
  return compareRuns(a as Side, b, options);
}

function beside(ours: unknown, imported: Imported): Table {
  const rows = rowsOf(ours);
  const figures = peerFigures(imported);
  if (figures.length === 0) {
    throw new P2pError(
      "usage",
      `${imported.source.name}, ${imported.title}, holds no figure that this library has a counterpart of`,
      HINT,
    );
  }
  const found = figures.flatMap((figure) =>
    counterparts(figure, rows).map((row) => entryOf(row, figure, imported)),
  );
  if (found.length === 0) {
    const told = (list: readonly { metric: unknown; from: unknown; to: unknown; direction?: unknown }[]) =>
      [
        ...new Set(
          list.map(
            ({ metric, from, to, direction }) =>
              `${metric} ${from ?? "?"} → ${to ?? "?"} ${direction ?? "one-way"}`,
          ),
        ),
      ]
        .slice(0, 4)
        .join(", ");
    throw new P2pError(
      "usage",
      `nothing of ${imported.source.name} stands beside the table: it has ${told(figures)}; the table has ${told(rows as never)}`,
      "Measure the same pairs by the same metric, direction and sizes.",
    );
  }
  return tableOf(found);
}

/** Rows of a table of ours that hold a figure. */
function rowsOf(ours: unknown): Row[] {
  const table = ours as Partial<Table> | null;
  if (typeof table?.columnNames !== "function" || typeof table.objects !== "function") {
    throw new P2pError("usage", `cannot hold ${shown(ours)} against an import`, HINT);
  }
  const names = table.columnNames();
  if (!["metric", "from", "to"].every((name) => names.includes(name))) {
    throw new P2pError(
      "usage",
      `the table has no column metric, from or to, but ${names.slice(0, 12).join(", ")}`,
      HINT,
    );
  }
  if (provenancesOf(table as Table).some(({ provenance }) => provenance === IMPORTED)) {
    throw new P2pError(
      "usage",
      "the first table is an import too",
      "Give a table of lab.matrix or lab.sweep first.",
    );
  }
  const rows = (table.objects() as Row[]).filter((row) => figureOf(row) !== null);
  if (rows.length === 0) throw new P2pError("usage", "the table holds no figure", HINT);
  return rows;
}

function figureOf(row: Row, beside?: PeerFigure): number | null {
  const own = Object.hasOwn(OURS, String(row.metric)) ? OURS[row.metric as keyof typeof OURS] : null;
  const value = own ? row[beside?.column ?? own.column] : null;
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : null;
}

/** Rows of ours that a figure stands beside: of each kind the same size, or else the nearest. */
function counterparts(figure: PeerFigure, rows: readonly Row[]): Row[] {
  const fitting = rows.filter(
    (row) =>
      row.metric === figure.metric &&
      (figure.from === null || (row.from === figure.from && row.to === figure.to)) &&
      (figure.path === null || pathOf(row) === figure.path) &&
      (row.direction ?? "one-way") === figure.direction &&
      figureOf(row, figure) !== null &&
      (figure.initiator === undefined || (row.initiator_gpu ?? row.from) === figure.initiator) &&
      (figure.engine === null || engineOf(row) === null || engineOf(row) === figure.engine) &&
      (!figure.sizes || row.bytes === figure.bytes),
  );
  if (figure.sizes || figure.metric === "load-latency") return fitting;
  // One size against many: of rows that differ in nothing but their size the nearest, the largest where theirs is not told.
  const nearest = new Map<string, Row>();
  const distance = (row: Row) =>
    typeof row.bytes !== "number" || row.bytes <= 0
      ? Number.POSITIVE_INFINITY
      : figure.bytes === null
        ? figure.metric === "bandwidth"
          ? -row.bytes
          : row.bytes
        : Math.abs(Math.log(row.bytes / figure.bytes));
  for (const row of fitting) {
    const key = JSON.stringify([
      row.from,
      row.to,
      row.path,
      row.engine,
      row.sync,
      row.allocator,
      row.initiator_gpu,
      row.machine,
      row.provenance,
    ]);
    const before = nearest.get(key);
    if (!before || distance(row) < distance(before)) nearest.set(key, row);
  }
  return [...nearest.values()];
}

function pathOf(row: Row): string {
  if (row.path === "local" || row.from === row.to) return "local";
  return row.path === "peer" ? "peer" : "host-staged";
}

function engineOf(row: Row): PeerFigure["engine"] {
  const engine = String(row.engine ?? "copy-engine");
  return engine === "copy-engine"
    ? "copy-engine"
    : engine === "load"
      ? "load"
      : /^kernel|^sm/i.test(engine)
        ? "kernel"
        : null;
}

function entryOf(row: Row, figure: PeerFigure, imported: Imported): Row {
  const { unit } = OURS[figure.metric];
  const ours = figureOf(row, figure) as number;
  const bytes = typeof row.bytes === "number" ? row.bytes : null;
  const sameSize = bytes === null || figure.bytes === null ? null : bytes === figure.bytes;
  const sizes =
    sameSize === false
      ? [`Sizes differ: ours ${formatBytes(bytes as number)}, theirs ${formatBytes(figure.bytes as number)}.`]
      : sameSize === null
        ? [`Their output does not tell the size${bytes === null ? "" : `; ours is ${formatBytes(bytes)}`}.`]
        : [];
  const [first] = Object.values(imported.tables);
  const origin = (first?.numRows() ? first.object(0) : {}) as Row;
  const theirs = { machine: origin.machine ?? "machine not stated", date: origin.date ?? "date not stated" };
  return {
    metric: figure.metric,
    from: row.from,
    to: row.to,
    path: row.path ?? null,
    direction: figure.direction,
    ours,
    theirs: figure.value,
    unit,
    ratio: figure.value > 0 ? ours / figure.value : null,
    same_quantity: figure.differences.length === 0,
    same_size: sameSize,
    differences: [...figure.differences, ...sizes].join(" ") || null,
    ours_bytes: bytes,
    theirs_bytes: figure.bytes,
    theirs_name: figure.name,
    ours_definition:
      figure.column === "api_us"
        ? "api_us: first submit call entered until the last returned, median"
        : typeof row.definition === "string"
          ? row.definition
          : DEFINITIONS[figure.metric],
    theirs_definition: figure.definition,
    machine: `${row.machine ?? "machine not stated"} + ${theirs.machine}`,
    provenance: `${row.provenance ?? "provenance not stated"} + ${IMPORTED}`,
    date: `${row.date ?? "date not stated"} + ${theirs.date}`,
  };
}
