import { messageOf, P2pError } from "../errors.js";
import type { Description } from "../topology/description.js";
import { looksLikeTopoM, readTopoM } from "../topology/readers/topo-m.js";
import { Imported, type Importer } from "./importer.js";
import { machineOf } from "./machine-name.js";
import { readNvlink } from "./nvidia-smi-nvlink.js";
import { filled, recordsTable, type Value } from "./records.js";
import { headText, textOf } from "./text.js";

const HINT = "Give the whole output of nvidia-smi topo -m, topo -p2p, nvlink -s, nvlink -c or nvlink -e.";

/** A line of `nvlink`; what follows the number is of that command alone. */
const LINK_LINE =
  /^[ \t]*Link \d{1,3}(?:: (?:[\d.]{1,12} [GM]B\/s|<inactive>|[A-Z][\w -]{0,60}: [\d.]{1,20})|, [A-Z].{0,60} supported: (?:true|false))/m;

/** GPUs and network cards of a table. */
const MAX_DEVICES = 512;

const LINK_CLASS = /^(?:X|SYS|NODE|PHB|PXB|PIX|SOC|PSB|NV\d{1,3}|XGMI)$/;
const CAPABILITIES: Readonly<Record<string, string>> = {
  r: "read",
  w: "write",
  n: "nvlink",
  a: "atomics",
  p: "prop",
};
const P2P_STATUS = /^(?:X|OK|CNS|GNS|TNS|NS|DR|CDS|U)$/;

