import { Description } from "../description.js";
import { type LabelledDevice, layoutOfLabels } from "../labels.js";
import { errorAt, type Place, placeOf } from "./text.js";

/** What classes prove of one another takes time with the third power of the devices. */
const MAX_DEVICES = 256;
const HINT = "Give the whole output of: nvidia-smi topo -m";

/** Words of drivers before 384, and what they are called since. */
const FORMER: Readonly<Record<string, string>> = { SOC: "SYS", PSB: "PIX" };

interface Cell extends Place {
  readonly text: string;
}

interface Row extends Place {
  readonly cells: readonly Cell[];
  /** Affinity columns, empty ones left out where blanks part the columns. */
  readonly rest: readonly Cell[];
}

/** Whether a text holds a table of `nvidia-smi topo`: a line of column names that begin with GPU0. */
export function looksLikeTopoM(text: string): boolean {
  return plain(text).split("\n").some(isHeader);
}

/**
 * Reads what `nvidia-smi topo -m` prints, with or without network cards, affinity columns, colours and legends; columns may be
 * parted by tabs or blanks, and lines around the table are passed over.
 * @throws P2pError `topology` with line and column for a table that is cut off, contradicts itself or holds unknown words.
 */
export function readTopoM(text: string): Description {
  const lines = plain(text).split("\n");
  const top = lines.findIndex(isHeader);
  if (top < 0) throw errorAt("no table of nvidia-smi topo -m", placeOf(text, 0), HINT);
  const header = cellsOf(lines[top] as string, top).filter((cell) => cell.text !== "");
  const end = header.findIndex((cell) => /^CPU\b/.test(cell.text));
  const titles = header.slice(0, end < 0 ? undefined : end);
  const names = titles.map((cell) => cell.text);
  if (names.length > MAX_DEVICES) {
    throw errorAt(`the table has ${names.length} columns, more than ${MAX_DEVICES}`, titles[0] as Cell, HINT);
  }
  checkTitles(titles);
  const rows = new Map<string, Row>();
  for (let i = top + 1; i < lines.length; i++) {
    if (isHeader(lines[i] as string) || /^\s*(NIC )?Legend:/.test(lines[i] as string)) break;
    const [name, ...cells] = cellsOf(lines[i] as string, i);
    if (!name || !names.includes(name.text)) continue;
    if (rows.has(name.text)) throw errorAt(`a second row ${name.text}`, name, HINT);
    rows.set(name.text, {
      line: name.line,
      column: name.column,
      cells: cells.slice(0, names.length),
      rest: cells.slice(names.length),
    });
  }
  const labels = labelsOf(names, rows, { line: lines.length, column: 1 });
  const cards = cardsOf(lines);
  const devices = names.map((name): LabelledDevice => {
    if (!name.startsWith("GPU")) {
      const label = cards.get(name) ?? (/^NIC\d+$/.test(name) ? undefined : name);
      return { kind: "nic", ...(label ? { label } : {}), numa: null };
    }
    return { kind: "gpu", numa: numaOf(rows.get(name)) };
  });
  const { layout, unknown } = layoutOfLabels(devices, (a, b) => labels[a]?.[b] ?? null);
  const nodes = devices.map(({ kind }, i) => {
    const before = devices.slice(0, i).filter((device) => device.kind === kind).length;
    return `${kind}${before}`;
  });
  names.forEach((name, a) => {
    names.forEach((other, b) => {
      const label = labels[a]?.[b] ?? null;
      if (a === b || label === null || layout.classOf(nodes[a] as string, nodes[b] as string) === label)
        return;
      const cell = rows.get(name)?.cells[b] ?? rows.get(other)?.cells[a];
      throw errorAt(
        `${name} and ${other} are ${label}, which contradicts other cells: no PCIe tree has these classes`,
        cell ?? (titles[b] as Cell),
        "Compare the table with its machine.",
      );
    });
  });
  return new Description({ format: "nvidia-smi topo -m", layout, unknown });
}

