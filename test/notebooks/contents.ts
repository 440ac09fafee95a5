/** The map of the course as it must stand: notebooks/00-目录.ipynb, and the tables of both READMEs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packagePath } from "../../kernel/lab/index.js";
import {
  CONTENTS,
  contentsNotebook,
  contentsTable,
  formatNotebook,
  readCourse,
  readNotebook,
} from "../../kernel/notebook/index.js";

/** A block of a README between two comments, which is generated. */
const BLOCK = /(<!-- course -->\n)[\s\S]*?(<!-- \/course -->)/;

/** Files, and what must be in them. @throws where a README has no block for it. */
export function contentsFiles(): { readonly file: string; readonly text: string }[] {
  const course = readCourse();
  const first = course.stages[0]?.chapters[0]?.file as string;
  const readme = (name: string, lang: "zh" | "en") => {
    const file = packagePath(name);
    const tables = course.stages.map((stage) =>
      [
        `**${lang === "zh" ? stage.title : stage.english}**`,
        "",
        contentsTable(stage, lang, "notebooks/"),
      ].join("\n"),
    );
    const text = readFileSync(file, "utf8");
    if (!BLOCK.test(text)) throw new Error(`${name} has no <!-- course --> block`);
    return { file, text: text.replace(BLOCK, (_, begin, end) => `${begin}${tables.join("\n\n")}\n${end}`) };
  };
  return [
    {
      file: join(packagePath("notebooks"), CONTENTS),
      text: formatNotebook(contentsNotebook(course, readNotebook(first))),
    },
    readme("README.md", "en"),
    readme("README.zh-CN.md", "zh"),
  ];
}
