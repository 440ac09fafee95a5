import { P2pError, shown } from "../errors.js";
import { expectNames } from "../measure/expect.js";
import { IMPORTERS } from "./formats.js";
import { Imported, type Importer } from "./importer.js";
import { type OpenSource, openSource } from "./source.js";
import { headText } from "./text.js";

export interface ImportOptions {
  /** A format's word, such as `nccl-tests`; default `auto`: told from the content. */
  format?: string;
}

/** Less likely formats are not tried. */
const LEAST_CONFIDENCE = 0.3;
/** Others that are at least this likely are named beside the one that was taken. */
const ALSO = 0.6;

/** Words of all formats that can be imported. */
export function importFormats(): readonly { readonly format: string; readonly title: string }[] {
  return IMPORTERS.map(({ format, title }) => ({ format, title }));
}

/**
 * Reads another tool's file: a profiler's, a benchmark's, a description of a machine. Which it is, is told from its content.
 * @param input the path of a file, which may be compressed with gzip, or its bytes.
 * @returns tables with units in the names of their columns, marked as imported; what is missing or odd stands in `notes`.
 * @throws P2pError `import` for what is of no known format or damaged, saying what is wrong with it; `usage` for a wrong argument.
 */
export async function importFile(input: string | Uint8Array, options: ImportOptions = {}): Promise<Imported> {
  if (typeof options !== "object" || options === null) {
    throw new P2pError(
      "usage",
      `the options of lab.import are ${shown(options)}`,
      'Give none, or { format: "nccl-tests" }.',
    );
  }
  expectNames(options, ["format"], "lab.import");
  const { format = "auto" } = options;
  const named = format === "auto" ? null : IMPORTERS.find((candidate) => candidate.format === format);
  if (named === undefined) {
    const known = IMPORTERS.map((candidate) => candidate.format).join(", ");
    throw new P2pError("usage", `no import format ${shown(format)}`, `Give auto, or one of ${known}.`);
  }
  const source = await openSource(input);
  const found = named ? [] : likely(source.head, source.name);
  const importer = named ?? found[0]?.importer;
  if (!importer) throw unknownFormat(source.name, source.head);
  const imported = await read(importer, source);
  const others = found.slice(1).filter(({ confidence }) => confidence >= ALSO);
  return others.length === 0 ? imported : await joined(imported, others, source);
}

/** What several tools printed into one file, such as a benchmark's rows among log lines: the tables of all of them. */
async function joined(
  first: Imported,
  others: readonly { importer: Importer }[],
  source: OpenSource,
): Promise<Imported> {
  const tables = { ...first.tables };
  const notes = [...first.notes];
  let { timeline, topology } = first;
  for (const { importer } of others) {
    let other: Imported;
    try {
      other = await importer.read(source);
    } catch (error) {
      if (!(error instanceof P2pError)) throw error;
      notes.push(`The file also looks like ${importer.title}, but: ${error.message}`);
      continue;
    }
    const names = Object.entries(other.tables).map(([name, rows]) => {
      const own = Object.hasOwn(tables, name) ? `${importer.format}_${name}` : name;
      tables[own] = rows;
      return own;
    });
    timeline ??= other.timeline;
    topology ??= other.topology;
    notes.push(`The file also holds the ${importer.title}: tables ${names.join(", ")}.`, ...other.notes);
  }
  return new Imported({ ...first, tables, timeline, topology, notes: [...new Set(notes)] });
}

/** Formats by how likely the content is of them, likeliest first. */
function likely(head: Uint8Array, name: string): { importer: Importer; confidence: number }[] {
  return IMPORTERS.map((importer) => ({ importer, confidence: importer.detect(head, name) }))
    .filter(({ confidence }) => confidence >= LEAST_CONFIDENCE)
    .sort((a, b) => b.confidence - a.confidence);
}

async function read(importer: Importer, source: OpenSource): Promise<Imported> {
  try {
    return await importer.read(source);
  } catch (error) {
    if (!(error instanceof P2pError)) throw error;
    // Errors of the source itself name it already.
    const about = error.message.includes(source.name) ? "" : `${source.name}, ${importer.title}: `;
    throw new P2pError("import", `${about}${error.message}`, error.hint, { cause: error });
  }
}

/** What files that are not imported begin with, as Latin-1, and what to do with them. */
const KNOWN_OTHERS: readonly { readonly magic: string; readonly what: string; readonly hint: string }[] = [
  {
    magic: "ARROW1",
    what: "an Arrow file",
    hint: 'If it is a recording of this library, open it: lab.open("recorded:FILE").',
  },
  {
    magic: "NVR\0",
    what: "a report of Nsight Compute",
    hint: "Print it: ncu --import FILE --csv --page raw --print-units base.",
  },
  { magic: "PK\x03\x04", what: "a ZIP archive", hint: "Unpack it, and import the file in it." },
  { magic: "\x28\xb5\x2f\xfd", what: "compressed with zstd", hint: "Decompress it with zstd -d." },
  { magic: "\xfd7zXZ", what: "compressed with xz", hint: "Decompress it with xz -d." },
  { magic: "BZh", what: "compressed with bzip2", hint: "Decompress it with bzip2 -d." },
  {
    magic: "\x1f\x8b",
    what: "compressed with gzip more than once",
    hint: "Decompress it once: gzip -dc FILE > ANOTHER.",
  },
  {
    magic: "\xff\xfe\0\0",
    what: "text in UTF-32",
    hint: "Write it as UTF-8: iconv -f UTF-32 -t UTF-8 FILE > ANOTHER.",
  },
  { magic: "\x7fELF", what: "a program", hint: "Run it, and import what it prints." },
];

function unknownFormat(name: string, head: Uint8Array): P2pError {
  const start = Buffer.from(head.subarray(0, 16)).toString("latin1");
  const other = KNOWN_OTHERS.find(({ magic }) => start.startsWith(magic));
  if (other) return new P2pError("import", `${name} is ${other.what}`, other.hint);
  if (Buffer.from(head.subarray(257, 262)).toString("latin1") === "ustar")
    return new P2pError("import", `${name} is a tar archive`, "Unpack it, and import the file in it.");
  const text = headText(head);
  if (text === "") {
    return new P2pError(
      "import",
      `${name} is a binary file of no known format`,
      "Of an Nsight Systems report give its export: nsys export --type sqlite REPORT; of others the text, CSV, JSON or XML output.",
    );
  }
  if (text.trim() === "")
    return new P2pError(
      "import",
      `${name} holds nothing but blanks`,
      "Write it anew: the tool printed nothing.",
    );
  if (
    /^[ \t]+0(?:[ \t]+\d{1,4})*[ \t]*$/m.test(text) &&
    /^[ \t]*0(?:[ \t]+(?:N\/A|[\d.]+))+[ \t]*$/m.test(text)
  ) {
    return new P2pError(
      "import",
      `${name} holds a matrix without its title: neither quantity nor unit is known`,
      "Give the whole output of the tool, from its first line.",
    );
  }
  const first = text.split("\n").find((line) => line.trim() !== "") ?? "";
  return new P2pError(
    "import",
    `${name} is of no known format; its first line is ${shown(first.trim())}`,
    `Known are: ${IMPORTERS.map(({ title }) => title).join("; ")}. Name one with the option format if the file is one of these.`,
  );
}