/** What `nvidia-smi` prints with `topo -m`, `topo -p2p` and `nvlink -s`, `-c`, `-e`, `-gt`, one after another too. */
export const importer: Importer = {
  format: "nvidia-smi",
  title: "text of nvidia-smi",
  detect(head) {
    const text = headText(head);
    if (looksLikeTopoM(text)) return 0.95;
    if (/^GPU \d{1,4}: .{1,200} \(UUID: /m.test(text)) return LINK_LINE.test(text) ? 0.97 : 0.85;
    return LINK_LINE.test(text) ? 0.7 : 0;
  },
  async read(source) {
    const { text, lines, notes: odd } = await textOf(source);
    const notes = [...odd];
    const nvlink = readNvlink(lines);
    const matrices = matricesOf(lines);
    const origin = { machine: machineOf(nvlink.names()), date: null };
    const classes = matrices.filter(({ status }) => !status);
    let topology: Description | null = null;
    if (classes.length > 0) {
      try {
        topology = readTopoM(text);
        for (const sentence of topology.unknown) notes.push(`Unknown: ${sentence}`);
      } catch (error) {
        if (!(error instanceof P2pError)) throw error;
        // Cells that the reader refuses are no less printed; what they add up to is not told.
        notes.push(`The table of classes makes no topology: ${messageOf(error)}`);
      }
    }
    const status = matrices.filter((matrix) => matrix.status);
    if (status.some(({ capability }) => capability === null)) {
      notes.push(
        status.length > 1
          ? `${status.length} tables of topo -p2p: nvidia-smi does not print which capability each is of (read, write, nvlink, atomics, prop), so they are numbered.`
          : "The table of topo -p2p does not say which capability it is of (read, write, nvlink, atomics, prop).",
      );
    }
    for (const { short } of matrices) notes.push(...short);
    notes.push(...nvlink.notes, "The output does not say when it was printed.");
    if (nvlink.links.length > 0) {
      notes.push("link_gbps is the line rate of one link in one direction, not what a copy reaches.");
    }
    const tables = filled({
      pairs: recordsTable(
        classes.flatMap(({ cells }) => cells.map(({ from, to, value }) => ({ from, to, class: value }))),
        origin,
      ),
      p2p: recordsTable(
        status.flatMap(({ cells, capability }, table) =>
          cells.map(({ from, to, value }) => ({ table, capability, from, to, status: value })),
        ),
        origin,
      ),
      affinity: recordsTable(
        classes.flatMap(({ affinity }) => affinity),
        origin,
      ),
      nvlink: recordsTable(nvlink.links, origin),
      nvlink_capabilities: recordsTable(nvlink.capabilities, origin),
      nvlink_errors: recordsTable(nvlink.errors, origin),
      nvlink_data: recordsTable(nvlink.data, origin),
      gpus: recordsTable(nvlink.gpus, origin),
    });
    if (Object.keys(tables).length === 0)
      throw new P2pError("import", "no table and no link is in the text", HINT);
    return new Imported({ format: importer.format, title: importer.title, tables, topology, notes, source });
  },
};

interface SmiMatrix {
  /** Of topo -p2p: cells say what is supported, not how the GPUs are joined. */
  readonly status: boolean;
  /** Of topo -p2p, where the command stands before the table. */
  readonly capability: string | null;
  readonly cells: { from: string; to: string; value: string | null }[];
  readonly affinity: Record<string, Value>[];
  readonly short: string[];
}

/** Tables whose header names GPUs. */
function matricesOf(lines: readonly string[]): SmiMatrix[] {
  const matrices: SmiMatrix[] = [];
  let names: string[] = [];
  let titles: string[] = [];
  let rows: { name: string; cells: string[]; rest: string[] }[] = [];
  let asked: string | null = null;
  const end = () => {
    if (names.length > 0 && rows.length > 0) {
      matrices.push(matrixOf(names, titles, rows, asked));
      asked = null;
    }
    names = [];
    rows = [];
  };
  for (const line of lines) {
    const words = line
      .trim()
      .split(/\t+|\s{2,}|(?<=\S) (?=\S+$)/)
      .map((word) => word.trim())
      .filter((word) => word !== "");
    if (
      /^\s*GPU0\b/.test(line) &&
      !/\s(?:X|OK)(?:\s|$)/.test(line) &&
      rows.every(({ name }) => name !== "GPU0" || line.includes("GPU1"))
    ) {
      end();
      const all = line.trim().match(/(?:CPU|NUMA) Affinity|GPU NUMA ID|\S+/g) ?? [];
      const first = all.findIndex((word) => /^CPU\b|^NUMA\b|^GPU NUMA/.test(word));
      names = all.slice(0, first < 0 ? undefined : first).slice(0, MAX_DEVICES);
      titles = first < 0 ? [] : all.slice(first);
      continue;
    }
    const letter = /\bnvidia-smi topo -p2p ([rwnap])\b/.exec(line)?.[1];
    if (letter !== undefined) {
      end();
      asked = CAPABILITIES[letter] ?? null;
      continue;
    }
    if (names.length === 0) continue;
    if (/^\s*(?:NIC )?Legend:/.test(line)) {
      end();
      continue;
    }
    const cells = line.trim().split(/\s+/);
    const name = cells.shift() as string;
    if (!names.includes(name) || words.length === 0) continue;
    const rest = line.includes("\t")
      ? line
          .trim()
          .split("\t")
          .slice(names.length + 1)
          .map((cell) => cell.trim())
      : cells.slice(names.length);
    rows.push({ name, cells: cells.slice(0, names.length), rest });
  }
  end();
  return matrices;
}

function matrixOf(
  names: readonly string[],
  titles: readonly string[],
  rows: readonly { name: string; cells: readonly string[]; rest: readonly string[] }[],
  capability: string | null,
): SmiMatrix {
  const status = rows.some(({ cells }) =>
    cells.some((cell) => cell !== "X" && P2P_STATUS.test(cell) && !LINK_CLASS.test(cell)),
  );
  const known = status ? P2P_STATUS : LINK_CLASS;
  const short: string[] = [];
  const missing = names.filter((name) => name.startsWith("GPU") && rows.every((row) => row.name !== name));
  if (missing.length > 0) short.push(`Cut off: the table has no row ${missing.slice(0, 8).join(", ")}.`);
  const cells = rows.flatMap(({ name, cells: words }) =>
    names.map((to, i) => {
      const word = words[i];
      if (word === undefined) short.push(`Row ${name} ends before column ${to}.`);
      else if (!known.test(word))
        short.push(`"${word.slice(0, 20)}" in row ${name}, column ${to}, is no known word: null.`);
      return { from: name, to, value: word !== undefined && known.test(word) ? word : null };
    }),
  );
  const affinity = rows
    .filter(({ name }) => name.startsWith("GPU"))
    .map(({ name, rest }) => ({
      gpu: name,
      cpu_affinity: wordAt(rest, titles.indexOf("CPU Affinity")),
      numa_affinity: wordAt(rest, titles.indexOf("NUMA Affinity")),
    }));
  return {
    status,
    capability,
    cells,
    affinity: titles.length > 0 ? affinity : [],
    short: short.slice(0, 10),
  };
}

function wordAt(words: readonly string[], index: number): string | null {
  const word = index < 0 ? undefined : words[index];
  return word === undefined || word === "" || word === "N/A" ? null : word;
}
