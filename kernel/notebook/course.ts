/** The course: its stages and chapters as planned, and which of them are there. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { packagePath } from "../lab/index.js";

export interface Chapter {
  /** `01` … `30`. */
  readonly number: string;
  readonly title: string;
  readonly english: string;
  /** What it answers. */
  readonly question: string;
  /** Its notebook; null while there is none. */
  readonly file: string | null;
}

export interface Stage {
  readonly title: string;
  readonly english: string;
  readonly chapters: readonly Chapter[];
}

export interface Course {
  readonly title: string;
  readonly stages: readonly Stage[];
}

interface Plan {
  readonly title: string;
  readonly stages: readonly {
    readonly title: string;
    readonly english: string;
    readonly chapters: readonly Pick<Chapter, "title" | "english" | "question">[];
  }[];
}

/** Reads `notebooks/course.json` and looks which notebooks are beside it. */
export function readCourse(folder: string = packagePath("notebooks")): Course {
  const plan = JSON.parse(readFileSync(join(folder, "course.json"), "utf8")) as Plan;
  const files = readdirSync(folder).filter((name) => /^\d\d-.*\.ipynb$/.test(name));
  let count = 0;
  const stages = plan.stages.map(({ title, english, chapters }) => ({
    title,
    english,
    chapters: chapters.map((chapter) => {
      const number = String(++count).padStart(2, "0");
      const file = files.find((name) => name.startsWith(`${number}-`));
      return { number, ...chapter, file: file ? join(folder, file) : null };
    }),
  }));
  return { title: plan.title, stages };
}

/** Title of the course when a file is one of its chapters; null otherwise. A chapter keeps its name where it is copied to. */
export function courseOf(file: string): string | null {
  if (!existsSync(packagePath("notebooks/course.json"))) return null;
  const { title, stages } = readCourse();
  const name = basename(file).replace(/\.html?$/i, ".ipynb");
  const isChapter = stages.some((stage) =>
    stage.chapters.some((chapter) => chapter.file !== null && basename(chapter.file) === name),
  );
  return isChapter ? `《${title}》` : null;
}
