/** The diagnosis for people at a terminal. */
import type { Finding, Language, Status, Text } from "./checks/check.js";
import { inChinese } from "./checks/chinese.js";
import { OUTCOMES } from "./checks/verdict-words.js";
import { type Examined, findingsOf } from "./examined.js";
import type { MachineFacts } from "./facts.js";
import { counted, gpuWords, hostWords, verdictOf, versionWords } from "./summary.js";
import { WORDS } from "./text-words.js";
import { matrices, treeLines } from "./tree.js";
import { beginning, padded, widthOf, wrapped } from "./width.js";

export interface TextOptions {
  /** Default `en`. */
  readonly lang?: Language;
  /** Columns; default 100. */
  readonly width?: number;
  /** Escape sequences for colours; default false. */
  readonly colour?: boolean;
  /** Findings that hold, and those that could not be looked at, in full; default false. */
  readonly all?: boolean;
}

const MARKS: Readonly<Record<Status, string>> = { pass: "✓", warn: "!", fail: "✘", skip: "–" };
/** Select Graphic Rendition: green, yellow, red, grey. */
const COLOURS: Readonly<Record<Status, number>> = { pass: 32, warn: 33, fail: 31, skip: 90 };
const LEAST_WIDTH = 40;

export function diagnosisText(diagnosis: Examined, options: TextOptions): string {
  return new Page(diagnosis, options).lines().join("\n");
}

class Page {
  readonly #diagnosis: Examined;
  readonly #facts: MachineFacts;
  readonly #lang: Language;
  readonly #width: number;
  readonly #colour: boolean;
  readonly #all: boolean;

  constructor(diagnosis: Examined, options: TextOptions) {
    this.#diagnosis = diagnosis;
    this.#facts = diagnosis.facts;
    this.#lang = options.lang ?? "en";
    this.#width = Math.max(LEAST_WIDTH, options.width ?? 100);
    this.#colour = options.colour ?? false;
    this.#all = options.all ?? false;
  }

  lines(): string[] {
    const { kind, machine, date } = this.#facts.provenance;
    const name = this.#lang === "zh" ? inChinese(machine) : machine;
    const status = this.#diagnosis.exitStatus;
    const paint = (["pass", "warn", "fail", "skip"] as const)[status];
    return [
      ...this.#wrap(`${name} · ${this.#say(WORDS.kind[kind])} · ${date.slice(0, 10)}`, 0),
      this.#painted(`${MARKS[paint]} ${verdictOf(this.#diagnosis, this.#lang)}`, paint),
      ...(status === 3 ? this.#wrap(this.#say(WORDS.noGpu), 0) : []),
      "",
      ...this.#gpus(),
      ...this.#versions(),
      ...this.#host(),
      ...this.#topology(),
      ...this.#peers(),
      ...this.#findings(),
    ];
  }

  #say(words: Text): string {
    return words[this.#lang];
  }

  #painted(line: string, status: Status): string {
    return this.#colour ? `\u001b[${COLOURS[status]}m${line}\u001b[0m` : line;
  }

  #wrap(line: string, indent: number): string[] {
    const pad = " ".repeat(indent);
    return wrapped(line, this.#width - indent).map((part, i) => (i === 0 ? part : pad + part));
  }

  #titled(title: Text, lines: readonly string[]): string[] {
    return lines.length === 0 ? [] : [this.#say(title), ...lines.map((line) => `  ${line}`), ""];
  }

