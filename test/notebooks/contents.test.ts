import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { CONTENTS, readCourse, runNotebook } from "../../kernel/notebook/index.js";
import { contentsFiles } from "./contents.js";
import { chapters, FOLDER, textOf } from "./course.js";

export const TIME_LIMIT_S = 120;

const contents = suite("map of the course");
const planned = readCourse().stages.flatMap((stage) => stage.chapters);

contents("30 chapters are planned, numbered in order, each with its question", () => {
  assert.equal(
    planned.map(({ number }) => Number(number)),
    Array.from({ length: 30 }, (_, index) => index + 1),
  );
  for (const { english, question } of planned) {
    assert.match(question, /？$/);
    assert.match(english, /^[\x20-\x7eα-ω–]+$/);
  }
});

contents("every chapter that is there is planned under its own title", () => {
  assert.equal(
    planned.filter(({ file }) => file !== null).map(({ file }) => basename(file as string)),
    chapters.map(({ file }) => file),
  );
  for (const { number, cells } of chapters) {
    const { title } = planned[Number(number) - 1] as (typeof planned)[number];
    assert.is(textOf(cells[0] as (typeof cells)[number]).split("\n")[0], `# ${number} ${title}`);
  }
});

contents(
  "the notebook and both READMEs show what is there: node dist/test/notebooks/write-contents.js",
  () => {
    for (const { file, text } of contentsFiles()) assert.is(readFileSync(file, "utf8"), text, basename(file));
  },
);

contents("the map runs on the recording with its twin behind it", async () => {
  const out = mkdtempSync(join(tmpdir(), "p2plab-map-"));
  try {
    const { failures } = await runNotebook(join(FOLDER, CONTENTS), { out, machine: "recorded:h200x2+twin" });
    assert.equal(failures, []);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
});

contents.run();
