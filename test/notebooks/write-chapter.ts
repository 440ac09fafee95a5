/**
 * Writes chapters anew in the form in which they are committed, after they were edited in a front end:
 *
 *     node dist/test/notebooks/write-chapter.js notebooks/NN-slug.ipynb…
 */
import { basename, join } from "node:path";
import { readNotebook, writeNotebook } from "../../kernel/notebook/index.js";
import { chapterForm } from "./chapter-form.js";
import { FOLDER } from "./course.js";

const { metadata } = readNotebook(join(FOLDER, "01-introduction.ipynb"));

for (const file of process.argv.slice(2))
  writeNotebook(file, chapterForm(readNotebook(file), basename(file).slice(0, 2), metadata));
