import { P2pError } from "../errors.js";
import { columnOf, type Parsed, type PrintedColumn, parseCells, stacked } from "./columns.js";
import { recordAt, splitLine } from "./csv.js";
import { gpuTimeline } from "./gpu-trace.js";
import { Imported, type Importer, importedTable } from "./importer.js";
import { jsonLists } from "./json.js";
import { machineOf } from "./machine-name.js";
import { entryOf } from "./records.js";
import { headText, type PlainText, textOf } from "./text.js";

const HINT = "Print it anew: nsys stats --report cuda_gpu_trace,cuda_api_sum --format csv REPORT.nsys-rep";

/** Words of headers, without their unit. */
const WORDS = new Set(
  (
    "time,total time,total,count,num calls,calls,instances,operations,avg,average,med,median,min,minimum,max,maximum,stddev,name," +
    "operation,start,end,duration,corrid,grdx,grdy,grdz,blkx,blky,blkz,reg/trd,stcsmem,dymsmem,bytes,throughput,srcmemkd,dstmemkd," +
    "device,ctx,greenctx,strm,result,pid,tid,t-pri,thread name,api start,api dur,queue start,queue dur,kernel start,kernel dur," +
    "total dur,devid,api function,gridxyz,blockxyz,kernel name,api name,qcount,category,range,style,domain,event type,value"
  ).split(","),
);

/** Old names of reports, and theirs since 2022. */
const RENAMED: Readonly<Record<string, string>> = {
  gputrace: "cuda_gpu_trace",
  gpumemtimesum: "cuda_gpu_mem_time_sum",
  gpumemsizesum: "cuda_gpu_mem_size_sum",
  cudaapisum: "cuda_api_sum",
  gpukernsum: "cuda_gpu_kern_sum",
  cudaapitrace: "cuda_api_trace",
  kernexectrace: "cuda_kern_exec_trace",
  kernexecsum: "cuda_kern_exec_sum",
  apigpusum: "cuda_api_gpu_sum",
  osrtsum: "osrt_sum",
  nvtxsum: "nvtx_sum",
};

/** Headings of 2019 to 2021, and the reports that they became. */
const HEADINGS: Readonly<Record<string, string>> = {
  "CUDA API": "cuda_api_sum",
  "CUDA Kernel": "cuda_gpu_kern_sum",
  "CUDA Memory Operation": "cuda_gpu_mem_time_sum",
  "Operating System Runtime API": "osrt_sum",
  "NVTX Push-Pop Range": "nvtx_sum",
  "NVTX Range": "nvtx_sum",
};

