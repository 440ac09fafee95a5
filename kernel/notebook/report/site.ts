/** The course as static pages: an index with the map of all chapters, a page for each that is there, plotly.js once beside them. */
import { escapeHtml } from "../../lab/index.js";
import { digestOf } from "../canonical.js";
import type { Chapter, Course } from "../course.js";
import type { Notebook } from "../nbformat.js";
import { nameOfNotebook } from "../nbformat.js";
import { originOf } from "../run-metadata.js";
import { renderReport } from "./html.js";
import { kindText } from "./origin.js";
import { htmlPage } from "./page.js";

/** Name of plotly.js beside the pages. */
export const SITE_PLOTLY = "plotly.min.js";

export interface SiteChapter {
  readonly number: string;
  readonly file: string;
  /** As executed for the site. */
  readonly notebook: Notebook;
}

/** Pages by file name, `index.html` first. @param chapters in the order of the course. */
export function renderSite(course: Course, chapters: readonly SiteChapter[]): Map<string, string> {
  const pages = new Map([["index.html", indexPage(course, chapters)]]);
  for (const [at, chapter] of chapters.entries()) {
    const ways = waysOf(chapters[at - 1] ?? null, chapters[at + 1] ?? null, course);
    pages.set(
      pageOf(chapter),
      renderReport(chapter.notebook, chapter.file, { plotlyBeside: SITE_PLOTLY, ways, executedHere: true }),
    );
  }
  return pages;
}

function pageOf({ file }: SiteChapter): string {
  return `${nameOfNotebook(file)}.html`;
}

function titleOf(course: Course, number: string): string {
  const all = course.stages.flatMap((stage) => stage.chapters);
  return all.find((chapter) => chapter.number === number)?.title ?? "";
}

function waysOf(before: SiteChapter | null, after: SiteChapter | null, course: Course): string {
  const link = (chapter: SiteChapter, how: "prev" | "next") => {
    const text = `${chapter.number} ${titleOf(course, chapter.number)}`;
    return `<a rel="${how}" href="${escapeHtml(encodeURI(pageOf(chapter)))}">${how === "prev" ? `← ${escapeHtml(text)}` : `${escapeHtml(text)} →`}</a>`;
  };
  return `<span class="ways">${before ? link(before, "prev") : ""}<a href="index.html">目录 index</a>${after ? link(after, "next") : ""}</span>`;
}

function indexPage(course: Course, chapters: readonly SiteChapter[]): string {
  const there = new Map(chapters.map((chapter) => [chapter.number, chapter]));
  const planned = course.stages.flatMap((stage) => stage.chapters).length;
  const stages = course.stages.map(
    ({ title, chapters: list }) =>
      `<h2>${escapeHtml(title)}</h2><ol class="map">${list.map((chapter) => item(chapter, there.get(chapter.number) ?? null)).join("")}</ol>`,
  );
  return htmlPage({
    lang: "zh-CN",
    title: course.title,
    band: "",
    contents: "<nav></nav>",
    body: `<h1>${escapeHtml(course.title)}</h1>
<p>计划${planned}章，目前有${chapters.length}章。每章都是执行过的笔记本：数字从哪里来，写在每页顶端和每张图表上；离线也能打开，用浏览器的查找功能搜索。</p>
${stages.join("\n")}`,
    figures: [],
  });
}

/** What is not written yet is named and leads nowhere. */
function item({ number, title }: Chapter, page: SiteChapter | null): string {
  const name = `${number} ${escapeHtml(title)}`;
  if (page === null) return `<li class="missing">${name}<span>尚未写成 not written yet</span></li>`;
  const { run } = originOf(page.notebook, () => digestOf(page.notebook.cells));
  const kinds = [...new Set(run?.machines.map((machine) => machine.kind) ?? [])].map(kindText).join("、");
  return `<li><a href="${escapeHtml(encodeURI(pageOf(page)))}">${name}</a><span>${escapeHtml(kinds || "来源不明")}</span></li>`;
}
