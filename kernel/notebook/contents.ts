/** The map of the course: what of its chapters is there, made from the folder. */
import { basename } from "node:path";
import type { Course, Stage } from "./course.js";
import type { Notebook, NotebookCell } from "./nbformat.js";

/** File of the map itself. */
export const CONTENTS = "00-目录.ipynb";

/** The chapters of a stage as a table of Markdown. @param prefix of links to notebooks, such as `notebooks/`. */
export function contentsTable(stage: Stage, lang: "zh" | "en", prefix = ""): string {
  const zh = lang === "zh";
  const rows = stage.chapters.map(({ number, title, english, question, file }) => {
    const name = zh ? title : english;
    const linked = file === null ? name : `[${name}](${prefix}${basename(file)})`;
    const missing = file === null ? (zh ? "尚未写" : "not written yet") : null;
    const last = zh ? `${question}${missing ? `（${missing}）` : ""}` : (missing ?? "there");
    return `| ${number} | ${linked} | ${last} |`;
  });
  const head = zh ? "| 章 | 标题 | 回答的问题 |" : "| no. | chapter | state |";
  return [head, "| --- | --- | --- |", ...rows].join("\n");
}

/** The notebook that shows the map. @param frame a chapter whose metadata it takes. */
export function contentsNotebook({ title, stages }: Course, frame: Notebook): Notebook {
  const all = stages.flatMap(({ chapters }) => chapters);
  const there = all.filter(({ file }) => file !== null);
  const cells: NotebookCell[] = [
    markdown("title", [`# 目录：《${title}》`, "", `共${all.length}章，已有${there.length}章。`].join("\n")),
    markdown("how", HOW),
    code("machines", "lab.tableOf(lab.machines())"),
    markdown("open", OPEN),
    code("machine", "const machine = await lab.open();\nmachine"),
    ...stages.map((stage, index) =>
      markdown(`stage-${index + 1}`, [`## ${stage.title}`, "", contentsTable(stage, "zh")].join("\n")),
    ),
    markdown("ledger-note", LEDGER),
    code("ledger", "lab.ledger()"),
  ];
  return { ...frame, cells };
}

const HOW = [
  "## 怎样使用",
  "",
  "每一章都是一个可以从头跑到尾的笔记本：先写下猜测，再测量，再解释，最后把结论登记下来。",
  "没有GPU也能学：各章打开的机器是录制的实测，或者模拟，每张表和图都写明是哪一种。",
  "下面列出这里能打开的机器；`unavailable`一列写着打不开的原因。",
].join("\n");

const OPEN = "不写名字时打开的是这一台：";

const LEDGER = ["## 登记簿", "", "学过的章节登记下的猜测、结论和练习，都在工作目录的一个文件里："].join("\n");

function markdown(slug: string, source: string): NotebookCell {
  return { cell_type: "markdown", id: `00-${slug}`, metadata: {}, source };
}

function code(slug: string, source: string): NotebookCell {
  return { cell_type: "code", execution_count: null, id: `00-${slug}`, metadata: {}, outputs: [], source };
}