/** What `nsys stats` prints as CSV, TSV, JSON or a table: any of its reports, several in one file. */
export const importer: Importer = {
  format: "nsys-stats",
  title: "output of nsys stats",
  detect(head) {
    const text = headText(head);
    if (/^ *\*\* .{1,100} \(\w{1,60}\):/m.test(text)) return 0.95;
    if (text.split("\n", 5000).some((line) => headingOf(line) !== null || headerOf(line, false) !== null))
      return 0.9;
    if (/^\s*\[/m.test(text) && /"(?:Total Time|Start|Duration|Time) \((?:n|u|m)?s(?:ec)?\)"\s*:/.test(text))
      return 0.9;
    return /^(?:NOTICE: Existing SQLite export found|Processing \[.{1,300}\] with \[.{1,300}\]|SKIPPED: .{1,300} does not contain )/m.test(
      text,
    )
      ? 0.8
      : 0;
  },
  async read(source) {
    const plain = await textOf(source);
    const reports =
      /^\s*[[{]/.test(plain.lines.find((line) => /^\s*[[{]/.test(line)) ?? "") &&
      /"[^"]{1,60}"\s*:/.test(plain.text.slice(0, 1_000_000))
        ? jsonReports(plain)
        : textReports(plain);
    const skipped = plain.lines.flatMap(
      (line) => /^(?:SKIPPED: .{1,300}|ERROR: .{1,300})/.exec(line.trim())?.[0] ?? [],
    );
    const used = reports.filter(({ rows }) => rows > 0);
    if (used.length === 0) {
      const why =
        skipped[0] ??
        (reports.length > 0 ? `report ${reports[0]?.name} has a header and no row` : "no report");
      throw new P2pError("import", why, HINT);
    }
    const notes = new Set<string>(plain.notes);
    const names = [...new Set(used.map(({ name }) => name))];
    const tables = Object.fromEntries(
      names.map((name) => {
        const own = used.filter((report) => report.name === name);
        for (const report of own) for (const note of report.parsed.notes) notes.add(note);
        const several = own.length > 1;
        const parts = own.map(({ parsed, rows }, part) => ({
          ...(several && { part: new Array<number>(rows).fill(part) }),
          ...parsed.columns,
        }));
        return [name, stacked(parts)];
      }),
    );
    for (const { name, rows } of reports) if (rows === 0) notes.add(`Report ${name} has no row.`);
    for (const line of skipped.slice(0, 10)) notes.add(`nsys says: ${line}`);
    const trace = tables.cuda_gpu_trace;
    if (trace) {
      notes.add(
        "Bytes were printed in MB with three decimals, to 500 B: small copies show as 0. The SQLite export has them whole.",
      );
    }
    if (tables.cuda_kern_exec_trace || tables.cuda_kern_exec_sum)
      notes.add("Reports of kernel execution do not hold copies.");
    notes.add("nsys counts MB as 1e6 bytes. The output does not say when it was recorded.");
    const origin = {
      machine: machineOf(
        [...new Set((trace?.device ?? []).map(String))].map(
          (device) => /^(.{1,200}) \(\d+\)$/.exec(device)?.[1] ?? null,
        ),
      ),
      date: null,
    };
    return new Imported({
      format: importer.format,
      title: importer.title,
      tables: Object.fromEntries(
        Object.entries(tables).map(([name, columns]) => [name, importedTable(columns, origin)]),
      ),
      timeline: trace ? gpuTimeline("nsys stats", TRACE, trace, origin) : null,
      notes: [...notes],
      source,
    });
  },
};

const TRACE = {
  start: "start_us",
  duration: "duration_us",
  bytes: "bytes",
  device: "device",
  stream: "strm",
  name: "name",
  correlation: "corr_id",
} as const;

interface Report {
  readonly name: string;
  readonly parsed: Parsed;
  readonly rows: number;
}

interface Header {
  readonly cells: readonly string[];
  /** How rows are taken apart: by a delimiter, by the bars of a box, or by the places of the line of dashes below. */
  readonly by: "," | ";" | "\t" | "|" | "columns";
}

/**
 * A line as the header of a report; null for any other.
 * @param unitless whether a heading above says the unit, so that the header need not.
 */
function headerOf(line: string, unitless: boolean): Header | null {
  if (
    line.length > 2000 ||
    !/[A-Z]/.test(line) ||
    !/(?:Name|Operation|Strm|Range|Style|Avg|Average|StdDev|Dur)/.test(line)
  )
    return null;
  for (const by of [",", ";", "\t", "|"] as const) {
    if (!line.includes(by)) continue;
    const text = by === "|" ? line.trim().replace(/^\||\|$/g, "") : line;
    const cells = (splitLine(text, by) ?? []).map((cell) => cell.trim());
    if (isHeader(cells, unitless)) return { cells, by };
  }
  const cells = line.trim().split(/\s{2,}/);
  return isHeader(cells, unitless) ? { cells, by: "columns" } : null;
}

function isHeader(cells: readonly string[], unitless: boolean): boolean {
  if (cells.length < 4) return false;
  const known = cells.filter((cell) => WORDS.has(wordOf(cell))).length;
  // nvprof's summary has the same words and no unit; its units stand in a row of their own.
  const units = cells.filter((cell) => /\((?:%|[num]?s(?:ec)?|[KMG]?i?B(?:\/s|ps)?)\)/.test(cell)).length;
  return (
    known >= 4 &&
    known >= 0.7 * cells.length &&
    (unitless ||
      units >
        (cells.some((cell) => cell === "Time(%)") && !cells.some((cell) => /^Total Time/.test(cell)) ? 1 : 0))
  );
}

function wordOf(cell: string): string {
  return cell
    .replace(/\s*\([^)]{0,12}\)/, "")
    .replace(/:.*$/, "")
    .trim()
    .toLowerCase();
}

function textReports({ lines }: PlainText): Report[] {
  const reports: Report[] = [];
  let title: string | null = null;
  let unit: string | null = null;
  for (let i = 0; i < lines.length; ) {
    const line = lines[i] as string;
    const heading = headingOf(line);
    unit = heading ? heading.unit : unit;
    title = heading?.name ?? titleOf(line) ?? title;
    const header = headerOf(line, unit !== null);
    if (!header) {
      i++;
      continue;
    }
    const { first, next, rows } = extentOf(lines, i, header);
    const columns = columnsOf(header.cells, unit);
    const name = title ?? nameOf(header.cells);
    const parsed = parseCells(columns, rows);
    if (unit === null && columns.every(({ quantity }) => quantity === null || quantity.suffix === "percent"))
      parsed.notes.push(`Report ${name} names no unit: its numbers are as printed.`);
    reports.push({ name, parsed, rows: next > first ? (Object.values(parsed.columns)[0]?.length ?? 0) : 0 });
    title = null;
    unit = null;
    i = Math.max(next, i + 1);
  }
  return reports;
}

/** ` ** CUDA GPU Trace (cuda_gpu_trace):`, or the script that `Processing […] with […/cuda_gpu_trace.py]` names. */
function titleOf(line: string): string | null {
  const found =
    /^ *\*\* .{1,100} \((\w{1,60})\):/.exec(line)?.[1] ??
    /^(?:\[\d{1,3}\/\d{1,3}\] )?Executing '(\w{1,60})' stats report/.exec(line)?.[1] ??
    /^Processing \[.{1,300}\] with \[.{0,300}?(\w{1,60})(?:\.py)?(?::\S{1,100})?\]/.exec(line)?.[1];
  return found === undefined ? null : (entryOf(RENAMED, found) ?? found);
}

/** `CUDA API Statistics (nanoseconds)`, `CUDA Memory Operation Statistics (by size in KiB):`: the report, and its unit where it is said. */
function headingOf(line: string): { name: string; unit: string | null } | null {
  const [, what, by, words] =
    /^\s*([A-Z][\w -]{2,40}) Statistics(?: \((by (?:time|size in )|)(nanoseconds|bytes|KiB|MiB|)\))?:?\s*$/.exec(
      line,
    ) ?? [];
  const name = what === undefined ? undefined : entryOf(HEADINGS, what);
  if (name === undefined) return null;
  const unit = words === "nanoseconds" ? "ns" : words === "bytes" ? "B" : words || null;
  const sizes = by === "by size in " || /B$/.test(unit ?? "");
  return { name: sizes ? name.replace("_time_", "_size_") : name, unit };
}

/** Rows below a header, up to a line that is none. */
function extentOf(
  lines: readonly string[],
  at: number,
  header: Header,
): { first: number; next: number; rows: () => Iterable<readonly string[]> } {
  const { by } = header;
  let first = at + 1;
  if (by === "columns" || by === "|") while (isRule(lines[first] ?? "")) first++;
  const dashes = lines[first - 1] ?? "";
  const spans =
    by === "columns" && isRule(dashes) ? [...dashes.matchAll(/[-=]+/g)].map((match) => match.index) : [];
  const columns = header.cells.length;
  const rowAt = (line: number): { cells: readonly string[]; next: number } => {
    const text = lines[line] as string;
    if (by === "|")
      return {
        cells: text
          .trim()
          .replace(/^\||\|$/g, "")
          .split("|")
          .map((cell) => cell.trim()),
        next: line + 1,
      };
    if (by === "columns")
      return {
        cells: spans.length === columns ? sliced(text, spans) : text.trim().split(/\s{2,}/),
        next: line + 1,
      };
    return recordAt(lines, line, by);
  };
  const isRow = (line: number) => {
    const text = lines[line];
    if (text === undefined || text.trim() === "" || titleOf(text) !== null || headingOf(text) !== null)
      return false;
    if (/^(?:Processing \[|SKIPPED:|NOTICE:|Generating |Exporting )/.test(text)) return false;
    return by === "columns" ? /\s{2,}|^\s/.test(text) : text.includes(by);
  };
  let next = first;
  while (isRow(next)) next = isRule(lines[next] as string) ? next + 1 : rowAt(next).next;
  return {
    first,
    next,
    *rows() {
      for (let line = first; line < next; ) {
        const row = rowAt(line);
        if (!isRule(lines[line] as string)) yield row.cells;
        line = row.next;
      }
    },
  };
}

/** A line of dashes below a header, or the edge of a box. */
function isRule(line: string): boolean {
  return /^\s*[-=+][-=+\s]*$/.test(line.slice(0, 2000)) && /[-=]{2}/.test(line);
}

/** Cells between the places where the dashes of each column begin; the last goes on to the end of the line. */
function sliced(line: string, spans: readonly number[]): string[] {
  return spans.map((start, i) => line.slice(start, spans[i + 1]).trim());
}

/** @param heading unit that stands above the table. */
function columnsOf(cells: readonly string[], heading: string | null): PrintedColumn[] {
  // Old versions print the unit with the total only, or above the table.
  const unit =
    cells.flatMap((cell) => /^Total(?: Time)? ?\(([^)%]{1,8})\)$/.exec(cell)?.[1] ?? [])[0] ?? heading;
  return cells.map((cell) => {
    const bare = /^(?:Total|Total Time|Avg|Average|Med|Median|Min|Minimum|Max|Maximum|StdDev)$/.test(cell);
    return columnOf(bare && unit ? `${cell} (${unit})` : cell, 1000);
  });
}

/** A report by its columns. */
function nameOf(cells: readonly string[]): string {
  const words = new Set(cells.map(wordOf));
  const has = (...names: string[]) => names.every((name) => words.has(name));
  if (has("api start")) return "cuda_kern_exec_trace";
  if (has("qcount")) return "cuda_kern_exec_sum";
  if (has("start", "duration", "corrid") && (words.has("strm") || words.has("device")))
    return "cuda_gpu_trace";
  if (has("start", "duration", "name") && words.has("result")) return "cuda_api_trace";
  if (has("category", "operation")) return "cuda_api_gpu_sum";
  if (has("total time", "operation")) return "cuda_gpu_mem_time_sum";
  if (has("total", "operation")) return "cuda_gpu_mem_size_sum";
  if (has("range")) return "nvtx_sum";
  if (has("total time", "instances")) return "cuda_gpu_kern_sum";
  return has("total time", "name") ? "cuda_api_sum" : "report";
}

function jsonReports({ lines, text }: PlainText): Report[] {
  const titles = lines.flatMap((line) => titleOf(line) ?? []);
  const lists = jsonLists(text, HINT);
  return lists.map((list, i) => {
    const rows = list.filter(
      (row): row is Record<string, unknown> => typeof row === "object" && row !== null && !Array.isArray(row),
    );
    const cells = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const name = titles.length === lists.length ? (titles[i] as string) : nameOf(cells);
    const parsed = parseCells(columnsOf(cells, null), function* () {
      for (const row of rows) yield cells.map((cell) => (row[cell] == null ? "" : String(row[cell])));
    });
    return { name, parsed, rows: rows.length };
  });
}