  #gpus(): string[] {
    const lines = this.#facts.gpus.flatMap((gpu) =>
      this.#wrap(
        `GPU ${gpu.index}  ${[gpu.name, gpu.pci, gpuWords(gpu, this.#lang)].filter(Boolean).join(" · ")}`,
        9,
      ),
    );
    return lines.length === 0 ? [] : [...lines, ""];
  }

  #versions(): string[] {
    const words = versionWords(this.#facts, this.#lang);
    return this.#titled(WORDS.versions, words === null ? [] : wrapped(words, this.#width - 2));
  }

  #host(): string[] {
    return this.#titled(WORDS.host, wrapped(hostWords(this.#facts, this.#lang), this.#width - 2));
  }

  #topology(): string[] {
    const { topology, gpus } = this.#facts;
    if (topology === null) return [];
    const room = this.#width - 2;
    const tables = matrices(topology, gpus).flatMap(({ text }) => ["", ...tablesOf(matrixRows(text), room)]);
    const lines = [...treeLines(topology, gpus, this.#lang), ...tables];
    return this.#titled(
      WORDS.topology,
      lines.map((line) => cut(line, room)),
    );
  }

  /** How many pairs may reach each other, and the verdicts of each kind of memory. */
  #peers(): string[] {
    const { pairs, ladder } = this.#facts;
    const told = pairs.filter((pair) => pair.driver?.access != null);
    if (told.length === 0) return [];
    const granted = told.filter((pair) => pair.driver?.access).length;
    const allocators = [...new Set(ladder.verdicts.map((verdict) => verdict.allocator))];
    const counts = allocators.map((allocator) => {
      const outcomes = ladder.verdicts.filter((one) => one.allocator === allocator).map((one) => one.outcome);
      const words = [...new Set(outcomes)].map(
        (outcome) => `${outcomes.filter((one) => one === outcome).length} ${this.#say(OUTCOMES[outcome])}`,
      );
      return `${allocator} ${words.join(this.#lang === "zh" ? "、" : ", ")}`;
    });
    const access = `${this.#say(WORDS.granted)} ${granted} / ${counted(told.length, WORDS.pair, WORDS.pairs, this.#lang)}`;
    return this.#titled(WORDS.peers, wrapped([access, ...counts].join(" · "), this.#width - 2));
  }

  #findings(): string[] {
    const by = (status: Status) => findingsOf(this.#diagnosis, status);
    const shown = [...by("fail"), ...by("warn"), ...(this.#all ? [...by("pass"), ...by("skip")] : [])];
    const lines = shown.flatMap((finding) => this.#finding(finding));
    if (this.#all) return [this.#say(WORDS.findings), ...lines];
    const more = this.#lang === "zh" ? "（--all列出全部）" : " (--all lists them)";
    const rest = `${MARKS.pass} ${by("pass").length} ${this.#say(WORDS.passed)} · ${MARKS.skip} ${by("skip").length} ${this.#say(WORDS.skipped)}${more}`;
    return [this.#say(WORDS.findings), ...lines, `  ${rest}`];
  }

  #finding(finding: Finding): string[] {
    const [first = "", ...more] = wrapped(`${finding.id}  ${this.#say(finding.title)}`, this.#width - 4);
    const mark = this.#painted(MARKS[finding.status], finding.status);
    const head = [`  ${mark} ${first}`, ...more.map((line) => `    ${line}`)];
    const bad = finding.status === "fail" || finding.status === "warn";
    const rows: [Text, string][] = [[WORDS.evidence, this.#say(finding.evidence)]];
    if (bad) rows.push([WORDS.consequence, this.#say(finding.consequence)]);
    if (finding.fix) rows.push([WORDS.fix, this.#say(finding.fix)]);
    if (bad) rows.push([WORDS.source, finding.source]);
    const names = Math.max(...rows.map(([name]) => widthOf(this.#say(name)))) + 2;
    const body = rows.flatMap(([name, words]) => {
      const first = padded(this.#say(name), names);
      // A link in two pieces is none.
      const parts = name === WORDS.source ? [words] : wrapped(words, this.#width - 6 - names);
      return parts.map((line, i) => `      ${i === 0 ? first : " ".repeat(names)}${line}`);
    });
    return [...head, ...body];
  }
}

/** The cells of a table of classes, without what follows it. */
function matrixRows(matrix: string): string[][] {
  const [table = ""] = matrix.split("\nLegend");
  const lines = table.trimEnd().split("\n");
  return lines.map((line) => line.split("\t").map((cell) => cell.trim()));
}

/** One table where it fits; otherwise that of the GPUs among themselves, then theirs with the network cards. */
function tablesOf(rows: readonly (readonly string[])[], room: number): string[] {
  const whole = columns(rows);
  const [head = []] = rows;
  if (whole.every((line) => widthOf(line) <= room) || !head.some((cell) => cell.startsWith("NIC")))
    return whole;
  const part = (keep: (title: string) => boolean) =>
    columns(
      rows
        .filter((row) => !row[0]?.startsWith("NIC"))
        .map((row) => row.filter((_, i) => i === 0 || keep(head[i] ?? ""))),
    );
  const isNic = (title: string) => title.startsWith("NIC");
  return [...part((title) => !isNic(title)), "", ...part(isNic)];
}

/** Cells in columns, two spaces apart. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, widthOf(cell));
  }
  return rows.map((row) =>
    row
      .map((cell, i) => padded(cell, widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** A line that is too long ends in an ellipsis: a tree or a table cannot be wrapped. */
function cut(line: string, width: number): string {
  if (widthOf(line) <= width) return line;
  return `${beginning(line, width - 1)}…`;
}
