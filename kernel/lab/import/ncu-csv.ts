import { P2pError } from "../errors.js";
import { isMissing, scaled, snake } from "./columns.js";
import { recordAt, splitLine } from "./csv.js";
import { Imported, type Importer, importedTable } from "./importer.js";
import { isAmbiguous, numberIn, numberStyle } from "./number.js";
import { type Quantity, quantityOf } from "./quantity.js";
import { entryOf, filled, RowColumns, recordsTable, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

type Row = Record<string, Value>;

const HINT =
  "Print it anew: LC_ALL=C ncu --import REPORT --csv --page raw --print-units base (or --page details).";

/** Columns that say which launch a row is of, and theirs in ours. */
const LAUNCH: Readonly<Record<string, string>> = {
  ID: "launch",
  "Process ID": "process",
  "Process Name": "program",
  "Host Name": "host",
  "Kernel Name": "kernel",
  "Kernel Time": "kernel_time",
  Context: "context",
  Stream: "stream",
  "Block Size": "block",
  "Grid Size": "grid",
  Device: "device",
  CC: "compute_capability",
  Invocations: "invocations",
};

/** Of the long page. */
const DETAILS = [
  ...["Section Name", "Metric Name", "Metric Unit", "Metric Value", "Minimum", "Maximum", "Average"],
  ...["Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup"],
];

const METRIC_COLUMNS = [
  ...["launch", "kernel", "section", "metric", "unit", "value", "base_value", "base_unit"],
  ...["minimum", "maximum", "average", "text"],
];

/** CSV of Nsight Compute: the details page (a row a metric), the raw page (a column a metric), and summaries of either. */
export const importer: Importer = {
  format: "ncu-csv",
  title: "CSV of Nsight Compute",
  detect(head) {
    const text = headText(head);
    if (text.split("\n").some(isHeader)) return 0.97;
    return /^==(?:PROF|ERROR|WARNING)== /m.test(text) ? 0.85 : 0;
  },
  async read(source) {
    const { lines, notes: odd } = await textOf(source);
    const reader = new Reader();
    for (let i = 0; i < lines.length; ) {
      const line = lines[i] as string;
      if (isHeader(line)) {
        i = reader.table(lines, i);
      } else {
        const said = /^==(PROF|WARNING|ERROR)== (.{1,300})/.exec(line);
        if (said && said[1] !== "PROF") reader.said.add(`${said[1]}: ${(said[2] as string).trim()}`);
        i++;
      }
    }
    if (reader.metrics.length + reader.rules.length + reader.launches.size === 0) {
      const why = [...reader.said].find((text) => text.startsWith("ERROR")) ?? [...reader.said].at(-1);
      throw new P2pError(
        "import",
        `no ${reader.tables > 0 ? "row below the header" : "CSV table"}${why ? `; ncu says ${why}` : ""}`,
        HINT,
      );
    }
    const origin = { machine: null, date: null };
    return new Imported({
      format: importer.format,
      title: importer.title,
      tables: filled({
        launches: recordsTable([...reader.launches.values()], origin),
        metrics: importedTable(reader.metricColumns(), origin),
        rules: recordsTable(reader.rules, origin),
      }),
      notes: [
        ...odd,
        ...reader.notes(),
        "Nsight Compute runs kernels one after another and replays them: their durations say nothing of latency; copies are not in it.",
        "value and unit are as printed, base_value in µs, bytes or GB/s where the unit is one of these.",
        "The file names GPUs by number only, and says when it was recorded only where it holds Kernel Time.",
      ],
      source,
    });
  },
};

/** Summaries over launches have no ID. */
function isHeader(line: string): boolean {
  return /^\s*"?(?:ID|Process ID)"?[,;\t]/.test(line) && /"?Kernel Name"?[,;\t]/.test(line);
}

class Reader {
  readonly launches = new Map<string, Row>();
  readonly metrics = new RowColumns(METRIC_COLUMNS);
  readonly rules: Row[] = [];
  readonly said = new Set<string>();
  tables = 0;
  readonly #notes = new Set<string>();
  #short = 0;
  #ambiguous = 0;
  #decimalComma = false;
  readonly #quantities = new Map<string, Quantity | null>();
  /** The launch of the row before, and the cells that say so. */
  #last: { cells: readonly string[]; launch: { launch: Value; kernel: Value } } | null = null;

  /** @returns the line after the table. */
  table(lines: readonly string[], at: number): number {
    this.tables++;
    const first = lines[at] as string;
    const delimiter = [",", ";", "\t"].find((mark) => (splitLine(first, mark)?.length ?? 0) > 4) ?? ",";
    const header = (splitLine(first, delimiter) ?? []).map((cell) => cell.trim());
    let end = at + 1;
    const next = (i: number) => recordAt(lines, i, delimiter);
    while (end < lines.length) {
      const line = lines[end] as string;
      if (line.trim() === "" || /^==\w+==/.test(line) || isHeader(line) || !line.includes(delimiter)) break;
      end = next(end).next;
    }
    const rows = function* () {
      for (let i = at + 1; i < end; ) {
        const record = next(i);
        yield record.cells;
        i = record.next;
      }
    };
    if (header.includes("Metric Name")) this.#details(header, rows);
    else this.#raw(header, rows);
    return end;
  }

  /** A row a metric or rule. Metric rows end before the rule's columns. */
  #details(header: readonly string[], rows: Rows): void {
    const columns = {
      section: header.indexOf("Section Name"),
      metric: header.indexOf("Metric Name"),
      unit: header.indexOf("Metric Unit"),
      value: header.indexOf("Metric Value"),
      minimum: header.indexOf("Minimum"),
      maximum: header.indexOf("Maximum"),
      average: header.indexOf("Average"),
      rule: header.indexOf("Rule Name"),
      description: header.indexOf("Rule Description"),
    };
    const values = [columns.value, columns.minimum, columns.maximum, columns.average].filter(
      (index) => index >= 0,
    );
    const style = numberStyle(cellsAt(rows(), values));
    this.#decimalComma ||= style.decimal === ",";
    for (const row of rows()) {
      if (row.length <= columns.metric) {
        this.#short++;
        continue;
      }
      const launch = this.#launch(header, row);
      const section = at(row, columns.section);
      const metric = at(row, columns.metric);
      const rule = at(row, columns.rule);
      const description = at(row, columns.description);
      if (metric !== null) {
        this.#metric(launch, section, metric, at(row, columns.value), at(row, columns.unit), style, {
          minimum: numberOr(at(row, columns.minimum), style),
          maximum: numberOr(at(row, columns.maximum), style),
          average: numberOr(at(row, columns.average), style),
        });
      } else if (rule !== null || description !== null) {
        this.rules.push({
          ...launch,
          section,
          rule,
          type: at(row, header.indexOf("Rule Type")),
          description,
          speedup_type: at(row, header.indexOf("Estimated Speedup Type")),
          speedup_percent: numberOr(at(row, header.indexOf("Estimated Speedup")), style),
        });
      } else {
        this.#short++;
      }
    }
  }

  /** A row a launch, a column a metric; the units in a row of their own, whose ID is empty. */
  #raw(header: readonly string[], rows: Rows): void {
    const [first] = rows();
    const units = first && (first[0] ?? "").trim() === "" ? first : null;
    if (!units && first) this.#notes.add("The row of units is missing: units are null.");
    const metrics = header.flatMap((name, i) =>
      Object.hasOwn(LAUNCH, name) || isNvtx(name) ? [] : [{ name, i }],
    );
    const launches = function* () {
      let unitsPassed = units === null;
      for (const row of rows()) {
        if (unitsPassed) yield row;
        unitsPassed = true;
      }
    };
    const style = numberStyle(
      cellsAt(
        launches(),
        metrics.map(({ i }) => i),
      ),
    );
    this.#decimalComma ||= style.decimal === ",";
    for (const row of launches()) {
      if (row.length < header.length) this.#short++;
      const launch = this.#launch(header, row);
      for (const { name, i } of metrics) {
        const text = (row[i] ?? "").trim();
        if (text === "") continue;
        const unit = (units?.[i] ?? "").trim();
        this.#metric(launch, null, name, text, unit === "" ? null : unit, style);
      }
    }
  }

  #launch(header: readonly string[], row: readonly string[]): { launch: Value; kernel: Value } {
    // Rows of one launch follow one another.
    const end = header.indexOf("Section Name");
    const own = row.slice(0, end < 0 ? Math.max(0, header.indexOf("CC")) + 1 : end);
    if (
      this.#last &&
      own.length === this.#last.cells.length &&
      own.every((cell, i) => cell === this.#last?.cells[i])
    ) {
      return this.#last.launch;
    }
    const launch: Row = {};
    header.forEach((name, i) => {
      const column = entryOf(LAUNCH, name) ?? (isNvtx(name) ? snake(name) : undefined);
      if (column === undefined || DETAILS.includes(name)) return;
      const text = (row[i] ?? "").trim();
      const whole = /^\d{1,15}$/.test(text) && column !== "compute_capability";
      launch[column] = text === "" ? null : whole ? Number(text) : text.slice(0, 1000);
    });
    const key = header.includes("ID")
      ? `${this.tables} ${launch.launch} ${launch.process} ${launch.kernel}`
      : `${this.tables} ${own.join("\t")}`;
    const known = this.launches.get(key);
    if (!known) this.launches.set(key, launch);
    const { launch: number = null, kernel = null } = known ?? launch;
    this.#last = { cells: own, launch: { launch: number, kernel } };
    return this.#last.launch;
  }

  #metric(
    { launch, kernel }: { launch: Value; kernel: Value },
    section: string | null,
    metric: string,
    text: string | null,
    unit: string | null,
    style: ReturnType<typeof numberStyle>,
    spread: { minimum: Value; maximum: Value; average: Value } = NO_SPREAD,
  ): void {
    const value = numberOr(text, style);
    if (value === null && text !== null && style.mixed && isAmbiguous(text)) this.#ambiguous++;
    const quantity = unit === null ? null : this.#quantity(unit);
    this.metrics.add({
      launch,
      kernel,
      section,
      metric,
      unit,
      value,
      base_value: value === null || quantity === null ? null : scaled(value, quantity.factor),
      base_unit: quantity?.suffix ?? null,
      minimum: spread.minimum,
      maximum: spread.maximum,
      average: spread.average,
      // Lists, words and what else is no number.
      text: value === null && text !== null && !isMissing(text) ? text.slice(0, 1000) : null,
    });
  }

  #quantity(unit: string): Quantity | null {
    let quantity = this.#quantities.get(unit);
    if (quantity === undefined) {
      quantity = quantityOf(unit, 1000);
      this.#quantities.set(unit, quantity);
    }
    return quantity;
  }

  /** Without columns that nothing is in. */
  metricColumns(): Record<string, Value[]> {
    return Object.fromEntries(
      Object.entries(this.metrics.columns).filter(
        ([name, values]) =>
          !["minimum", "maximum", "average", "section"].includes(name) ||
          values.some((value) => value !== null),
      ),
    );
  }

  notes(): string[] {
    const notes = [...this.#notes];
    if (this.#short > 0)
      notes.push(
        `Rows shorter than their table: ${this.#short}. The file was cut off, or other output stands between.`,
      );
    if (this.#decimalComma)
      notes.push(
        "Numbers have decimal commas, by those that leave no doubt: 117.344 is read as 117344. Print under LC_ALL=C to be sure.",
      );
    if (this.#ambiguous > 0)
      notes.push(
        `Values that may be read two ways, since others have both kinds of decimal marks: ${this.#ambiguous}, null, with their text.`,
      );
    for (const text of [...this.said].slice(0, 10)) notes.push(`ncu says ${text}`);
    return notes;
  }
}

const NO_SPREAD = { minimum: null, maximum: null, average: null };

/** A cell's text; null where it is empty, or the table has no such column. */
function at(row: readonly string[], column: number): string | null {
  const text = column < 0 ? "" : (row[column] ?? "").trim();
  return text === "" ? null : text;
}

/** Rows of a table, made anew for each pass: all at once they take much memory. */
type Rows = () => Iterable<readonly string[]>;

function* cellsAt(rows: Iterable<readonly string[]>, columns: readonly number[]): Generator<string> {
  for (const row of rows) for (const i of columns) yield row[i] ?? "";
}

function isNvtx(name: string): boolean {
  return /NVTX|Push\/Pop|Start\/End|^Id:Domain|Range:/i.test(name) && !name.includes("__");
}

function numberOr(text: string | null, style: ReturnType<typeof numberStyle>): number | null {
  return text === null || isMissing(text) ? null : numberIn(text, style);
}
