import { P2pError } from "../errors.js";
import { columnOf, distinct, type Parsed, parseCells, snake, stacked } from "./columns.js";
import { recordAt, splitLine } from "./csv.js";
import { gpuTimeline } from "./gpu-trace.js";
import { Imported, type Importer, importedTable } from "./importer.js";
import { machineOf } from "./machine-name.js";
import { numberIn } from "./number.js";
import { quantityOf } from "./quantity.js";
import { RowColumns, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

/** The table below `Unified Memory profiling result:`; its last header is blank. */
const UNIFIED: Readonly<Record<string, string>> = {
  Device: "device",
  Count: "count",
  "Avg Size": "avg_bytes",
  "Min Size": "min_bytes",
  "Max Size": "max_bytes",
  "Total Size": "total_bytes",
  "Total Time": "total_us",
  "": "name",
};

const HINT =
  "Run it again with nvprof --csv --log-file FILE, perhaps with --print-gpu-trace, --print-api-trace or --metrics.";

/** CSV of nvprof: summaries, GPU and API traces, metrics and events; several runs may stand in one file. */
export const importer: Importer = {
  format: "nvprof-csv",
  title: "CSV of nvprof",
  detect(head) {
    const text = headText(head);
    const header = text.split("\n").some((line) => kindOf(splitLine(line) ?? []) !== null);
    if (header) return 0.95;
    return /^==\d{1,10}== (?:NVPROF|Profiling )|^={8} (?:NVPROF|Profiling )/m.test(text) ? 0.9 : 0;
  },
  async read(source) {
    const { lines, notes: odd } = await textOf(source);
    const blocks = blocksOf(lines);
    const said = saidOf(lines);
    if (blocks.every(({ first, last }) => last <= first)) {
      const table = lines.some((line) => /^\s*(?:Type|Time\(%\)|Start)\s{2,}\S/.test(line));
      const why = table
        ? "this is the table that nvprof prints for reading, no CSV"
        : (said.find((line) => /^(?:No |Error|Warning)/.test(line)) ??
          (blocks.length > 0 ? "no row below the header" : "no table"));
      throw new P2pError("import", why, HINT);
    }
    const notes = new Set(odd);
    const parts = new Map<Kind, Parsed["columns"][]>();
    for (const block of blocks) {
      if (block.last <= block.first) continue;
      const parsed = READERS[block.kind](block, lines);
      for (const note of parsed.notes) notes.add(note);
      const rows = Object.values(parsed.columns)[0]?.length ?? 0;
      const columns = {
        run: new Array<number>(rows).fill(block.run),
        process: new Array<number | null>(rows).fill(block.process),
        ...parsed.columns,
      };
      parts.set(block.kind, [...(parts.get(block.kind) ?? []), columns]);
    }
    for (const line of said.filter((text) => /^(?:Warning|Error|Unable|Total CPU)/.test(text)).slice(0, 10))
      notes.add(`nvprof says: ${line}`);
    const columns = new Map([...parts].map(([kind, several]) => [kind, stacked(several)]));
    const trace = columns.get("gpu_trace");
    const devices = new Set(
      [...columns.values()].flatMap(({ device }) => [...new Set((device ?? []).map(String))]),
    );
    const origin = {
      machine: machineOf([...devices].map((device) => /^(.{1,200}) \(\d+\)$/.exec(device)?.[1] ?? null)),
      date: null,
    };
    notes.add(
      "nvprof's KB, MB and GB are of 1024 and printed with six decimals: bytes are rounded to whole ones; gbps are of 1e9 bytes/s.",
    );
    notes.add("The file does not say when it was recorded.");
    if (blocks.some(({ unitless }) => unitless))
      notes.add("A table lacks its row of units: its numbers are as printed, of unknown unit.");
    if (trace && columns.size > 0)
      notes.add("Times are printed with six decimals of their unit: a Start in s is exact to 1 µs.");
    return new Imported({
      format: importer.format,
      title: importer.title,
      tables: Object.fromEntries([...columns].map(([kind, own]) => [kind, importedTable(own, origin)])),
      timeline: trace ? gpuTimeline("nvprof", TRACE, trace, origin) : null,
      notes: [...notes],
      source,
    });
  },
};

const TRACE = {
  start: "start_us",
  duration: "duration_us",
  bytes: "size_bytes",
  device: "device",
  stream: "stream",
  name: "name",
  correlation: "correlation_id",
  from: "src_dev",
  to: "dst_dev",
  process: "process",
} as const;

type Kind = "summary" | "gpu_trace" | "api_trace" | "metrics" | "events" | "unified_memory";

const READERS: Readonly<Record<Kind, (block: Block, lines: readonly string[]) => Parsed>> = {
  summary: tableOf,
  gpu_trace: tableOf,
  api_trace: tableOf,
  metrics: metricsOf,
  events: metricsOf,
  unified_memory: unifiedOf,
};

interface Block {
  readonly kind: Kind;
  readonly run: number;
  readonly process: number | null;
  readonly header: readonly string[];
  readonly units: readonly string[];
  readonly unitless: boolean;
  /** Lines of the rows, from and up to. */
  readonly first: number;
  last: number;
}

/** What a header belongs to; null for a line that is none. */
function kindOf(cells: readonly string[]): Kind | null {
  const names = cells.map((cell) => cell.trim());
  // Summaries of Nsight Compute have both names too, and units in a column of their own.
  if (names.includes("Metric Name") && names.includes("Invocations"))
    return names.includes("Metric Unit") ? null : "metrics";
  if (names.includes("Event Name") && names.includes("Invocations")) return "events";
  if (names.includes("Start") && names.includes("Duration"))
    return names.includes("Grid X") ? "gpu_trace" : names.includes("Name") ? "api_trace" : null;
  if (names.includes("Total Size") && names.includes("Total Time") && names.includes("Count"))
    return "unified_memory";
  return names.includes("Time(%)") && names.includes("Time") && names.includes("Calls") ? "summary" : null;
}

function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let run = -1;
  let process: number | null = null;
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    const banner = /^(?:==(\d{1,10})==|={8}) (.*)$/.exec(line);
    if (banner) {
      if (/^NVPROF is profiling/.test(banner[2] as string)) run++;
      process = banner[1] === undefined ? process : Number(banner[1]);
      continue;
    }
    if (!/Duration|Invocations|Time\(%\)|Total Size/.test(line)) {
      const open = blocks.at(-1);
      // A block ends where a line has no delimiter: what the program printed.
      if (open && open.last === i && line.includes(",")) open.last = i + 1;
      continue;
    }
    const header = splitLine(line) ?? [];
    const kind = kindOf(header);
    if (kind === null) {
      const open = blocks.at(-1);
      if (open && open.last === i && line.includes(",")) open.last = i + 1;
      continue;
    }
    const next = splitLine(lines[i + 1] ?? "") ?? [];
    const hasUnits =
      next.length > 1 && next.every((cell) => cell.trim() === "" || quantityOf(cell, 1024) !== null);
    const first = hasUnits ? i + 2 : i + 1;
    if (hasUnits) i++;
    const unitless = !hasUnits && READERS[kind] === tableOf;
    blocks.push({
      kind,
      run: Math.max(0, run),
      process,
      header,
      units: hasUnits ? next : [],
      unitless,
      first,
      last: first,
    });
  }
  return blocks;
}

