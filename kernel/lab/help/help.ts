import { P2pError, shown } from "../errors.js";
import { escapeHtml, type MimeBundle, richDisplay } from "../rich.js";
import { type Declaration, declarationOf, type Face, namesOf } from "./declarations.js";
import { examples } from "./examples.js";
import { type HelpOptions, type Lang, langOf } from "./lang.js";
import { TASKS } from "./tasks.js";

/** Something to read, as text and as HTML. */
export class Help {
  readonly #text: string;
  readonly #html: string;

  constructor(text: string, html: string) {
    this.#text = text;
    this.#html = html;
  }

  toString(): string {
    return this.#text;
  }

  [richDisplay](): MimeBundle {
    return { "text/html": this.#html, "text/plain": this.#text };
  }
}

/**
 * What the library can do: `lab.help()` by task, `lab.help("sweep")` or `lab.help("plot.latency")` one name with its signature,
 * options with units, and an example.
 * @throws P2pError `usage` for a name that does not exist, with those that are near.
 */
export function help(name?: string, options: HelpOptions = {}): Help {
  const lang = langOf(options, "lab.help");
  if (name === undefined) return overview(lang);
  if (typeof name !== "string") throw unknownName(name);
  const wanted = name.trim().replace(/\(.*$/s, "");
  const [face, own] = /^(lab|plot|cuda)\.(\w+)$/.exec(wanted)?.slice(1) ?? [null, wanted];
  for (const candidate of face ? [face as Face] : (["lab", "plot", "cuda"] as const)) {
    const declaration = declarationOf(candidate, own as string);
    if (declaration) return detail(`${candidate}.${own}`, declaration, lang);
  }
  throw unknownName(name);
}

function overview(lang: Lang): Help {
  const words = WORDS[lang];
  const rows = TASKS.map(({ title, names }) => [title[lang], names] as const);
  const first = `const machine = await lab.open();\nmachine`;
  const known = examples(undefined, { lang }).map((example) => example.name);
  const text = [
    words.intro,
    ...rows.map(([title, names]) => `${title}\n    ${names.join("  ")}`),
    `${words.begin}\n${first.replace(/^/gm, "    ")}`,
    `${words.more}\n    lab.help("sweep")  lab.examples()  lab.examples("breakdown")`,
    `${words.examples} ${known.join(", ")}`,
  ].join("\n\n");
  const cells = rows.map(
    ([title, names]) =>
      `<tr><th style="text-align:left;font-weight:400">${escapeHtml(title)}</th><td style="text-align:left">${names.map((own) => `<code>${own}</code>`).join(" ")}</td></tr>`,
  );
  const html = `<p>${escapeHtml(words.intro)}</p><table>${cells.join("")}</table><p>${escapeHtml(words.begin)}</p><pre>${escapeHtml(first)}</pre><p>${escapeHtml(words.more)} <code>lab.help("sweep")</code> <code>lab.examples()</code> <code>lab.examples("breakdown")</code></p><p>${escapeHtml(words.examples)} ${known.map((own) => `<code>${own}</code>`).join(" ")}</p>`;
  return new Help(text, html);
}

function detail(name: string, { signature, says, options }: Declaration, lang: Lang): Help {
  const words = WORDS[lang];
  const used = examples(undefined, { lang }).find((example) => example.code.includes(`${name}(`));
  const parts: [title: string, code: string][] = [
    ...(options.length > 0 ? [[words.options, options.join("\n\n")] as [string, string]] : []),
    ...(used ? [[`${words.example} (lab.examples("${used.name}"))`, used.code] as [string, string]] : []),
  ];
  const text = [
    `${name}: ${signature}`,
    says,
    ...parts.map(([title, code]) => `${title}\n${code.replace(/^/gm, "    ")}`),
  ]
    .filter(Boolean)
    .join("\n\n");
  const html = `<p><b><code>${escapeHtml(name)}</code></b></p><pre>${escapeHtml(signature)}</pre><pre style="white-space:pre-wrap">${escapeHtml(says)}</pre>${parts.map(([title, code]) => `<p>${escapeHtml(title)}</p><pre>${escapeHtml(code)}</pre>`).join("")}`;
  return new Help(text, html);
}

const WORDS = {
  zh: {
    intro: "p2plab：测量、解释和优化GPU之间的传输。按任务分：",
    begin: "第一个单元格：",
    more: "某个名字的签名、选项、单位和例子；可以直接复制的单元格：",
    examples: "例子：",
    options: "选项",
    example: "例子",
  },
  en: {
    intro: "p2plab measures, explains and improves transfers between GPUs. By task:",
    begin: "A first cell:",
    more: "Signature, options, units and an example of a name; cells to copy:",
    examples: "Examples:",
    options: "Options",
    example: "Example",
  },
} as const;

function unknownName(name: unknown): P2pError {
  const all = (["lab", "plot", "cuda"] as const).flatMap((face) =>
    namesOf(face).map((own) => `${face}.${own}`),
  );
  const part = typeof name === "string" ? name.toLowerCase().replace(/^.*\./, "").slice(0, 4) : "";
  const near = part === "" ? [] : all.filter((own) => own.toLowerCase().includes(part));
  return new P2pError(
    "usage",
    `no help on ${shown(name)}`,
    near.length > 0
      ? `Is it one of these? ${near.slice(0, 8).join(", ")}.`
      : "lab.help() lists what there is, by task.",
  );
}
