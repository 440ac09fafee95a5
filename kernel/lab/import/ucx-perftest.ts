import { P2pError } from "../errors.js";
import { scaled } from "./columns.js";
import { Imported, type Importer } from "./importer.js";
import { numberIn } from "./number.js";
import { recordsTable, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

const HINT = "Give what the client of ucx_perftest printed, from the heading of its table.";

/** Rates were printed in MB/s of 2^20 bytes. */
const GBPS = 2 ** 20 / 1e9;

/** Of -v: iterations, then latency, bandwidth and message rate; several threads print four cells only. */
const CSV_HEADER =
  /^(?:\w+,)*iterations,([\d.]+)_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\s*$/;

/** Output of openucx ucx_perftest: table and CSV (-v). */
export const importer: Importer = {
  format: "ucx_perftest",
  title: "output of ucx_perftest",
  detect(head) {
    const text = headText(head);
    if (/^iterations,[\d.]+_percentile_lat,|,iterations,[\d.]+_percentile_lat,/m.test(text)) return 0.98;
    return /\|\s*(?:overhead|latency) \(usec\)\s*\|/.test(text) ||
      /# iterations \|\s*(?:[\d.]+%ile|typical)\s*\|/.test(text)
      ? 0.97
      : 0;
  },
  async read(source) {
    const { lines, notes: odd } = await textOf(source);
    const rows: Record<string, Value>[] = [];
    let percentile: number | null = null;
    let kind: "overhead" | "latency" | null = null;
    let csv = false;
    let before: string[] = [];
    let test: string | null = null;
    let short = 0;
    for (const line of lines) {
      kind = (/\|\s*(overhead|latency) \(usec\)/.exec(line)?.[1] as typeof kind | undefined) ?? kind;
      const found = /\|\s*(?:([\d.]{1,8})%ile|typical)\s*\|/.exec(line);
      if (found) {
        // Older versions call the median typical.
        percentile = numberIn(found[1] ?? "50");
        before = line
          .slice(0, line.indexOf("# iterations"))
          .split("|")
          .map((cell) => cell.trim())
          .filter((cell) => cell !== "" && cell !== "Stage" && cell !== "Test");
        csv = false;
        continue;
      }
      const header = CSV_HEADER.exec(line);
      if (header) {
        percentile = numberIn(header[1] as string);
        before = line
          .slice(0, line.indexOf("iterations,"))
          .split(",")
          .filter((cell) => cell !== "");
        csv = true;
        continue;
      }
      test = /\|\s*(?:Test|API):\s*(.{1,80}?)\s*\|/.exec(line)?.[1] ?? test;
      if (line.startsWith("+") || line.startsWith("|") || percentile === null) continue;
      const stage = /^(Final:|\[thread \d{1,5}\])/.exec(line.trim())?.[1] ?? null;
      const body = stage === null ? line.trim() : line.trim().slice(stage.length);
      const cells = (csv ? body.split(",") : body.trim().split(/\s+/)).map((cell) => cell.trim());
      const names = before.length > 0 && cells.length > 8 ? cells.splice(0, cells.length - 8) : [];
      if (cells.length < 4 || !cells.every((cell) => numberIn(cell) !== null)) continue;
      if (cells.length < 8) short++;
      rows.push(
        rowOf(
          test,
          names.join(" ") || null,
          stage,
          percentile,
          cells.map((cell) => numberIn(cell) as number),
        ),
      );
    }
    if (rows.length === 0) {
      const complaint = lines
        .find((line) => /\bUCX\s+ERROR\b/.test(line))
        ?.trim()
        .slice(0, 200);
      throw new P2pError("import", `no row of results${complaint ? `: ${complaint}` : ""}`, HINT);
    }
    const origin = { machine: null, date: null };
    const notes = [
      ...odd,
      "Bandwidth was printed in MB/s of 2^20 bytes; gbps here are 1e9 bytes/s.",
      "A percentile is of the last 2048 iterations, an average of all since the last report, overall of all.",
      "The output says neither the message size nor when and on which machine it was run.",
    ];
    if (kind === null) {
      notes.push(
        "The CSV does not say whether its times are of a ping-pong (half a round trip) or what a message costs the sender in a bandwidth test.",
      );
    } else if (kind === "latency") {
      notes.push("Times are half a round trip of a ping-pong.");
    } else {
      notes.push("Times are what a message costs the sender of a bandwidth test: no latency.");
    }
    if (short > 0) notes.push(`Rows of 4 cells, as several threads print them, the others null: ${short}.`);
    if (!rows.some(({ final }) => final) && !csv)
      notes.push('The row "Final:" is missing: the output is cut off, or was printed with -f or by threads.');
    return new Imported({
      format: importer.format,
      title: importer.title,
      tables: {
        results: recordsTable(
          rows.map((row) => ({ ...row, time_is: kind })),
          origin,
        ),
      },
      notes,
      source,
    });
  },
};

function rowOf(
  test: string | null,
  name: string | null,
  stage: string | null,
  percentile: number,
  cells: readonly number[],
): Record<string, Value> {
  const [iterations, ...rest] = cells;
  // With four cells the threads print the overall figures only.
  const [atPercentile, mean, overall, meanBw, overallBw, meanRate, overallRate] =
    cells.length >= 8 ? rest : [null, null, rest[0] ?? null, null, rest[1] ?? null, null, rest[2] ?? null];
  const rate = (value: number | null | undefined) => (value == null ? null : scaled(value, GBPS));
  return {
    test,
    name,
    final: stage === null || stage === "Final:",
    stage: stage?.replace(/:$/, "") ?? null,
    iterations: iterations ?? null,
    percentile,
    percentile_us: atPercentile ?? null,
    mean_us: mean ?? null,
    overall_us: overall ?? null,
    mean_gbps: rate(meanBw),
    overall_gbps: rate(overallBw),
    mean_messages_per_second: meanRate ?? null,
    overall_messages_per_second: overallRate ?? null,
  };
}