function* rowsOf(block: Block, lines: readonly string[]): Generator<readonly string[]> {
  for (let i = block.first; i < block.last; ) {
    const { cells, next } = recordAt(lines, i);
    yield cells;
    i = next;
  }
}

function tableOf(block: Block, lines: readonly string[]): Parsed {
  const columns = block.header.map((header, i) =>
    columnOf(header, 1024, block.units[i]?.trim() || undefined),
  );
  let short = 0;
  for (const row of rowsOf(block, lines)) if (row.length < columns.length) short++;
  const parsed = parseCells(columns, () => rowsOf(block, lines));
  if (short > 0)
    parsed.notes.push(
      `Rows shorter than their header: ${short}. The file was cut off, or they are no rows of nvprof.`,
    );
  return parsed;
}

const NUMBERS = ["min", "max", "avg", "total", "invocations"];

/** Metrics and events: each value with a unit of its own, and those of several instances behind the header's last column. */
function metricsOf(block: Block, lines: readonly string[]): Parsed {
  const names = distinct([...block.header.map(snake), "unit", "instances"]);
  const own = names.slice(0, block.header.length);
  const [unitName, instancesName] = names.slice(-2) as [string, string];
  const rows = new RowColumns(names);
  for (const printed of rowsOf(block, lines)) {
    // "(4 instances)" are the last four cells of a row that is longer than the header.
    const told =
      printed.length > own.length ? Number(/\((\d{1,4}) instances?\)/.exec(printed.join(" "))?.[1] ?? 0) : 0;
    const cells = told > 0 ? printed.slice(0, Math.max(0, printed.length - told)) : printed;
    const row: Record<string, Value> = {};
    own.forEach((name, i) => {
      const cell = (cells[i] ?? "").trim();
      if (!NUMBERS.includes(name)) {
        row[name] = cell === "" ? null : cell.slice(0, 500);
        return;
      }
      const value = quantityIn(cell);
      if (value?.unit) row[unitName] = value.unit;
      row[name] = value?.number ?? null;
    });
    const instances = printed.slice(Math.min(cells.length, own.length)).filter((cell) => cell.trim() !== "");
    row[instancesName] = instances.length > 0 ? instances.join(" ") : null;
    rows.add(row);
  }
  return { columns: rows.columns as Parsed["columns"], notes: [] };
}

