import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { P2pError, writeFileAtomic } from "../lab/index.js";
import {
  makeWritableFolder,
  plotlyFile,
  readCourse,
  renderSite,
  SITE_PLOTLY,
  type SiteChapter,
} from "../notebook/index.js";
import { type Command, progress, timeoutOf } from "./command.js";
import { execute, statusOf } from "./execute.js";

/** Recorded where the recording has it, the model's elsewhere; each row and figure says which. */
const MACHINE = "recorded:h200x2+twin";

export const site: Command = {
  name: "site",
  usage: "site [CHAPTER…] [--machine M] [--out DIR] [--timeout SECONDS]",
  describes: `executes the chapters that are there (default all, on ${MACHINE}) and writes the course as static pages that open offline into DIR (default reports/site)`,
  async run(args) {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        machine: { type: "string", default: MACHINE },
        out: { type: "string", default: "reports/site" },
        timeout: { type: "string" },
      },
    });
    const limit = timeoutOf(values.timeout);
    const course = readCourse();
    const wanted = chosen(course, positionals);
    makeWritableFolder(values.out);
    let failed = false;
    const chapters: SiteChapter[] = [];
    for (const { number, file } of wanted) {
      const executed = await execute(file, {
        out: join(values.out, "notebooks"),
        machine: values.machine,
        ...limit,
      });
      if (executed.stoppedBy) return statusOf(executed.stoppedBy);
      failed ||= executed.failures.length > 0;
      chapters.push({ number, file, notebook: executed.notebook });
    }
    const pages = renderSite(course, chapters);
    writeFileAtomic(join(values.out, SITE_PLOTLY), readFileSync(plotlyFile()));
    for (const [name, html] of pages) writeFileAtomic(join(values.out, name), html);
    progress(`${pages.size} pages`);
    process.stdout.write(`${join(values.out, "index.html")}\n`);
    return failed ? 1 : 0;
  },
};

/** Chapters by number, `1` or `01`. */
function chosen(
  course: ReturnType<typeof readCourse>,
  numbers: readonly string[],
): { number: string; file: string }[] {
  const there = course.stages
    .flatMap((stage) => stage.chapters)
    .flatMap(({ number, file }) => (file === null ? [] : [{ number, file }]));
  const padded = numbers.map((number) => number.padStart(2, "0"));
  const unknown = padded.find((number) => !there.some((chapter) => chapter.number === number));
  if (unknown !== undefined) {
    throw new P2pError(
      "usage",
      `there is no chapter ${unknown}`,
      `Name chapters by number; there are: ${there.map((chapter) => chapter.number).join(", ")}.`,
    );
  }
  return padded.length === 0 ? there : there.filter((chapter) => padded.includes(chapter.number));
}
