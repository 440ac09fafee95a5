/** A notebook as Markdown with its pictures in files beside it. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { escapeHtml, type MimeBundle } from "../../lab/index.js";
import type { Notebook, NotebookCell, NotebookOutput } from "../nbformat.js";
import { contained } from "./foreign.js";
import { languageOf, type ReportParts } from "./html.js";
import { originText } from "./origin.js";
import { markdownTable, sectionMarkdown } from "./sections.js";
import { PLOTLY, shortened, terminalText } from "./text.js";

export interface MarkdownReport {
  readonly text: string;
  /** Pictures by path from the Markdown file. */
  readonly files: ReadonlyMap<string, string | Buffer>;
}

/**
 * @param file the notebook's: pictures that its text names are looked for beside it.
 * @param figures each Plotly figure as SVG, in the notebook's order; null for one that was not drawn.
 */
export function renderMarkdown(
  parts: ReportParts,
  file: string,
  figures: readonly (string | null)[],
): MarkdownReport {
  const writer = new Writer(`${parts.name}_files`, dirname(file), figures, languageOf(parts.notebook));
  const cells = parts.notebook.cells.map((cell) => writer.cell(cell)).filter(Boolean);
  const facts = parts.titleRows.filter((row): row is [string, string] => row[1] !== null);
  const block = facts.length > 0 ? markdownTable(["报告 report", ""], facts) : "";
  const failed = failures(parts.notebook);
  const text = [
    `> **${originText(parts.origin) || "没有打开任何机器 no machine was opened"}**${failed}`,
    ...withBlock(cells, parts.name, block),
    ...parts.sections.map(sectionMarkdown),
  ].join("\n\n");
  return { text: `${text}\n`, files: writer.files };
}

function failures(notebook: Notebook): string {
  const count = notebook.cells.filter((cell) =>
    cell.outputs?.some((output) => output.output_type === "error"),
  ).length;
  return count === 0 ? "" : `\n>\n> **有${count}个单元出错 ${count} CELL(S) FAILED**`;
}

/** The block of facts stands behind the title. */
function withBlock(cells: readonly string[], name: string, block: string): string[] {
  const title = /^# .*(?:\n|$)/.exec(cells[0] ?? "")?.[0];
  if (title === undefined) return [`# ${name}`, block, ...cells];
  return [title.trimEnd(), block, (cells[0] as string).slice(title.length).trim(), ...cells.slice(1)].filter(
    Boolean,
  );
}

class Writer {
  readonly files = new Map<string, string | Buffer>();
  readonly #folder: string;
  readonly #beside: string;
  readonly #figures: readonly (string | null)[];
  readonly #language: string;
  #figure = 0;
  #picture = 0;

  constructor(folder: string, beside: string, figures: readonly (string | null)[], language: string) {
    this.#folder = folder;
    this.#beside = beside;
    this.#figures = figures;
    this.#language = language;
  }

  cell(cell: NotebookCell): string {
    if (cell.cell_type === "markdown") return this.#prose(cell);
    if (cell.cell_type === "raw") return fenced(cell.source, "");
    if (cell.source.trim() === "") return "";
    const outputs = (cell.outputs ?? []).map((output) => this.#output(output));
    return [fenced(cell.source, this.#language), ...outputs].filter(Boolean).join("\n\n");
  }

  /** Its text as it stands; pictures that it names go along. */
  #prose(cell: NotebookCell): string {
    return cell.source.replace(/(!\[[^\]]*\]\()([^)\s]+)/g, (whole, before: string, source: string) => {
      const path = source.startsWith("attachment:")
        ? this.#attached(cell, source.slice(11))
        : this.#copied(source);
      return path === null ? whole : `${before}${path}`;
    });
  }

  #attached(cell: NotebookCell, name: string): string | null {
    const bundle = cell.attachments?.[decodeURIComponent(name)] as MimeBundle | undefined;
    const [mime, content] = Object.entries(bundle ?? {})[0] ?? [];
    if (mime === undefined || typeof content !== "string") return null;
    return this.#kept(extensionOf(mime), Buffer.from(content, "base64"));
  }

  #copied(source: string): string | null {
    if (/^[a-z]+:|^\//i.test(source)) return null;
    const file = join(this.#beside, decodeURIComponent(source));
    const extension = extname(source).slice(1).toLowerCase();
    return /^(svg|png|jpe?g|gif)$/.test(extension) && existsSync(file)
      ? this.#kept(extension, readFileSync(file))
      : null;
  }

  #output(output: NotebookOutput): string {
    switch (output.output_type) {
      case "stream":
        return fenced(plain(output.text), "text");
      case "error":
        return fenced(plain(output.traceback.join("\n") || `${output.ename}: ${output.evalue}`), "text");
      default:
        return this.#bundle(output.data);
    }
  }

  #bundle(data: MimeBundle): string {
    const text = (mime: string) => (typeof data[mime] === "string" ? (data[mime] as string) : null);
    const said = text("text/plain");
    if (PLOTLY in data) {
      const picture = this.#figures[this.#figure++] ?? null;
      const alt = (said ?? "figure").replace(/[[\]\n]/g, " ");
      return picture === null
        ? `> 图没有画出来 figure not drawn: ${alt}`
        : `![${alt}](${this.#kept("svg", picture, "figure")})`;
    }
    const svg = text("image/svg+xml");
    if (svg !== null)
      return `![${(said ?? "").replace(/[[\]\n]/g, " ")}](${this.#kept("svg", standalone(svg))})`;
    for (const mime of ["image/png", "image/jpeg", "image/gif"]) {
      const image = text(mime);
      if (image !== null) return `![](${this.#kept(extensionOf(mime), Buffer.from(image, "base64"))})`;
    }
    const prose = text("text/markdown");
    if (prose !== null) return prose;
    // A table reads well as text; what is only HTML stays HTML, as Markdown allows.
    if (said !== null) return fenced(plain(said), "text");
    const html = text("text/html");
    return html !== null ? contained(html) : fenced(`[${Object.keys(data).join(", ")}]`, "text");
  }

  #kept(extension: string, content: string | Buffer, what = "picture"): string {
    const number = what === "figure" ? this.#figure : ++this.#picture;
    const path = `${this.#folder}/${what}-${number}.${extension}`;
    this.files.set(path, content);
    return encodeURI(path);
  }
}

function extensionOf(mime: string): string {
  return { "image/svg+xml": "svg", "image/jpeg": "jpg", "image/gif": "gif" }[mime] ?? "png";
}

/** A file of its own has to name what it is. */
function standalone(svg: string): string {
  return svg.includes("xmlns=") ? svg : svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"');
}

function plain(text: string): string {
  return terminalText(shortened(text).text);
}

/** A fence longer than any inside. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map((match) => match[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${escapeHtml(language)}\n${text.replace(/\n$/, "")}\n${fence}`;
}
