/** The diagnosis as HTML: what a notebook shows, and the body of the report. */
import { P2pError, shown } from "../errors.js";
import { escapeHtml } from "../rich.js";
import { type Finding, type Language, lookedAt, type Status } from "./checks/check.js";
import type { Examined } from "./examined.js";
import { matrices, treeLines } from "./tree.js";

const COLOURS: Readonly<Record<Status, string>> = {
  pass: "#0B6B3A",
  warn: "#7A5B00",
  fail: "#B00020",
  skip: "#52606D",
};

/** Column of the table that only warnings and failures have. */
const CONSEQUENCE = 3;

const WORDS = {
  en: {
    status: ["healthy", "warnings", "failures", "no NVIDIA GPU here"],
    told: "nothing wrong in what is known of it",
    head: ["", "check", "seen", "effect", "to do"],
    rest: "Checks that hold, and those that could not be judged",
    topology: "Topology",
    gpus: "GPUs",
  },
  zh: {
    status: ["健康", "有警告", "有故障", "这里没有NVIDIA GPU"],
    told: "已知部分没有发现问题",
    head: ["", "检查", "所见", "影响", "处理"],
    rest: "通过的检查与未能判断的检查",
    topology: "拓扑",
    gpus: "GPU",
  },
} as const;

export interface HtmlOptions {
  readonly lang: Language;
  /** Whether what holds is unfolded, as on paper it must be; default false. */
  readonly open?: boolean;
  /** HTML that stands below the topology, such as the place of its figure. */
  readonly figure?: string;
}

export function diagnosisHtml(diagnosis: Examined, options: HtmlOptions): string {
  const { lang, open = false, figure = "" } = options ?? {};
  if (!diagnosis?.facts?.provenance || !Array.isArray(diagnosis.findings) || !Object.hasOwn(WORDS, lang)) {
    throw new P2pError(
      "usage",
      `lab.diagnosisHtml was given ${shown(diagnosis)} in language ${shown(lang)}`,
      `Give it what lab.doctor returned, and { lang } with one of ${Object.keys(WORDS).join(", ")}.`,
    );
  }
  const { facts, findings, exitStatus } = diagnosis;
  const words = WORDS[lang];
  const { kind, machine, date } = facts.provenance;
  const verdict = exitStatus === 0 && !lookedAt(facts) ? words.told : words.status[exitStatus];
  const colour = COLOURS[(["pass", "warn", "fail", "skip"] as const)[exitStatus]];
  const bad = findings.filter(({ status }) => status === "fail" || status === "warn");
  const rest = findings.filter(({ status }) => status === "pass" || status === "skip");
  const sorted = [...bad].sort((a, b) => a.status.localeCompare(b.status));
  return [
    `<p><b style="color:${colour}">${escapeHtml(verdict)}</b> · ${escapeHtml(machine)} · ${kind} · ${escapeHtml(date.slice(0, 10))}</p>`,
    gpusHtml(diagnosis, words.gpus),
    sorted.length > 0 ? findingsHtml(sorted, lang, true) : "",
    topologyHtml(diagnosis, lang),
    figure,
    `<details${open ? " open" : ""}><summary>${escapeHtml(words.rest)} (${rest.length})</summary>${findingsHtml(rest, lang, false)}</details>`,
  ]
    .filter(Boolean)
    .join("\n");
}

/** @param bad whether they are warnings and failures, whose consequences are told. */
function findingsHtml(findings: readonly Finding[], lang: Language, bad: boolean): string {
  const rows = findings.map((finding) => {
    const cells = [
      `<b style="color:${COLOURS[finding.status]}">${finding.status}</b>`,
      `${escapeHtml(finding.title[lang])}<br><a href="${escapeHtml(finding.source)}"><code>${escapeHtml(finding.id)}</code></a>`,
      escapeHtml(finding.evidence[lang]),
      ...(bad ? [escapeHtml(finding.consequence[lang])] : []),
      finding.fix ? escapeHtml(finding.fix[lang]) : "",
    ];
    return `<tr>${cells.map((cell) => `<td style="text-align:left;vertical-align:top">${cell}</td>`).join("")}</tr>`;
  });
  const titles = WORDS[lang].head.filter((_, i) => bad || i !== CONSEQUENCE);
  const head = titles.map((word) => `<th style="text-align:left">${word}</th>`).join("");
  return `<table><thead><tr>${head}</tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

function gpusHtml(diagnosis: Examined, title: string): string {
  const { gpus } = diagnosis.facts;
  if (gpus.length === 0) return "";
  const rows = gpus.map(({ index, name, pci, uuid }) =>
    [String(index), name, pci ?? "", uuid ?? ""]
      .map((cell) => `<td style="text-align:left">${escapeHtml(cell)}</td>`)
      .join(""),
  );
  return `<h2>${escapeHtml(title)}</h2><table><tbody>${rows.map((row) => `<tr>${row}</tr>`).join("")}</tbody></table>`;
}

function topologyHtml(diagnosis: Examined, lang: Language): string {
  const { topology, gpus } = diagnosis.facts;
  if (topology === null) return "";
  const cpus = (gpu: number) => gpus[gpu]?.device?.cpus ?? null;
  const text = [
    ...treeLines(topology, gpus, lang),
    "",
    ...matrices(topology, cpus).map(({ text }) => text),
  ].join("\n");
  return `<h2>${escapeHtml(WORDS[lang].topology)}</h2><pre>${escapeHtml(text)}</pre>`;
}