/** Migrations and page faults of unified memory: sizes with a unit of their own, counts of faults printed as if they were bytes. */
function unifiedOf(block: Block, lines: readonly string[]): Parsed {
  const names = block.header.map((header) => UNIFIED[header.trim()] ?? snake(header));
  const rows = new RowColumns([...new Set([...Object.values(UNIFIED), ...names])]);
  const notes = new Set<string>();
  for (const printed of rowsOf(block, lines)) {
    const row: Record<string, Value> = {};
    names.forEach((name, i) => {
      const cell = (printed[i] ?? "").trim();
      const value = quantityIn(cell);
      if (name === "device" || name === "name") row[name] = cell === "" ? null : cell.slice(0, 500);
      else if (value === null) row[name] = null;
      else if (name === "count") row[name] = value.number;
      else if (value.unit === null) {
        row[name] = null;
        notes.add(`nvprof prints ${block.header[i]?.trim()} of unified memory without its unit: null.`);
      } else row[name] = value.unit === "bytes" ? Math.round(value.number) : value.number;
    });
    const { count = null, avg_bytes: average = null, total_bytes: total = null } = row;
    if (count === null && average === null && total !== null) {
      row.count = total;
      row.total_bytes = null;
      notes.add("nvprof prints how often pages faulted as bytes: the number stands in count.");
    }
    rows.add(row);
  }
  return { columns: rows.columns as Parsed["columns"], notes: [...notes] };
}

/** `26.224721MB/s`, `99.7%`, `Low (1)`, `42`; times in µs, bytes in bytes, rates in GB/s. */
function quantityIn(text: string): { number: number; unit: string | null } | null {
  const level = /^[A-Za-z]{1,20} \((\d{1,3})\)$/.exec(text);
  if (level) return { number: Number(level[1]), unit: "level" };
  const [, digits, unit = ""] = /^([-+\d.,]{1,40}(?:[eE][-+]?\d{1,4})?)([A-Za-z%/]{0,12})$/.exec(text) ?? [];
  const number = digits === undefined ? null : numberIn(digits);
  if (number === null) return null;
  const quantity = unit === "" ? null : quantityOf(unit, 1024);
  return { number: number * (quantity?.factor ?? 1), unit: quantity?.suffix ?? (unit === "" ? null : unit) };
}

/** What nvprof itself said. */
function saidOf(lines: readonly string[]): string[] {
  return lines.flatMap(
    (line) => /^(?:==\d{1,10}==|={8}) (.{1,300})/.exec(line)?.[1] ?? FAULTS.exec(line)?.[0] ?? [],
  );
}

/** Below the table of unified memory. */
const FAULTS = /^Total CPU (?:Page faults|thrashes|throttles): \d{1,15}$/;
