import { P2pError } from "../errors.js";
import { isMissing, scaled } from "./columns.js";
import { Imported, type Importer, type ImportSource } from "./importer.js";
import { embeddedJson, member, numberMember, textMember } from "./json.js";
import { numberIn, numberStyle } from "./number.js";
import { quantityOf } from "./quantity.js";
import { filled, recordsTable, type Value } from "./records.js";
import { headText, type PlainText, textOf } from "./text.js";

const HINT = "Give what the client of an ib_*_lat or ib_*_bw program printed, or its JSON (--out_json).";

/** Columns by what the header calls them, without their unit. */
const COLUMNS: readonly (readonly [RegExp, string])[] = [
  [/^#bytes$/, "bytes"],
  [/^#iterations$/, "iterations"],
  [/^t_min/, "min"],
  [/^t_max/, "max"],
  [/^t_typical/, "median"],
  [/^t_avg/, "mean"],
  [/^t_stdev/, "stdev"],
  [/^99% percentile/, "p99"],
  [/^99\.9% percentile/, "p999"],
  [/^tps average/, "transactions_per_second"],
  [/^BW peak/, "peak"],
  [/^BW average/, "mean"],
  [/^MsgRate/, "message_rate"],
  [/^CPU_Util/i, "cpu"],
];

/** Output of linux-rdma/perftest: text of ib_*_lat and ib_*_bw, and JSON. */
export const importer: Importer = {
  format: "perftest",
  title: "output of perftest",
  detect(head) {
    const text = headText(head);
    if (/^ *#bytes +#iterations +(?:t_min\[|t_avg\[|BW peak\[)/m.test(text)) return 0.97;
    if (/"test_info"\s*:/.test(text) && /"(?:MsgSize|n_iterations)"\s*:/.test(text)) return 0.97;
    return /\b(?:RDMA_(?:Write|Read)|Send|Atomic_\w{1,10}) (?:Post List )?(?:Bidirectional )?(?:BW|Latency) Test\b/.test(
      text,
    )
      ? 0.8
      : 0;
  },
  async read(source) {
    const plain = await textOf(source);
    return /"test_info"\s*:/.test(plain.text) ? readJson(plain, source) : readText(plain, source);
  },
};

interface Header {
  readonly columns: readonly { readonly name: string; readonly factor: number }[];
  readonly latency: boolean;
}

function readText({ lines, notes: odd }: PlainText, source: ImportSource): Imported {
  const rows: {
    cells: string[];
    header: Header;
    test: string | null;
    device: string | null;
  }[] = [];
  const units = new Set<string>();
  const clock = lines.some((line) => line.includes("Conflicting CPU frequency values"));
  let header: Header | null = null;
  let test: string | null = null;
  let device: string | null = null;
  for (const line of lines) {
    const banner =
      /^\s*((?:RDMA_\w{1,10}|Send|Atomic_\w{1,12}|\w{1,20}) (?:Post List )?(?:Bidirectional )?(?:BW|Latency) Test)/.exec(
        line,
      );
    if (banner) test = (banner[1] as string).trim();
    device = /\bDevice *: *(\S{1,60})/.exec(line)?.[1] ?? device;
    const found = headerOf(line, units);
    if (found) {
      header = found;
      continue;
    }
    if (!header || !/^\s*\d/.test(line)) continue;
    const cells = line.trim().split(/\s+/);
    if (
      cells.length < 3 ||
      !cells.every((cell) => isMissing(cell) || /^[-+]?[\d.,]+(?:e[-+]?\d+)?$/i.test(cell))
    )
      continue;
    rows.push({ cells, header, test, device });
  }
  if (rows.length === 0) {
    const complaint = lines
      .find((line) => /\b(?:Couldn't|Failed|Unable|error:)/i.test(line))
      ?.trim()
      .slice(0, 200);
    throw new P2pError(
      "import",
      `no row of results${complaint ? `: ${complaint}` : header ? " below the header" : ": the header is missing"}`,
      HINT,
    );
  }
  const style = numberStyle(rows.flatMap(({ cells }) => cells));
  const tables: { latency: Record<string, Value>[]; bandwidth: Record<string, Value>[] } = {
    latency: [],
    bandwidth: [],
  };
  let short = 0;
  let noPeak = false;
  const seen = new Set<string>();
  for (const { cells, header: own, test: name, device: on } of rows) {
    if (cells.length < own.columns.length) short++;
    const row: Record<string, Value> = { test: name, device: on };
    own.columns.forEach(({ name: column, factor }, i) => {
      const value = numberIn(cells[i] ?? "", style);
      row[column] = value === null ? null : scaled(value, factor);
    });
    // Loopback logs hold what server and client print: one row twice.
    // What was not measured is printed as 0.00, as with --noPeak or many iterations.
    if (row.peak_gbps === 0 && row.mean_gbps !== 0) {
      row.peak_gbps = null;
      noPeak = true;
    }
    const key = JSON.stringify(row);
    if (seen.has(key)) continue;
    seen.add(key);
    (own.latency ? tables.latency : tables.bandwidth).push(row);
  }
  const notes = [
    ...odd,
    ...meaning(tables.latency, tables.bandwidth),
    "The output does not say when it was run, nor on which machine.",
  ];
  if ([...units].some((unit) => /^MB\/sec$/i.test(unit))) {
    notes.push("BW was printed in MB/sec, which perftest counts as 2^20 bytes/s; gbps here are 1e9 bytes/s.");
  }
  if (seen.size < rows.length)
    notes.push(
      `Rows that stand there twice, as client and server print the same, taken once: ${rows.length - seen.size}.`,
    );
  if (short > 0) notes.push(`Rows with fewer cells than their header, which are null: ${short}.`);
  if (noPeak) notes.push("perftest did not measure the peak, and prints 0.00: peak_gbps is null.");
  if (clock)
    notes.push("perftest found conflicting CPU frequencies: its times, counted in cycles, may be off.");
  return made(source, tables, null, notes);
}

function headerOf(line: string, units: Set<string>): Header | null {
  if (!/^\s*#bytes\s+#iterations\s/.test(line)) return null;
  const words =
    line
      .trim()
      .match(/99(?:\.9)?% percentile(?:\[[^\]]*\])?|BW (?:peak|average)(?:\[[^\]]*\])?|tps average|\S+/g) ??
    [];
  const latency = !words.some((word) => word.startsWith("BW"));
  const columns = words.map((word) => {
    const unit = /\[([^\]]*)\]/.exec(word)?.[1] ?? "";
    if (unit !== "") units.add(unit);
    const name = COLUMNS.find(([pattern]) => pattern.test(word))?.[1] ?? "other";
    if (name === "message_rate") return { name: "messages_per_second", factor: unit === "Mpps" ? 1e6 : 1 };
    if (/^Gb\/sec$/.test(unit)) return { name: `${name}_gbps`, factor: 1 / 8 };
    const quantity = unit === "" ? null : quantityOf(unit, 1024);
    return quantity ? { name: `${name}_${quantity.suffix}`, factor: quantity.factor } : { name, factor: 1 };
  });
  return { columns, latency };
}

function meaning(latency: readonly unknown[], bandwidth: readonly Record<string, Value>[]): string[] {
  return [
    ...(latency.length > 0
      ? [
          "Latencies of send and write are half a round trip, those of read and atomic a whole one; the two largest samples are left out of max, and stdev cuts each deviation to whole µs.",
        ]
      : []),
    ...(bandwidth.some(({ test }) => /Bidirectional/i.test(String(test)))
      ? ["A bidirectional test sums both directions."]
      : []),
  ];
}

function made(
  source: ImportSource,
  tables: { latency: Record<string, Value>[]; bandwidth: Record<string, Value>[] },
  version: string | null,
  notes: readonly string[],
): Imported {
  const origin = { machine: null, date: null };
  return new Imported({
    format: importer.format,
    title: importer.title,
    version,
    tables: filled({
      latency: recordsTable(tables.latency, origin),
      bandwidth: recordsTable(tables.bandwidth, origin),
    }),
    notes,
    source,
  });
}

function readJson({ text, notes: odd }: PlainText, source: ImportSource): Imported {
  // One version writes a key without quotation marks.
  const json = embeddedJson(text.replace(/^(\s*)sl *:/gm, '$1"sl":'), HINT);
  const info = member(json, "test_info");
  const results = member(json, "results");
  if (typeof results !== "object" || results === null)
    throw new P2pError("import", "the JSON has no results", HINT);
  const list = Array.isArray(results) ? results : [results];
  const shared = { test: textMember(info, "test"), device: textMember(info, "Device") };
  const latency: Record<string, Value>[] = [];
  const bandwidth: Record<string, Value>[] = [];
  for (const result of list) {
    const bytes = numberMember(result, "MsgSize");
    const iterations = numberMember(result, "n_iterations");
    if (numberMember(result, "BW_average") !== null || numberMember(result, "BW_peak") !== null) {
      bandwidth.push({
        ...shared,
        bytes,
        iterations,
        // 0 is what was not measured, as in the text.
        peak_printed: numberMember(result, "BW_peak") || null,
        mean_printed: numberMember(result, "BW_average"),
        messages_per_second: times(numberMember(result, "MsgRate"), 1e6),
      });
    } else {
      latency.push({
        ...shared,
        bytes,
        iterations,
        min_us: numberMember(result, "t_min"),
        max_us: numberMember(result, "t_max"),
        median_us: numberMember(result, "t_typical"),
        mean_us: numberMember(result, "t_avg"),
        stdev_us: numberMember(result, "t_stdev"),
        p99_us: numberMember(result, "percentile_99"),
        p999_us: numberMember(result, "percentile_99.9") ?? numberMember(result, "percentile_999"),
      });
    }
  }
  const notes = [
    ...odd,
    ...meaning(latency, bandwidth),
    "perftest writes its JSON anew for every size: with -a only the last size is in it.",
    "The output does not say when it was run, nor on which machine.",
  ];
  if (bandwidth.length > 0) {
    notes.push(
      "The JSON does not say whether bandwidth is in MiB/sec or, with --report_gbits, in Gb/sec: the numbers are as printed.",
    );
  }
  if (latency.length + bandwidth.length === 0) throw new P2pError("import", "the JSON has no results", HINT);
  return made(source, { latency, bandwidth }, textMember(info, "version"), notes);
}

function times(value: number | null, factor: number): number | null {
  return value === null ? null : scaled(value, factor);
}
