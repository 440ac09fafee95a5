import { parseArgs } from "node:util";
import { aq, lab, P2pError, writeFileAtomic } from "../lab/index.js";
import type { Command } from "./command.js";
import { gridOf } from "./table-text.js";

const OPTIONS = {
  format: { type: "string", default: "auto" },
  table: { type: "string" },
  out: { type: "string" },
  json: { type: "boolean", default: false },
  csv: { type: "boolean", default: false },
  arrow: { type: "boolean", default: false },
} as const;

/** Rows that are written at once. */
const PIECE_ROWS = 1000;
/** Of standard input, which is held in memory. */
const MOST_INPUT_BYTES = 2 ** 28;

export const importCommand: Command = {
  name: "import",
  usage: "import FILE|- [--format auto|FORMAT] [--table NAME] [--json|--csv|--arrow] [--out FILE]",
  describes:
    "reads another tool's file: nsys, ncu, nvprof, NCCL, nccl-tests, nvbandwidth, p2pBandwidthLatencyTest, perftest, ucx_perftest, nvidia-smi, hwloc",
  async run(args) {
    const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) {
      const formats = lab.importFormats().map(({ format }) => format);
      throw new P2pError(
        "usage",
        file === undefined ? "no file is named" : `${positionals.length} files are named`,
        `Give one file. Formats: auto, ${formats.join(", ")}.`,
      );
    }
    if ([values.json, values.csv, values.arrow].filter(Boolean).length > 1) {
      throw new P2pError("usage", "more than one of --json, --csv and --arrow", "Give one of them.");
    }
    const imported = await lab.import(file === "-" ? await standardInput() : file, { format: values.format });
    if (values.csv || values.arrow) {
      const table = tableOf(imported, values.table);
      if (values.csv) await write([`${table.toCSV()}\n`], values.out);
      else await write([arrowOf(table, values.out)], values.out);
      return 0;
    }
    const chosen = values.table === undefined ? imported : only(imported, values.table);
    await write(values.json ? jsonOf(chosen) : [`${textOf(chosen)}\n`], values.out);
    return 0;
  },
};

/** What is piped into the command, such as the output of nvidia-smi. */
async function standardInput(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MOST_INPUT_BYTES) {
      throw new P2pError(
        "import",
        `standard input gives more than ${lab.formatBytes(MOST_INPUT_BYTES)}`,
        "Write it to a file, and import that.",
      );
    }
  }
  return Buffer.concat(chunks);
}

/** The table named, or the only one. */
function tableOf(imported: lab.Imported, name: string | undefined): lab.Table {
  const names = Object.keys(imported.tables);
  const own = name ?? (names.length === 1 ? names[0] : undefined);
  if (own !== undefined && Object.hasOwn(imported.tables, own)) return imported.tables[own] as lab.Table;
  throw new P2pError(
    "usage",
    names.length === 0
      ? `${imported.source.name} has no table`
      : own === undefined
        ? `${imported.source.name} has ${names.length} tables, and CSV or Arrow hold one`
        : `${imported.source.name} has no table ${JSON.stringify(own)}`,
    names.length === 0 ? "Use --json." : `Name one with --table: ${names.join(", ")}.`,
  );
}

function only(imported: lab.Imported, name: string): lab.Imported {
  return new lab.Imported({ ...imported, tables: { [name]: tableOf(imported, name) } });
}

function arrowOf(table: lab.Table, out: string | undefined): Uint8Array {
  if (out === undefined && process.stdout.isTTY) {
    throw new P2pError(
      "usage",
      "Arrow is binary, and the output is a terminal",
      "Give --out FILE, or a pipe.",
    );
  }
  return aq.toArrowIPC(table, { format: "file" });
}

/** Piece by piece: a table may have a million rows. */
function* jsonOf(imported: lab.Imported): Generator<string> {
  const { format, title, version, source, notes, timeline } = imported;
  const [first] = Object.values(imported.tables);
  const origin = first?.numRows() ? (first.object(0) as Record<string, unknown>) : {};
  const head = {
    schema: "p2plab-import/1",
    machine: origin.machine ?? null,
    provenance: "imported",
    date: origin.date ?? null,
    format,
    title,
    version,
    source: { name: source.name, bytes: source.sizeBytes },
    notes,
    timeline_spans: timeline?.startNs.length ?? null,
  };
  yield `${JSON.stringify(head, null, 1).slice(0, -2)},\n "tables": {`;
  let comma = "";
  for (const [name, table] of Object.entries(imported.tables)) {
    yield `${comma}\n  ${JSON.stringify(name)}: [`;
    comma = ",";
    for (let at = 0; at < table.numRows(); at += PIECE_ROWS) {
      const rows = table.objects({ limit: PIECE_ROWS, offset: at }) as Record<string, unknown>[];
      yield `${at === 0 ? "" : ","}\n   ${rows.map((row) => JSON.stringify(row)).join(",\n   ")}`;
    }
    yield "\n  ]";
  }
  yield "\n }\n}\n";
}

function textOf(imported: lab.Imported): string {
  const { heading, tables, notes, timeline, topology } = imported;
  return [
    heading,
    ...Object.entries(tables).map(
      ([name, table]) =>
        `\n${name} (${table.numRows() === 1 ? "1 row" : `${table.numRows()} rows`})\n${gridOf(table)}`,
    ),
    ...(timeline ? [`\ntimeline: ${timeline.startNs.length} spans`] : []),
    ...(topology ? [`\ntopology\n${topology}`] : []),
    "",
    ...notes.map((note) => `- ${note}`),
  ].join("\n");
}

/** To a file whole or not at all, else to standard output, waiting for a reader that is slow. */
async function write(pieces: Iterable<string | Uint8Array>, out: string | undefined): Promise<void> {
  if (out !== undefined) {
    writeFileAtomic(out, Buffer.concat([...pieces].map((piece) => Buffer.from(piece))));
    process.stdout.write(`${out}\n`);
    return;
  }
  for (const piece of pieces) {
    if (!process.stdout.write(piece)) await new Promise((resolve) => process.stdout.once("drain", resolve));
  }
}
