/** The diagnosis as HTML: what a notebook shows, and the body of the report. */
import { P2pError, shown } from "../errors.js";
import { escapeHtml, WORD_COLOURS } from "../rich.js";
import { type Finding, type Language, type Status, type Text, text } from "./checks/check.js";
import type { Examined } from "./examined.js";
import { gpuWords, hostWords, verdictOf, versionWords } from "./summary.js";
import { WORDS } from "./text-words.js";
import { matrices, treeLines } from "./tree.js";

const COLOURS: Readonly<Record<Status, string>> = {
  pass: WORD_COLOURS.good,
  warn: WORD_COLOURS.caution,
  fail: WORD_COLOURS.alarm,
  skip: WORD_COLOURS.faint,
};

const STATUSES: Readonly<Record<Status, Text>> = {
  pass: text("pass", "通过"),
  warn: text("warn", "警告"),
  fail: text("fail", "故障"),
  skip: text("skip", "未判断"),
};

const REST = text("Checks that hold, and those that could not be judged", "通过的检查与未能判断的检查");
const LEFT = "text-align:left;vertical-align:top";

export interface HtmlOptions {
  readonly lang: Language;
  /** Whether what holds is unfolded, as on paper it must be; default false. */
  readonly open?: boolean;
  /** HTML that stands below the topology, such as the place of its figure. */
  readonly figure?: string;
}

export function diagnosisHtml(diagnosis: Examined, options: HtmlOptions): string {
  const { lang, open = false, figure = "" } = options ?? {};
  if (
    !diagnosis?.facts?.provenance ||
    !Array.isArray(diagnosis.findings) ||
    (lang !== "en" && lang !== "zh")
  ) {
    throw new P2pError(
      "usage",
      `lab.diagnosisHtml was given ${shown(diagnosis)} in language ${shown(lang)}`,
      `Give it what lab.doctor returned, and { lang } en or zh.`,
    );
  }
  const { facts, findings, exitStatus } = diagnosis;
  const { kind, machine, date } = facts.provenance;
  const colour = COLOURS[(["pass", "warn", "fail", "skip"] as const)[exitStatus]];
  const bad = findings.filter(({ status }) => status === "fail" || status === "warn");
  const rest = findings.filter(({ status }) => status === "pass" || status === "skip");
  const sorted = [...bad].sort((a, b) => a.status.localeCompare(b.status));
  return [
    `<p><b style="color:${colour}">${escapeHtml(verdictOf(diagnosis, lang))}</b> · ${escapeHtml(machine)} · ${WORDS.kind[kind][lang]} · ${escapeHtml(date.slice(0, 10))}</p>`,
    gpusHtml(diagnosis, lang),
    ...linesHtml(diagnosis, lang),
    sorted.length > 0 ? heading(WORDS.findings[lang]) + findingsHtml(sorted, lang, true) : "",
    topologyHtml(diagnosis, lang),
    figure,
    `<details${open ? " open" : ""}><summary>${escapeHtml(REST[lang])} (${rest.length})</summary>${findingsHtml(rest, lang, false)}</details>`,
  ]
    .filter(Boolean)
    .join("\n");
}

/** @param bad whether they are warnings and failures, whose consequences are told. */
function findingsHtml(findings: readonly Finding[], lang: Language, bad: boolean): string {
  const rows = findings.map((finding) => [
    `<b style="color:${COLOURS[finding.status]};white-space:nowrap">${STATUSES[finding.status][lang]}</b>`,
    `${escapeHtml(finding.title[lang])}<br><a href="${escapeHtml(finding.source)}"><code>${escapeHtml(finding.id)}</code></a>`,
    escapeHtml(finding.evidence[lang]),
    ...(bad ? [escapeHtml(finding.consequence[lang])] : []),
    finding.fix ? escapeHtml(finding.fix[lang]) : "",
  ]);
  const titles = [WORDS.check, WORDS.evidence, ...(bad ? [WORDS.consequence] : []), WORDS.fix];
  return tableHtml(["", ...titles.map((title) => title[lang])], rows);
}

/** @param rows of HTML. */
function tableHtml(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = titles.map((title) => `<th style="text-align:left">${escapeHtml(title)}</th>`).join("");
  const body = rows.map(
    (row) => `<tr>${row.map((cell) => `<td style="${LEFT}">${cell}</td>`).join("")}</tr>`,
  );
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table>`;
}

function heading(words: string): string {
  return `<h2>${escapeHtml(words)}</h2>`;
}

function gpusHtml({ facts: { gpus } }: Examined, lang: Language): string {
  if (gpus.length === 0) return "";
  const rows = gpus.map((gpu) =>
    [String(gpu.index), gpu.name, gpu.pci ?? "", gpu.uuid ?? "", gpuWords(gpu, lang)].map(escapeHtml),
  );
  return tableHtml(["GPU", WORDS.model[lang], "PCI", "UUID", WORDS.state[lang]], rows);
}

function linesHtml({ facts }: Examined, lang: Language): string[] {
  const versions = versionWords(facts, lang);
  const lines: [Text, string][] = [
    ...(versions === null ? [] : ([[WORDS.versions, versions]] as [Text, string][])),
    [WORDS.host, hostWords(facts, lang)],
  ];
  return lines.map(([title, words]) => `<p><b>${escapeHtml(title[lang])}</b> ${escapeHtml(words)}</p>`);
}

function topologyHtml(diagnosis: Examined, lang: Language): string {
  const { topology, gpus } = diagnosis.facts;
  if (topology === null) return "";
  const text = [
    ...treeLines(topology, gpus, lang),
    "",
    ...matrices(topology, gpus).map(({ text }) => text),
  ].join("\n");
  return `${heading(WORDS.topology[lang])}<pre>${escapeHtml(text)}</pre>`;
}
