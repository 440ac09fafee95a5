/** Cells and their outputs as HTML that asks nothing of the network. */
import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import hljs from "highlight.js/lib/core";
import python from "highlight.js/lib/languages/python";
import typescript from "highlight.js/lib/languages/typescript";
import MarkdownIt from "markdown-it";
import { escapeHtml, lab, type MimeBundle } from "../../lab/index.js";
import type { NotebookCell, NotebookOutput } from "../nbformat.js";
import { contained } from "./foreign.js";
import { withMath } from "./math.js";
import { PLOTLY, shortened, terminalText } from "./text.js";

type Markdown = InstanceType<typeof MarkdownIt>;

hljs.registerLanguage("typescript", typescript);
hljs.registerLanguage("python", python);

/** Characters of a figure, picture or HTML that a report takes in: above, it would be a file that no browser likes. */
const MOST_RICH = 8_000_000;

export interface Heading {
  readonly level: number;
  readonly text: string;
  readonly anchor: string;
}

/** A page in the making: what its cells leave for the rest of it. */
export class CellRenderer {
  /** Figures in the order of their places, `p2plab-figure-0` and on. */
  readonly figures: unknown[] = [];
  readonly headings: Heading[] = [];
  /** What was left out, a line each. */
  readonly omissions: string[] = [];
  readonly #language: string;
  readonly #markdown: Markdown;
  readonly #folder: string;
  #attachments: Record<string, unknown> = {};

  #cell = "";

  /**
   * @param folder where pictures named in markdown are looked for.
   * @param language of the code, as the notebook's metadata name it.
   */
  constructor(folder: string, language = "typescript") {
    this.#folder = folder;
    this.#language = language;
    this.#markdown = this.#markdownRenderer();
  }

  cell(cell: NotebookCell): string {
    this.#cell = cell.id ?? "a cell without id";
    const id = cell.id ? ` id="${escapeHtml(cell.id)}"` : "";
    if (cell.cell_type === "markdown") {
      return `<section class="markdown"${id}>${this.prose(cell)}</section>`;
    }
    if (cell.cell_type === "raw")
      return `<section class="raw"${id}><pre>${escapeHtml(cell.source)}</pre></section>`;
    const outputs = (cell.outputs ?? []).map((output) => this.#output(output)).join("\n");
    const below = outputs ? `<div class="outputs">${outputs}</div>` : "";
    return `<section class="code"${id}>${this.#code(cell)}${below}</section>`;
  }

  /** Text of a markdown cell as HTML. */
  prose(cell: NotebookCell): string {
    this.#attachments = cell.attachments ?? {};
    return this.#markdown.render(cell.source);
  }

  /** Folded, its first line to be seen. An empty cell is not shown. */
  #code(cell: NotebookCell): string {
    if (cell.source.trim() === "") return "";
    const known = hljs.getLanguage(this.#language) !== undefined;
    const code = known
      ? hljs.highlight(cell.source, { language: this.#language }).value
      : escapeHtml(cell.source);
    const first = cell.source.trimStart().split("\n", 1)[0] as string;
    return `<details class="code"><summary><span class="count">[${cell.execution_count ?? " "}]</span><code>${escapeHtml(first)}</code></summary><pre><code>${code}</code></pre></details>`;
  }

  #output(output: NotebookOutput): string {
    switch (output.output_type) {
      case "stream":
        return `<pre class="${output.name}">${this.#text(output.text)}</pre>`;
      case "error":
        return `<pre class="error">${this.#text(output.traceback.join("\n") || `${output.ename}: ${output.evalue}`)}</pre>`;
      default:
        return this.#bundle(output.data);
    }
  }

  /** The richest representation that works offline. */
  #bundle(data: MimeBundle): string {
    const figure = data[PLOTLY] as { layout?: { height?: unknown } } | undefined;
    if (figure) {
      const size = sizeOf(figure);
      if (size > MOST_RICH) return this.#omitted(PLOTLY, size);
      this.figures.push(figure);
      const height = Number(figure.layout?.height) || 440;
      return `<div class="figure" id="p2plab-figure-${this.figures.length - 1}" style="min-height:${height}px"></div>`;
    }
    if (Object.keys(data).length === 0) return "";
    const text = (mime: string) => (typeof data[mime] === "string" ? (data[mime] as string) : null);
    for (const mime of RICH) {
      const size = text(mime)?.length ?? 0;
      if (size > MOST_RICH) return this.#omitted(mime, size);
    }
    const svg = text("image/svg+xml");
    if (svg !== null) return `<div class="svg">${contained(svg)}</div>`;
    for (const mime of ["image/png", "image/jpeg", "image/gif"]) {
      const image = text(mime);
      if (image !== null)
        return `<img alt="" src="data:${mime};base64,${escapeHtml(image.replace(/\s/g, ""))}">`;
    }
    const html = text("text/html");
    if (html !== null) return `<div class="html">${contained(html)}</div>`;
    const prose = text("text/markdown");
    if (prose !== null) return `<div class="markdown">${this.#markdown.render(prose)}</div>`;
    const plain = text("text/plain") ?? `[${Object.keys(data).join(", ")}]`;
    return `<pre class="result">${this.#text(plain)}</pre>`;
  }

  #text(text: string): string {
    const { text: kept, omitted } = shortened(text);
    if (omitted > 0) this.#note(omitted, "of a text");
    return escapeHtml(terminalText(kept));
  }

