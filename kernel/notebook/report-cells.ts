/** Cells and their outputs as HTML that asks nothing of the network. */
import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import hljs from "highlight.js/lib/core";
import typescript from "highlight.js/lib/languages/typescript";
import MarkdownIt from "markdown-it";
import { escapeHtml, type MimeBundle } from "../lab/index.js";
import type { NotebookCell, NotebookOutput } from "./nbformat.js";

type Markdown = InstanceType<typeof MarkdownIt>;

hljs.registerLanguage("typescript", typescript);

export const PLOTLY = "application/vnd.plotly.v1+json";

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
  readonly #markdown: Markdown;
  readonly #folder: string;
  #attachments: Record<string, unknown> = {};

  /** @param folder where pictures named in markdown are looked for. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#markdown = this.#markdownRenderer();
  }

  cell(cell: NotebookCell): string {
    const id = cell.id ? ` id="${escapeHtml(cell.id)}"` : "";
    if (cell.cell_type === "markdown") {
      this.#attachments = cell.attachments ?? {};
      return `<section class="markdown"${id}>${this.#markdown.render(cell.source)}</section>`;
    }
    if (cell.cell_type === "raw")
      return `<section class="raw"${id}><pre>${escapeHtml(cell.source)}</pre></section>`;
    const count = cell.execution_count ?? " ";
    const code = hljs.highlight(cell.source, { language: "typescript" }).value;
    const outputs = (cell.outputs ?? []).map((output) => this.#output(output)).join("\n");
    const below = outputs ? `<div class="outputs">${outputs}</div>` : "";
    return `<section class="code"${id}><div class="input"><span class="count">[${count}]</span><pre><code>${code}</code></pre></div>${below}</section>`;
  }

  #output(output: NotebookOutput): string {
    switch (output.output_type) {
      case "stream":
        return `<pre class="${output.name}">${escapeHtml(terminalText(output.text))}</pre>`;
      case "error":
        return `<pre class="error">${escapeHtml(terminalText(output.traceback.join("\n") || `${output.ename}: ${output.evalue}`))}</pre>`;
      default:
        return this.#bundle(output.data);
    }
  }

  /** The richest representation that works offline. */
  #bundle(data: MimeBundle): string {
    const figure = data[PLOTLY] as { layout?: { height?: unknown } } | undefined;
    if (figure) {
      this.figures.push(figure);
      const height = Number(figure.layout?.height) || 440;
      return `<div class="figure" id="p2plab-figure-${this.figures.length - 1}" style="min-height:${height}px"></div>`;
    }
    const text = (mime: string) => (typeof data[mime] === "string" ? (data[mime] as string) : null);
    const svg = text("image/svg+xml");
    if (svg !== null) return `<div class="svg">${svg}</div>`;
    for (const mime of ["image/png", "image/jpeg", "image/gif"]) {
      const image = text(mime);
      if (image !== null) return `<img alt="" src="data:${mime};base64,${image.replace(/\s/g, "")}">`;
    }
    const html = text("text/html");
    if (html !== null) return `<div class="html">${html}</div>`;
    const prose = text("text/markdown");
    if (prose !== null) return `<div class="markdown">${this.#markdown.render(prose)}</div>`;
    const plain = text("text/plain") ?? `[${Object.keys(data).join(", ")}]`;
    return `<pre class="result">${escapeHtml(terminalText(plain))}</pre>`;
  }

  #markdownRenderer(): Markdown {
    const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });
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

const CHINESE_END = /[\p{Script=Han}\u3000-\u303f\uff00-\uffef“”]$/u;

const PICTURES: Record<string, string> = {
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
};

/** Text as a terminal leaves it: no escape sequences, and a line that was overwritten shows its last state. */
function terminalText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with the control character ESC
  const plain = text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/\r\n/g, "\n");
  return plain.replace(/^.*\r(?=[^\n\r])/gm, "").replace(/\r/g, "");
}
