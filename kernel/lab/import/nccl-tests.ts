import { P2pError } from "../errors.js";
import { isMissing } from "./columns.js";
import { Imported, type Importer, type ImportSource } from "./importer.js";
import { machineOf } from "./machine-name.js";
import { MEANING, NCCL_TESTS_HINT, RESULT_COLUMNS, readNcclTestsJson } from "./nccl-tests-json.js";
import { numberIn } from "./number.js";
import { entryOf, filled, recordsTable, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

/** What a column of a half is called in ours. */
const HALF_COLUMNS: Readonly<Record<string, string>> = {
  time: "time_us",
  cputime: "cpu_time_us",
  algbw: "algbw_gbps",
  busbw: "busbw_gbps",
  error: "wrong",
  wrong: "wrong",
  i_min: "iteration_min_us",
  i_max: "iteration_max_us",
  i_p99: "iteration_p99_us",
  "i_cv%": "iteration_cv_percent",
};

/** Of a table whose header was cut off. */
const USUAL_HEADER = [
  "size",
  "count",
  "type",
  "redop",
  "root",
  ..."time algbw busbw wrong time algbw busbw wrong".split(" "),
];

/** The program's name where somebody kept the command line, or put it above its output. */
const COMMAND =
  /^(?:[$>=].{0,300}?|[\w.~-]{0,60}\/.{0,300}?)\b((?:all_reduce|all_gather|alltoall|alltoallv|broadcast|reduce|reduce_scatter|sendrecv|scatter|gather|hypercube)_perf)\b/;

/** Output of NVIDIA/nccl-tests: text of all generations, with log lines between and inside the rows, and JSON. */
export const importer: Importer = {
  format: "nccl-tests",
  title: "output of nccl-tests",
  detect(head) {
    const text = headText(head);
    if (/^#?[ \t]+size[ \t].{0,200}\balgbw[ \t]+busbw\b/m.test(text)) return 0.95;
    if (/^# nThread +\d+ nGpus +\d+ minBytes /m.test(text)) return 0.9;
    if (
      /^\s*\{/.test(text) &&
      /"nccl_version"/.test(text) &&
      /"(?:average_bus_bandwidth|out_of_place)"/.test(text)
    )
      return 0.95;
    return 0;
  },
  async read(source) {
    const { text, lines, notes } = await textOf(source);
    return text.trimStart().startsWith("{")
      ? readNcclTestsJson(text, source, importer)
      : new Reader(notes).read(lines, source);
  },
};

interface Run {
  test: string | null;
  parameters: Record<string, Value>;
  average: number | null;
  averageText: string | null;
  outOfBounds: number | null;
  outOfBoundsText: string | null;
}

class Reader {
  readonly #notes: string[];
  readonly #rows: Record<string, Value>[] = [];
  readonly #devices: Record<string, Value>[] = [];
  readonly #runs: Run[] = [];
  #header: readonly string[] | null = null;
  /** Whether a run has got rows already: the next heading then begins another. */
  #begun = false;
  #version: string | null = null;
  #nccl: string | null = null;
  #cut = 0;
  /** Words of a row that a log line broke. */
  #open: string[] = [];
  #complaints = new Set<string>();

  constructor(notes: readonly string[]) {
    this.#notes = [...notes];
  }

  read(lines: readonly string[], source: ImportSource): Imported {
    const hosts = hostsOf(lines);
    for (const line of lines) this.#line(line, hosts);
    this.#flush();
    const machine = machineOf(
      this.#devices.filter(({ run }) => run === 0).map(({ name }) => name as string),
      this.#devices.map(({ host }) => host as string),
    );
    if (this.#rows.length === 0) {
      const why = [...this.#complaints][0];
      throw new P2pError(
        "import",
        `no row of results${why ? `: ${why}` : this.#header ? " below the header" : ""}`,
        why ? "Run the test again where it works." : NCCL_TESTS_HINT,
      );
    }
    const origin = { machine, date: null };
    const notes = [...this.#notes, ...MEANING, "The text does not say when it was run."];
    if (machine === null) notes.push("The text names no devices.");
    if (this.#runs.some(({ test }) => test === null))
      notes.push("The text does not say which collective was run: test is null.");
    if (this.#cut > 0) notes.push(`Rows that are cut off or broken by other output, left out: ${this.#cut}.`);
    for (const complaint of this.#complaints) notes.push(`The program complained: ${complaint}`);
    return new Imported({
      format: importer.format,
      title: importer.title,
      version: this.#version,
      tables: filled({
        results: recordsTable(this.#rows, origin, [
          ...new Set([...RESULT_COLUMNS, ...this.#rows.flatMap((row) => Object.keys(row))]),
        ]),
        runs: recordsTable(
          this.#runs.map((run, i) => ({
            run: i,
            test: run.test,
            average_busbw_gbps: run.average,
            average_verdict: run.averageText,
            out_of_bounds: run.outOfBounds,
            out_of_bounds_verdict: run.outOfBoundsText,
            nccl_version: this.#nccl,
            ...run.parameters,
          })),
          origin,
        ),
        devices: recordsTable(this.#devices, origin),
      }),
      notes,
      source,
    });
  }

  #line(raw: string, hosts: readonly string[]): void {
    const { text, cut } = withoutLog(raw, hosts);
    this.#nccl ??= /NCCL version (\d[\w.+-]{0,40})/.exec(raw)?.[1] ?? null;
    if (/^#/.test(text)) {
      this.#flush();
      this.#comment(text);
      return;
    }
    const complaint = /(?:Test (?:NCCL |CUDA )?failure|NCCL failure|Cuda failure)\b.{0,200}/.exec(text)?.[0];
    if (complaint) {
      this.#complaints.add(complaint.trim());
      return;
    }
    const command = COMMAND.exec(text)?.[1];
    if (command) {
      this.#flush();
      this.#begin().test = command;
      return;
    }
    if (this.#isHeader(text)) return;
    const words = text.trim() === "" ? [] : text.trim().split(/\s+/);
    if (words.length === 0) return;
    const begins = isRowStart(words, this.#header ?? USUAL_HEADER);
    if (begins) this.#flush();
    if (
      !begins &&
      !(this.#open.length > 0 && words.every((word) => isMissing(word) || numberIn(word) !== null))
    ) {
      // What other output stands between belongs to nobody.
      return;
    }
    this.#open.push(...words);
    if (!cut) this.#flush();
  }

  #comment(text: string): void {
    const version = /nccl-tests version (\S{1,40})/.exec(text)?.[1];
    if (version) {
      this.#version = version;
      this.#begin();
    }
    const test = /Collective test starting: (\S{1,80})/.exec(text)?.[1];
    if (test) this.#begin().test = test;
    if (/nThread +\d+ nGpus/.test(text)) {
      const run = this.#begin();
      for (const [, name, value] of text.matchAll(/\b([A-Za-z]+(?: iters)?):? +(\d{1,15})\b/g)) {
        run.parameters[entryOf(PARAMETERS, name as string) ?? ""] = Number(value);
      }
      delete run.parameters[""];
    }
    const device =
      /Rank +(\d{1,7}) +(?:Group +(\d{1,7}) +)?Pid +(\d{1,12}) on +(\S{1,256}) +device +(\d{1,5}) +\[([^\]]{0,40})\] *(.{0,200})/.exec(
        text,
      );
    if (device) {
      const [, rank, group, , host, number, pci, name] = device as unknown as string[];
      this.#begin();
      this.#devices.push({
        run: this.#runs.length - 1,
        rank: Number(rank),
        group: group === undefined ? null : Number(group),
        host: host as string,
        device: Number(number),
        pci: pci as string,
        name: (name as string).trim(),
      });
    }
    const last = this.#runs.at(-1);
    const bounds = /Out of bounds values *: *(\S{1,20}) *(\S{0,20})/.exec(text);
    if (bounds && last) {
      last.outOfBounds = numberIn(bounds[1] as string);
      last.outOfBoundsText = bounds[2] || null;
    }
    const average = /Avg bus bandwidth *: *(\S{1,20}) *(\S{0,20})/.exec(text);
    if (average && last) {
      last.average = numberIn(average[1] as string);
      last.averageText = average[2] || null;
    }
    this.#isHeader(text);
  }

  #isHeader(text: string): boolean {
    if (!/^#?[ \t]+size[ \t]/.test(text) || !/\bbusbw\b/.test(text)) return false;
    this.#begin();
    this.#header = text
      .replace(/^#/, "")
      .trim()
      .split(/\s+/)
      .map((word) => word.replace(/^#/, ""));
    return true;
  }

  /** The run that lines before its rows belong to. */
  #begin(): Run {
    if (this.#runs.length === 0 || this.#begun) {
      this.#runs.push({
        test: null,
        parameters: {},
        average: null,
        averageText: null,
        outOfBounds: null,
        outOfBoundsText: null,
      });
      this.#begun = false;
    }
    return this.#runs.at(-1) as Run;
  }

  /** Ends the row that is open. */
  #flush(): void {
    const words = this.#open;
    this.#open = [];
    if (words.length === 0) return;
    if (this.#header === null) {
      this.#header = USUAL_HEADER;
      this.#notes.push("The table's header is missing: the columns of the usual one are taken.");
    }
    if (this.#runs.length === 0) this.#begin();
    const rows = rowsOf(this.#header, words);
    if (!rows) {
      this.#cut++;
      return;
    }
    this.#begun = true;
    const run = this.#runs.length - 1;
    for (const row of rows) this.#rows.push({ run, test: this.#runs[run]?.test ?? null, ...row });
  }
}

const PARAMETERS: Readonly<Record<string, string>> = {
  nThread: "threads",
  nGpus: "gpus_per_thread",
  minBytes: "min_bytes",
  maxBytes: "max_bytes",
  "warmup iters": "warmup_iterations",
  iters: "iterations",
  "agg iters": "aggregated_iterations",
};

/** Sizes and counts; some who paste a table part their digits. */
function wholeIn(word: string | undefined): number | null {
  return word !== undefined && /^\d[\d_]{0,20}$/.test(word) ? Number(word.replaceAll("_", "")) : null;
}

function isRowStart(words: readonly string[], header: readonly string[]): boolean {
  if (wholeIn(words[0]) === null) return false;
  if (!header.includes("count")) return words.length >= header.length;
  return wholeIn(words[1]) !== null && /^[a-z]\w{1,12}$/.test(words[2] ?? "");
}

/** Out-of-place and, where it was run, in-place; null for a row that is cut off. */
function rowsOf(header: readonly string[], words: readonly string[]): Record<string, Value>[] | null {
  const first = header.findIndex((word) => word === "time" || word === "cputime");
  const second = header.findIndex((word, i) => i > first && word === header[first]);
  if (first < 0) return null;
  const half = second < 0 ? header.length - first : second - first;
  const shared: Record<string, Value> = { bytes: null, count: null, type: null, redop: null, root: null };
  let at = 0;
  for (const name of header.slice(0, first)) {
    const word = words[at];
    // Some tests have redop and root in the header and leave them blank.
    if (name === "root") {
      const rest = words.length - at;
      if (/^-?\d{1,9}$/.test(word ?? "") && ((rest - 1) % half === 0 || rest > 2 * half))
        shared.root = Number(words[at++]);
    } else if (name === "type" || name === "redop") {
      if (/^[a-z]/i.test(word ?? "")) shared[name] = words[at++] as string;
    } else {
      shared[name === "size" ? "bytes" : name === "count" ? "count" : "other"] = wholeIn(words[at++]);
    }
  }
  delete shared.other;
  if (shared.bytes === null) return null;
  const rows: Record<string, Value>[] = [];
  for (const place of second < 0 ? ["out-of-place"] : ["out-of-place", "in-place"]) {
    const cells = words.slice(at, at + half);
    if (cells.length === 0 && rows.length > 0) break;
    if (cells.length < half) return null;
    at += half;
    const row: Record<string, Value> = { ...shared, place };
    for (const [i, cell] of cells.entries()) {
      const name = entryOf(HALF_COLUMNS, header[first + i] as string);
      if (name === undefined) continue;
      const value = isMissing(cell) ? null : numberIn(cell);
      if (value === null && !isMissing(cell)) return null;
      row[name] = value;
    }
    if (row.time_us === null) continue;
    rows.push(row);
  }
  const trailing = header.slice(second < 0 ? first + half : second + half);
  for (const [i, name] of trailing.entries()) {
    const cell = words[at + i];
    if (name === "iters" && cell !== undefined) for (const row of rows) row.iterations = numberIn(cell);
    if (name === "timestamp" && cell !== undefined)
      for (const row of rows) row.timestamp = words.slice(at + i).join(" ");
  }
  return rows.length > 0 ? rows : null;
}

/** Names of computers that log lines begin with: a row broken by a log line ends where one of them begins. */
function hostsOf(lines: readonly string[]): string[] {
  const hosts = new Set<string>();
  for (const line of lines) {
    const host = /^([\w.-]{1,128}):\d{1,10}:\d{1,10} \[\d{1,5}\] NCCL /.exec(line)?.[1];
    if (host !== undefined && hosts.add(host).size >= 64) break;
  }
  return [...hosts];
}

/** A line without the log line in it, and whether there was one. */
function withoutLog(line: string, hosts: readonly string[]): { text: string; cut: boolean } {
  const at = line.search(/ NCCL (?:INFO|WARN|TRACE|CALL|ABORT) /);
  if (at < 0) return { text: line, cut: false };
  const before = line.slice(0, at);
  let start = -1;
  for (const host of hosts) start = Math.max(start, before.lastIndexOf(`${host}:`));
  return { text: start < 0 ? "" : before.slice(0, start), cut: true };
}