  #omitted(mime: string, size: number): string {
    return `<p class="undrawn">${escapeHtml(this.#note(size, mime))}</p>`;
  }

  #note(characters: number, what: string): string {
    const size = lab.formatBytes(characters);
    this.omissions.push(`${this.#cell}: ${size} ${what} left out; the notebook has all of it`);
    return `${size}未放入报告，笔记本里有全部 ${size} (${what}) left out of the report; the notebook has all of it`;
  }

  #markdownRenderer(): Markdown {
    const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });
    withMath(markdown);
    markdown.core.ruler.push("headings-and-pictures", ({ tokens }) => {
      for (const [index, token] of tokens.entries()) {
        for (const [at, child] of (token.children ?? []).entries()) {
          // One sentence a line in the source is running text on the page: Chinese has no space between sentences.
          if (child.type === "softbreak" && CHINESE_END.test(token.children?.[at - 1]?.content ?? ""))
            child.type = "text";
          if (child.type === "image") child.attrSet("src", this.#picture(String(child.attrGet("src") ?? "")));
        }
        if (token.type !== "heading_open") continue;
        const parts = tokens[index + 1]?.children ?? [];
        const text = parts.map((part) => part.content).join("");
        const anchor = this.#anchor(text);
        token.attrSet("id", anchor);
        this.headings.push({ level: Number(token.tag.slice(1)), text, anchor });
      }
    });
    return markdown;
  }

  #anchor(text: string): string {
    const slug =
      text
        .toLowerCase()
        .match(/[\p{L}\p{N}]+/gu)
        ?.join("-") ?? "section";
    const taken = this.headings.filter((h) => h.anchor === slug || h.anchor.startsWith(`${slug}~`)).length;
    return taken === 0 ? slug : `${slug}~${taken + 1}`;
  }

  /** A picture of a cell or of the notebook's folder, put into the page; any other is left for its text to stand in. */
  #picture(source: string): string {
    if (source.startsWith("attachment:")) {
      const bundle = (this.#attachments[decodeURIComponent(source.slice(11))] ?? {}) as MimeBundle;
      const [mime, content] = Object.entries(bundle)[0] ?? [];
      return mime && typeof content === "string" ? `data:${mime};base64,${content.replace(/\s/g, "")}` : "";
    }
    const mime = PICTURES[extname(source).toLowerCase()];
    if (!mime || /^[a-z]+:|^\//i.test(source)) return source;
    const file = join(this.#folder, decodeURIComponent(source));
    return existsSync(file) ? `data:${mime};base64,${readFileSync(file).toString("base64")}` : source;
  }
}

/** Representations that a page shows, other than texts and figures. */
const RICH = ["image/svg+xml", "image/png", "image/jpeg", "image/gif", "text/html", "text/markdown"];

/** Characters of a figure as JSON; more than a page takes where it cannot be told. */
function sizeOf(figure: unknown): number {
  try {
    return JSON.stringify(figure).length;
  } catch {
    return MOST_RICH + 1;
  }
}

const CHINESE_END = /[\p{Script=Han}\u3000-\u303f\uff00-\uffef“”]$/u;

const PICTURES: Record<string, string> = {
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
};
