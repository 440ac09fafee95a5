/** A notebook as one HTML file that opens offline: figures, tables, code, provenance and the notebook itself inside. */
import { dirname } from "node:path";
import { escapeHtml } from "../../lab/index.js";
import { digestOf, formatNotebook } from "../canonical.js";
import { courseOf } from "../course.js";
import { embedded } from "../embedded.js";
import { type Notebook, nameOfNotebook } from "../nbformat.js";
import { redactedOutputs } from "../redact.js";
import { type Origin, originOf } from "../run-metadata.js";
import { appendixSections } from "./appendix.js";
import { CellRenderer, type Heading } from "./cells.js";
import { enteredSections } from "./entered.js";
import { factsTable } from "./facts.js";
import { originBand, shortOriginText } from "./origin.js";
import { htmlPage } from "./page.js";
import { type Section, sectionHtml } from "./sections.js";
import { titleRows } from "./title.js";

export interface ReportOptions {
  /** Default what the notebook's metadata say. */
  readonly author?: string | undefined;
  /** Takes names, home folders, UUIDs, serial numbers and addresses out of outputs and metadata, and leaves this machine's out of the appendix; default true. */
  readonly redact?: boolean | undefined;
  /** The cells ran just now, here. */
  readonly executedHere?: boolean | undefined;
  /** File beside the page that holds plotly.js; without one it stands in the page. */
  readonly plotlyBeside?: string | undefined;
  /** HTML of the ways to other pages. */
  readonly ways?: string | undefined;
  /** Told of each output that is too large for a page, a line each. */
  readonly onOmission?: ((line: string) => void) | undefined;
}

/** What a report is made of, before it is a page. */
export interface ReportParts {
  readonly notebook: Notebook;
  readonly origin: Origin;
  readonly name: string;
  readonly titleRows: readonly (readonly [name: string, value: string | null])[];
  /** Behind the notebook: predictions, claims, checks, appendix. */
  readonly sections: readonly Section[];
}

/** @param file the notebook's; names the report where it has no heading, and pictures are looked for beside it. */
export function reportParts(whole: Notebook, file: string, options: ReportOptions = {}): ReportParts {
  const notebook = options.redact === false ? whole : redactedOutputs(whole);
  // Believed or not by what the run left, not by what is shown of it.
  const origin = originOf(notebook, () => digestOf(whole.cells));
  const name = nameOfNotebook(file);
  return {
    notebook,
    origin,
    name,
    titleRows: titleRows(notebook, origin, { author: options.author, course: courseOf(file) }),
    sections: [
      ...enteredSections(origin),
      ...appendixSections(origin, {
        redact: options.redact,
        executedHere: options.executedHere,
        file: `${name}.html`,
      }),
    ],
  };
}

/**
 * Renders a notebook.
 * @throws P2pError `not-available` when the bundled plotly.js has not been built.
 */
export function renderReport(whole: Notebook, file: string, options: ReportOptions = {}): string {
  const { notebook, renderer, ...fragments } = reportFragments(whole, file, options);
  const cells = notebook.cells.map((cell) => renderer.cell(cell)).join("\n");
  for (const line of renderer.omissions) options.onOmission?.(line);
  const { headings, figures } = renderer;
  return htmlPage({
    lang: "zh-CN",
    title: headings[0]?.text ?? fragments.name,
    band: fragments.band,
    contents: fragments.contents(headings),
    body: `${withTitleBlock(cells, headings, fragments.name, fragments.block)}\n${fragments.sections}`,
    figures,
    folds: notebook.cells.some((cell) => cell.cell_type === "code"),
    ...(options.ways === undefined ? {} : { ways: options.ways }),
    ...(options.plotlyBeside === undefined ? {} : { plotlyBeside: options.plotlyBeside }),
  });
}

/** Parts of a page around the notebook's cells, as HTML, and what renders the cells. */
export interface ReportFragments {
  readonly notebook: Notebook;
  readonly name: string;
  readonly renderer: CellRenderer;
  readonly band: string;
  /** Stands under the title. */
  readonly block: string;
  /** Behind the cells, the notebook itself included. */
  readonly sections: string;
  readonly contents: (headings: readonly Heading[]) => string;
}

export function reportFragments(whole: Notebook, file: string, options: ReportOptions): ReportFragments {
  const { notebook, origin, name, titleRows: rows, sections } = reportParts(whole, file, options);
  return {
    notebook,
    name,
    renderer: new CellRenderer(dirname(file), languageOf(notebook)),
    band: originBand(notebook, origin),
    block: factsTable(rows),
    sections: `${sections.map(sectionHtml).join("\n")}\n${embedded(formatNotebook(unexecuted(notebook)))}`,
    contents: (headings) => contents(headings, sections),
  };
}

const FOOTER_NAME = 60;

function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** One line for the foot of every printed page. */
export function reportFooter({ origin, name }: ReportParts): string {
  return [shortened(name, FOOTER_NAME), shortOriginText(origin)].filter(Boolean).join(" · ");
}

/** The block stands under the title, which the notebook's first cell gives, or its name. */
export function withTitleBlock(
  cells: string,
  headings: readonly Heading[],
  name: string,
  block: string,
): string {
  const end = headings[0]?.level === 1 ? cells.indexOf("</h1>") : -1;
  if (end < 0) return `<h1>${escapeHtml(name)}</h1>\n${block}\n${cells}`;
  const after = end + "</h1>".length;
  return `${cells.slice(0, after)}\n${block}\n${cells.slice(after)}`;
}

/** To run again: cells without what they showed. */
export function unexecuted(notebook: Notebook): Notebook {
  const { p2plab: _run, ...metadata } = notebook.metadata;
  const cells = notebook.cells.map((cell) =>
    cell.cell_type === "code" ? { ...cell, outputs: [], execution_count: null } : cell,
  );
  return { ...notebook, cells, metadata };
}

export function languageOf(notebook: Notebook): string {
  const { kernelspec, language_info } = notebook.metadata as {
    kernelspec?: { language?: unknown } | null;
    language_info?: { name?: unknown } | null;
  };
  const language = kernelspec?.language ?? language_info?.name ?? "typescript";
  return typeof language === "string" ? language.toLowerCase() : "typescript";
}

function contents(headings: readonly Heading[], sections: readonly Section[]): string {
  const all = [...headings, ...sections.map(({ title, anchor }) => ({ level: 2, text: title, anchor }))];
  const items = all
    .filter((heading) => heading.level === 2 || heading.level === 3)
    .map(
      ({ level, text, anchor }) =>
        `<li class="level-${level}"><a href="#${escapeHtml(anchor)}">${escapeHtml(text)}</a></li>`,
    );
  return `<nav aria-label="目录"><ol>${items.join("")}</ol></nav>`;
}
