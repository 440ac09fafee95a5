import { P2pError } from "../errors.js";
import { Imported, type ImportSource } from "./importer.js";
import { embeddedJson, member, numberMember, textMember } from "./json.js";
import { machineOf } from "./machine-name.js";
import { filled, recordsTable } from "./records.js";

export const NCCL_TESTS_HINT = "Give the whole output of a program of nccl-tests, or its JSON (-J FILE).";

/** Of the table of results, from text and JSON alike. */
export const RESULT_COLUMNS = [
  "run",
  "test",
  "bytes",
  "count",
  "type",
  "redop",
  "root",
  "place",
  "time_us",
  "algbw_gbps",
  "busbw_gbps",
  "wrong",
] as const;

/** What the figures are. */
export const MEANING = [
  "time_us is the mean of the timed iterations, GB/s are 1e9 bytes/s; busbw_gbps is algbw_gbps times the share of data that must cross a link.",
  "Times are of whole NCCL calls, kernel launch included: sendrecv_perf at small sizes is the nearest to a latency of this library.",
];

/**
 * The JSON that nccl-tests write with -J.
 * @param about the importer's word and title.
 * @throws P2pError `import` for what is damaged or holds no result.
 */
export function readNcclTestsJson(
  text: string,
  source: ImportSource,
  about: { readonly format: string; readonly title: string },
): Imported {
  const json = embeddedJson(text, NCCL_TESTS_HINT);
  const results = member(json, "results");
  if (!Array.isArray(results))
    throw new P2pError("import", "the JSON has no list of results", NCCL_TESTS_HINT);
  const notes = [...MEANING];
  const test =
    textMember(json, "test") ??
    textMember(member(json, "config"), "test") ??
    testOfArguments(member(json, "args"));
  const devices = listOf(member(json, "devices")).map((device) => ({
    run: 0,
    rank: numberMember(device, "rank"),
    group: numberMember(device, "group"),
    host: textMember(device, "hostname"),
    device: numberMember(device, "device"),
    pci: textMember(device, "device_hex"),
    name: textMember(device, "device_info"),
  }));
  const origin = {
    machine: machineOf(
      devices.map(({ name }) => name),
      devices.flatMap(({ host }) => (host === null ? [] : [host])),
    ),
    date: textMember(json, "start_time"),
  };
  if (origin.date === null) notes.push("The file does not say when it was run.");
  if (origin.machine === null) notes.push("The file names no devices.");
  if (test === null) notes.push("The file does not say which collective was run: test is null.");
  const rows = results.flatMap((result) =>
    (["out_of_place", "in_place"] as const).flatMap((place) => {
      const half = member(result, place);
      if (half === undefined || half === null || numberMember(half, "time") === null) return [];
      return [
        {
          run: 0,
          test,
          bytes: numberMember(result, "size"),
          count: numberMember(result, "count"),
          type: textMember(result, "type"),
          redop: textMember(result, "redop"),
          root: numberMember(result, "root"),
          place: place.replaceAll("_", "-"),
          time_us: numberMember(half, "time"),
          algbw_gbps: numberMember(half, "alg_bw"),
          busbw_gbps: numberMember(half, "bus_bw"),
          wrong: numberMember(half, "nwrong"),
        },
      ];
    }),
  );
  if (rows.length === 0) throw new P2pError("import", "the JSON has no result with a time", NCCL_TESTS_HINT);
  const bounds = member(json, "out_of_bounds");
  const average = member(json, "average_bus_bandwidth");
  return new Imported({
    format: about.format,
    title: about.title,
    version: textMember(json, "version"),
    tables: filled({
      results: recordsTable(rows, origin, RESULT_COLUMNS),
      runs: recordsTable(
        [
          {
            run: 0,
            test,
            average_busbw_gbps:
              numberMember(json, "average_bus_bandwidth") ?? numberMember(average, "bandwidth"),
            out_of_bounds: numberMember(json, "out_of_bounds") ?? numberMember(bounds, "count"),
            nccl_version: textMember(json, "nccl_version"),
          },
        ],
        origin,
      ),
      devices: recordsTable(devices, origin),
    }),
    notes,
    source,
  });
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The program's name, from the command line that the JSON keeps; of the rest nothing is kept. */
function testOfArguments(value: unknown): string | null {
  const words = Array.isArray(value)
    ? value.map(String)
    : typeof value === "string"
      ? value.split(/\s+/)
      : [];
  return /([a-z_]{1,60}_perf)\b/.exec(words[0] ?? "")?.[1] ?? null;
}