/** Without escape sequences of terminals; each is replaced by nothing, so that columns count as the reader sees them. */
function plain(text: string): string {
  return text.replace(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, "g"), "");
}

function isHeader(line: string): boolean {
  return /^\s*GPU0\s*(\s(GPU1|NIC0|CPU|mlx|\S+_\d)|$)/.test(line) && !/\sX(\s|$)/.test(line);
}

/** Columns of a line: parted by tabs where there are some; else by blanks, "CPU Affinity" and the like being one. */
function cellsOf(line: string, index: number): Cell[] {
  const cells: Cell[] = [];
  const at = (text: string, offset: number) => {
    const trimmed = text.trim();
    const column = offset + text.indexOf(trimmed) + 1;
    cells.push({ text: trimmed, line: index + 1, column });
  };
  if (line.includes("\t")) {
    let offset = 0;
    for (const part of line.split("\t")) {
      at(part, offset);
      offset += part.length + 1;
    }
    return cells;
  }
  for (const match of line.matchAll(/(CPU|NUMA) Affinity|GPU NUMA ID|\S+/g)) at(match[0], match.index);
  return cells;
}

function checkTitles(titles: readonly Cell[]): void {
  const seen = new Set<string>();
  let gpus = 0;
  for (const title of titles) {
    if (seen.has(title.text)) throw errorAt(`a second column ${title.text}`, title, HINT);
    seen.add(title.text);
    const number = /^GPU(\d+)$/.exec(title.text)?.[1];
    if (number !== undefined && Number(number) !== gpus++) {
      throw errorAt(`column ${title.text} where GPU${gpus - 1} is due`, title, HINT);
    }
  }
}

/** Classes of all pairs; null where the table does not say, since rows of network cards may be left out. */
function labelsOf(names: readonly string[], rows: ReadonlyMap<string, Row>, end: Place): (string | null)[][] {
  const labels = names.map(() => names.map((): string | null => null));
  names.forEach((name, a) => {
    const row = rows.get(name);
    if (!row) {
      if (!name.startsWith("GPU")) return;
      throw errorAt(`the table ends before row ${name}; its header names ${names.length} devices`, end, HINT);
    }
    names.forEach((other, b) => {
      const cell = row.cells[b];
      if (!cell || cell.text === "") {
        throw errorAt(
          `row ${name} ends before column ${other}`,
          cell ?? { line: row.line, column: (row.cells.at(-1) ?? row).column },
          HINT,
        );
      }
      const label = FORMER[cell.text] ?? cell.text;
      if (a === b ? label !== "X" : !/^(SYS|NODE|PHB|PXB|PIX|NV[1-9]\d{0,2}|XGMI|\?)$/.test(label)) {
        const permission = /^(OK|CNS|GNS|TNS|NS)$/.test(label);
        throw errorAt(
          `"${cell.text}" in row ${name}, column ${other}, is no class of a link`,
          cell,
          permission ? "This is nvidia-smi topo -p2p; give the output of nvidia-smi topo -m." : HINT,
        );
      }
      const before = labels[b]?.[a] ?? null;
      if (a > b && before !== null && before !== label && rows.has(other)) {
        throw errorAt(`${name} to ${other} is ${label}, but ${other} to ${name} is ${before}`, cell, HINT);
      }
      if (a === b || label === "?") return;
      (labels[a] as (string | null)[])[b] = label;
      (labels[b] as (string | null)[])[a] ??= label;
    });
  });
  return labels;
}

/** Names of network cards from the legend. */
function cardsOf(lines: readonly string[]): Map<string, string> {
  return new Map(
    lines.flatMap((line) => {
      const [, title, name] = /^\s*(NIC\d+):\s*(\S+)\s*$/.exec(line) ?? [];
      return title && name ? [[title, name] as const] : [];
    }),
  );
}

/** Second column after the classes; a list of several nodes names none. */
function numaOf(row: Row | undefined): number | null {
  const text = row?.rest[1]?.text ?? "";
  return /^\d{1,4}$/.test(text) ? Number(text) : null;
}
