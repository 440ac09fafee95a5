/** The diagnosis for people at a terminal. */
import { formatBytes } from "../units.js";
import { type Finding, type Language, lookedAt, type Status, type Text } from "./checks/check.js";
import { inChinese } from "./checks/chinese.js";
import { versionOf } from "./checks/driver.js";
import { OUTCOMES } from "./checks/verdict-words.js";
import { type Examined, type ExitStatus, findingsOf } from "./examined.js";
import type { GpuFacts, MachineFacts } from "./facts.js";
import { rests } from "./gpus.js";
import { generationOf } from "./pcie.js";
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
      this.#painted(`${MARKS[paint]} ${this.#verdict(status)}`, paint),
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

  #verdict(status: ExitStatus): string {
    return this.#say(status === 0 && !lookedAt(this.#facts) ? WORDS.told : WORDS.verdict[status]);
  }

  #say(words: Text): string {
    return words[this.#lang];
  }

  /** Chinese has one form, right behind the number. */
  #counted(count: number, one: Text, more: Text): string {
    return this.#lang === "zh" ? `${count}${more.zh}` : `${count} ${(count === 1 ? one : more).en}`;
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
        `GPU ${gpu.index}  ${[gpu.name, gpu.pci, ...gpuWords(gpu, this.#lang)].filter(Boolean).join(" · ")}`,
        9,
      ),
    );
    return lines.length === 0 ? [] : [...lines, ""];
  }

  #versions(): string[] {
    const { software, driver } = this.#facts;
    const unknown = this.#say(WORDS.unknown);
    const rows = [
      [this.#say(WORDS.module), software.kernelModule],
      [this.#say(WORDS.user), driver.version ?? software.userDriver],
      [this.#say(WORDS.cuda), driver.cuda.version === null ? null : versionOf(driver.cuda.version)],
      [this.#say(WORDS.toolkit), software.toolkit],
    ] as const;
    if (this.#facts.gpus.length === 0 && rows.every(([, value]) => value === null)) return [];
    const words = rows.map(([name, value]) => `${name} ${value ?? unknown}`).join(" · ");
    return this.#titled(WORDS.versions, wrapped(words, this.#width - 2));
  }

  #host(): string[] {
    const { host, surroundings, software } = this.#facts;
    const place = [
      surroundings.wsl ? "WSL" : surroundings.virtualMachine ? this.#say(WORDS.vm) : null,
      surroundings.container ? this.#say(WORDS.container) : null,
      surroundings.product,
    ];
    const words = [
      ...place,
      host.cpuModel,
      host.numaNodes ? this.#counted(host.numaNodes.length, WORDS.node, WORDS.nodes) : null,
      host.kernel ? `Linux ${host.kernel}` : null,
      software.iommu ? this.#say(WORDS.iommu[software.iommu]) : null,
      host.shmBytes === null ? null : `/dev/shm ${formatBytes(host.shmBytes)}`,
      host.hugePages?.some((page) => page.total > 0)
        ? host.hugePages
            .filter((page) => page.total > 0)
            .map((page) => `${page.total} × ${formatBytes(page.pageBytes)}`)
            .join(" + ")
        : null,
    ];
    return this.#titled(WORDS.host, wrapped(words.filter(Boolean).join(" · "), this.#width - 2));
  }

  #topology(): string[] {
    const { topology, gpus } = this.#facts;
    if (topology === null) return [];
    const cpus = (gpu: number) => gpus[gpu]?.device?.cpus ?? null;
    const room = this.#width - 2;
    const tables = matrices(topology, cpus).flatMap(({ text }) => ["", ...tablesOf(matrixRows(text), room)]);
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
    const access = `${this.#say(WORDS.granted)} ${granted} / ${this.#counted(told.length, WORDS.pair, WORDS.pairs)}`;
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

function gpuWords(gpu: GpuFacts, lang: Language): (string | null)[] {
  const facts = gpu.driver?.facts;
  const state = gpu.driver?.state;
  const { device, loaded } = gpu;
  const width = device?.width ?? state?.pcieWidth ?? null;
  const generation = loaded?.generation ?? state?.pcieGeneration ?? generationOf(device?.speedGts ?? null);
  const most = generationOf(device?.maxSpeedGts ?? null) ?? facts?.maxPcieGeneration ?? null;
  const below = generation !== null && most !== null && generation < most;
  const speed = `Gen${generation ?? "?"}${below ? `/${most}` : ""}`;
  const idle = below && rests(gpu) ? ` (${WORDS.idle[lang]})` : "";
  const bar = facts?.bar1Bytes ?? device?.barBytes ?? null;
  const active = facts?.links.filter((link) => link.active).length ?? 0;
  return [
    gpu.memoryBytes === null ? null : formatBytes(gpu.memoryBytes),
    bar === null ? null : `BAR1 ${formatBytes(bar)}`,
    generation === null && width === null ? null : `PCIe ${speed} x${width ?? "?"}${idle}`,
    facts && facts.links.length > 0 ? `NVLink ${active}/${facts.links.length}` : null,
    device?.numaNode == null ? null : `NUMA ${device.numaNode}`,
    state?.smClockMhz == null ? null : `${state.smClockMhz} MHz`,
    state?.temperatureC == null ? null : `${state.temperatureC} °C`,
    state?.powerW == null ? null : `${Math.round(state.powerW)} W`,
    facts?.mig ? "MIG" : null,
    gpu.cudaOrdinal === null || gpu.cudaOrdinal === gpu.index ? null : `CUDA ${gpu.cudaOrdinal}`,
    gpu.driver === null ? WORDS.notShown[lang] : null,
  ];
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
